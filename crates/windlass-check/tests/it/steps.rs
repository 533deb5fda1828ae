//! Rules on steps: they see who acted and with which request, and lose nothing to what is left out of the search.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use windlass::model::Verb as ApiVerb;
use windlass::{Ask, Controller, Cx, Declaration, Machine, Outcome, Verb, done};
use windlass_check::{
    Actor, Between, Check, ClientEvent, Faults, Oracle, Reductions, Report, View, Violation, check,
};

use crate::things::{Bank, Only, Thing, map, thing};

/// Makes an output per parent.
struct Makes;

impl Machine for Makes {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let mut out = map(&format!("{}-out", cx.name()));
        out.data.get_or_insert_default().insert("value".to_owned(), cx.parent().spec.value.clone());
        cx.ensure(out);
        done()
    }
}

fn with_every_choice(check: &Check) -> [Report; 2] {
    [Reductions::default(), Reductions::none()]
        .map(|reductions| check.clone().reductions(reductions).only_first_violation().run())
}

/// The last step, in words.
fn last(report: &Report) -> &str {
    let Some(Violation::Step { trace, .. }) = &report.violation else { panic!("{report}") };
    &trace.steps.last().unwrap_or_else(|| panic!("{report}")).text
}

#[test]
fn a_rule_on_one_of_two_objects_that_are_alike_is_not_lost() {
    let is_first = |step: &Between<'_>, name: &str| {
        step.before.all::<ConfigMap>().is_empty() && step.after.has::<ConfigMap>(name)
    };
    let asks_for = |step: &Between<'_>, name: &str| {
        step.api_request().is_some_and(|request| request.name.as_deref() == Some(name))
    };
    for name in ["one-out", "two-out"] {
        let two = check(Makes).given([thing("one"), thing("two")]);
        let by_state = two.clone().never_between("it is the first", move |step| is_first(step, name));
        let by_request = two.never_between("it is written", move |step| asks_for(step, name));
        for report in [by_state, by_request].iter().flat_map(with_every_choice) {
            assert!(last(&report).contains(name), "{report}");
        }
    }
}

/// Looks at another parent, and does nothing.
struct Looks;

impl Machine for Looks {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Thing>([Verb::Get]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if cx.name() == "looks" {
            cx.get::<Thing>("seen").await?;
        }
        done()
    }
}

#[test]
fn a_generation_never_goes_back_although_states_are_renumbered() {
    let generation = |world: &View<'_>| world.get::<Thing>("seen").and_then(|seen| seen.metadata.generation);
    let changes = ClientEvent::patch::<Thing>("seen", json!({ "spec": { "value": "2" } }));
    let looking = check(Looks).given([thing("looks"), thing("seen")]).client([changes]).clock(1);
    looking
        .never_between("it goes back", move |step| generation(&step.after) < generation(&step.before))
        .assert();
}

/// Deletes the ConfigMap of a name, as it was seen.
struct Deletes(&'static str);

impl Machine for Deletes {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(self.0);
        declaration.may::<ConfigMap>([Verb::Get, Verb::Delete]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        if let Some(found) = cx.get::<ConfigMap>("shared").await? {
            cx.delete(&found).await?;
        }
        done()
    }
}

fn is_deletion(step: &Between<'_>) -> bool {
    step.before.has::<ConfigMap>("shared") && !step.after.has::<ConfigMap>("shared")
}

/// Two controllers and a client, any of which may delete the one object; only one of them must not.
fn deleting(forbidden: impl Fn(Actor<'_>) -> bool + Send + Sync + 'static) -> Check {
    check(Deletes("first"))
        .and(Controller::new(Deletes("second")))
        .given([thing("t")])
        .given([map("shared")])
        .client([ClientEvent::delete::<ConfigMap>("shared")])
        .without(Oracle::CanSucceed)
        .without(Oracle::OneResult)
        .never_between("the wrong one deletes", move |step| is_deletion(step) && forbidden(step.actor()))
}

#[test]
fn the_same_change_is_forbidden_to_one_and_allowed_to_others() {
    let trace_of = |report: &Report| {
        let Some(Violation::Step { trace, .. }) = &report.violation else { panic!("{report}") };
        trace.steps.last().map(|step| step.actor.clone()).unwrap_or_default()
    };
    for report in with_every_choice(&deleting(|actor| actor.is_controller("first"))) {
        assert_eq!(trace_of(&report), "first", "{report}");
    }
    for report in with_every_choice(&deleting(|actor| actor.is_controller("second"))) {
        assert_eq!(trace_of(&report), "second", "{report}");
    }
    for report in with_every_choice(&deleting(|actor| actor.is_client())) {
        assert_eq!(trace_of(&report), "client", "{report}");
    }
    // Somebody acts in every step, and it is one of these.
    let known = |actor: Actor<'_>| match actor {
        Actor::Client { script } => script == 0,
        Actor::Controller { name, process } => ["first", "second"].contains(&name) && process == 0,
        _ => false,
    };
    for report in with_every_choice(&deleting(move |actor| !known(actor))) {
        assert!(report.holds(), "{report}");
    }
}

/// The copy of a value goes back to an old one.
fn going_back(faults: Faults, by: impl Fn(Actor<'_>) -> bool + Send + Sync + 'static) -> Check {
    let value = |world: &View<'_>| {
        let data = world.get::<ConfigMap>("t-out").and_then(|copy| copy.data);
        data.and_then(|data| data.get("value").cloned())
    };
    check(Makes)
        .given([thing("t")])
        .client([ClientEvent::patch::<Thing>("t", json!({ "spec": { "value": "2" } }))])
        .faults(faults)
        .never_between("it goes back", move |step| {
            let [before, after] = [&step.before, &step.after].map(value);
            before.as_deref() == Some("2") && after.as_deref() == Some("") && by(step.actor())
        })
}

#[test]
fn a_message_that_is_late_or_repeated_is_an_act_of_its_sender() {
    let sender = |actor: Actor<'_>| actor == Actor::Controller { name: "makes", process: 0 };
    for (faults, how) in
        [(Faults::none().crashes(1), "delivers LATE"), (Faults::none().duplicates(), "delivers AGAIN")]
    {
        for report in with_every_choice(&going_back(faults.clone(), sender)) {
            assert!(last(&report).contains(how), "{report}");
        }
        for report in with_every_choice(&going_back(faults, move |actor| !sender(actor))) {
            assert!(report.holds(), "{report}");
        }
    }
}

#[test]
fn processes_of_one_controller_are_distinguished() {
    let second = |step: &Between<'_>| step.actor() == Actor::Controller { name: "makes", process: 1 };
    let report = check(Makes).given([thing("t")]).replicas(2).never_between("the second acts", second).run();
    let Some(Violation::Step { trace, .. }) = &report.violation else { panic!("{report}") };
    assert_eq!(trace.steps.last().map(|step| step.actor.as_str()), Some("makes#2"), "{report}");
    let third = |step: &Between<'_>| matches!(step.actor(), Actor::Controller { process: 2.., .. });
    check(Makes).given([thing("t")]).replicas(2).never_between("a third acts", third).assert();
}

#[test]
fn the_clusters_own_controllers_are_named() {
    let deleted = |by: fn(&str) -> bool| {
        check(Makes).given([thing("t")]).client([ClientEvent::delete::<Thing>("t")]).never_between(
            "the output is collected",
            move |step| {
                let is_gone = step.before.has::<ConfigMap>("t-out") && !step.after.has::<ConfigMap>("t-out");
                is_gone && matches!(step.actor(), Actor::Cluster { name } if by(name))
            },
        )
    };
    for report in with_every_choice(&deleted(|name| name == "garbage collector")) {
        assert!(last(&report).starts_with("delete configmaps default/t-out"), "{report}");
    }
    deleted(|name| name != "garbage collector").assert();
}

/// Pays what its parent says.
struct Pays;

impl Machine for Pays {
    type Parent = Thing;
    type State = Only;

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.call(Bank, json!({ "pay": cx.name() })).await?;
        done()
    }
}

#[test]
fn the_request_that_had_the_effect_is_seen() {
    let paying = check(Pays)
        .given([thing("t")])
        .service("bank", json!(0), |paid, _| {
            *paid = json!(1);
            Ok(json!("thanks"))
        })
        .client([ClientEvent::call(Bank, &json!({ "pay": "client" }))])
        .clock(1);
    let call = |step: &Between<'_>| match step.request() {
        Some(Ask::Call { service, request }) if service == "bank" => {
            request["pay"].as_str().map(str::to_owned)
        }
        _ => None,
    };
    // Each is the first to pay in some run: the same change by another request.
    for (payer, actor) in [("t", "pays"), ("client", "client 1")] {
        let rule = move |step: &Between<'_>| {
            call(step).as_deref() == Some(payer) && step.actor().to_string() == actor
        };
        for report in with_every_choice(&paying.clone().never_between("it pays", rule)) {
            assert!(last(&report).contains(&format!("call bank {{\"pay\":\"{payer}\"}}")), "{report}");
        }
    }
    // What changes an object or a service is a request, and a clock goes on without one.
    let is_requested = |step: &Between<'_>| step.request().is_some();
    let ticks = |step: &Between<'_>| step.before.clock("t") != step.after.clock("t");
    let changes = |step: &Between<'_>| {
        let raw = |world: &View<'_>| (world.raw::<Thing>("t"), world.service("bank").cloned());
        raw(&step.before) != raw(&step.after)
    };
    let checks = paying.clone().never_between("without a request", move |step| {
        is_requested(step) != changes(step) || !(ticks(step) || changes(step))
    });
    for report in with_every_choice(&checks) {
        assert!(report.holds(), "{report}");
    }
    for report in with_every_choice(&paying.never_between("it ticks", ticks)) {
        assert!(last(&report).contains("gets the answer"), "{report}");
    }
}

#[test]
fn a_rule_that_asks_for_a_number_of_a_request_switches_renumbering_off() {
    let updated = |step: &Between<'_>| {
        let request = step.api_request().filter(|request| request.verb != ApiVerb::Create)?;
        request.body.as_ref()?["metadata"]["resourceVersion"].as_str().map(str::to_owned)
    };
    let makes = check(Makes).given([thing("t")]);
    let report = makes
        .clone()
        .never_between("it has seen version 1", move |step| updated(step).as_deref() == Some("1"));
    let report = report.run();
    assert!(matches!(report.violation, Some(Violation::Step { .. })), "{report}");
    assert!(report.notes.iter().any(|note| note.contains("Reductions::versions is off")), "{report}");
    // Whether there is one does not depend on which it is.
    let report = makes.never_between("it has seen no version", move |step| {
        step.after.get::<Thing>("t").is_some_and(|thing| thing.metadata.generation.is_none())
            && updated(step).is_none()
    });
    assert!(report.assert().notes.is_empty());
}
