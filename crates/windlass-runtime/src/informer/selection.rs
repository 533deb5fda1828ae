//! Which objects an informer keeps.

use windlass::KindInfo;
use windlass::model::{Request, ResourceId, Verb};

/// Which objects an informer keeps.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Selection {
    /// Group, version and plural.
    pub resource: ResourceId,
    /// One namespace; `None` for all, and for cluster-scoped kinds.
    pub namespace: Option<String>,
    /// A label selector, as written.
    pub labels: Option<String>,
    /// A field selector, as written.
    pub fields: Option<String>,
    /// A shard selector, as written: only objects whose hash is in its ranges.
    pub shards: Option<String>,
    /// Whether only the metadata of objects is requested.
    pub metadata_only: bool,
}

impl Selection {
    /// All objects of a kind, in one namespace or in all.
    pub fn whole(kind: &KindInfo, namespace: Option<&str>) -> Self {
        let namespace = namespace.filter(|_| kind.namespaced).map(str::to_owned);
        Selection {
            resource: kind.resource.clone(),
            namespace,
            labels: None,
            fields: None,
            shards: None,
            metadata_only: false,
        }
    }

    /// What a controller asks for, in each of some namespaces, or in all if none is given.
    pub(crate) fn all_of<'a>(
        watch: &'a windlass::WatchDeclaration,
        namespaces: &'a [String],
    ) -> impl Iterator<Item = Selection> + 'a {
        // What has no namespace is watched once.
        let whole = namespaces.is_empty() || !watch.kind.namespaced;
        let one_by_one = namespaces.iter().filter(move |_| !whole).map(|namespace| Some(namespace.as_str()));
        whole.then_some(None).into_iter().chain(one_by_one).map(|namespace| Selection::of(watch, namespace))
    }

    /// What a controller asks for, in one namespace or in all.
    fn of(watch: &windlass::WatchDeclaration, namespace: Option<&str>) -> Self {
        let (labels, fields) = (&watch.labels, &watch.fields);
        Selection {
            labels: (!labels.is_everything()).then(|| labels.to_string()),
            fields: (!fields.is_everything()).then(|| fields.to_string()),
            metadata_only: watch.metadata_only,
            ..Selection::whole(&watch.kind, namespace)
        }
    }

    /// The list request of these objects.
    pub(crate) fn request(&self) -> Request {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        let mut request = Request::new(Verb::List, self.resource.clone()).in_namespace(namespace);
        request.options.label_selector.clone_from(&self.labels);
        request.options.field_selector.clone_from(&self.fields);
        request.options.shard_selector.clone_from(&self.shards);
        request
    }

    /// Whether nothing but the namespace restricts it.
    pub(super) fn is_whole(&self) -> bool {
        self.labels.is_none() && self.fields.is_none() && self.shards.is_none() && !self.metadata_only
    }

    /// Whether all objects of a namespace, or (`None`) of all namespaces, are among those that it chooses from.
    pub(crate) fn reaches(&self, resource: &ResourceId, namespace: Option<&str>) -> bool {
        let everywhere = self.namespace.is_none();
        let there = everywhere || (namespace.is_some() && self.namespace.as_deref() == namespace);
        self.resource == *resource && there
    }

    /// In this order, one that covers another comes first.
    pub(crate) fn narrowness(&self) -> impl Ord + use<> {
        let length = |selector: &Option<String>| selector.as_ref().map_or(0, String::len);
        let selectors = length(&self.labels) + length(&self.fields) + length(&self.shards);
        (selectors > 0, self.metadata_only, selectors)
    }
}

impl std::fmt::Display for Selection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let ResourceId { group, plural, .. } = &self.resource;
        if self.metadata_only {
            f.write_str("metadata of ")?;
        }
        f.write_str(plural)?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, " in namespace {namespace}")?;
        }
        let selectors = self.labels.iter().chain(&self.fields);
        selectors.into_iter().try_for_each(|selector| write!(f, " with {selector}"))?;
        // Written out, these would fill pages of a log.
        let Some(shards) = &self.shards else { return Ok(()) };
        write!(f, " in {} ranges of hashes", shards.matches("shardRange").count())
    }
}
