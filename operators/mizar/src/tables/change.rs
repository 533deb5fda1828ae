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
}

/// What makes the wanted rows of those that are held.
///
/// Rows that are as they should be are written, too, and `retired` keys are deleted even if they are absent: both raise the
/// generation, so that a write which was decided on before, and has not arrived yet, is refused.
pub fn changes(held: &[Held], wanted: &BTreeMap<Key, Row>, retired: &BTreeSet<Key>) -> Vec<Change> {
    let generations: BTreeMap<&Key, u64> = held.iter().map(|held| (&held.key, held.generation)).collect();
    let surplus = held.iter().filter(|held| held.row.is_some()).map(|held| &held.key);
    let deleted: BTreeSet<&Key> = surplus.chain(retired).filter(|key| !wanted.contains_key(key)).collect();
    let change = |key: &Key, row: Option<&Row>| Change {
        key: key.clone(),
        row: row.cloned(),
        replaces: generations.get(key).copied().unwrap_or(0),
    };
    let deletions = deleted.into_iter().map(|key| change(key, None));
    deletions.chain(wanted.iter().map(|(key, row)| change(key, Some(row)))).collect()
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
        let held = |(key, row): (Key, Row), generation| Held { key, row: Some(row), generation };
        let held = [
            held(vpc(1, &["a"]), 3),
            held(vpc(2, &["b"]), 1),
            Held { key: Key::Vpc { tunnel: 3 }, row: None, generation: 5 },
        ];
        let wanted = BTreeMap::from([vpc(1, &["a"]), vpc(3, &["c"]), vpc(4, &["d"])]);
        let retired = BTreeSet::from([Key::Vpc { tunnel: 4 }, Key::Vpc { tunnel: 9 }]);
        let shown: Vec<String> = changes(&held, &wanted, &retired)
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
                "delete Vpc 9 of generation 0",
                "write Vpc 1 of generation 3",
                "write Vpc 3 of generation 5",
                "write Vpc 4 of generation 0",
            ]
        );
    }
}
