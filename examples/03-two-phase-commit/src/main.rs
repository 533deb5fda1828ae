//! Checks a transaction of four managers, and says what came out.

use std::process::ExitCode;

use two_phase_commit::TwoPhaseCommit;
use windlass_check::engine::{Options, explore};

fn main() -> ExitCode {
    let managers = 4;
    let model = TwoPhaseCommit::new(managers);
    let all = explore(&model, &Options { symmetry: false, ..Options::default() });
    let reduced = explore(&model, &Options::default());
    println!("{managers} managers: {} states, {} transitions", all.states, all.transitions);
    println!("counting managers that are alike once: {} states", reduced.states);
    if !(all.holds() && reduced.holds()) {
        println!("does not hold: {:?}", all.violation.or(reduced.violation));
        return ExitCode::FAILURE;
    }
    println!("holds: no manager commits while another aborts, and all decide");
    ExitCode::SUCCESS
}
