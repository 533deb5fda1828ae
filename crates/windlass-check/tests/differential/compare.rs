//! One world, checked in three ways: the verdicts must agree.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResourceExt;
use serde_json::Value;
use windlass::Controller;
use windlass_check::engine::{Ended, Options};
use windlass_check::{Check, Oracle, Reductions, Report, View, Violation};

use crate::machine::{Thing, config_map, thing};
use crate::naive::{self, BUG};
use crate::world::{Claim, Rule, World};

/// How a comparison ended.
pub(crate) enum Compared {
    /// All three say the same.
    Agree(Agreement),
    /// The world has too many states for the naive explorer.
    TooLarge,
    /// They do not; in words.
    Disagree(String),
}

/// What all three say of a world.
pub(crate) struct Agreement {
    /// How many rules are violated.
    pub(crate) violated: usize,
    /// States that were visited naively, with no reductions and with all.
    pub(crate) states: [usize; 3],
}

/// How thoroughly worlds are compared.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Depth {
    /// Worlds with more states than this are skipped.
    pub(crate) most_states: usize,
    /// Whether all violated rules are compared, and not only that there is one, and that the first is one of them.
    pub(crate) all_rules: bool,
}

/// Checks a world in three ways.
pub(crate) fn compare(world: &World, depth: Depth) -> Compared {
    let Some(naive) = naive::explore(world, depth.most_states) else { return Compared::TooLarge };
    let mut states = [naive.states, 0, 0];
    let ways = [("no reductions", Reductions::none()), ("all reductions", Reductions::default())];
    let check = check(world, 10 * depth.most_states);
    let check = if depth.all_rules { check } else { check.only_first_violation() };
    for (place, (way, reductions)) in (1..).zip(ways) {
        let report = check.clone().reductions(reductions).run();
        states[place] = report.states();
        match violated(&report) {
            Ok(violated) if violated == naive.violated => {}
            Ok(violated)
                if !depth.all_rules && !violated.is_empty() && violated.is_subset(&naive.violated) => {}
            other => {
                let other = other.map_or_else(|why| why, |violated| format!("{violated:?}"));
                let naive = naive.violated;
                return Compared::Disagree(format!(
                    "violated, naively: {naive:?}\nviolated, with {way}: {other}\n\n{world}\n{report}"
                ));
            }
        }
    }
    Compared::Agree(Agreement { violated: naive.violated.len(), states })
}

/// The check of a world, with the rules of the world only.
fn check(world: &World, most: usize) -> Check {
    let mut controllers = world.programs.iter().cloned().map(Controller::new);
    let first = controllers.next().expect("a world has a controller");
    let check = controllers.fold(Check::new(first), Check::and).crd(&Thing::crd());
    let given = |check: Check, object: &crate::world::Object| match object.is_parent {
        true => check.given([thing(object.name, object.value)]),
        false => check.given([config_map(object.name, object.value)]),
    };
    let check = world.given.iter().fold(check, given);
    let check = world
        .scripts
        .iter()
        .fold(check, |check, script| check.client(script.iter().map(|event| event.for_checker())));
    let check = world.rules.iter().cloned().fold(check, with_rule);
    let check = Oracle::ALL.into_iter().fold(check, Check::without);
    // One thread: these worlds are too small for more to be of use.
    let options = Options { threads: 1, max_states: most, ..Options::default() };
    check.workers(world.workers).faults(world.budget.faults()).options(options)
}

fn with_rule(check: Check, rule: Rule) -> Check {
    match rule {
        Rule::Always(name, claim) => check.always(&name, move |view| holds(&claim, view)),
        Rule::Eventually(name, claim) => check.eventually(&name, move |view| holds(&claim, view)),
        Rule::Sometimes(name, claim) => check.sometimes(&name, move |view| holds(&claim, view)),
        Rule::NeverBetween(name, before, after) => check.never_between(&name, move |step| {
            Claim::between([&before, &after], &find_in(&step.before), &find_in(&step.after))
        }),
    }
}

fn holds(claim: &Claim, view: &View<'_>) -> bool {
    claim.holds(&find_in(view))
}

fn find_in(view: &View<'_>) -> impl Fn(&str) -> Option<Value> {
    |name| view.raw::<ConfigMap>(name).map(|found| (*found).clone())
}

/// The names of the rules that are violated.
fn violated(report: &Report) -> Result<BTreeSet<String>, String> {
    let is_decided = matches!(report.exploration.ended, Ended::Complete | Ended::Violated);
    if !is_decided || report.notes.iter().any(|note| note.contains("looked at in")) {
        return Err(format!("not decided ({:?})", report.exploration.ended));
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
