//! The database host: the objects, and what each request does to them.

use std::collections::BTreeMap;

/// A parent by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Name {
    A,
    B,
}

/// Which of a parent's two ConfigMaps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Child {
    First,
    Second,
}

/// A parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Pair {
    pub(crate) version: u32,
    /// Whether its status says that all is done.
    pub(crate) ready: bool,
}

/// A ConfigMap. Its contents never change once it is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ConfigMap {
    pub(crate) version: u32,
}

/// What a controller can ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Request {
    GetPair(Name),
    GetConfigMap(Name, Child),
    Apply(Name, Child),
    List(Name),
    /// Succeeds only if the parent still has this version.
    PatchStatus(Name, u32),
}

impl Request {
    pub(crate) fn is_write(self) -> bool {
        matches!(self, Request::Apply(..) | Request::PatchStatus(..))
    }
}

/// What the database answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Reply {
    NotFound,
    Pair(Pair),
    ConfigMap(ConfigMap),
    Applied {
        created: bool,
        config_map: ConfigMap,
    },
    /// What a pair has: both ConfigMaps, whenever it is asked for.
    Listed,
    Conflict,
}

/// All objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Database {
    pairs: BTreeMap<Name, Pair>,
    config_maps: BTreeMap<(Name, Child), ConfigMap>,
}

impl Database {
    pub(crate) fn new(pairs: &[Name]) -> Self {
        let pairs = pairs.iter().map(|name| (*name, Pair { version: 1, ready: false })).collect();
        Database { pairs, config_maps: BTreeMap::new() }
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = Name> {
        self.pairs.keys().copied()
    }

    pub(crate) fn has(&self, name: Name, child: Child) -> bool {
        self.config_maps.contains_key(&(name, child))
    }

    /// Answers a request; also says which parent is to be notified of a change.
    pub(crate) fn handle(&mut self, request: Request) -> (Reply, Option<Name>) {
        match request {
            Request::GetPair(name) => {
                (self.pairs.get(&name).map_or(Reply::NotFound, |pair| Reply::Pair(*pair)), None)
            }
            Request::GetConfigMap(name, child) => {
                let found = self.config_maps.get(&(name, child));
                (found.map_or(Reply::NotFound, |config_map| Reply::ConfigMap(*config_map)), None)
            }
            Request::Apply(name, child) => self.apply(name, child),
            Request::List(_) => (Reply::Listed, None),
            Request::PatchStatus(name, version) => self.patch_status(name, version),
        }
    }

    fn apply(&mut self, name: Name, child: Child) -> (Reply, Option<Name>) {
        if let Some(config_map) = self.config_maps.get(&(name, child)) {
            return (Reply::Applied { created: false, config_map: *config_map }, None);
        }
        let config_map = ConfigMap { version: 1 };
        self.config_maps.insert((name, child), config_map);
        (Reply::Applied { created: true, config_map }, Some(name))
    }

    fn patch_status(&mut self, name: Name, version: u32) -> (Reply, Option<Name>) {
        match self.pairs.get_mut(&name) {
            None => (Reply::NotFound, None),
            Some(pair) if pair.version != version => (Reply::Conflict, None),
            Some(pair) => {
                *pair = Pair { version: version + 1, ready: true };
                (Reply::Pair(*pair), Some(name))
            }
        }
    }

    /// Whether a cache can show that a request would change nothing. It does not try with the status.
    pub(crate) fn is_unchanged_by(&self, request: Request) -> bool {
        match request {
            Request::Apply(name, child) => self.has(name, child),
            _ => !request.is_write(),
        }
    }

    /// Whether a request can never change anything again: versions only grow.
    pub(crate) fn is_dead(&self, request: Request) -> bool {
        match request {
            Request::PatchStatus(name, version) => {
                self.pairs.get(&name).is_some_and(|pair| version < pair.version)
            }
            _ => !request.is_write(),
        }
    }
}
