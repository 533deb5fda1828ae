//! Each rule has a history that keeps it, and one that violates it.

use super::*;

const BAR_MS: u64 = 9_000;
const UID: &str = "6f1d7a52-4c1f-4d6f-9d0e-0c6a2f1b7c11";

fn slot() -> usize {
    windlass_shard::Slot::of(UID, SlotCount::DEFAULT).index()
}

fn edit(at_ms: u64, value: u64) -> Observation {
    Observation::Edited(Edit { at_ms, parent: "a".to_owned(), uid: UID.to_owned(), value })
}

/// A write of the child of `a`. It has the version that is also its time.
fn write(at_ms: u64, value: u64, epoch: u64, writer: &str) -> Write {
    Write {
        at_ms,
        version: at_ms,
        child: "a".to_owned(),
        slot: Some(slot()),
        epoch: Some(epoch),
        writer: Some(writer.to_owned()),
        value: Some(value),
    }
}

fn written(at_ms: u64, value: u64, epoch: u64, writer: &str) -> Observation {
    Observation::Written(write(at_ms, value, epoch, writer))
}

fn ring(at_ms: u64, epoch: u64, owner: &str) -> Observation {
    let run = OwnedRun { from: 0, to: 4095, epoch, owner: owner.to_owned() };
    Observation::RingWritten(RingSeen { at_ms, version: at_ms, runs: vec![run] })
}

fn killed(instance: &str, at_ms: u64) -> Disturbance {
    let hit = Hit::Instance(instance.to_owned());
    Disturbance { from_ms: at_ms, until_ms: at_ms + 1_000, what: format!("kill {instance}"), hit }
}

fn outage(from_ms: u64, until_ms: u64) -> Disturbance {
    Disturbance { from_ms, until_ms, what: "restart the API server".to_owned(), hit: Hit::Server }
}

/// Audits a history that ends a minute after its start.
fn audit(faults: &[Disturbance], history: &[Observation]) -> Findings {
    let mut auditor = Auditor::new(BAR_MS, SlotCount::DEFAULT);
    history.iter().for_each(|observation| auditor.observe(observation));
    faults.iter().for_each(|fault| auditor.disturbed(fault.clone()));
    auditor.finish(60_000)
}

fn violations(history: &[Observation]) -> Vec<Violation> {
    audit(&[], history).violations
}

#[test]
fn history_of_a_clean_handover_has_no_violations() {
    let history = [
        ring(1, 1, "app-0/1"),
        edit(10, 1),
        written(20, 1, 1, "app-0/1"),
        ring(30, 2, "app-1/1"),
        edit(40, 2),
        written(60, 2, 2, "app-1/1"),
    ];
    let findings = audit(&[], &history);
    assert_eq!(findings.violations, []);
    assert_eq!((findings.edits, findings.writes, findings.ring_writes, findings.moved_slots), (2, 2, 2, 1));
    assert_eq!(findings.waits, Percentiles { p50_ms: 10, p99_ms: 20, max_ms: 20 });
}

#[test]
fn old_epoch_after_a_newer_one_is_found() {
    let history = [
        edit(1, 3),
        written(10, 1, 1, "app-0/1"),
        written(20, 2, 2, "app-1/1"),
        written(30, 3, 1, "app-0/1"),
    ];
    let newer = write(20, 2, 2, "app-1/1");
    assert_eq!(violations(&history), [Violation::OldEpoch { newer, late: write(30, 3, 1, "app-0/1") }]);
}

#[test]
fn second_writer_of_an_epoch_is_found() {
    let history = [edit(1, 2), written(10, 1, 1, "app-0/1"), written(20, 2, 1, "app-1/1")];
    let first = write(10, 1, 1, "app-0/1");
    assert_eq!(violations(&history), [Violation::TwoWriters { first, second: write(20, 2, 1, "app-1/1") }]);
}

#[test]
fn later_incarnation_is_another_writer() {
    let history = [edit(1, 2), written(10, 1, 1, "app-0/1"), written(20, 2, 1, "app-0/2")];
    assert!(matches!(violations(&history)[..], [Violation::TwoWriters { .. }]));
}

#[test]
fn writer_that_is_not_the_owner_is_found() {
    let history = [ring(1, 7, "app-1/1"), edit(2, 1), written(10, 1, 7, "app-0/1")];
    let write = write(10, 1, 7, "app-0/1");
    assert_eq!(violations(&history), [Violation::NotTheOwner { write, owner: "app-1/1".to_owned() }]);
}

#[test]
fn ring_that_goes_back_is_found() {
    assert_eq!(violations(&[ring(1, 7, "app-1/1"), ring(2, 7, "app-1/1"), ring(3, 8, "app-0/1")]), []);
    for after in [ring(2, 6, "app-1/1"), ring(2, 7, "app-0/1")] {
        let found = violations(&[ring(1, 7, "app-1/1"), after]);
        assert_eq!(found.len(), 4096);
        assert!(matches!(&found[0], Violation::RingWentBack { slot: 0, .. }), "{}", found[0]);
    }
}

#[test]
fn write_without_marks_is_found() {
    let unmarks: [fn(&mut Write); 3] =
        [|write| write.slot = None, |write| write.epoch = None, |write| write.writer = None];
    for unmark in unmarks {
        let mut write = write(10, 1, 1, "app-0/1");
        unmark(&mut write);
        let history = [edit(1, 1), Observation::Written(write.clone())];
        assert_eq!(violations(&history), [Violation::Unmarked { write }]);
    }
}

#[test]
fn child_in_a_wrong_slot_is_found() {
    let write = Write { slot: Some(slot() + 1), ..write(10, 1, 1, "app-0/1") };
    let history = [Observation::Written(write.clone()), edit(20, 1)];
    assert_eq!(violations(&history), [Violation::WrongSlot { write, slot: slot() }]);
}

#[test]
fn change_that_is_written_twice_is_found() {
    let history = [edit(1, 1), written(10, 1, 1, "app-0/1"), written(20, 1, 2, "app-1/1")];
    let (first, second) = (write(10, 1, 1, "app-0/1"), write(20, 1, 2, "app-1/1"));
    assert_eq!(violations(&history), [Violation::Doubled { first, second }]);
}

#[test]
fn value_that_goes_back_is_found() {
    let history = [
        edit(1, 5),
        written(10, 5, 1, "app-0/1"),
        written(20, 4, 1, "app-0/1"),
        written(30, 5, 1, "app-0/1"),
    ];
    let (newer, late) = (write(10, 5, 1, "app-0/1"), write(20, 4, 1, "app-0/1"));
    assert_eq!(violations(&history), [Violation::WentBack { newer, late }]);
}

#[test]
fn deleted_child_is_found() {
    let deletion = Deletion { at_ms: 20, child: "a".to_owned() };
    let history = [edit(1, 1), written(10, 1, 1, "app-0/1"), Observation::Deleted(deletion.clone())];
    let found = violations(&history);
    assert_eq!(found[0], Violation::Deleted { deletion });
    assert!(matches!(found[1..], [Violation::Lost { write: None, .. }]), "{found:?}");
}

#[test]
fn edit_that_waits_for_longer_than_the_bar_is_found() {
    let in_time = [edit(1_000, 1), written(1_000 + BAR_MS, 1, 1, "app-0/1")];
    assert_eq!(violations(&in_time), []);
    let late = [edit(1_000, 1), written(1_001 + BAR_MS, 1, 1, "app-0/1")];
    assert!(
        matches!(violations(&late)[..], [Violation::Late { undisturbed_ms: 9_001, write: Some(_), .. }]),
        "{:?}",
        violations(&late)
    );
}

#[test]
fn write_of_a_later_value_answers_the_edits_before_it() {
    let history = [edit(1_000, 1), edit(2_000, 2), written(3_000, 2, 1, "app-0/1")];
    let findings = audit(&[], &history);
    assert_eq!(findings.violations, []);
    assert_eq!(findings.waits.max_ms, 2_000);
}

#[test]
fn write_may_be_seen_before_its_edit() {
    let findings = audit(&[], &[written(10, 1, 1, "app-0/1"), edit(20, 1)]);
    assert_eq!(findings.violations, []);
    assert_eq!(findings.waits.max_ms, 0);
}

#[test]
fn faults_give_edits_more_time() {
    let history = [edit(1_000, 1), written(18_000, 1, 2, "app-1/1")];
    assert_eq!(audit(&[killed("app-0", 9_500)], &history).violations, []);
    assert_eq!(audit(&[outage(2_000, 12_000)], &history).violations, []);
    let too_early = audit(&[killed("app-0", 8_000)], &history).violations;
    assert!(matches!(too_early[..], [Violation::Late { undisturbed_ms: 10_000, .. }]), "{too_early:?}");
}

#[test]
fn edits_of_the_start_are_not_measured() {
    let mut auditor = Auditor::new(BAR_MS, SlotCount::DEFAULT);
    auditor.measure_from(5_000);
    for observation in [edit(1_000, 1), written(20_000, 1, 1, "app-0/1")] {
        auditor.observe(&observation);
    }
    let findings = auditor.finish(60_000);
    assert_eq!((findings.violations, findings.waits.max_ms), (Vec::new(), 0));
}

#[test]
fn lost_object_is_found() {
    let never = violations(&[edit(59_000, 1)]);
    assert!(matches!(never[..], [Violation::Lost { write: None, .. }]), "{never:?}");
    let stale = violations(&[edit(1_000, 1), written(1_500, 1, 1, "app-0/1"), edit(59_000, 2)]);
    assert!(matches!(stale[..], [Violation::Lost { write: Some(_), .. }]), "{stale:?}");
}

#[test]
fn failover_is_measured_from_the_fault_or_the_edit() {
    let history = [
        edit(100, 1),
        written(200, 1, 1, "app-0/1"),
        edit(1_500, 2),
        edit(3_000, 3),
        written(8_000, 3, 2, "app-1/1"),
    ];
    let findings = audit(&[killed("app-0", 2_500), killed("app-2", 2_600)], &history);
    let fault = killed("app-0", 2_500);
    assert_eq!(findings.failovers, [Failover { fault, objects: 2, longest_ms: 5_500 }]);
}

#[test]
fn gap_in_the_history_is_counted() {
    assert_eq!(audit(&[], &[Observation::HistoryLost]).history_gaps, 1);
}

#[test]
fn rules_have_the_names_of_the_json_document() {
    for violation in violations(&[edit(1_000, 5), written(10, 5, 2, "app-0/1"), written(20, 4, 1, "app-1/1")])
    {
        assert_eq!(serde_json::to_value(&violation).unwrap()["rule"], violation.rule());
    }
}
