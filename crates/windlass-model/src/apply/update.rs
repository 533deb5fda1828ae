//! How ownership moves between managers when an object changes.

use serde_json::Value;

use super::compare::{Comparison, compare};
use super::field_set::{FieldSet, Path};
use super::managed::{Managed, Manager, Owned};
use super::merge::merge;
use super::ownership::{fields_of, reconciled, with_named_fields, without};
use super::type_ref::TypeRef;

/// Why an apply did not go through.
#[derive(Debug)]
pub(super) enum ApplyError {
    /// Other managers own fields that it would change.
    Conflicts(Vec<(Manager, Path)>),
    /// The objects cannot be compared or merged.
    Broken(String),
}

/// What stays the same for all steps of one write.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) root: TypeRef<'a>,
    /// The version that objects and new entries are in.
    pub(super) api_version: &'a str,
    /// Fields that this write cannot change.
    pub(super) unchangeable: &'a FieldSet,
    /// Fields that have no owner.
    pub(super) server_fields: &'a FieldSet,
}

impl Write<'_> {
    /// Gives the fields that differ between two objects to a manager; all others lose them.
    ///
    /// Nothing happens if nothing differs. `time` is when the manager took them.
    pub(super) fn track(
        &self,
        old: &Value,
        new: &Value,
        managed: &mut Managed,
        manager: &Manager,
        time: Option<String>,
    ) -> Result<(), String> {
        self.reconcile(managed);
        let comparison = compare(self.root, old, new)?.excluding(self.unchangeable);
        let (mut taken, removed) = comparison.into_written_and_removed();
        for owned in managed.owners.values_mut() {
            owned.fields.subtract(&taken);
            owned.fields.subtract(&removed);
        }
        managed.drop_empty();
        taken.subtract(self.server_fields);
        if !taken.is_empty() {
            let mut fields = managed.owners.remove(manager).map_or(FieldSet::new(), |owned| owned.fields);
            fields.add(taken);
            let owned = Owned { api_version: self.api_version.to_owned(), fields, time };
            managed.owners.insert(manager.clone(), owned);
        }
        managed.cap_updaters();
        Ok(())
    }

    /// Merges a configuration into a live object and removes what the applier no longer wants.
    ///
    /// Returns the new object, without regard to `managedFields` inside it.
    pub(super) fn apply(
        &self,
        live: &Value,
        config: &Value,
        managed: &mut Managed,
        manager: &Manager,
        force: bool,
    ) -> Result<Value, ApplyError> {
        self.reconcile(managed);
        let merged = merge(self.root, live, config)
            .map_err(|why| ApplyError::Broken(format!("failed to merge config: {why}")))?;
        let mut wanted = fields_of(self.root, config);
        wanted.subtract_with_all_below(self.unchangeable);
        let last = managed.owners.remove(manager);
        let time = last.as_ref().and_then(|owned| owned.time.clone());
        let owned = Owned { api_version: self.api_version.to_owned(), fields: wanted, time };
        managed.owners.insert(manager.clone(), owned);
        let last = last.map_or(FieldSet::new(), |owned| owned.fields);
        let new = self.prune(merged, managed, &last);

        let comparison = compare(self.root, live, &new)
            .map_err(|why| ApplyError::Broken(format!("failed to compare objects: {why}")))?;
        self.take_from_others(managed, manager, comparison.excluding(self.unchangeable), force)?;
        managed.drop_empty();
        if let Some(owned) = managed.owners.get_mut(manager) {
            owned.fields.subtract(self.server_fields);
        }
        managed.drop_empty();
        Ok(new)
    }

    /// Takes changed fields from the other managers, which is a conflict unless it is forced.
    fn take_from_others(
        &self,
        managed: &mut Managed,
        manager: &Manager,
        comparison: Comparison,
        force: bool,
    ) -> Result<(), ApplyError> {
        let (written, removed) = comparison.into_written_and_removed();
        let others = || managed.owners.iter().filter(|(other, _)| *other != manager);
        let conflicts: Vec<(Manager, Path)> = others()
            .flat_map(|(other, owned)| {
                let lost = owned.fields.intersection(&written).paths();
                lost.into_iter().map(|path| (other.clone(), path))
            })
            .collect();
        if !force && !conflicts.is_empty() {
            return Err(ApplyError::Conflicts(conflicts));
        }
        for (other, owned) in &mut managed.owners {
            if other != manager {
                owned.fields.subtract(&written);
                owned.fields.subtract(&removed);
            }
        }
        Ok(())
    }

    /// Removes the fields that the applier had applied last time, has not applied now, and that no
    /// other manager owns.
    fn prune(&self, merged: Value, managed: &Managed, last: &FieldSet) -> Value {
        if last.is_empty() {
            return merged;
        }
        let full = |fields: &FieldSet| with_named_fields(self.root, fields);
        let all_of = |value: &Value| full(&fields_of(self.root, value));
        let last = full(last);
        let merged_fields = all_of(&merged);

        let pruned = without(self.root, &merged, &last);
        let owned = managed.owners.values().fold(FieldSet::new(), |mut all, owned| {
            all.add(owned.fields.clone());
            all
        });
        let kept = all_of(&pruned).union(&full(&owned));
        let pruned = without(self.root, &merged, &merged_fields.difference(&kept));

        // An item takes everything inside it along; what the applier never owned comes back.
        let gone = merged_fields.difference(&all_of(&pruned));
        without(self.root, &merged, &gone.intersection(&last))
    }

    fn reconcile(&self, managed: &mut Managed) {
        for owned in managed.owners.values_mut() {
            owned.fields = reconciled(self.root, &owned.fields);
        }
    }
}
