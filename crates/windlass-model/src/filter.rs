//! The objects that a list or a watch is about, and the form in which it shows them.

use std::sync::Arc;

use serde_json::Value;

use crate::field::quoted;
use crate::object;
use crate::request::Request;
use crate::selector::{Excerpt, FieldSelector, LabelSelector, ShardKey, ShardSelector, shard_hash};
use crate::status::Status;
use crate::store::Key;
use crate::types::reading::Reading;
use crate::types::{self, Origin, TypeInfo, events};
use windlass_cel::formats::names;

/// Selects objects of one type by namespace, labels, fields and shards.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    /// The group that the type is kept in.
    pub group: String,
    /// The plural of the type.
    pub plural: String,
    /// Only objects of this namespace.
    pub namespace: Option<String>,
    /// Only objects with such labels.
    pub(crate) labels: LabelSelector,
    /// Only objects with such fields.
    pub(crate) fields: FieldSelector,
    /// Only objects of such shards.
    pub shards: Option<ShardSelector>,
    /// The `apiVersion` in which objects are shown.
    pub api_version: String,
    /// The kind of the objects.
    pub kind: String,
    /// What is to be done when objects are read, if anything.
    pub(crate) reading: Option<Arc<Reading>>,
}

impl Filter {
    /// What a list or watch request selects.
    ///
    /// 400 if a selector cannot be read, or asks for fields that the type does not know.
    pub fn of(info: &TypeInfo, request: &Request) -> Result<Self, Status> {
        let options = &request.options;
        let labels = LabelSelector::parse(options.label_selector.as_deref().unwrap_or_default())
            .map_err(Status::bad_request)?;
        let mut fields = FieldSelector::parse(options.field_selector.as_deref().unwrap_or_default())
            .map_err(Status::bad_request)?;
        fields.check_supported(info).map_err(Status::bad_request)?;
        if info.storage_group() != info.resource.group {
            fields.rename(events::selectable);
        }
        let shards = options.shard_selector.as_deref().map(ShardSelector::parse).transpose();
        let shards = shards.map_err(Status::bad_request)?;
        if let Some(name) = &request.name {
            fields = for_path_name(fields, name)?;
        }
        let resource = &info.resource;
        let mut namespace = request.namespace.clone().filter(|_| info.namespaced);
        if namespace.is_none() && info.namespaced {
            // A selector that names a namespace narrows the search to it.
            let required = fields.required("metadata.namespace");
            namespace = required.filter(|name| names::is_dns1123_label(name).is_empty()).map(str::to_owned);
        }
        Ok(Filter {
            group: info.storage_group().to_owned(),
            plural: resource.plural.clone(),
            namespace,
            labels,
            fields,
            shards,
            api_version: object::api_version(&resource.group, &resource.version),
            kind: info.kind.clone(),
            reading: info.reading.clone(),
        })
    }

    /// Whether an object of this key is selected.
    pub fn matches(&self, key: &Key, object: &Value) -> bool {
        *key.group == *self.group
            && *key.plural == *self.plural
            && self.namespace.as_ref().is_none_or(|namespace| *key.namespace == **namespace)
            && self.shards.as_ref().is_none_or(|shards| shards.matches(object))
            && self.labels.matches(&object["metadata"]["labels"])
            && self.fields.matches(object)
    }

    /// What of an object's text must be read to know whether it [matches](Filter::matches).
    pub fn excerpt(&self) -> Excerpt {
        Excerpt::of(&self.fields)
    }

    /// Whether all objects of the type, or of one namespace of it, are selected.
    pub(crate) fn is_unselective(&self) -> bool {
        !self.selects_by_content() && self.shards.is_none()
    }

    /// Whether an object must be read to know whether it is selected. Its key and the hash of its uid do not suffice.
    pub fn selects_by_content(&self) -> bool {
        !(self.labels.is_everything() && self.fields.is_everything())
    }

    /// Whether an object is in the shards that are selected, by its key and the [hash](shard_hash) of its uid. So who
    /// has these at hand need not read it.
    pub fn selects_shard_of(&self, key: &Key, uid_hash: u64) -> bool {
        self.shards.as_ref().is_none_or(|shards| {
            shards.contains(match shards.key() {
                ShardKey::Uid => uid_hash,
                ShardKey::Namespace => shard_hash(&key.namespace),
            })
        })
    }

    /// The only key that can be selected, if there is but one.
    pub(crate) fn only_key(&self, info: &TypeInfo) -> Option<Key> {
        let name = self.fields.required("metadata.name")?;
        if name.is_empty() || !names::is_path_segment(name).is_empty() {
            return None;
        }
        let namespace = if info.namespaced { self.namespace.as_deref()? } else { "" };
        Some(Key::new(&self.group, &self.plural, namespace, name))
    }

    /// Whether objects that are kept in this version are shown as they are.
    pub fn shows_as_stored(&self) -> bool {
        self.reading.is_none()
    }

    /// A stored object as this version of the type shows it.
    pub fn served(&self, object: &Arc<Value>) -> Arc<Value> {
        if let Some(reading) = &self.reading {
            let (group, version) = object::split_api_version(&self.api_version);
            return reading.show(object, group, version);
        }
        if object["apiVersion"] == *self.api_version && object["kind"] == *self.kind {
            return Arc::clone(object);
        }
        let mut shown = (**object).clone();
        let (group, version) = object::split_api_version(&self.api_version);
        types::convert(&mut shown, group, version);
        if let Some(fields) = shown.as_object_mut() {
            fields.insert("kind".to_owned(), self.kind.as_str().into());
        }
        Arc::new(shown)
    }
}

/// A name in the path of a watch is the same as a selector for it, and must not contradict one.
fn for_path_name(fields: FieldSelector, name: &str) -> Result<FieldSelector, Status> {
    if fields.is_everything() {
        return Ok(FieldSelector::for_name(name));
    }
    if fields.required("metadata.name") == Some(name) {
        return Ok(fields);
    }
    Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"))
}

impl FieldSelector {
    /// Whether the type knows all the fields; the error says which it does not know.
    pub fn check_supported(&self, info: &TypeInfo) -> Result<(), String> {
        let known = |field: &str| match field {
            "metadata.name" => true,
            "metadata.namespace" => info.namespaced || info.origin == Origin::BuiltIn,
            other => info.selectable_fields.iter().any(|path| path.trim_start_matches('.') == other),
        };
        match self.terms().iter().find(|term| !known(&term.field)) {
            None => Ok(()),
            // Only types with fields of their own have a list of them to be missing from.
            Some(term) if info.origin == Origin::BuiltIn && info.selectable_fields.is_empty() => {
                Err(format!(
                    "{} is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
                    quoted(&term.field)
                ))
            }
            Some(term) => Err(format!("field label not supported: {}", term.field)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::request::{ResourceId, Verb};
    use crate::types::fixtures::{built_in, custom};

    fn request() -> Request {
        Request::new(Verb::List, ResourceId::new("example.com", "v1", "widgets"))
    }

    #[test]
    fn selects_by_type_namespace_labels_and_fields() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        let mut request = request().in_namespace("ns");
        request.options.label_selector = Some("app=web".to_owned());
        request.options.field_selector = Some("metadata.name!=b".to_owned());
        let filter = Filter::of(&info, &request).unwrap();
        let object = |name: &str| json!({"metadata": {"name": name, "labels": {"app": "web"}}});
        for (key, name, expected) in [
            (Key::new("example.com", "widgets", "ns", "a"), "a", true),
            (Key::new("example.com", "widgets", "ns", "b"), "b", false),
            (Key::new("example.com", "widgets", "other", "a"), "a", false),
            (Key::new("example.com", "gadgets", "ns", "a"), "a", false),
            (Key::new("", "widgets", "ns", "a"), "a", false),
        ] {
            assert_eq!(filter.matches(&key, &object(name)), expected, "{key:?}");
        }
        assert!(!filter.matches(&Key::new("example.com", "widgets", "ns", "a"), &json!({})));
    }

    #[test]
    fn selects_by_shard() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        let key = Key::new("example.com", "widgets", "foobar", "a");
        let object = json!({"metadata": {"name": "a", "namespace": "foobar", "uid": "a"}});
        let upper = "'0xa000000000000000','0x10000000000000000'";
        for (field, expected) in [("uid", true), ("namespace", false)] {
            let mut request = request();
            request.options.shard_selector = Some(format!("shardRange(object.metadata.{field},{upper})"));
            let filter = Filter::of(&info, &request).unwrap();
            assert_eq!(filter.matches(&key, &object), expected, "{field}");
            assert_eq!(filter.selects_shard_of(&key, shard_hash("a")), expected, "{field}");
            assert!(!filter.is_unselective() && !filter.selects_by_content());
        }
    }

    #[test]
    fn finds_the_only_key() {
        let mut info = custom("example.com", "v1", "widgets", "Widget");
        let mut request = request();
        request.options.field_selector = Some("metadata.name=a".to_owned());
        assert_eq!(Filter::of(&info, &request).unwrap().only_key(&info), None);
        request.options.field_selector = Some("metadata.name=a,metadata.namespace=ns".to_owned());
        let filter = Filter::of(&info, &request).unwrap();
        assert_eq!(filter.only_key(&info), Some(Key::new("example.com", "widgets", "ns", "a")));
        info.namespaced = false;
        request.options.field_selector = Some("metadata.name=a".to_owned());
        let filter = Filter::of(&info, &request).unwrap();
        assert_eq!(filter.only_key(&info), Some(Key::new("example.com", "widgets", "", "a")));
    }

    #[test]
    fn a_name_in_the_path_selects_it() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        let mut request = request().named("a");
        assert_eq!(Filter::of(&info, &request).unwrap().fields, FieldSelector::for_name("a"));
        request.options.field_selector = Some("metadata.name=b".to_owned());
        assert_eq!(Filter::of(&info, &request).unwrap_err().code, 400);
    }

    #[test]
    fn shows_the_version_that_was_asked_for() {
        let info = custom("example.com", "v2", "widgets", "Widget");
        let filter = Filter::of(&info, &request()).unwrap();
        let old = Arc::new(json!({"apiVersion": "example.com/v1", "kind": "Widget", "spec": {}}));
        let shown = filter.served(&old);
        assert_eq!(*shown, json!({"apiVersion": "example.com/v2", "kind": "Widget", "spec": {}}));
        assert!(Arc::ptr_eq(&filter.served(&shown), &shown));
    }

    #[test]
    fn bad_selectors_are_bad_requests() {
        let info = custom("example.com", "v1", "widgets", "Widget");
        let mut bad_label = request();
        bad_label.options.label_selector = Some("a b".to_owned());
        let mut bad_field = request();
        bad_field.options.field_selector = Some("spec.foo=b".to_owned());
        let mut bad_shard = request();
        bad_shard.options.shard_selector = Some("shardRange".to_owned());
        assert_eq!(Filter::of(&info, &bad_label).unwrap_err().code, 400);
        let status = Filter::of(&info, &bad_shard).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (400, "invalid shardSelector: expected ( at character 11, found the end")
        );
        let status = Filter::of(&info, &bad_field).unwrap_err();
        assert_eq!((status.code, status.message.as_str()), (400, "field label not supported: spec.foo"));
    }

    #[test]
    fn types_know_their_fields() {
        let selector = |text| FieldSelector::parse(text).unwrap();
        let mut widget = custom("example.com", "v1", "widgets", "Widget");
        widget.selectable_fields = vec![".spec.color".to_owned()];
        assert_eq!(selector("spec.color=red,metadata.name=a").check_supported(&widget), Ok(()));
        assert_eq!(
            selector("spec.size=1").check_supported(&widget),
            Err("field label not supported: spec.size".to_owned())
        );
        widget.namespaced = false;
        assert!(selector("metadata.namespace=a").check_supported(&widget).is_err());
        assert_eq!(
            selector("spec.x=1").check_supported(&built_in("", "v1", "configmaps", "ConfigMap")),
            Err("\"spec.x\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                .to_owned())
        );
    }
}
