//! A world as the checker is given it.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use serde_json::{Value, json};
use windlass::{Controller, Service};
use windlass_check::engine::{Options, StopReason};
use windlass_check::{Check, Oracle, Report, View, Violation};

use crate::machine::{Copier, Register, Thing, config_map, is_read, respond, thing};
use crate::naive::BUG;
use crate::world::{Claim, Object, Rule, World};

/// The check of a world, without rules.
pub(crate) fn check(world: &World, most_states: usize) -> Check {
    let mut controllers = world.programs.iter().cloned().map(Controller::new);
    let first = controllers.next().expect("a world has a controller");
    let mut check = controllers.fold(Check::new(first), Check::and).crd(&Thing::crd());
    if world.has_copier {
        check = check.and(Controller::new(Copier));
    }
    let given = |check: Check, object: &Object| match object.is_parent {
        true => check.given([thing(object.name, object.value)]),
        false => check.given([config_map(object.name, object.value)]),
    };
    let check = world.given.iter().fold(check, given);
    let script = |check: Check, script: &Vec<_>| {
        check.client(script.iter().map(|event: &crate::world::Event| event.for_checker()))
    };
    let mut check = world.scripts.iter().fold(check, script);
    if world.has_service {
        check = check.service(Register::NAME, json!("0"), respond).service_reads(Register::NAME, is_read);
    }
    let check = Oracle::ALL.into_iter().fold(check, Check::without);
    // One thread: these worlds are too small for more to be of use.
    let options = Options { threads: 1, max_states: most_states, ..Options::default() };
    let check = check.workers(world.workers).replicas(world.replicas);
    check.faults(world.budget.faults()).options(options)
}

/// Adds rules.
pub(crate) fn with_rules(check: Check, rules: &[Rule]) -> Check {
    rules.iter().cloned().fold(check, with_rule)
}

fn with_rule(check: Check, rule: Rule) -> Check {
    match rule {
        Rule::Always(name, claim) => check.always(&name, move |view| holds(&claim, view)),
        Rule::Eventually(name, claim) => check.eventually(&name, move |view| holds(&claim, view)),
        Rule::Sometimes(name, claim) => check.sometimes(&name, move |view| holds(&claim, view)),
        Rule::NeverBetween(name, before, after) => {
            check.never_between(&name, move |step| holds(&before, &step.before) && holds(&after, &step.after))
        }
    }
}

fn holds(claim: &Claim, view: &View<'_>) -> bool {
    claim.holds(&find_in(view))
}

fn find_in(view: &View<'_>) -> impl Fn(&str) -> Option<Value> {
    |name| view.raw::<ConfigMap>(name).map(|found| (*found).clone())
}

/// The names of the rules that are violated.
pub(crate) fn violated(report: &Report) -> Result<BTreeSet<String>, String> {
    let is_decided = matches!(report.exploration.stop_reason, StopReason::Complete | StopReason::Violated);
    if !is_decided || report.notes.iter().any(|note| note.contains("looked at in")) {
        return Err(format!("not decided ({:?})", report.exploration.stop_reason));
    }
    let name = |violation: &Violation| match violation {
        Violation::Always { property, .. }
        | Violation::Eventually { property, .. }
        | Violation::Never { property } => Ok(property.clone()),
        Violation::Step { message, .. } => {
            let name = message.split('"').nth(1);
            name.map(str::to_owned).ok_or_else(|| message.clone())
        }
        Violation::Code { .. } => Ok(BUG.to_owned()),
        Violation::AtRest { message, .. } => Err(message.clone()),
    };
    report.violation.iter().chain(&report.further).map(name).collect()
}

/// Whether the checker has found out that renumbering does not fit the world, and has gone without.
pub(crate) fn is_not_renumbered(report: &Report) -> bool {
    report.notes.iter().any(|note| note.contains("Reductions::versions is off"))
}
