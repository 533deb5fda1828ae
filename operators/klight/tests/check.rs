//! What must hold of networks, on every interleaving of what happens to pods and peers and of what goes wrong.

use windlass_check::{Check, Faults, Report, Violation};
use windlass_klight::network::{LightNetworks, Mistake, worlds};

#[track_caller]
fn check_holds(check: Check, states: usize) {
    let report = check.assert();
    println!("{report}");
    assert_eq!(report.states(), states);
    assert!(report.never_struck.is_empty(), "{:?}", report.never_struck);
}

#[test]
fn a_reused_address_does_not_connect_networks() {
    check_holds(worlds::reused_address(LightNetworks::default()), 1_292_788);
}

#[test]
fn a_joiner_at_fault_does_not_pop_a_contact() {
    check_holds(worlds::joiner_at_fault(LightNetworks::default()), 136_237);
}

#[test]
fn a_changed_label_is_another_network() {
    check_holds(worlds::changed_label(LightNetworks::default()), 180_515);
}

/// The report about a mistake, without faults.
fn found(world: fn(LightNetworks) -> Check, mistake: Mistake) -> Report {
    let report = world(LightNetworks::default().with_mistake(mistake)).faults(Faults::none()).run();
    println!("{report}");
    report
}

#[track_caller]
fn check_found(world: fn(LightNetworks) -> Check, mistake: Mistake, expected: &str) {
    let report = found(world, mistake);
    let broken = match &report.violation {
        Some(Violation::Always { property, .. } | Violation::Eventually { property, .. }) => property.clone(),
        Some(Violation::Step { message, .. } | Violation::AtRest { message, .. }) => message.clone(),
        Some(Violation::Code { bug, .. }) => bug.reason().to_owned(),
        other => panic!("{mistake:?} was not found: {other:?}"),
    };
    assert!(broken.contains(expected), "{broken}: {report}");
}

#[test]
fn popping_a_contact_for_a_joiners_fault_is_found() {
    check_found(worlds::joiner_at_fault, Mistake::PopsOnAnyFailure, "a contact that lives is popped");
}

#[test]
fn knowing_contacts_by_their_address_is_found() {
    check_found(worlds::reused_address, Mistake::KnowsAddressesOnly, "two networks share no member");
}

#[test]
fn joining_a_pod_that_was_seen_before_is_found() {
    check_found(worlds::reused_address, Mistake::TrustsWhatItSawBefore, "two networks share no member");
}

#[test]
fn leaving_the_dead_below_the_head_is_found() {
    let expected = "all live pods of a network are its members, and connected";
    check_found(worlds::joiner_at_fault, Mistake::LeavesTheDeadBelowTheHead, expected);
}

#[test]
fn joining_whoever_is_seen_is_found() {
    check_found(worlds::joiner_at_fault, Mistake::JoinsWhoeverIsSeen, "no pod is joined to itself");
}

#[test]
fn joining_members_again_is_found() {
    check_found(worlds::joiner_at_fault, Mistake::JoinsMembersAgain, "a pod is in at most one entry");
}

#[test]
fn a_stack_in_memory_is_found() {
    check_found(worlds::joiner_at_fault, Mistake::RemembersInMemory, "NotDeterministic");
}
