//! Objects as their encoded text: lists and watches pass most of them on without reading them.

use std::sync::OnceLock;

use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;
use windlass_model::Filter;
use windlass_model::list::ListSource;
use windlass_model::response::{List, items_omit_type, without_type};
use windlass_model::selector::Excerpt;
use windlass_model::{Key, TypeInfo, object};

use crate::store::{Snapshot, StoredObject};

/// So large is a piece of a list: large enough for the network, small enough to hold many at a time.
pub(crate) const PIECE_BYTES: usize = 128 * 1024;

/// Lists the encoded texts of a snapshot.
pub(crate) struct Texts<'a> {
    snapshot: &'a Snapshot,
    form: ServedForm,
    /// Whether items leave out what the list says for all of them.
    without_type: bool,
    /// What the filter of the list looks at: one list has one filter.
    excerpt: OnceLock<Excerpt>,
}

/// How text begins that is already in the version that is asked for.
#[derive(Clone, Debug)]
pub(crate) struct ServedForm {
    /// The type, as the store writes it first.
    prefix: String,
}

impl ServedForm {
    /// The form of objects of this type.
    pub(crate) fn of(api_version: &str, kind: &str) -> Self {
        ServedForm {
            prefix: format!("{{\"apiVersion\":{},\"kind\":{}", Value::from(api_version), Value::from(kind)),
        }
    }

    /// The text of an object in the version of the filter, read only if it has another one.
    pub(crate) fn text(&self, filter: &Filter, object: &StoredObject) -> Bytes {
        if self.begins(object.text()) && filter.shows_as_stored() {
            object.text().clone()
        } else {
            encoded(&filter.served(&object.parse()))
        }
    }

    /// The same without the type.
    fn text_without_type(&self, filter: &Filter, object: &StoredObject) -> Untyped {
        let text = object.text();
        if self.begins(text) && filter.shows_as_stored() && text.get(self.prefix.len()) == Some(&b',') {
            return Untyped::After(text.slice(self.prefix.len() + 1..));
        }
        Untyped::Whole(encoded(&without_type(&filter.served(&object.parse()))))
    }

    fn begins(&self, text: &Bytes) -> bool {
        text.starts_with(self.prefix.as_bytes()) && matches!(text.get(self.prefix.len()), Some(b',' | b'}'))
    }
}

/// An object without its type.
pub(crate) enum Untyped {
    /// What follows the brace and the type.
    After(Bytes),
    /// All of it.
    Whole(Bytes),
}

/// The text of an object.
pub(crate) fn encoded(object: &Value) -> Bytes {
    serde_json::to_vec(object).unwrap_or_default().into()
}

impl<'a> Texts<'a> {
    /// The objects of a snapshot, shown in one version of a type.
    pub(crate) fn of(snapshot: &'a Snapshot, info: &TypeInfo) -> Self {
        Texts { without_type: items_omit_type(info.origin), ..Texts::with_type(snapshot, info) }
    }

    /// The same, where each object stands for itself.
    pub(crate) fn with_type(snapshot: &'a Snapshot, info: &TypeInfo) -> Self {
        let resource = &info.resource;
        let form = ServedForm::of(&object::api_version(&resource.group, &resource.version), &info.kind);
        Texts { snapshot, form, without_type: false, excerpt: OnceLock::new() }
    }

    /// Whether an object is selected. Most are not, and are not read whole for that.
    fn matches(&self, filter: &Filter, key: &Key, object: &StoredObject) -> bool {
        let excerpt = self.excerpt.get_or_init(|| filter.excerpt()).read(object.text());
        excerpt.is_ok_and(|excerpt| filter.matches(key, &excerpt))
    }
}

/// An object that may not have been looked at yet.
pub(crate) enum Item {
    Stored(StoredObject),
    Served(Bytes),
    Untyped(Untyped),
}

impl Item {
    /// The text, whole or without the beginning that says the type.
    pub(crate) fn text(&self) -> &Bytes {
        match self {
            Item::Stored(object) => object.text(),
            Item::Served(text) | Item::Untyped(Untyped::After(text) | Untyped::Whole(text)) => text,
        }
    }
}

impl ListSource for Texts<'_> {
    type Item = Item;

    fn version(&self, _group: &str, _plural: &str) -> u64 {
        self.snapshot.version()
    }

    fn item(&self, key: &Key) -> Option<Item> {
        self.snapshot.raw(key).map(Item::Stored)
    }

    fn items<'a>(
        &'a self,
        group: &str,
        plural: &str,
        namespace: Option<&str>,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = (Key, Item)> + 'a> {
        let raw = self.snapshot.scan_raw(group, plural, namespace, after);
        Box::new(raw.map(|(key, object)| (key.clone(), Item::Stored(object.clone()))))
    }

    fn count_after(&self, group: &str, plural: &str, namespace: Option<&str>, after: &Key) -> u64 {
        self.snapshot.scan_raw(group, plural, namespace, Some(after)).count() as u64
    }

    fn selected(&self, filter: &Filter, key: &Key, item: Item) -> Option<Item> {
        let Item::Stored(object) = item else { return Some(item) };
        if !filter.selects_shard_of(key, object.uid_hash()) {
            return None;
        }
        if filter.selects_by_content() && !self.matches(filter, key, &object) {
            return None;
        }
        Some(if self.without_type {
            Item::Untyped(self.form.text_without_type(filter, &object))
        } else {
            Item::Served(self.form.text(filter, &object))
        })
    }
}

/// The JSON of a list, in pieces.
pub(crate) fn pieces(list: List<Item>) -> impl Iterator<Item = Bytes> + Send {
    let head = format!("{{\"apiVersion\":{},\"items\":[", serde_json::Value::from(list.api_version.as_str()));
    let tail = format!("],\"kind\":{},\"metadata\":{}}}\n", Value::from(list.kind.as_str()), list.metadata());
    let mut piece = BytesMut::from(head.as_bytes());
    let mut items = list.items.into_iter();
    let mut tail = Some(tail);
    let mut first = true;
    std::iter::from_fn(move || {
        tail.as_ref()?;
        for item in items.by_ref() {
            if !std::mem::take(&mut first) {
                piece.put_u8(b',');
            }
            if matches!(item, Item::Untyped(Untyped::After(_))) {
                piece.put_u8(b'{');
            }
            piece.put_slice(item.text());
            if piece.len() >= PIECE_BYTES {
                return Some(piece.split().freeze());
            }
        }
        piece.put_slice(tail.take().unwrap_or_default().as_bytes());
        Some(piece.split().freeze())
    })
}
