//! All interleavings of a transaction. The numbers of states are those that are known for this protocol.

use two_phase_commit::TwoPhaseCommit;
use windlass_check::engine::{Exploration, Options, explore};

fn check(managers: usize, symmetry: bool) -> Exploration {
    let options = Options { threads: 2, symmetry, ..Options::default() };
    let exploration = explore(&TwoPhaseCommit::new(managers), &options);
    assert!(exploration.holds(), "{managers} managers: {:?}", exploration.violation);
    exploration
}

#[test]
fn the_number_of_states_is_known() {
    for (managers, states) in [(3, 288), (4, 1_568), (5, 8_832), (6, 50_816)] {
        assert_eq!(check(managers, false).states, states, "{managers} managers");
    }
}

#[test]
fn managers_are_alike() {
    // Without symmetry there are 8,832. As few as here is all that can be: managers differ by nothing but their number.
    for (managers, states) in [(3, 80), (4, 166), (5, 314)] {
        assert_eq!(check(managers, true).states, states, "{managers} managers");
    }
}

#[test]
fn too_many_managers_are_not_permuted() {
    assert_eq!(check(6, true).states, 50_816);
}
