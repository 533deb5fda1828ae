//! Admission policies as data, compiled when they are written. `policy_admission` evaluates them on every write that they match.
//!
//! `Policies` is a part of [`Types`](crate::Types), since it changes as seldom and is needed as often: a request to an API
//! without policies costs a look at an empty list.

mod compiled;
mod expression;
mod matching;
mod mutation;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::object;
use crate::store::{Change, Key, Store};

pub(crate) use compiled::{Binding, ParamRef, Policy, Validation};
pub(crate) use expression::{Expression, Purpose, Variables, compile};
pub(crate) use matching::{Matching, Rule as MatchingRule};
pub(crate) use mutation::Mutation;

/// The group of policies and bindings.
pub(crate) const GROUP: &str = "admissionregistration.k8s.io";
/// The resource of validating policies.
pub(crate) const POLICIES: &str = "validatingadmissionpolicies";
/// The resource of their bindings.
pub(crate) const BINDINGS: &str = "validatingadmissionpolicybindings";
/// The resource of mutating policies.
pub(crate) const MUTATING_POLICIES: &str = "mutatingadmissionpolicies";
/// The resource of their bindings.
pub(crate) const MUTATING_BINDINGS: &str = "mutatingadmissionpolicybindings";

pub(crate) const ALL: [&str; 4] = [POLICIES, BINDINGS, MUTATING_POLICIES, MUTATING_BINDINGS];

/// All policies and bindings that there are, ready to be evaluated.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Policies {
    pub(crate) validating: PolicySet,
    pub(crate) mutating: PolicySet,
}

/// The policies of one kind.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct PolicySet {
    policies: BTreeMap<Box<str>, Arc<Policy>>,
    bindings: BTreeMap<Box<str>, Arc<Binding>>,
    /// The policies that are bound, in the order of their names.
    pub(crate) hooks: Vec<Hook>,
}

/// A policy with its bindings.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Hook {
    pub(crate) policy: Arc<Policy>,
    pub(crate) bindings: Vec<Arc<Binding>>,
}

/// Whether an object is a policy or a binding.
pub(crate) fn concerns(key: &Key) -> bool {
    &*key.group == GROUP && ALL.contains(&&*key.plural)
}

/// What turns the policies and bindings of one store into those of another.
pub(crate) fn changes_between<S: Store>(one: &S, other: &S) -> Vec<Change> {
    let all = |store: &S| -> BTreeMap<Key, Arc<serde_json::Value>> {
        ALL.into_iter().flat_map(|plural| store.scan(GROUP, plural, None, None).collect::<Vec<_>>()).collect()
    };
    let (mut before, after) = (all(one), all(other));
    let change = |key: Key, before, after| Change { key, before, after, version: 0 };
    let mut changes: Vec<Change> = Vec::new();
    for (key, object) in after {
        let old = before.remove(&key);
        changes.push(change(key, old, Some(object)));
    }
    changes.extend(before.into_iter().map(|(key, object)| change(key, Some(object), None)));
    changes
}

impl Policies {
    /// Whether no validating policy is bound, so that nothing has to be evaluated.
    pub(crate) fn is_idle(&self) -> bool {
        self.validating.hooks.is_empty()
    }

    /// Whether no mutating policy is bound, so that writes stay as they are.
    pub(crate) fn mutates_nothing(&self) -> bool {
        self.mutating.hooks.is_empty()
    }

    /// Whether there are neither policies nor bindings.
    pub(crate) fn is_empty(&self) -> bool {
        [&self.validating, &self.mutating]
            .iter()
            .all(|set| set.policies.is_empty() && set.bindings.is_empty())
    }

    /// The policies after some changes; `None` if they stay the same.
    pub(crate) fn after(&self, changes: &[Change]) -> Option<Policies> {
        let mut after: Option<Policies> = None;
        for change in changes.iter().filter(|change| concerns(&change.key)) {
            let spec = |object: &Option<Arc<serde_json::Value>>| object.as_ref().map(|it| it["spec"].clone());
            // A policy's metadata and status say nothing about what it admits.
            if spec(&change.before) == spec(&change.after) {
                continue;
            }
            after.get_or_insert_with(|| self.clone()).commit(change);
        }
        if let Some(after) = &mut after {
            after.validating.bind();
            after.mutating.bind();
        }
        after
    }

    fn commit(&mut self, change: &Change) {
        let plural = &*change.key.plural;
        let mutating = matches!(plural, MUTATING_POLICIES | MUTATING_BINDINGS);
        let set = if mutating { &mut self.mutating } else { &mut self.validating };
        let name: Box<str> = change.key.name.as_ref().into();
        match (plural, &change.after) {
            (POLICIES | MUTATING_POLICIES, Some(policy)) => {
                set.policies.insert(name, Arc::new(Policy::of(policy)));
            }
            (POLICIES | MUTATING_POLICIES, None) => drop(set.policies.remove(&name)),
            (_, Some(binding)) => drop(set.bindings.insert(name, Arc::new(Binding::of(binding)))),
            (_, None) => drop(set.bindings.remove(&name)),
        }
    }
}

impl PolicySet {
    /// Finds the bindings of each policy. One without a policy waits for it.
    fn bind(&mut self) {
        let of = |policy: &Arc<Policy>| {
            let bindings = self.bindings.values().filter(|binding| binding.policy == policy.name);
            Hook { policy: Arc::clone(policy), bindings: bindings.cloned().collect() }
        };
        self.hooks = self.policies.values().map(of).filter(|hook| !hook.bindings.is_empty()).collect();
    }
}

/// The text of a field; empty if it is absent.
fn text<'a>(object: &'a serde_json::Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

/// The items of a list field; none if it is absent.
fn items<'a>(object: &'a serde_json::Value, field: &str) -> impl Iterator<Item = &'a serde_json::Value> {
    object[field].as_array().into_iter().flatten()
}

/// The texts of a list field.
fn texts(object: &serde_json::Value, field: &str) -> Vec<Box<str>> {
    items(object, field).filter_map(|item| item.as_str()).map(Box::from).collect()
}

/// The name of a policy or binding.
fn name_of(object: &serde_json::Value) -> Box<str> {
    object::name(object).into()
}
