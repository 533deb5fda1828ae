//! From the rows that a droplet has to those that it is to have.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::row::{Key, Row};

/// A row as a daemon holds it, or the trace of one that it has deleted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// Which row.
    pub key: Key,
    /// The rest; none if it was deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Row>,
    /// It grows with every write of this key, deletions included.
    pub generation: u64,
    /// Which deletions the trace is of; empty if the row is there.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deleted_for: String,
}

/// A write of one row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Change {
    /// Which row.
    pub key: Key,
    /// What it is to be; none to delete it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Row>,
    /// The generation that this is based on: the daemon refuses the write if the row has another one by now. A key that was
    /// never written has generation 0. So a write that arrives late cannot undo a newer one.
    pub replaces: u64,
    /// Kept with the trace of a deleted row: what is being deleted, so that this need not be done again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub deleted_for: String,
}

/// Rows that were asked for before, by what is being deleted or has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Former {
    /// Which rows.
    pub rows: BTreeSet<Key>,
    /// What is being deleted: the trace of a row that was deleted for the same is as good as another.
    pub deleted_for: String,
}

impl Change {
    /// A write, or a deletion for no special reason.
    pub fn new(key: Key, row: Option<Row>, replaces: u64) -> Self {
        Change { key, row, replaces, deleted_for: String::new() }
    }
}

/// What makes the wanted rows of those that are held. All others are of the generation `floor`.
///
/// Rows that are as they should be are written, too, and former rows are deleted even if they are absent: both raise the
/// generation, so that a write which was decided on before, and has not arrived yet, is refused. A row that was deleted for
/// the same reason is left alone: whoever has read that trace has seen the reason.
pub fn changes(held: &[Held], floor: u64, wanted: &BTreeMap<Key, Row>, former: &Former) -> Vec<Change> {
    let by_key: BTreeMap<&Key, &Held> = held.iter().map(|held| (&held.key, held)).collect();
    let is_deleted = |key: &&Key| {
        by_key.get(key).is_some_and(|held| held.row.is_none() && held.deleted_for == former.deleted_for)
    };
    let surplus = held.iter().filter(|held| held.row.is_some()).map(|held| &held.key);
    let former_rows = former.rows.iter().filter(|key| !is_deleted(key));
    let deleted: BTreeSet<&Key> =
        surplus.chain(former_rows).filter(|key| !wanted.contains_key(key)).collect();
    let generation = |key: &Key| by_key.get(key).map_or(floor, |held| held.generation);
    let deletions = deleted.into_iter().map(|key| Change {
        deleted_for: former.deleted_for.clone(),
        ..Change::new(key.clone(), None, generation(key))
    });
    let writes = wanted.iter().map(|(key, row)| Change::new(key.clone(), Some(row.clone()), generation(key)));
    deletions.chain(writes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vpc(tunnel: u32, routers: &[&str]) -> (Key, Row) {
        let routers_ips = routers.iter().map(|ip| (*ip).to_owned()).collect();
        (Key::Vpc { tunnel }, Row::Vpc { routers_ips })
    }

    #[test]
    fn writes_what_is_wanted_and_deletes_the_rest() {
        let held = |(key, row): (Key, Row), generation| Held {
            key,
            row: Some(row),
            generation,
            deleted_for: String::new(),
        };
        let trace = |tunnel, deleted_for: &str| {
            let key = Key::Vpc { tunnel };
            Held { key, row: None, generation: 5, deleted_for: deleted_for.to_owned() }
        };
        let held =
            [held(vpc(1, &["a"]), 3), held(vpc(2, &["b"]), 1), trace(3, ""), trace(5, "x"), trace(6, "y")];
        let wanted = BTreeMap::from([vpc(1, &["a"]), vpc(3, &["c"]), vpc(4, &["d"])]);
        let rows = [4, 5, 6, 9].map(|tunnel| Key::Vpc { tunnel });
        let former = Former { rows: BTreeSet::from(rows), deleted_for: "x".to_owned() };
        let shown: Vec<String> = changes(&held, 0, &wanted, &former)
            .iter()
            .map(|change| {
                let what = if change.row.is_some() { "write" } else { "delete" };
                format!("{what} {} of generation {}", change.key, change.replaces)
            })
            .collect();
        assert_eq!(
            shown,
            [
                "delete Vpc 2 of generation 1",
                "delete Vpc 6 of generation 5",
                "delete Vpc 9 of generation 0",
                "write Vpc 1 of generation 3",
                "write Vpc 3 of generation 5",
                "write Vpc 4 of generation 0",
            ]
        );
    }
}
