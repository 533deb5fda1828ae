//! Which objects of a kind are watched, how much of them, and which of their changes count: written by the user.

use std::marker::PhantomData;
use std::sync::Arc;

use kube_core::metadata::PartialObjectMeta;
use serde_json::Value;
use windlass_model::selector::{FieldSelector, LabelSelector};

use crate::kind::{Kind, KindInfo, from_value};

use super::watch::{Predicate, Role, WatchDeclaration};

/// Which objects of a kind are watched, how much of them, and which of their changes count.
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
/// use windlass::{Declaration, ObjectRef, changed, watching, watching_metadata};
///
/// fn declare(declaration: &mut Declaration) {
///     declaration
///         // Only such pods are sent to this process at all, and a change of their status alone is no trigger.
///         .watch(watching::<Pod>().labels("example.com/network").when(changed::generation), |pod| {
///             let network = pod.metadata.labels.as_ref().and_then(|labels| labels.get("example.com/network"));
///             network.map(|network| ObjectRef::new("", network)).into_iter().collect()
///         })
///         // Of secrets, only the metadata is sent.
///         .watch(watching_metadata::<Secret>(), |secret| {
///             vec![ObjectRef::new("", secret.metadata.namespace.as_deref().unwrap_or_default())]
///         })
///         // Of the parents, here ConfigMaps, only those that say so are reconciled.
///         .parents(watching::<ConfigMap>().labels("example.com/managed=true"));
/// }
/// ```
#[must_use = "hand it to Declaration::watch or Declaration::parents"]
pub struct Watching<K> {
    kind: KindInfo,
    labels: Vec<String>,
    fields: Vec<String>,
    indexed: Vec<String>,
    metadata_only: bool,
    when: Option<Predicate>,
    seen_as: PhantomData<fn(&K)>,
}

/// Watches all objects of a kind and all of their changes.
pub fn watching<K: Kind>() -> Watching<K> {
    Watching {
        kind: K::kind_info(),
        labels: Vec::new(),
        fields: Vec::new(),
        indexed: Vec::new(),
        metadata_only: false,
        when: None,
        seen_as: PhantomData,
    }
}

/// Watches only the metadata of objects, without `managedFields`: the rest is neither sent nor cached, so large objects
/// cost little.
pub fn watching_metadata<K>() -> Watching<PartialObjectMeta<K>>
where
    PartialObjectMeta<K>: Kind,
{
    Watching { metadata_only: true, ..watching() }
}

impl<K: Kind> Watching<K> {
    /// Only objects with such labels, in the grammar of `kubectl get -l`. To this watch, an object that loses them is
    /// deleted. If called twice, both selectors must match.
    ///
    /// A cached list by the value of a label that is named here costs no more than its answer.
    pub fn labels(mut self, selector: &str) -> Self {
        self.labels.push(selector.to_owned());
        self
    }

    /// Only objects with such fields, in the grammar of `kubectl get --field-selector`. Which fields can be selected
    /// is up to the API server: those of custom resources must be declared in their definition.
    pub fn fields(mut self, selector: &str) -> Self {
        self.fields.push(selector.to_owned());
        self
    }

    /// A cached list by the value of this label costs no more than its answer, even if there are many other objects.
    pub fn indexed_by(mut self, label: &str) -> Self {
        self.indexed.push(label.to_owned());
        self
    }

    /// Only changes for which this holds are triggers. It gets the object before, unless it is new, and after, unless
    /// it is gone; [`changed`](crate::changed) has some ready-made. If called twice, both must hold.
    ///
    /// It must be a function of the two objects and nothing else. It also decides about creations and deletions.
    pub fn when(mut self, counts: impl Fn(Option<&K>, Option<&K>) -> bool + Send + Sync + 'static) -> Self {
        let earlier = self.when.take();
        self.when = Some(Arc::new(move |before: Option<&Value>, after: Option<&Value>| {
            if earlier.as_ref().is_some_and(|earlier| !earlier(before, after)) {
                return false;
            }
            let read = |object: Option<&Value>| object.map(from_value::<K>).transpose();
            // What cannot be read may mean anything.
            let (Ok(before), Ok(after)) = (read(before), read(after)) else { return true };
            counts(before.as_ref(), after.as_ref())
        }));
        self
    }

    /// Parses what the user wrote; what cannot be parsed is reported in `errors`.
    pub(super) fn read(self, role: Role, errors: &mut Vec<String>) -> WatchDeclaration {
        let kind = self.kind.qualified();
        let (labels, fields) = (self.labels.join(","), self.fields.join(","));
        let mut report = |what: &str, text: &str, message: String| {
            errors.push(format!(
                "the {what} selector {text:?} of the watch of {kind} cannot be read: {message}"
            ));
        };
        let labels = LabelSelector::parse(&labels).unwrap_or_else(|message| {
            report("label", &labels, message);
            LabelSelector::Nothing
        });
        let fields = FieldSelector::parse(&fields).unwrap_or_else(|message| {
            report("field", &fields, message);
            FieldSelector::default()
        });
        WatchDeclaration {
            kind: self.kind,
            labels,
            fields,
            metadata_only: self.metadata_only,
            indexed: self.indexed,
            role,
            when: self.when,
        }
    }
}
