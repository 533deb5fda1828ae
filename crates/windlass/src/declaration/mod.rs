//! What a machine says about itself before it runs: its name, its outputs, its triggers.

mod owner;
mod rights;
mod trigger;
mod watch;
mod watching;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use windlass_model::{Key, object};

use crate::kind::{Kind, KindInfo, ObjectRef, from_value};
use crate::permissions::Right;

pub use owner::{CONTROLLER_LABEL, OWNER_ANNOTATION, OWNER_LABEL, owner_label};
pub use trigger::{Cause, Trigger};
use watch::Role;
pub use watch::{WatchDeclaration, only_metadata};
pub use watching::{Watching, watching, watching_metadata};

/// The domain of all labels, annotations and finalizers that the framework sets.
const DOMAIN: &str = "windlass.dev";
/// While a parent carries this annotation (other than `false`), its controller does nothing to it.
pub const SUSPEND_ANNOTATION: &str = "windlass.dev/suspend";

/// What a machine says about itself. Filled in by [`Machine::declare`](crate::Machine::declare).
#[derive(Clone)]
pub struct Declaration {
    /// The controller's name: its field manager, its finalizer, its name in metrics and messages.
    pub(crate) name: String,
    /// The kind that it reconciles.
    pub(crate) parent: KindInfo,
    pub(crate) outputs: Vec<OutputKind>,
    /// That of the parents comes first.
    watches: Vec<WatchDeclaration>,
    pub(crate) create_missing: Option<CreateMissing>,
    pub(crate) resync: Option<Duration>,
    completed: Option<IsCompleted>,
    keeps_status: bool,
    /// What the machine does beyond what follows from all this.
    rights: BTreeSet<Right>,
    /// Mistakes in the declaration; a controller with any of them does not start.
    errors: Vec<String>,
}

/// A kind of object that a machine may ensure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputKind {
    /// The kind.
    pub kind: KindInfo,
    /// Whether outputs may be outside the parent's namespace, where no owner reference can reach.
    pub anywhere: bool,
}

type IsCompleted = Arc<dyn Fn(&Value) -> bool + Send + Sync>;
type CreateMissing = Arc<dyn Fn(&ObjectRef) -> Value + Send + Sync>;

impl Declaration {
    pub(crate) fn new(name: String, parent: KindInfo) -> Self {
        // A built-in kind has a status of its own, with no room for what the framework keeps there.
        let keeps_status = parent.resource.group.contains('.') && !parent.resource.group.ends_with(".k8s.io");
        Declaration {
            name,
            watches: vec![WatchDeclaration::whole(parent.clone(), Role::Parent)],
            parent,
            outputs: Vec::new(),
            create_missing: None,
            resync: None,
            completed: None,
            keeps_status,
            rights: BTreeSet::new(),
            errors: Vec::new(),
        }
    }

    /// Names the controller; without this it has the name of its Rust type, in kebab-case.
    ///
    /// The name is part of labels and of the finalizer: under another one, old outputs are not found again, and
    /// the finalizer of the old name keeps parents from being deleted.
    pub fn name(&mut self, name: &str) -> &mut Self {
        self.name = name.to_owned();
        self
    }

    /// The machine ensures objects of this kind, in the parent's namespace or, for a cluster-scoped parent, in any.
    pub fn output<K: Kind>(&mut self) -> &mut Self {
        self.add_output(K::kind_info(), false)
    }

    /// The machine ensures objects of this kind outside the parent's namespace too.
    ///
    /// Garbage collection cannot reach them, so the controller sets a finalizer and deletes them itself.
    pub fn output_anywhere<K: Kind>(&mut self) -> &mut Self {
        self.add_output(K::kind_info(), true)
    }

    /// A change of an object of this kind triggers the parents that `map` names.
    ///
    /// `map` sees the object before and after each change, so that neither side is missed.
    pub fn watches<K: Kind>(
        &mut self,
        map: impl Fn(&K) -> Vec<ObjectRef> + Send + Sync + 'static,
    ) -> &mut Self {
        self.watch(watching(), map)
    }

    /// The same, with more to say about which objects are watched, how much of them, and which changes count: see
    /// [`watching`] and [`watching_metadata`].
    pub fn watch<K: Kind>(
        &mut self,
        watching: Watching<K>,
        map: impl Fn(&K) -> Vec<ObjectRef> + Send + Sync + 'static,
    ) -> &mut Self {
        let map =
            Arc::new(move |value: &Value| from_value::<K>(value).map_or(Vec::new(), |object| map(&object)));
        let watch = watching.read(Role::Further(map), &mut self.errors);
        self.watches.push(watch);
        self
    }

    /// Selects which parents are reconciled, and which of their changes are triggers. Default: all.
    ///
    /// A parent that is not selected is left alone, even if it was selected before: its outputs stay, and so does its
    /// finalizer. A selected parent is always reconciled when its deletion begins and when it is suspended or resumed.
    pub fn parents<K: Kind>(&mut self, watching: Watching<K>) -> &mut Self {
        let watch = watching.read(Role::Parent, &mut self.errors);
        let (kind, parent) = (watch.kind.qualified(), self.parent.qualified());
        if watch.kind.resource != self.parent.resource {
            self.errors
                .push(format!("parents(..) is about {kind}, but the parents are of the kind {parent}"));
        } else if watch.metadata_only {
            self.errors.push(format!(
                "parents(..) asks for the metadata of {parent} only, but a reconcile needs all"
            ));
        }
        self.watches[0] = watch;
        self
    }

    /// Requeues every parent this long after its last run, even if nothing has changed. Default: never.
    ///
    /// A run that ended with a terminal error is not repeated. A run that asks to be requeued later than this is
    /// requeued after this interval instead.
    pub fn resync(&mut self, interval: Duration) -> &mut Self {
        self.resync = Some(interval);
        self
    }

    /// Which parents are complete: nothing will ever be left to do for them, like a Job that has finished. Default: none.
    ///
    /// A complete parent is not reconciled, whatever changes, until its deletion begins. A sharded controller does not
    /// even track it.
    pub fn completed<K: Kind>(
        &mut self,
        is_completed: impl Fn(&K) -> bool + Send + Sync + 'static,
    ) -> &mut Self {
        let (kind, parent) = (K::kind_info().qualified(), self.parent.qualified());
        if K::kind_info().resource != self.parent.resource {
            self.errors
                .push(format!("completed(..) is about {kind}, but the parents are of the kind {parent}"));
        }
        self.completed = Some(Arc::new(move |value: &Value| {
            from_value::<K>(value).is_ok_and(|object| is_completed(&object))
        }));
        self
    }

    /// Nothing is written to the status of parents: no conditions, no inventory. For a kind without a status, and for one
    /// whose parents are many and have little to say. Outputs are found again by their labels alone, as for parents of
    /// built-in kinds.
    pub fn without_status(&mut self) -> &mut Self {
        self.keeps_status = false;
        self
    }

    /// How to make a parent that does not exist when a watched object (see [`Declaration::watches`]), or something
    /// outside the cluster, names it. It should be one that [`Declaration::parents`] selects.
    ///
    /// A parent that was deleted is not made again by its own deletion or by that of its outputs.
    pub fn create_missing<K: Kind>(
        &mut self,
        make: impl Fn(&ObjectRef) -> K + Send + Sync + 'static,
    ) -> &mut Self {
        self.create_missing = Some(Arc::new(move |target: &ObjectRef| {
            crate::kind::to_value(&make(target)).unwrap_or_default()
        }));
        self
    }

    fn add_output(&mut self, kind: KindInfo, anywhere: bool) -> &mut Self {
        // A namespaced owner cannot own a cluster-scoped object.
        let anywhere = anywhere || (self.parent.namespaced && !kind.namespaced);
        match self.outputs.iter_mut().find(|known| known.kind.resource == kind.resource) {
            Some(known) => known.anywhere |= anywhere,
            None => {
                self.watches.push(WatchDeclaration::whole(kind.clone(), Role::Output));
                self.outputs.push(OutputKind { kind, anywhere });
            }
        }
        self
    }

    /// The controller's name.
    pub fn controller(&self) -> &str {
        &self.name
    }

    /// The kind that the controller reconciles.
    pub fn parent(&self) -> &KindInfo {
        &self.parent
    }

    /// The kinds that it may ensure.
    pub fn outputs(&self) -> &[OutputKind] {
        &self.outputs
    }

    /// All that triggers it: the watch of its parents, then those of its outputs and of whatever else it asked for.
    pub fn all_watches(&self) -> &[WatchDeclaration] {
        &self.watches
    }

    /// What it asked to watch beside its parents and outputs.
    pub fn watched(&self) -> impl Iterator<Item = &WatchDeclaration> {
        self.watches.iter().filter(|watch| watch.is_further())
    }

    /// Whether a parent is among those that are reconciled.
    pub fn selects_parent(&self, parent: &Value) -> bool {
        self.watches[0].selects(parent)
    }

    /// Whether a parent is reconciled when it appears, as in the list that a watch begins with.
    pub fn is_triggered_by_appearance(&self, parent: &Value) -> bool {
        !self.triggers_from(&self.watches[0], None, Some(parent)).is_empty()
    }

    /// Whether nothing will ever be left to do for a parent. One that is being deleted may have a finalizer to run.
    pub fn is_completed(&self, parent: &Value) -> bool {
        let completed = self.completed.as_ref();
        completed.is_some_and(|completed| !object::is_deleting(parent) && completed(parent))
    }

    /// Whether conditions and inventory are written to the parent's status. Parents of built-in kinds have no
    /// room for them, and [`Declaration::without_status`] keeps them away: their outputs are found again by labels alone.
    pub fn keeps_status(&self) -> bool {
        self.keeps_status
    }

    /// Whether a parent that does not exist is made when something names it: see [`Cause::creates_missing`].
    pub fn creates_missing(&self) -> bool {
        self.create_missing.is_some()
    }

    /// Panics if the name cannot be part of a label, a field manager and a finalizer, or a selector cannot be read.
    pub(crate) fn check(&self) {
        let errors = self.errors.join("; ");
        assert!(errors.is_empty(), "the declaration of {} cannot be used: {errors}", self.name);
        let errors = windlass_model::names::is_dns1123_label(&self.name);
        assert!(
            errors.is_empty(),
            "the controller name {:?} cannot be used: {}",
            self.name,
            errors.join("; ")
        );
    }

    /// The field manager of everything that the controller writes.
    pub fn field_manager(&self) -> String {
        format!("windlass-{}", self.name)
    }

    /// The controller's finalizer.
    pub fn finalizer(&self) -> String {
        format!("{DOMAIN}/{}", self.name)
    }

    /// Whether some outputs are out of the garbage collector's reach.
    pub(crate) fn needs_cleanup(&self) -> bool {
        self.outputs.iter().any(|output| output.anywhere)
    }

    /// The reconciles that a change of an object triggers: of the object itself, of its owner, and of what a watch maps
    /// it to.
    pub fn triggers(&self, key: &Key, before: Option<&Value>, after: Option<&Value>) -> Vec<Trigger> {
        let is = |kind: &KindInfo| *kind.resource.group == *key.group && *kind.resource.plural == *key.plural;
        let mut triggers = Vec::new();
        for watch in self.watches.iter().filter(|watch| is(&watch.kind)) {
            let before = before.and_then(|object| watch.selected(object));
            let after = after.and_then(|object| watch.selected(object));
            triggers.extend(self.triggers_from(watch, before.as_deref(), after.as_deref()));
        }
        triggers.sort();
        triggers.dedup();
        triggers
    }

    /// The reconciles that a change observed by one watch (see [`Declaration::all_watches`]) triggers. The caller must
    /// leave out what the watch does not select, as a server does.
    pub fn triggers_from(
        &self,
        watch: &WatchDeclaration,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Vec<Trigger> {
        if let (Some(old), Some(new)) = (before, after)
            && object::uid(old) != object::uid(new)
        {
            // One object was deleted and another of the same name was created: predicates must not compare the two.
            let mut triggers = self.triggers_from(watch, before, None);
            triggers.extend(self.triggers_from(watch, None, after));
            return triggers;
        }
        let sides = || before.into_iter().chain(after);
        if sides().next().is_none() || !watch.counts(before, after) {
            return Vec::new();
        }
        let triggered = |object: &Value| match &watch.role {
            Role::Parent if after.is_some_and(|after| self.is_completed(after)) => {
                (Vec::new(), Cause::Parent)
            }
            Role::Parent => (vec![ObjectRef::of(object)], Cause::Parent),
            Role::Output => (self.owners_of(object), Cause::Output),
            Role::Further(map) => (map(object), Cause::Watched),
        };
        let with_cause = |(parents, cause): (Vec<ObjectRef>, Cause)| {
            parents.into_iter().map(move |parent| Trigger { parent, cause })
        };
        let mut triggers: Vec<Trigger> = sides().map(triggered).flat_map(with_cause).collect();
        triggers.sort();
        triggers.dedup();
        triggers
    }
}

/// `TwoConfigMaps` (with whatever path stands before it) as `two-config-maps`.
pub(crate) fn kebab_case(type_name: &str) -> String {
    let plain = type_name.split('<').next().unwrap_or(type_name);
    let last = plain.rsplit("::").next().unwrap_or(plain);
    let mut name = String::new();
    for character in last.chars() {
        if character.is_uppercase() && !name.is_empty() {
            name.push('-');
        }
        name.extend(character.to_lowercase());
    }
    name.replace('_', "-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_a_controller_after_its_type() {
        assert_eq!(kebab_case("my_crate::TwoConfigMaps"), "two-config-maps");
        assert_eq!(kebab_case("a::Generic<b::C>"), "generic");
    }
}
