//! The database: all objects, and what each request does to them.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass::{Answer, Ask};
use windlass_model::{Body, Change, Cluster, Key, MemoryStore, PatchKind, Request, Store, Verb, object};

use crate::host::collector;
use crate::ids::{AnswerId, AskId, ClusterId};
use crate::intern::Interner;

/// All clusters seen so far, and what each request did to each.
pub(crate) struct Database {
    /// One per distinct store; the number is the state's word.
    clusters: Vec<Arc<Cluster>>,
    ids: Interner<MemoryStore>,
    effects: FxHashMap<(ClusterId, AskId), Applied>,
    collections: FxHashMap<ClusterId, Arc<[Collection]>>,
    /// Whether lists come without their version. It counts all writes, and would distinguish what is alike.
    unversioned_lists: bool,
    /// Whether the controllers of workloads are among the cluster's own.
    workloads: bool,
}

/// What a request did.
#[derive(Clone)]
pub(crate) struct Applied {
    /// The cluster afterwards.
    pub(crate) cluster: ClusterId,
    /// The answer.
    pub(crate) answer: AnswerId,
    /// What changed.
    pub(crate) changes: Arc<[Change]>,
}

/// Something that one of the cluster's own controllers would do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    /// Which of them.
    pub(crate) actor: &'static str,
    /// The number of its ask.
    pub(crate) ask: AskId,
}

impl Database {
    pub(crate) fn new(unversioned_lists: bool, workloads: bool) -> Self {
        Database {
            clusters: Vec::new(),
            ids: Interner::new(),
            effects: FxHashMap::default(),
            collections: FxHashMap::default(),
            unversioned_lists,
            workloads,
        }
    }

    /// The number of a cluster.
    pub(crate) fn id(&mut self, cluster: Cluster) -> ClusterId {
        let id = self.ids.id(cluster.store().clone());
        if id.index() == self.clusters.len() {
            self.clusters.push(Arc::new(cluster));
        }
        id
    }

    pub(crate) fn cluster(&self, id: ClusterId) -> &Arc<Cluster> {
        &self.clusters[id.index()]
    }

    pub(crate) fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Applies a request, by the number of its ask.
    pub(crate) fn apply(
        &mut self,
        cluster: ClusterId,
        ask: AskId,
        asks: &Interner<Ask>,
        answers: &mut Interner<Answer>,
    ) -> Applied {
        if let Some(applied) = self.effects.get(&(cluster, ask)) {
            return applied.clone();
        }
        let mut after = (**self.cluster(cluster)).clone();
        let (mut response, changes) = match &**asks.get(ask) {
            Ask::Api { request, .. } => {
                let effect = after.handle(request);
                after.commit(&effect.changes);
                (effect.response, effect.changes)
            }
            other => unreachable!("only API requests reach the database, not {other:?}"),
        };
        if let (true, Body::List(list)) = (self.unversioned_lists, &mut response.body) {
            "1".clone_into(&mut list.resource_version);
        }
        let applied = Applied {
            cluster: self.id(after),
            answer: answers.id(Answer::Api(response)),
            changes: changes.into(),
        };
        self.effects.insert((cluster, ask), applied.clone());
        applied
    }

    /// What the cluster's own controllers would do now.
    pub(crate) fn collections(&mut self, cluster: ClusterId, asks: &mut Interner<Ask>) -> Arc<[Collection]> {
        if let Some(known) = self.collections.get(&cluster) {
            return known.clone();
        }
        let steps = collector::next_requests(self.cluster(cluster), self.workloads);
        let wanted: Arc<[Collection]> = steps
            .into_iter()
            .map(|step| Collection { actor: step.controller, ask: asks.id(plain(step.request)) })
            .collect();
        self.collections.insert(cluster, wanted.clone());
        wanted
    }

    /// Whether a write can never change anything again, because what it depends on will not come back:
    /// versions of an object only grow, and uids are never given twice.
    pub(crate) fn is_dead(&self, cluster: ClusterId, ask: &Ask) -> bool {
        match ask {
            Ask::Api { request, .. } => {
                !request.verb.is_write() || self.precondition_is_over(cluster, request)
            }
            _ => false,
        }
    }

    fn precondition_is_over(&self, cluster: ClusterId, request: &Request) -> bool {
        let Some(key) = key_of(request) else { return false };
        let cluster = self.cluster(cluster);
        // The version of the last write to the object, be it there or not.
        let last = cluster.store().next_version(&key, 0) - 1;
        let is_over = |version: Option<&str>| {
            version
                .and_then(|version| version.parse::<u64>().ok())
                .is_some_and(|version| version != 0 && version < last)
        };
        match request.verb {
            // A merge patch never creates, so a version that is over is over for good.
            Verb::Patch(PatchKind::Merge) => is_over(request.body.as_ref().map(object::resource_version)),
            Verb::Delete => {
                let wanted = &request.options.preconditions;
                let live = cluster.store().get(&key);
                let other = |uid: &str| live.as_ref().is_none_or(|live| object::uid(live) != uid);
                is_over(wanted.resource_version.as_deref()) || wanted.uid.as_deref().is_some_and(other)
            }
            _ => false,
        }
    }
}

/// The key of the object that a request names.
pub(crate) fn key_of(request: &Request) -> Option<Key> {
    let namespace = request.namespace.as_deref().unwrap_or("");
    Some(Key::new(&request.resource.group, &request.resource.plural, namespace, request.name.as_ref()?))
}

/// The key of the object that a request names or creates, with an empty name if that is generated.
pub(crate) fn key_written(request: &Request) -> Option<Key> {
    let created = || {
        let body = request.body.as_ref().filter(|_| request.verb == Verb::Create)?;
        let namespace = request.namespace.as_deref().unwrap_or("");
        Some(Key::new(&request.resource.group, &request.resource.plural, namespace, object::name(body)))
    };
    key_of(request).or_else(created)
}

/// Whether a request insists on the very object, or the very version, that its sender has seen.
pub(crate) fn insists(request: &Request) -> bool {
    let preconditions = &request.options.preconditions;
    let body = request.body.as_ref();
    let says = |read: fn(&serde_json::Value) -> &str| body.is_some_and(|body| !read(body).is_empty());
    preconditions.uid.is_some()
        || preconditions.resource_version.is_some()
        || says(object::uid)
        || says(object::resource_version)
}

/// A request that no cache may answer.
pub(crate) fn plain(request: Request) -> Ask {
    Ask::Api {
        request: Box::new(request),
        shortcut: windlass::Shortcut::None,
        detail: windlass::Detail::Whole,
    }
}
