//! Whether the tables of droplets are what the objects say.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::tables::{Key, Row};

/// A row that is not as it should be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Difference {
    /// The droplet.
    pub droplet: String,
    /// Which row, as `Ep 7 10.20.0.5`.
    pub row: String,
    /// What is wrong with it.
    pub kind: DifferenceKind,
    /// What the objects ask for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Row>,
    /// What the droplet has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<Row>,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DifferenceKind {
    /// The objects ask for it, and the droplet does not have it.
    Missing,
    /// The droplet has it, and no object asks for it.
    Surplus,
    /// It is another than the objects ask for.
    Different,
}

impl fmt::Display for DifferenceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DifferenceKind::Missing => "missing",
            DifferenceKind::Surplus => "surplus",
            DifferenceKind::Different => "different",
        })
    }
}

/// The differences between the rows that a droplet is to have and those that it has.
pub fn compare(droplet: &str, wanted: &BTreeMap<Key, Row>, found: &BTreeMap<Key, Row>) -> Vec<Difference> {
    let keys = wanted.keys().chain(found.keys().filter(|key| !wanted.contains_key(key)));
    let differences = keys.filter_map(|key| {
        let kind = match (wanted.get(key), found.get(key)) {
            (Some(wanted), Some(found)) if wanted == found => return None,
            (Some(_), Some(_)) => DifferenceKind::Different,
            (Some(_), None) => DifferenceKind::Missing,
            (None, _) => DifferenceKind::Surplus,
        };
        let (wanted, found) = (wanted.get(key).cloned(), found.get(key).cloned());
        Some(Difference { droplet: droplet.to_owned(), row: key.to_string(), kind, wanted, found })
    });
    differences.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_is_missing_surplus_and_different() {
        let row =
            |tunnel, router: &str| (Key::Vpc { tunnel }, Row::Vpc { routers_ips: vec![router.to_owned()] });
        let wanted = BTreeMap::from([row(1, "a"), row(2, "a"), row(3, "a")]);
        let found = BTreeMap::from([row(1, "a"), row(2, "b"), row(4, "a")]);
        let shown: Vec<String> =
            compare("d1", &wanted, &found).iter().map(|one| format!("{} {}", one.row, one.kind)).collect();
        assert_eq!(shown, ["Vpc 2 different", "Vpc 3 missing", "Vpc 4 surplus"]);
    }
}
