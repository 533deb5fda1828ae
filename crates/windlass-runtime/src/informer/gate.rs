//! What an informer takes in of what its server sends: always less than all, if it is of some shards.

use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use serde_json::Value;
use windlass::model::object;
use windlass::model::selector::{ShardKey, ShardSelector, shard_hash};

/// Decides what is taken in. While it is held, it does not change.
pub(super) struct Gate(RwLock<Passing>);

/// What may pass.
pub(super) enum Passing {
    Everything,
    Shards(ShardSelector),
    Nothing,
}

impl Gate {
    /// For the shards of a selection.
    ///
    /// # Errors
    /// When the selector cannot be read.
    pub(super) fn new(shards: Option<&str>) -> Result<Self, String> {
        let shards = shards.map(ShardSelector::parse).transpose()?;
        Ok(Gate(RwLock::new(shards.map_or(Passing::Everything, Passing::Shards))))
    }

    /// From now on only these shards pass.
    pub(super) fn narrow(&self, shards: ShardSelector) {
        self.change(Passing::Shards(shards));
    }

    /// From now on nothing passes.
    pub(super) fn shut(&self) {
        self.change(Passing::Nothing);
    }

    fn change(&self, to: Passing) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = to;
    }

    /// Holds it as it is.
    pub(super) fn held(&self) -> RwLockReadGuard<'_, Passing> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lets_in(&self, object: &Value) -> bool {
        self.lets_in_named(object::namespace(object), object::uid(object))
    }

    pub(super) fn lets_in_named(&self, namespace: &str, uid: &str) -> bool {
        self.held().lets_in(namespace, uid)
    }
}

impl Passing {
    pub(super) fn lets_in(&self, namespace: &str, uid: &str) -> bool {
        match self {
            Passing::Everything => true,
            Passing::Nothing => false,
            Passing::Shards(shards) => shards.contains(shard_hash(match shards.key() {
                ShardKey::Uid => uid,
                ShardKey::Namespace => namespace,
            })),
        }
    }

    pub(super) fn is_shut(&self) -> bool {
        matches!(self, Passing::Nothing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_left_of_its_shards_passes() {
        let hash = |text: &str| u128::from(shard_hash(text));
        let of = |texts: &[&str]| {
            let ranges = texts.iter().map(|text| (hash(text), hash(text) + 1));
            ShardSelector::new(ShardKey::Uid, ranges).expect("it selects something")
        };
        let gate = Gate::new(Some(&of(&["a", "b"]).to_string())).expect("a selector");
        let passing = || ["a", "b", "c"].map(|uid| gate.lets_in_named("default", uid));
        assert_eq!(passing(), [true, true, false]);
        gate.narrow(of(&["b"]));
        assert_eq!(passing(), [false, true, false]);
        gate.shut();
        assert_eq!(passing(), [false, false, false]);
        assert!(Gate::new(None).expect("no selector").lets_in_named("default", "c"));
    }
}
