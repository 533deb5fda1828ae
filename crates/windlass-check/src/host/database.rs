//! The database: all objects, and what each request does to them.

use std::rc::Rc;

use rustc_hash::FxHashMap;
use windlass::{Answer, Ask};
use windlass_model::{
    Change, Cluster, Key, MemoryStore, PatchKind, Request, Store, Verb, definitions, gc, namespaces, object,
};

use crate::intern::Interner;

/// All clusters seen so far, and what each request did to each.
pub(crate) struct Database {
    /// One per distinct store; the number is the state's word.
    clusters: Vec<Cluster>,
    ids: Interner<MemoryStore>,
    effects: FxHashMap<(u32, u32), Applied>,
    collections: FxHashMap<u32, Rc<[u32]>>,
    dead: FxHashMap<(u32, u32), bool>,
}

/// What a request did.
#[derive(Clone)]
pub(crate) struct Applied {
    /// The cluster afterwards.
    pub(crate) cluster: u32,
    /// The answer.
    pub(crate) answer: u32,
    /// What changed.
    pub(crate) changes: Rc<[Change]>,
}

impl Database {
    pub(crate) fn new() -> Self {
        Database {
            clusters: Vec::new(),
            ids: Interner::new(),
            effects: FxHashMap::default(),
            collections: FxHashMap::default(),
            dead: FxHashMap::default(),
        }
    }

    /// The number of a cluster.
    pub(crate) fn id(&mut self, cluster: Cluster) -> u32 {
        let id = self.ids.id(cluster.store().clone());
        if id as usize == self.clusters.len() {
            self.clusters.push(cluster);
        }
        id
    }

    pub(crate) fn cluster(&self, id: u32) -> &Cluster {
        &self.clusters[id as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.clusters.len()
    }

    /// Applies a request, by the number of its ask.
    pub(crate) fn apply(
        &mut self,
        cluster: u32,
        ask: u32,
        asks: &Interner<Ask>,
        answers: &mut Interner<Answer>,
    ) -> Applied {
        if let Some(applied) = self.effects.get(&(cluster, ask)) {
            return applied.clone();
        }
        let mut after = self.clusters[cluster as usize].clone();
        let (response, changes) = match &**asks.get(ask) {
            Ask::Api { request, .. } => {
                let effect = after.handle(request);
                after.commit(&effect.changes);
                (effect.response, effect.changes)
            }
            other => unreachable!("only API requests reach the database, not {other:?}"),
        };
        let applied = Applied {
            cluster: self.id(after),
            answer: answers.id(Answer::Api(response)),
            changes: changes.into(),
        };
        self.effects.insert((cluster, ask), applied.clone());
        applied
    }

    /// What the cluster's own controllers (garbage collector, namespaces, definitions) would do now, as numbers of
    /// asks.
    pub(crate) fn collections(&mut self, cluster: u32, asks: &mut Interner<Ask>) -> Rc<[u32]> {
        if let Some(known) = self.collections.get(&cluster) {
            return known.clone();
        }
        let now = &self.clusters[cluster as usize];
        let mut requests = gc::next_requests(now.store(), now.types());
        requests.extend(namespaces::next_requests(now.store(), now.types()));
        requests.extend(definitions::next_requests(now.store(), now.types(), now.now()));
        let wanted: Rc<[u32]> = requests.into_iter().map(|request| asks.id(plain(request))).collect();
        self.collections.insert(cluster, wanted.clone());
        wanted
    }

    /// Whether a write can never change anything again, because what it depends on will not come back:
    /// versions of an object only grow, and uids are never given twice.
    pub(crate) fn is_dead(&mut self, cluster: u32, ask: u32, asks: &Interner<Ask>) -> bool {
        if let Some(dead) = self.dead.get(&(cluster, ask)) {
            return *dead;
        }
        let dead = match &**asks.get(ask) {
            Ask::Api { request, .. } => {
                !request.verb.is_write() || self.precondition_is_over(cluster, request)
            }
            _ => false,
        };
        self.dead.insert((cluster, ask), dead);
        dead
    }

    fn precondition_is_over(&self, cluster: u32, request: &Request) -> bool {
        let Some(name) = &request.name else { return false };
        let cluster = &self.clusters[cluster as usize];
        let namespace = request.namespace.as_deref().unwrap_or("");
        let key = Key::new(&request.resource.group, &request.resource.plural, namespace, name);
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

/// A request that no cache may answer.
pub(crate) fn plain(request: Request) -> Ask {
    Ask::Api { request: Box::new(request), shortcut: windlass::Shortcut::None }
}
