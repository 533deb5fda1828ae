//! The rows of one daemon with their generations: what the daemon keeps, and what its model keeps.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

use super::change::{Change, Held};
use super::row::{Key, Row};
use super::scope::Scope;
use crate::address::Range;

/// Maximum number of traces of deleted rows that are kept one by one.
const MAX_TRACES: usize = 4096;

/// The rows of one daemon, and the traces of deleted ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableStore {
    rows: BTreeMap<Key, Generation>,
    /// How many of them are traces.
    traces: usize,
    /// The generation of every row that is not among them: the highest of those whose traces were dropped.
    floor: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Generation {
    number: u64,
    row: Option<Row>,
    deleted_for: String,
}

/// Why a batch of changes was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key} is of generation {held} by now, and not of {replaces}")]
pub struct Outdated {
    /// The first row that has changed.
    pub key: Key,
    /// Its generation.
    pub held: u64,
    /// The generation that the change was based on.
    pub replaces: u64,
}

impl TableStore {
    /// The rows in some scopes, deleted ones included.
    pub fn held(&self, scopes: &[Scope]) -> Vec<Held> {
        let mut found: BTreeMap<&Key, &Generation> = BTreeMap::new();
        for scope in scopes {
            for first in scope.ranges() {
                let range =
                    self.rows.range(&first..).take_while(|(key, _)| scope.may_go_on_after(&first, key));
                found.extend(range.filter(|(key, _)| scope.contains(key)));
            }
        }
        let held = |(key, held): (&Key, &Generation)| Held {
            key: key.clone(),
            row: held.row.clone(),
            generation: held.number,
            deleted_for: held.deleted_for.clone(),
        };
        found.into_iter().map(held).collect()
    }

    /// The rows that there are.
    pub fn rows(&self) -> impl Iterator<Item = (&Key, &Row)> {
        self.rows.iter().filter_map(|(key, held)| Some((key, held.row.as_ref()?)))
    }

    /// The generation of a row.
    pub fn generation(&self, key: &Key) -> u64 {
        self.rows.get(key).map_or(self.floor, |held| held.number)
    }

    /// The generation of every row of which there is not even a trace.
    pub fn floor(&self) -> u64 {
        self.floor
    }

    /// Drops the traces of deleted rows. From then on, no row that is absent is of a generation that anybody has read before,
    /// so what the traces have refused is still refused; and so is, once, what is right.
    pub fn drop_traces(&mut self) {
        let traces = self.rows.values().filter(|held| held.row.is_none());
        self.floor = traces.map(|held| held.number).fold(self.floor, u64::max);
        self.rows.retain(|_, held| held.row.is_some());
        self.traces = 0;
    }

    /// Whether changes can be performed.
    ///
    /// # Errors
    /// When a row is not of the generation that its change replaces.
    pub fn check(&self, changes: &[Change]) -> Result<(), Outdated> {
        for Change { key, replaces, .. } in changes {
            let held = self.generation(key);
            if held != *replaces {
                return Err(Outdated { key: key.clone(), held, replaces: *replaces });
            }
        }
        Ok(())
    }

    /// Performs all changes, or none.
    ///
    /// # Errors
    /// When a row is not of the generation that its change replaces.
    pub fn write(&mut self, changes: &[Change]) -> Result<(), Outdated> {
        self.check(changes)?;
        for Change { key, row, replaces, deleted_for } in changes {
            let (number, deleted_for) = (replaces + 1, deleted_for.clone());
            self.traces += usize::from(row.is_none());
            let before = self.rows.insert(key.clone(), Generation { number, row: row.clone(), deleted_for });
            self.traces -= usize::from(before.is_some_and(|before| before.row.is_none()));
        }
        if self.traces > MAX_TRACES {
            self.drop_traces();
        }
        Ok(())
    }

    /// One row.
    pub fn get(&self, key: &Key) -> Option<&Row> {
        self.rows.get(key)?.row.as_ref()
    }

    /// The network of a VPC that an address is in: the one with the longest prefix.
    pub fn network_of(&self, tunnel: u32, ip: Ipv4Addr) -> Option<(&Key, &Row)> {
        let of_address = |key: &Key| match key {
            Key::Net { tunnel: of, nip, prefix } if *of == tunnel => {
                Range::new(nip, *prefix).ok().filter(|range| range.contains(ip)).map(|_| *prefix)
            }
            _ => None,
        };
        self.rows()
            .filter_map(|(key, row)| Some((of_address(key)?, key, row)))
            .max_by_key(|found| found.0)
            .map(|(_, key, row)| (key, row))
    }
}

/// With rows as a list: JSON has no maps with such keys.
#[derive(Serialize, Deserialize)]
struct Written {
    #[serde(default, skip_serializing_if = "is_zero")]
    floor: u64,
    rows: Vec<Held>,
}

/// Whether JSON leaves a number out.
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Serialize for TableStore {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Written { floor: self.floor, rows: self.held(&[Scope::All]) }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TableStore {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Written { floor, rows } = Written::deserialize(deserializer)?;
        let traces = rows.iter().filter(|held| held.row.is_none()).count();
        let rows = rows.into_iter().map(|Held { key, row, generation: number, deleted_for }| {
            (key, Generation { number, row, deleted_for })
        });
        Ok(TableStore { rows: rows.collect(), traces, floor })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Protocol;

    fn change(tunnel: u32, router: Option<&str>, replaces: u64) -> Change {
        let row = router.map(|router| Row::Vpc { routers_ips: vec![router.to_owned()] });
        Change::new(Key::Vpc { tunnel }, row, replaces)
    }

    #[test]
    fn a_late_write_changes_nothing() {
        let mut store = TableStore::default();
        let late = [change(1, Some("late"), 0)];
        assert_eq!(store.write(&[change(1, Some("a"), 0), change(2, Some("b"), 0)]), Ok(()));
        assert_eq!(store.write(&[change(1, None, 1)]), Ok(()));
        let why = store.write(&late).expect_err("it is late").to_string();
        assert_eq!(why, "Vpc 1 is of generation 2 by now, and not of 0");
        assert_eq!(store.rows().count(), 1);
    }

    #[test]
    fn a_batch_is_performed_whole_or_not_at_all() {
        let mut store = TableStore::default();
        assert!(store.write(&[change(1, Some("a"), 0), change(2, Some("b"), 7)]).is_err());
        assert_eq!(store, TableStore::default());
    }

    #[test]
    fn every_scope_finds_what_it_contains_and_no_more() {
        let ip = |last: u8| format!("10.0.0.{last}");
        let keys = [
            Key::Vpc { tunnel: 1 },
            Key::Vpc { tunnel: 2 },
            Key::Net { tunnel: 1, nip: "10.0.0.0".to_owned(), prefix: 24 },
            Key::Net { tunnel: 2, nip: "10.0.0.0".to_owned(), prefix: 24 },
            Key::Endpoint { tunnel: 1, ip: ip(2) },
            Key::Endpoint { tunnel: 1, ip: ip(3) },
            Key::Endpoint { tunnel: 2, ip: ip(2) },
            Key::Substrate { user: "a".to_owned(), ip: ip(2) },
            Key::Substrate { user: "a".to_owned(), ip: ip(3) },
            Key::Substrate { user: "b".to_owned(), ip: ip(2) },
            Key::Port { tunnel: 1, ip: ip(2), port: 80, protocol: Protocol::Tcp },
            Key::Port { tunnel: 1, ip: ip(2), port: 80, protocol: Protocol::Udp },
            Key::Port { tunnel: 1, ip: ip(3), port: 80, protocol: Protocol::Tcp },
            Key::AgentEndpoint { itf: "x".to_owned(), ip: ip(2) },
            Key::AgentEndpoint { itf: "y".to_owned(), ip: ip(2) },
            Key::AgentMetadata { itf: "x".to_owned() },
            Key::AgentMetadata { itf: "y".to_owned() },
            Key::Interface { namespace: "n".to_owned(), pod: "p".to_owned(), itf: "eth0".to_owned() },
            Key::Interface { namespace: "n".to_owned(), pod: "q".to_owned(), itf: "eth0".to_owned() },
        ];
        let mut store = TableStore::default();
        let written = keys.clone().map(|key| Change::new(key, None, 0));
        assert_eq!(store.write(&written), Ok(()));
        let scopes = [
            Scope::All,
            Scope::Vpc { tunnel: 1 },
            Scope::Nets { tunnel: 1 },
            Scope::Net { tunnel: 2, nip: "10.0.0.0".to_owned() },
            Scope::Address { tunnel: 1, ip: ip(2) },
            Scope::Addresses { tunnel: 1, range: "10.0.0.0/30".to_owned() },
            Scope::User { user: "a".to_owned() },
            Scope::Agent { itf: "x".to_owned() },
            Scope::Interface { namespace: "n".to_owned(), pod: "p".to_owned() },
        ];
        for scope in scopes {
            let expected: Vec<&Key> = keys.iter().filter(|key| scope.contains(key)).collect();
            assert!(!expected.is_empty(), "{scope:?} is not tried");
            let held = store.held(std::slice::from_ref(&scope));
            assert_eq!(held.iter().map(|held| &held.key).collect::<Vec<_>>(), expected, "{scope:?}");
        }
    }

    #[test]
    fn the_longest_prefix_wins() {
        let mut store = TableStore::default();
        let net = |nip: &str, prefix| {
            Change::new(
                Key::Net { tunnel: 1, nip: nip.to_owned(), prefix },
                Some(Row::Net { switches_ips: Vec::new() }),
                0,
            )
        };
        assert_eq!(store.write(&[net("10.0.0.0", 8), net("10.1.0.0", 16)]), Ok(()));
        let found = |ip: [u8; 4]| store.network_of(1, ip.into()).map(|(key, _)| key.to_string());
        assert_eq!(found([10, 1, 2, 3]).as_deref(), Some("Net 1 10.1.0.0/16"));
        assert_eq!(found([10, 2, 2, 3]).as_deref(), Some("Net 1 10.0.0.0/8"));
        assert_eq!(found([11, 2, 2, 3]), None);
    }

    #[test]
    fn what_a_trace_refused_is_refused_without_it() {
        let mut store = TableStore::default();
        assert_eq!(store.write(&[change(1, Some("a"), 0), change(2, Some("b"), 0)]), Ok(()));
        assert_eq!(store.write(&[change(2, None, 1)]), Ok(()));
        store.drop_traces();
        assert_eq!((store.rows.len(), store.floor()), (1, 2));
        for known in [0, 1] {
            assert!(store.write(&[change(2, Some("late"), known)]).is_err());
            assert!(store.write(&[change(3, Some("never written"), known)]).is_err());
        }
        assert_eq!(store.write(&[change(2, Some("c"), 2), change(1, Some("d"), 1)]), Ok(()));
        assert_eq!(store.generation(&Key::Vpc { tunnel: 2 }), 3);
    }

    #[test]
    fn traces_are_dropped_when_there_are_too_many() {
        let mut store = TableStore::default();
        for tunnel in 0..u32::try_from(3 * MAX_TRACES).unwrap_or(u32::MAX) {
            let replaces = store.generation(&Key::Vpc { tunnel });
            assert_eq!(store.write(&[change(tunnel, Some("a"), replaces)]), Ok(()));
            assert_eq!(store.write(&[change(tunnel, None, replaces + 1)]), Ok(()));
            assert!(store.traces <= MAX_TRACES && store.rows.len() == store.traces);
        }
        assert_eq!(store.floor(), 4, "they were dropped twice");
    }

    #[test]
    fn traces_of_deleted_rows_are_serialized() {
        let mut store = TableStore::default();
        assert_eq!(store.write(&[change(1, Some("a"), 0), change(2, None, 0)]), Ok(()));
        let json = serde_json::to_value(&store).expect("JSON");
        assert_eq!(serde_json::from_value::<TableStore>(json).expect("the same"), store);
    }
}
