//! Label indexes: the objects with a given value of a label are found without a look at the others.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use windlass::model::selector::LabelSelector;
use windlass::{OWNER_LABEL, ObjectRef};

use super::namespace_range::namespace_range;

/// The values that one object has of the labels that are indexed: the number of the label, and its value.
pub(crate) type IndexedValues = Box<[(usize, Box<str>)]>;

/// The keys of objects by the values of some labels.
pub(super) struct Indexes {
    labels: Arc<[Box<str>]>,
    /// For each label, the keys by value.
    keys: Vec<HashMap<Box<str>, BTreeSet<Arc<ObjectRef>>>>,
}

impl Default for Indexes {
    /// By the owner: a reconcile asks for all outputs of its parent.
    fn default() -> Self {
        Indexes { labels: Arc::new([OWNER_LABEL.into()]), keys: vec![HashMap::new()] }
    }
}

impl Indexes {
    /// The labels that are indexed.
    pub(super) fn labels(&self) -> &Arc<[Box<str>]> {
        &self.labels
    }

    /// Indexes one more label, of the objects that come from now on.
    pub(super) fn add_label(&mut self, label: &str) {
        if self.labels.iter().any(|known| **known == *label) {
            return;
        }
        self.labels = self.labels.iter().cloned().chain([label.into()]).collect();
        self.keys.push(HashMap::new());
    }

    pub(super) fn insert(&mut self, values: &IndexedValues, key: &Arc<ObjectRef>) {
        for (label, value) in values {
            if let Some(keys) = self.keys.get_mut(*label) {
                keys.entry(value.clone()).or_default().insert(Arc::clone(key));
            }
        }
    }

    pub(super) fn remove(&mut self, values: &IndexedValues, key: &ObjectRef) {
        for (label, value) in values {
            let Some(by_value) = self.keys.get_mut(*label) else { continue };
            let Some(keys) = by_value.get_mut(value) else { continue };
            keys.remove(key);
            if keys.is_empty() {
                by_value.remove(value);
            }
        }
    }

    /// The keys of all objects that a selector can select, in order; `None` if no index covers the selector. Of several
    /// indexes, the one that yields the fewest keys is used.
    pub(super) fn candidates(
        &self,
        selector: &LabelSelector,
        namespace: Option<&str>,
    ) -> Option<Vec<&Arc<ObjectRef>>> {
        let ways = selector.demanded().filter_map(|(label, values)| {
            let number = self.labels.iter().position(|known| **known == *label)?;
            let by_value = self.keys.get(number)?;
            Some(values.iter().filter_map(|value| by_value.get(value.as_str())).collect::<Vec<_>>())
        });
        let fewest = ways.min_by_key(|sets| sets.iter().map(|set| set.len()).sum::<usize>())?;
        let mut found: Vec<&Arc<ObjectRef>> = match namespace {
            None => fewest.into_iter().flatten().collect(),
            Some(namespace) => {
                fewest.into_iter().flat_map(|set| set.range(namespace_range(namespace))).collect()
            }
        };
        found.sort_unstable();
        Some(found)
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.keys.iter().all(HashMap::is_empty)
    }
}
