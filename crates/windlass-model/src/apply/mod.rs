//! Server-side apply, and who owns which field of an object.
//!
//! Start with `Apply` for apply patches and `track_update` for all other writes. The order in
//! which a caller must do things decides who owns defaults and what is a conflict:
//!
//! - **create, update, JSON, merge and strategic patches**: prune and default the new object, then
//!   `track_update`, then what the server does to it (reset of status, uid, generation, ...), then
//!   `keep_times`, then validation. Defaults thus belong to whoever created the object.
//! - **apply**: `Apply::run` on the configuration as it was sent (neither pruned nor defaulted),
//!   then prune, default, what the server does, `keep_times`, validation. Defaults have no owner.
//!
//! Objects are in the version of the [`TypeInfo`]. Entries of other versions are taken to have the
//! same fields.

mod compare;
mod configuration;
pub(crate) mod field_set;
mod last_applied;
mod managed;
mod merge;
mod object_meta;
mod overwritten;
mod ownership;
pub(crate) mod path_element;
mod reset;
#[cfg(test)]
mod tests;
mod type_ref;
mod unchanged;
mod update;
pub(crate) mod validate;

use std::collections::BTreeMap;

use serde_json::Value;

pub(crate) use self::configuration::merge_configuration;
pub use self::overwritten::{Overwritten, overwritten};
pub use self::unchanged::is_unchanged;

use self::field_set::{Path, show_path};
use self::managed::{Managed, Manager, Operation, is_reset};
use self::type_ref::TypeRef;
use self::update::{ApplyError, Write};
use crate::object;
use crate::status::{Cause, Status};
use crate::time::Timestamp;
use crate::types::TypeInfo;

/// The version of the scale subresource.
const SCALE: &str = "autoscaling/v1";
/// Who owns what an object has when it is first applied to and has no owners.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// One server-side apply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Apply<'a> {
    /// The type of the objects.
    pub info: &'a TypeInfo,
    /// The object as it is; `None` if the apply creates it.
    pub live: Option<&'a Value>,
    /// What is wanted.
    pub config: &'a Value,
    /// Who wants it.
    pub manager: &'a str,
    /// Take fields over from other managers.
    pub force: bool,
    /// `status`, say; `None` for the object itself.
    pub subresource: Option<&'a str>,
    /// When this happens.
    pub now: Timestamp,
}

impl Apply<'_> {
    /// The object with the configuration merged in, and with new `managedFields`.
    ///
    /// Equal to the live object if nothing but times would change. Fails with 409 on conflicts, with
    /// 400 on a configuration of another type or with `managedFields`, and with 500, as Kubernetes
    /// does, on one that does not fit the schema.
    pub(crate) fn run(&self) -> Result<Value, Status> {
        let nothing = object_meta::unspecified(self.info);
        let live = self.live.unwrap_or(&nothing);
        let managed = Managed::of(live)
            .map_err(|why| Status::unclassified(format!("failed to decode managed fields: {why}")))?;
        self.check_config()?;
        let api_version = object_meta::api_version(self.info);
        let write = Write {
            root: TypeRef::of_objects(self.info),
            api_version: &api_version,
            unchangeable: &reset::unchangeable_fields(self.info, self.subresource),
            server_fields: &reset::SERVER_FIELDS,
        };
        let mut live = live.clone();
        object::remove_meta(&mut live, "managedFields");
        let managed = self.with_history(&write, &live, managed)?;
        self.check_fit(&write)?;
        let mut new = self.merged(&write, &live, managed)?;
        if let Some(live) = self.live {
            keep_times(live, &mut new);
        }
        Ok(new)
    }

    fn check_config(&self) -> Result<(), Status> {
        if !self.config.is_object() {
            let kind = crate::go_format::go_type(self.config);
            return Err(Status::bad_request(format!("error decoding YAML: expected an object, got {kind}")));
        }
        let (group, version) = object::split_api_version(self.config["apiVersion"].as_str().unwrap_or(""));
        let kind = self.config["kind"].as_str().unwrap_or("");
        let resource = &self.info.resource;
        if (group, version, kind) != (&*resource.group, &*resource.version, &*self.info.kind) {
            return Err(Status::bad_request(format!("invalid object type: {group}/{version}, Kind={kind}")));
        }
        if self.config["metadata"]["managedFields"].is_array() {
            return Err(Status::bad_request("metadata.managedFields must be nil"));
        }
        Ok(())
    }

    /// The owners of the live object. If it has none, all it has belongs to a manager of the past.
    fn with_history(&self, write: &Write<'_>, live: &Value, mut managed: Managed) -> Result<Managed, Status> {
        if self.live.is_none() || !managed.owners.is_empty() {
            return Ok(managed);
        }
        let past = Manager::new(Operation::Update, BEFORE_FIRST_APPLY, write.api_version, self.subresource);
        let blank = object_meta::blank(self.info);
        write.track(&blank, live, &mut managed, &past, Some(self.now.to_string())).map_err(|why| {
            Status::unclassified(format!("failed to create manager for existing fields: {why}"))
        })?;
        Ok(managed)
    }

    fn check_fit(&self, write: &Write<'_>) -> Result<(), Status> {
        let findings = validate::findings(write.root, self.config);
        if findings.is_empty() {
            return Ok(());
        }
        let resource = &self.info.resource;
        Err(Status::unclassified(format!(
            "failed to create typed patch object ({}/{}; {}/{}, Kind={}): {findings}",
            object::namespace(self.config),
            object::name(self.config),
            resource.group,
            resource.version,
            self.info.kind,
        )))
    }

    fn merged(&self, write: &Write<'_>, live: &Value, managed: Managed) -> Result<Value, Status> {
        let manager = Manager::new(Operation::Apply, self.manager, write.api_version, self.subresource);
        let attempt = |force: bool| {
            let mut managed = managed.clone();
            let new = write.apply(live, self.config, &mut managed, &manager, force)?;
            Ok((new, managed))
        };
        let result = match attempt(self.force) {
            Err(ApplyError::Conflicts(conflicts)) => match self.real_conflicts(write, live, conflicts) {
                conflicts if conflicts.is_empty() => attempt(true),
                conflicts => Err(ApplyError::Conflicts(conflicts)),
            },
            other => other,
        };
        let (mut new, mut managed) = result.map_err(|error| match error {
            ApplyError::Conflicts(mut conflicts) => {
                // Who applies a Scale sees all managers as those of a Scale.
                if self.subresource == Some("scale") {
                    conflicts.iter_mut().for_each(|(manager, _)| manager.api_version = SCALE.to_owned());
                }
                conflict(&conflicts)
            }
            ApplyError::Broken(why) => Status::unclassified(why),
        })?;
        // An applier that changes nothing but shares ownership leaves no time.
        if !crate::value_order::equal(live, &new)
            && let Some(owned) = managed.owners.get_mut(&manager)
        {
            owned.time = Some(self.now.to_string());
        }
        if self.manager == last_applied::MANAGER {
            last_applied::refresh(&mut new, self.config);
        }
        managed
            .write_to(&mut new)
            .map_err(|why| Status::unclassified(format!("failed to encode managed fields: {why}")))?;
        Ok(new)
    }

    /// The conflicts without those on fields that kubectl itself set by client-side apply.
    fn real_conflicts(
        &self,
        write: &Write<'_>,
        live: &Value,
        mut conflicts: Vec<(Manager, Path)>,
    ) -> Vec<(Manager, Path)> {
        if self.manager == last_applied::MANAGER
            && let Some(own) = last_applied::unchanged_fields(write.root, live, write.api_version)
        {
            conflicts.retain(|(_, path)| !own.contains(path));
        }
        conflicts
    }
}

/// Gives the fields that a write changes to its manager. `new` is the object to be stored, and gets
/// `managedFields`; `live` is what it replaces, if anything.
///
/// Not for apply patches. A client may write `managedFields` itself: valid entries are taken, invalid
/// or missing ones are ignored, and an empty list ends the tracking until the next apply. Writes to
/// subresources cannot change them. An object that cannot be tracked loses its `managedFields`.
pub(crate) fn track_update(
    info: &TypeInfo,
    live: Option<&Value>,
    new: &mut Value,
    manager: &str,
    subresource: Option<&str>,
    now: Timestamp,
) {
    let mut managed = managed_before(live, new, subresource);
    object::remove_meta(new, "managedFields");
    if managed.owners.is_empty() && live.is_some() {
        return;
    }
    let mut old = live.cloned().unwrap_or_else(|| object_meta::blank(info));
    object::remove_meta(&mut old, "managedFields");
    let api_version = object_meta::api_version(info);
    let write = Write {
        root: TypeRef::of_objects(info),
        api_version: &api_version,
        unchangeable: &reset::unchangeable_fields(info, subresource),
        server_fields: &reset::SERVER_FIELDS,
    };
    let manager = Manager::new(Operation::Update, manager, &api_version, subresource);
    let time = match subresource {
        // Kubernetes converts the entries of a scale to those of its object and loses the time.
        Some("scale") => managed.owners.get(&manager).and_then(|owned| owned.time.clone()),
        _ => Some(now.to_string()),
    };
    if write.track(&old, new, &mut managed, &manager, time).is_ok() {
        // What cannot be written is left out: the object itself is more important.
        let _ = managed.write_to(new);
    }
}

fn managed_before(live: Option<&Value>, new: &Value, subresource: Option<&str>) -> Managed {
    if subresource.is_none() {
        if is_reset(new) {
            return Managed::default();
        }
        if let Ok(managed) = Managed::of(new)
            && !managed.owners.is_empty()
        {
            return managed;
        }
    }
    live.and_then(|live| Managed::of(live).ok()).unwrap_or_default()
}

/// Puts back the times of `managedFields` if nothing else differs, so that the write is none.
///
/// To be called when the new object is complete, since only then it is known what differs.
pub(crate) fn keep_times(live: &Value, new: &mut Value) {
    let entries = |object: &Value| object["metadata"]["managedFields"].as_array().cloned();
    let (Some(old_entries), Some(new_entries)) = (entries(live), entries(new)) else { return };
    let same_entry = |(old, new): (&Value, &Value)| match (old, new) {
        (Value::Object(old), Value::Object(new)) => {
            let timeless = |(name, _): &(&String, &Value)| *name != "time";
            old.iter().filter(timeless).eq(new.iter().filter(timeless))
        }
        _ => old == new,
    };
    if old_entries.len() != new_entries.len() || !old_entries.iter().zip(&new_entries).all(same_entry) {
        return;
    }
    object::set_meta(new, "managedFields", old_entries);
    if new != live {
        object::set_meta(new, "managedFields", new_entries);
    }
}

fn conflict(conflicts: &[(Manager, Path)]) -> Status {
    let cause = |(manager, path): &(Manager, Path)| Cause {
        reason: Some("FieldManagerConflict".to_owned()),
        message: Some(format!("conflict with {}", manager.shown())),
        field: Some(show_path(path)),
    };
    let message = match conflicts {
        [(manager, path)] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", manager.shown(), show_path(path))
        }
        many => {
            let mut by_manager: BTreeMap<String, (&Manager, Vec<String>)> = BTreeMap::new();
            for (manager, path) in many {
                let (_, paths) =
                    by_manager.entry(manager.identifier()).or_insert_with(|| (manager, Vec::new()));
                paths.push(format!("- {}", show_path(path)));
            }
            let lines: Vec<String> = by_manager
                .values()
                .map(|(manager, paths)| format!("conflicts with {}:\n{}", manager.shown(), paths.join("\n")))
                .collect();
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    Status::apply_conflict(message, conflicts.iter().map(cause).collect())
}
