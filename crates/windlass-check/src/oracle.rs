//! Rules that need no specification: what every controller should do, whatever it is for.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;
use windlass::{CONTROLLER_LABEL, Controller, OWNER_LABEL, ObjectRef, owner_label};
use windlass_model::{Cluster, Key, Store, object};

/// A rule that is checked unless it is switched off with [`crate::Check::without`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oracle {
    /// Once faults have stopped and clients are quiet, the objects stop changing.
    Converges,
    /// From then on no write is sent, not even one that changes nothing.
    QuietAtRest,
    /// Where it ends does not depend on the order of things, nor on faults. Not judged if several client scripts
    /// run side by side, which may well race, or if random values are drawn.
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

/// All objects of a cluster, one per line, without what tells only how often and when they were written.
pub(crate) fn settled_objects(cluster: &Cluster) -> String {
    let objects = cluster.store().all().map(|(_, found)| {
        let mut found = (*found).clone();
        forget_history(&mut found);
        found.to_string()
    });
    objects.collect::<Vec<_>>().join("\n")
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

fn managers(found: &Value) -> impl Iterator<Item = &str> {
    let entries = found["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter_map(|entry| entry["manager"].as_str())
}

fn is_abandoned(cluster: &Cluster, maker: &Controller, key: &Key, found: &Value) -> bool {
    let parent = &maker.declaration().parent().resource;
    if parent.group == *key.group && parent.plural == *key.plural {
        // A parent that the controller made itself is nobody's child.
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
