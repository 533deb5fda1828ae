//! The source of the items of a list, which need not be objects.

use std::sync::Arc;

use serde_json::Value;

use crate::filter::Filter;
use crate::store::{Key, Store};

/// A source of list items in key order: objects, or what represents them, such as their encoded text.
///
/// Every [`Store`] is a source of its objects. A server that stores encoded text lists it without decoding it.
pub trait ListSource {
    /// What a list is made of.
    type Item;

    /// The version that a list of this resource shows.
    fn version(&self, group: &str, plural: &str) -> u64;

    /// The item of this key.
    fn item(&self, key: &Key) -> Option<Self::Item>;

    /// The items of a resource in key order, of one namespace or of all, after a key if one is given.
    fn items<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Self::Item)> + 'a>;

    /// Number of items after a key. Override it where items can be counted without fetching them.
    fn count_after(&self, group: &str, plural: &str, namespace: Option<&str>, after: &Key) -> u64 {
        self.items(group, plural, namespace, Some(after)).count() as u64
    }

    /// The item as the filter shows it; `None` if it does not select it.
    fn selected(&self, filter: &Filter, key: &Key, item: Self::Item) -> Option<Self::Item>;
}

impl<S: Store + ?Sized> ListSource for S {
    type Item = Arc<Value>;

    fn version(&self, group: &str, plural: &str) -> u64 {
        self.list_version(group, plural)
    }

    fn item(&self, key: &Key) -> Option<Arc<Value>> {
        self.get(key)
    }

    fn items<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
        self.scan(group, plural, namespace, after)
    }

    fn selected(&self, filter: &Filter, key: &Key, item: Arc<Value>) -> Option<Arc<Value>> {
        filter.matches(key, &item).then(|| filter.served(&item))
    }
}
