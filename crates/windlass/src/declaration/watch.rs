//! A watch as the checker and the runtime read it: which objects it selects, and which parents their changes trigger.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass_model::object;
use windlass_model::selector::{FieldSelector, LabelSelector, Operator};

use crate::kind::{KindInfo, ObjectRef};

use super::SUSPEND_ANNOTATION;

pub(super) type MapToParents = Arc<dyn Fn(&Value) -> Vec<ObjectRef> + Send + Sync>;
pub(super) type Predicate = Arc<dyn Fn(Option<&Value>, Option<&Value>) -> bool + Send + Sync>;

/// Objects whose changes trigger reconciles.
#[derive(Clone)]
pub struct WatchDeclaration {
    /// The kind.
    pub kind: KindInfo,
    /// Only objects with such labels are watched.
    pub labels: LabelSelector,
    /// Only objects with such fields are watched.
    pub fields: FieldSelector,
    /// Whether only the metadata of objects is watched.
    pub metadata_only: bool,
    pub(super) indexed: Vec<String>,
    pub(super) role: Role,
    pub(super) when: Option<Predicate>,
}

/// What watched objects are to the controller.
#[derive(Clone)]
pub(super) enum Role {
    Parent,
    Output,
    Further(MapToParents),
}

impl WatchDeclaration {
    /// All of a kind.
    pub(super) fn whole(kind: KindInfo, role: Role) -> Self {
        WatchDeclaration {
            kind,
            labels: LabelSelector::everything(),
            fields: FieldSelector::default(),
            metadata_only: false,
            indexed: Vec::new(),
            role,
            when: None,
        }
    }

    /// Whether this is the watch of the parents.
    pub fn is_of_parents(&self) -> bool {
        matches!(self.role, Role::Parent)
    }

    /// Whether this is a watch of outputs.
    pub fn is_of_outputs(&self) -> bool {
        matches!(self.role, Role::Output)
    }

    /// Whether the machine asked for this watch, beside those of its parents and outputs.
    pub fn is_further(&self) -> bool {
        matches!(self.role, Role::Further(_))
    }

    /// The labels by whose values objects are looked up.
    pub fn indexed_labels(&self) -> impl Iterator<Item = &str> {
        let requirements = match &self.labels {
            LabelSelector::Nothing => &[],
            LabelSelector::All(requirements) => requirements.as_slice(),
        };
        // Where a label has one value or none, there is nothing to look up.
        let varies = |operator| {
            !matches!(operator, Operator::Equals | Operator::DoubleEquals | Operator::DoesNotExist)
        };
        let named = requirements.iter().filter(move |requirement| varies(requirement.operator));
        named.map(|requirement| requirement.key.as_str()).chain(self.indexed.iter().map(String::as_str))
    }

    /// Whether an object is among those that are watched.
    pub fn selects(&self, object: &Value) -> bool {
        self.labels.matches(&object["metadata"]["labels"]) && self.fields.matches(object)
    }

    /// What the watch shows of an object; `None` if the object is not selected.
    pub fn selected<'a>(&self, object: &'a Value) -> Option<Cow<'a, Value>> {
        if !self.selects(object) {
            return None;
        }
        Some(if self.metadata_only { Cow::Owned(only_metadata(object)) } else { Cow::Borrowed(object) })
    }

    /// Whether a change, as the watch shows it, is a trigger.
    pub(super) fn counts(&self, before: Option<&Value>, after: Option<&Value>) -> bool {
        let Some(when) = &self.when else { return true };
        when(before, after) || (self.is_of_parents() && affects_the_framework(before, after))
    }
}

/// What a metadata-only watch shows of an object.
pub fn only_metadata(object: &Value) -> Value {
    let mut metadata = object["metadata"].clone();
    if let Some(fields) = metadata.as_object_mut() {
        fields.remove("managedFields");
    }
    json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": metadata })
}

/// Changes of a parent that a machine cannot know to wait for: the framework acts on them before any state runs.
fn affects_the_framework(before: Option<&Value>, after: Option<&Value>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return false };
    let suspended = |parent| object::annotation(parent, SUSPEND_ANNOTATION);
    object::is_deleting(before) != object::is_deleting(after) || suspended(before) != suspended(after)
}
