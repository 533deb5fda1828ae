//! Runs as data, and the ends that are possible.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use windlass::model::Key;
use windlass::{Cx, Declaration, Machine, Outcome, Verb, done, to_value};
use windlass_check::{Check, ClientEvent, Event, Faults, FinalState, FinalStates, check};

use crate::things::{Only, Thing, map, thing};

/// Copies the value of its parent by a patch that carries no version.
struct CopyByPatch;

impl Machine for CopyByPatch {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Patch]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.patch::<ConfigMap>("copy", json!({ "data": { "value": cx.parent().spec.value } })).await?;
        done()
    }
}

fn copying(faults: Faults) -> Check {
    check(CopyByPatch)
        .given([thing("a")])
        .given([map("copy")])
        .client([ClientEvent::patch::<Thing>("a", json!({ "spec": { "value": "new" } }))])
        .faults(faults)
        .eventually("the copy is new", |world| {
            world.raw::<ConfigMap>("copy").is_some_and(|copy| copy["data"]["value"] == "new")
        })
}

fn all(ends: FinalStates) -> Vec<FinalState> {
    match ends {
        FinalStates::All(ends) => ends,
        other => panic!("{other:?}"),
    }
}

#[test]
fn ends_are_those_of_all_runs_whatever_the_rules_say() {
    let without = all(copying(Faults::none()).final_states(10_000));
    let with = all(copying(Faults::none().crashes(1)).final_states(10_000));
    assert_eq!(without.len(), 1);
    // A patch that was sent before the crash arrives last.
    assert_eq!(with.len(), 2);
    assert!(with.contains(&without[0]));
    assert_eq!(copying(Faults::none().crashes(1)).final_states(10), FinalStates::Unknown);
}

#[test]
fn a_trace_becomes_a_schedule_that_leads_to_one_of_the_ends() {
    let check = copying(Faults::none().crashes(1));
    let violation = check.run().violation.expect("the late patch is found");
    let trace = violation.trace().expect("it has a trace");
    let schedule = check.schedule_of(trace).expect("it is a trace of this check");
    let sent = schedule.events.iter().find_map(|event| match event {
        Event::Crash { sent, .. } => Some(sent.len()),
        _ => None,
    });
    assert_eq!(sent, Some(1));
    assert!(matches!(schedule.events.last(), Some(Event::Late { process: 0, .. })), "{:?}", schedule.events);
    assert!(schedule.at_rest);
    assert!(all(check.final_states(10_000)).contains(&schedule.reached), "{}", schedule.reached);
    assert!(copying(Faults::none()).schedule_of(trace).is_none(), "no crash is possible there");
}

#[test]
fn random_schedules_that_come_to_rest_do_so_in_one_of_the_ends() {
    let check = copying(Faults::none().crashes(1).duplicates().lost_replies(1).errors(1));
    let ends = all(check.final_states(100_000));
    let mut faults = 0;
    for seed in 0..30 {
        let schedule = check.random_schedule(seed, 200);
        assert_eq!(schedule.events, check.random_schedule(seed, 200).events);
        assert!(schedule.at_rest && ends.contains(&schedule.reached), "{seed}: {}", schedule.reached);
        faults += schedule.events.iter().filter(|event| event.is_fault()).count();
    }
    assert!(faults > 30, "{faults}");
}

#[test]
fn a_stage_has_all_that_a_world_is_made_of() {
    let stage = copying(Faults::none().crashes(1)).replicas(2).workers(3).stage();
    assert_eq!((stage.processes.len(), stage.workers), (2, 3));
    assert!(stage.scripts[0][0].as_ref().is_some_and(|request| request.name.as_deref() == Some("a")));
    let key = Key::new("", "configmaps", "default", "copy");
    let copy = FinalState::of([(key.clone(), to_value(&map("copy")).unwrap())]);
    assert!(copy.to_string().starts_with("configmaps default/copy: "), "{copy}");
    assert_eq!(stage.faults, Faults::none().crashes(1));
}
