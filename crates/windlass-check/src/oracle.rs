//! Rules that need no specification: what every controller should do, whatever it is for.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use windlass::recording::difference;
use windlass::{CONTROLLER_LABEL, Controller, OWNER_LABEL, ObjectRef, owner_label};
use windlass_model::{Cluster, Key, Store, object, workloads};

use crate::host::service::ServiceStates;
use crate::rules::Rules;
use crate::show;

/// A rule that is checked unless it is switched off with [`crate::Check::without`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// Once faults have stopped and clients are quiet, the objects stop changing.
    Converges,
    /// From then on no write is sent, not even one that changes nothing.
    QuietAtRest,
    /// Where it ends, objects and services, does not depend on the order of things, nor on faults; but for fields that
    /// [`crate::Check::may_differ`] names, and services that [`crate::Check::service_may_differ`] does. Not evaluated if
    /// several client scripts run side by side, which may well race, or if random values are drawn.
    OneResult,
    /// What a controller made is gone when the object it was made for is gone.
    NoOrphans,
    /// No write hits another object than the one that was decided on.
    SameObject,
    /// No object is reconciled again and again with no way to succeed.
    CanSucceed,
}

impl Oracle {
    /// All of them.
    pub const ALL: [Oracle; 6] = [
        Oracle::Converges,
        Oracle::QuietAtRest,
        Oracle::OneResult,
        Oracle::NoOrphans,
        Oracle::SameObject,
        Oracle::CanSucceed,
    ];
}

impl fmt::Display for Oracle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Oracle::Converges => "converges",
            Oracle::QuietAtRest => "no writes at rest",
            Oracle::OneResult => "one result",
            Oracle::NoOrphans => "no orphans",
            Oracle::SameObject => "acts on the object it saw",
            Oracle::CanSucceed => "can succeed",
        })
    }
}

/// Where a fair run stays: all objects, and the states of all services, by their names, without what says only how
/// often and when they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    objects: BTreeMap<String, Value>,
    services: BTreeMap<String, Value>,
}

impl Settled {
    /// What may differ from one end to the other by the rules is left out.
    pub(crate) fn new(cluster: &Cluster, services: &ServiceStates, rules: &Rules) -> Self {
        let objects = settled_objects(cluster.store().all(), &rules.may_differ);
        let services = services.iter().filter(|(name, _)| !rules.services_may_differ.contains(name));
        let services =
            services.map(|(name, state)| (name.clone(), without(state.clone(), &rules.may_differ)));
        Settled { objects, services: services.collect() }
    }

    /// The objects, by their names.
    pub(crate) fn objects(&self) -> &BTreeMap<String, Value> {
        &self.objects
    }

    /// What differs in another end, as a diff.
    pub(crate) fn difference(&self, other: &Settled) -> String {
        let all = |settled: &Settled| {
            let services =
                settled.services.iter().map(|(name, state)| (format!("service {name}"), state.clone()));
            let objects = settled.objects.iter().map(|(name, object)| (name.clone(), object.clone()));
            Value::Object(objects.chain(services).collect())
        };
        difference(&all(self), &all(other))
    }
}

/// The objects, one per line.
impl fmt::Display for Settled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.objects.values().map(Value::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Objects by their names, without what says only how often and when they were written, and without some fields.
pub(crate) fn settled_objects(
    objects: impl Iterator<Item = (Key, Arc<Value>)>,
    may_differ: &[String],
) -> BTreeMap<String, Value> {
    // The names of pods are made up: what the workload controllers made is left out.
    let objects = objects.filter(|(_, found)| !workloads::is_made_by_cluster(found));
    let objects = objects.map(|(key, found)| {
        let mut found = (*found).clone();
        workloads::without_bookkeeping(&key, &mut found);
        forget_history(&mut found);
        (show::object_name(&key), without(found, may_differ))
    });
    objects.collect()
}

fn without(mut value: Value, pointers: &[String]) -> Value {
    pointers.iter().for_each(|pointer| remove(&mut value, pointer));
    value
}

/// Removes what a JSON pointer leads to.
fn remove(value: &mut Value, pointer: &str) {
    let Some((path, last)) = pointer.rsplit_once('/') else { return };
    if let Some(fields) = value.pointer_mut(path).and_then(Value::as_object_mut) {
        fields.remove(&last.replace("~1", "/").replace("~0", "~"));
    }
}

fn forget_history(value: &mut Value) {
    const HISTORY: [&str; 7] = [
        "resourceVersion",
        "managedFields",
        "uid",
        "generation",
        "observedGeneration",
        "lastTransitionTime",
        "creationTimestamp",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !HISTORY.contains(&name.as_str()));
            // That an object is being deleted is a part of what it is; since when is not.
            if let Some(since) = fields.get_mut("deletionTimestamp").filter(|since| !since.is_null()) {
                *since = "(a time)".into();
            }
            fields.values_mut().for_each(forget_history);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_history),
        _ => {}
    }
}

/// An object that a controller made for a parent that is no more.
pub(crate) fn orphan(cluster: &Cluster, controllers: &[Controller]) -> Option<String> {
    let makers: BTreeMap<String, &Controller> =
        controllers.iter().map(|controller| (controller.declaration().field_manager(), controller)).collect();
    cluster.store().all().find_map(|(key, found)| {
        let mut managers = managers(&found);
        let maker = makers.get(managers.next()?)?;
        let made_by_it_alone = managers.all(|manager| makers.contains_key(manager));
        (made_by_it_alone && is_abandoned(cluster, maker, &key, &found)).then(|| {
            format!(
                "{} {} is left over: controller `{}` made it, and what it was made for is gone",
                key.plural,
                ObjectRef::of(&found),
                maker.name()
            )
        })
    })
}

/// Who has written an object, without those of the cluster's own controllers that only wrote its status.
fn managers(found: &Value) -> impl Iterator<Item = &str> {
    let entries = found["metadata"]["managedFields"].as_array().into_iter().flatten();
    let others = entries.filter(|entry| !workloads::wrote_only_bookkeeping(entry));
    others.filter_map(|entry| entry["manager"].as_str())
}

fn is_abandoned(cluster: &Cluster, maker: &Controller, key: &Key, found: &Value) -> bool {
    let parent = &maker.declaration().parent().resource;
    if parent.group == *key.group && parent.plural == *key.plural {
        // A parent that the controller made itself has no owner.
        return false;
    }
    let mut parents = cluster.store().scan(&parent.group, &parent.plural, None, None);
    match object::label(found, OWNER_LABEL) {
        Some(label) if object::label(found, CONTROLLER_LABEL) == Some(maker.name()) => {
            parents.all(|(_, parent)| owner_label(&ObjectRef::of(&parent)) != label)
        }
        // Nothing says which parent it was made for: it is left over if there is none at all.
        _ => parents.next().is_none(),
    }
}
