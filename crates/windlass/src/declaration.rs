//! What a machine says about itself before it runs: its name, its outputs, its triggers.

use std::sync::Arc;

use serde_json::Value;
use windlass_model::{Key, object};

use crate::kind::{Kind, KindInfo, ObjectRef, from_value};

/// The domain of all labels, annotations and finalizers that the framework sets.
const DOMAIN: &str = "windlass.dev";
/// While a parent carries this annotation (other than `false`), its controller does nothing to it.
pub const SUSPEND_ANNOTATION: &str = "windlass.dev/suspend";
/// On every output that can be found again: its parent, as [`owner_label`] writes it.
pub const OWNER_LABEL: &str = "windlass.dev/owner";
/// On every output that can be found again: the controller that made it.
pub const CONTROLLER_LABEL: &str = "windlass.dev/controller";
/// On outputs that have no owner reference: the controller and its parent, as `controller/namespace/name`, so
/// that events find the parent and the parent finds its output.
pub const OWNER_ANNOTATION: &str = "windlass.dev/owner";

/// What a machine says about itself. Filled in by [`Machine::declare`](crate::Machine::declare).
#[derive(Clone)]
pub struct Declaration {
    /// The controller's name: its field manager, its finalizer, its name in metrics and messages.
    pub(crate) name: String,
    /// The kind that it reconciles.
    pub(crate) parent: KindInfo,
    pub(crate) outputs: Vec<OutputKind>,
    pub(crate) watches: Vec<Watch>,
    pub(crate) create_missing: Option<CreateMissing>,
    keeps_status: bool,
}

/// A kind of object that a machine may ensure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputKind {
    /// The kind.
    pub kind: KindInfo,
    /// Whether outputs may stand outside the parent's namespace, where no owner reference can reach.
    pub anywhere: bool,
}

/// A kind whose changes trigger reconciles.
#[derive(Clone)]
pub struct Watch {
    /// The kind.
    pub kind: KindInfo,
    map: MapToParents,
}

/// Why a reconcile of a parent is due.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Trigger {
    /// The parent.
    pub parent: ObjectRef,
    /// What changed.
    pub cause: Cause,
}

/// What changed when a reconcile is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Cause {
    /// The parent itself.
    Parent,
    /// One of its outputs.
    Output,
    /// Something that the machine watches. Only this can make a parent that does not exist.
    Watched,
}

type MapToParents = Arc<dyn Fn(&Value) -> Vec<ObjectRef> + Send + Sync>;
type CreateMissing = Arc<dyn Fn(&ObjectRef) -> Value + Send + Sync>;

impl Declaration {
    pub(crate) fn new(name: String, parent: KindInfo) -> Self {
        // A built-in kind has a status of its own, with no room for what the framework keeps there.
        let keeps_status = parent.resource.group.contains('.') && !parent.resource.group.ends_with(".k8s.io");
        Declaration {
            name,
            parent,
            outputs: Vec::new(),
            watches: Vec::new(),
            create_missing: None,
            keeps_status,
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
        let map =
            Arc::new(move |value: &Value| from_value::<K>(value).map_or(Vec::new(), |object| map(&object)));
        self.watches.push(Watch { kind: K::kind_info(), map });
        self
    }

    /// How to make a parent that does not exist when a watched object (see [`Declaration::watches`]) names it.
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
            None => self.outputs.push(OutputKind { kind, anywhere }),
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

    /// The further kinds that trigger it.
    pub fn watched(&self) -> &[Watch] {
        &self.watches
    }

    /// Whether conditions and inventory are written to the parent's status. Parents of built-in kinds have no
    /// room for them: their outputs are found again by labels alone.
    pub fn keeps_status(&self) -> bool {
        self.keeps_status
    }

    /// Whether a watched object that names a parent that does not exist makes one.
    pub fn creates_missing(&self) -> bool {
        self.create_missing.is_some()
    }

    /// What an output without an owner reference says about its parent.
    pub(crate) fn owner_annotation(&self, parent: &ObjectRef) -> String {
        format!("{}/{parent}", self.name)
    }

    /// Panics if the name cannot be part of a label, a field manager and a finalizer.
    pub(crate) fn check_name(&self) {
        let errors = windlass_model::metadata::names::is_dns1123_label(&self.name);
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

    /// The reconciles that a change of an object makes due: of the object itself, of its owner, and of what a
    /// watch maps it to.
    pub fn triggers(&self, key: &Key, object: &Value) -> Vec<Trigger> {
        let is = |kind: &KindInfo| *kind.resource.group == *key.group && *kind.resource.plural == *key.plural;
        let mut triggers = Vec::new();
        let mut add = |parents: Vec<ObjectRef>, cause| {
            triggers.extend(parents.into_iter().map(|parent| Trigger { parent, cause }));
        };
        if is(&self.parent) {
            add(vec![ObjectRef::of(object)], Cause::Parent);
        }
        if self.outputs.iter().any(|output| is(&output.kind)) {
            add(self.owners_of(object), Cause::Output);
        }
        for watch in self.watches.iter().filter(|watch| is(&watch.kind)) {
            add((watch.map)(object), Cause::Watched);
        }
        triggers.sort();
        triggers.dedup();
        triggers
    }

    /// The parents that an output names, by owner reference or by annotation.
    fn owners_of(&self, output: &Value) -> Vec<ObjectRef> {
        let owners = object::owner_references(output).iter().filter(|owner| self.is_parent_kind(owner));
        let namespace = if self.parent.namespaced { object::namespace(output) } else { "" };
        let named = owners.filter_map(|owner| Some(ObjectRef::new(namespace, owner["name"].as_str()?)));
        let annotated = object::annotation(output, OWNER_ANNOTATION)
            .and_then(|owner| owner.strip_prefix(self.name.as_str())?.strip_prefix('/'))
            .map(|parent| parent.split_once('/').unwrap_or(("", parent)))
            .map(|(namespace, name)| ObjectRef::new(namespace, name));
        named.chain(annotated).collect()
    }

    /// Whether an owner reference names an object of the parent's kind.
    pub(crate) fn is_parent_kind(&self, owner: &Value) -> bool {
        let (group, _) = object::split_api_version(owner["apiVersion"].as_str().unwrap_or(""));
        owner["kind"] == self.parent.kind.as_str() && group == self.parent.resource.group
    }
}

/// `namespace.name` of a parent as a label value. A namespace has no dot, so this is unambiguous; what is longer
/// than a label value may be is cut and told apart by a hash.
pub fn owner_label(parent: &ObjectRef) -> String {
    const MAX_BYTES: usize = 63;
    let full = if parent.namespace.is_empty() {
        parent.name.clone()
    } else {
        format!("{}.{}", parent.namespace, parent.name)
    };
    if full.len() <= MAX_BYTES {
        return full;
    }
    let hash = full.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{}-{hash:016x}", full.get(..MAX_BYTES - 17).unwrap_or_default())
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

    #[test]
    fn owner_labels_fit_and_differ() {
        assert_eq!(owner_label(&ObjectRef::new("default", "a.b")), "default.a.b");
        assert_eq!(owner_label(&ObjectRef::new("", "a")), "a");
        let long = "x".repeat(200);
        let one = owner_label(&ObjectRef::new("ns", &format!("{long}1")));
        let two = owner_label(&ObjectRef::new("ns", &format!("{long}2")));
        assert_eq!(one.len(), 63);
        assert_ne!(one, two);
    }
}
