//! The worlds in which the checker is compared with real processes: the zoo, and worlds that are drawn from seeds.
//!
//! Start with [`World`]. The program `agreement-controller` runs one controller process of a world on a real API server;
//! the test of this package plays runs of the checker against such processes.

// The worlds of a seed are those of the checker's differential test, so that a seed means the same world there and here.
#[path = "../../crates/windlass-check/tests/differential/draw_program.rs"]
mod draw_program;
#[path = "../../crates/windlass-check/tests/differential/generate.rs"]
mod generate;
#[path = "../../crates/windlass-check/tests/differential/machine.rs"]
mod machine;
#[path = "../../crates/windlass-check/tests/differential/program.rs"]
mod program;
#[path = "../../crates/windlass-check/tests/differential/random.rs"]
mod random;
#[allow(dead_code, reason = "the rules of these worlds are for the differential test alone")]
#[path = "../../crates/windlass-check/tests/differential/world.rs"]
mod world;

mod worlds;

pub use worlds::{World, zoo_worlds};
