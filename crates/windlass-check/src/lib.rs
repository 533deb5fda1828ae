//! Checks controllers: every crash, duplicate and reordering, on every interleaving, within stated bounds.
//!
//! Start with [`check`]: it takes a [`windlass::Machine`] and returns a [`Check`] to add objects, faults and
//! properties to. The code that is checked is the code that runs in production, the framework's own part
//! included: only the network, the database and the clock are modelled.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
//! use windlass_check::{Faults, check};
//!
//! /// Creates a ConfigMap by hand, and forgets that it may be there already.
//! struct Careless;
//!
//! #[derive(States)]
//! enum Step {
//!     #[state(initial)]
//!     Create,
//! }
//!
//! impl Machine for Careless {
//!     type Parent = Namespace;
//!     type State = Step;
//!
//!     fn declare(&self, declaration: &mut Declaration) {
//!         declaration.may::<ConfigMap>([Verb::Create]);
//!     }
//!
//!     async fn run(&self, _: Step, cx: &Cx<Namespace>) -> Outcome<Step> {
//!         if cx.name() == "default" {
//!             let mut map = ConfigMap::default();
//!             map.metadata.name = Some("made".to_owned());
//!             map.metadata.namespace = Some("default".to_owned());
//!             cx.create(&map).await?;
//!         }
//!         done()
//!     }
//! }
//!
//! // Without a crash all is well. With one, right after the object was created, every later reconcile fails.
//! let with = |faults| {
//!     let check = check(Careless).faults(faults).clock(1);
//!     check.eventually("a reconcile comes to its end", |world| world.clock("/default") == 1).run()
//! };
//! assert!(with(Faults::none()).holds());
//! let report = with(Faults::none().crashes(1));
//! assert!(!report.holds());
//! println!("{report}"); // the shortest trace, and what repeats for ever
//! ```

mod action;
mod between;
mod check;
pub mod engine;
mod fault;
mod files;
mod grouped;
mod host;
mod ids;
mod index;
mod intern;
mod narrate;
mod oracle;
mod play;
mod progress;
mod reductions;
mod regression;
mod replay;
mod report;
mod rules;
mod show;
mod steps;
mod stopwatch;
mod subject;
mod trace;
mod vacuity;
mod values;
mod view;
mod violation;
mod world;

pub use between::{Actor, Between};
pub use check::{Check, check};
pub use engine::Fairness;
pub use fault::Faults;
pub use files::{FileError, Saved, save_all};
pub use grouped::grouped;
pub use host::client::ClientEvent;
pub use oracle::Oracle;
pub use play::{Event, FinalState, FinalStates, Schedule, Stage};
pub use reductions::Reductions;
pub use replay::{Now, Replayed, replay};
pub use report::Report;
pub use show::exchange;
pub use trace::{
    BrokenRule, Counterexample, FORMAT, InitialObject, ObjectChange, ObjectMention, ReadError, RuleKind,
    ServiceChange, Trace, TraceStep,
};
pub use view::View;
pub use violation::Violation;

/// The namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";
