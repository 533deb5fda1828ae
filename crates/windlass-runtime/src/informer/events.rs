//! From the text of lists and watches to heads and texts of objects.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use windlass::model::Status;
use windlass::{KindInfo, only_metadata};

use crate::api::{Answered, read_status};
use crate::cache::Head;

use super::Informer;

/// How the objects of a watch are read.
pub(super) struct Reader<'a> {
    kind: &'a KindInfo,
    metadata_only: bool,
    indexed: Arc<[Box<str>]>,
}

/// One page of a list.
pub(super) struct Page {
    pub(super) items: Vec<(Head, Arc<str>)>,
    pub(super) version: u64,
    pub(super) continue_token: Option<String>,
}

/// One event of a watch.
pub(super) enum Event {
    /// An object is new or has changed.
    Put(Head, Arc<str>),
    /// An object is gone.
    Deleted(Head),
    /// All changes up to a version have been sent.
    Bookmark(u64),
    /// The watch is over.
    Failed(Status),
    /// Something that this client does not know.
    Unknown,
}

#[derive(Deserialize)]
struct RawPage<'a> {
    #[serde(borrow, default)]
    metadata: PageMetadata<'a>,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageMetadata<'a> {
    #[serde(borrow, default)]
    resource_version: Cow<'a, str>,
    #[serde(default, rename = "continue")]
    continue_token: Option<String>,
}

#[derive(Deserialize)]
struct RawEvent<'a> {
    #[serde(borrow)]
    r#type: Cow<'a, str>,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct RawBookmark<'a> {
    #[serde(borrow)]
    metadata: PageMetadata<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn of(informer: &'a Informer) -> Self {
        let metadata_only = informer.selection.metadata_only;
        Reader { kind: &informer.kind, metadata_only, indexed: informer.cache.indexed() }
    }

    /// Reads a page of a list.
    ///
    /// # Errors
    /// When it is no list, or its version is no number.
    pub(super) fn page(&self, answered: &Answered) -> Result<Page, String> {
        let text = std::str::from_utf8(&answered.body).map_err(|error| error.to_string())?;
        let raw: RawPage<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let items = raw.items.unwrap_or_default().into_iter().map(|item| self.object(item.get()));
        Ok(Page {
            items: items.collect::<Result<_, String>>()?,
            version: version(&raw.metadata.resource_version)?,
            continue_token: raw.metadata.continue_token.filter(|token| !token.is_empty()),
        })
    }

    /// Reads a line of a watch.
    ///
    /// # Errors
    /// When it is no event.
    pub(super) fn event(&self, line: &[u8]) -> Result<Event, String> {
        let text = std::str::from_utf8(line).map_err(|error| error.to_string())?;
        if let Some(put) = put_as_servers_write_it(text).and_then(|object| self.put(object).ok()) {
            return Ok(put);
        }
        let raw: RawEvent<'_> = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Ok(match &*raw.r#type {
            "ADDED" | "MODIFIED" => self.put(raw.object.get())?,
            "DELETED" => Event::Deleted(self.head(raw.object.get())?),
            "BOOKMARK" => {
                let bookmark: RawBookmark<'_> =
                    serde_json::from_str(raw.object.get()).map_err(|error| error.to_string())?;
                Event::Bookmark(version(&bookmark.metadata.resource_version)?)
            }
            "ERROR" => {
                let value: Value =
                    serde_json::from_str(raw.object.get()).map_err(|error| error.to_string())?;
                let code = value["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(500);
                Event::Failed(read_status(&value, code))
            }
            _ => Event::Unknown,
        })
    }

    fn put(&self, text: &str) -> Result<Event, String> {
        let (head, text) = self.object(text)?;
        Ok(Event::Put(head, text))
    }

    fn head(&self, text: &str) -> Result<Head, String> {
        Head::read(text, &self.indexed)
    }

    fn object(&self, text: &str) -> Result<(Head, Arc<str>), String> {
        let head = self.head(text)?;
        if self.metadata_only {
            let whole: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            return Ok((head, only_metadata(&whole).to_string().into()));
        }
        if head.says_kind {
            return Ok((head, text.into()));
        }
        // Items of built-in types do not say what they are: the list does.
        let fields = text.strip_prefix('{').unwrap_or(text);
        let (api_version, kind) = (self.kind.api_version(), &self.kind.kind);
        let typed = format!(r#"{{"apiVersion":"{api_version}","kind":"{kind}",{fields}"#);
        Ok((head, typed.into()))
    }
}

/// The object of an event, if the event is written as API servers write it: nearly all are, and need not be searched for
/// their end. If there is more in it, then this is no object.
fn put_as_servers_write_it(event: &str) -> Option<&str> {
    let added = || event.strip_prefix(r#"{"type":"ADDED","object":"#);
    let modified = || event.strip_prefix(r#"{"type":"MODIFIED","object":"#);
    added().or_else(modified)?.trim_ascii_end().strip_suffix('}')
}

fn version(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("the resource version {text:?} is no number"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use windlass::model::ResourceId;

    use super::*;

    fn kind() -> KindInfo {
        KindInfo {
            resource: ResourceId::new("apps", "v1", "deployments"),
            kind: "Deployment".to_owned(),
            namespaced: true,
        }
    }

    fn reader(kind: &KindInfo, metadata_only: bool) -> Reader<'_> {
        Reader { kind, metadata_only, indexed: Arc::new([]) }
    }

    #[test]
    fn of_metadata_only_nothing_else_is_kept() {
        let whole = r#"{"type":"ADDED","object":{"kind":"Deployment","spec":{"replicas":3},"metadata":
            {"name":"a","resourceVersion":"3","managedFields":[{"manager":"m"}],"labels":{"a":"b"}}}}"#;
        let event = reader(&kind(), true).event(whole.as_bytes());
        let Ok(Event::Put(_, text)) = event else { panic!("an object") };
        assert_eq!(
            serde_json::from_str::<Value>(&text).expect("JSON"),
            json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                   "metadata": {"name": "a", "resourceVersion": "3", "labels": {"a": "b"}}})
        );
    }

    #[test]
    fn items_get_their_type() {
        let raw =
            RawValue::from_string(r#"{"metadata":{"name":"a","resourceVersion":"3"},"spec":{}}"#.to_owned());
        let kind = kind();
        let (head, text) = reader(&kind, false).object(raw.expect("JSON").get()).expect("an object");
        assert_eq!(head.version, 3);
        assert_eq!(
            serde_json::from_str::<Value>(&text).expect("JSON"),
            json!({"apiVersion": "apps/v1", "kind": "Deployment",
                   "metadata": {"name": "a", "resourceVersion": "3"}, "spec": {}})
        );
    }

    #[test]
    fn reads_each_type_of_event() {
        let kind = kind();
        let read = |text: &str| reader(&kind, false).event(text.as_bytes());
        let object = r#"{"kind":"Deployment","metadata":{"name":"a","resourceVersion":"3"}}"#;
        assert!(matches!(
            read(&format!(r#"{{"type":"ADDED","object":{object}}}"#)),
            Ok(Event::Put(head, _)) if head.version == 3
        ));
        for event in [
            format!(r#"{{"object":{object},"type":"MODIFIED"}}"#),
            format!(r#"{{"type":"ADDED","object":{object},"new":{{}}}}"#),
        ] {
            assert!(matches!(read(&event), Ok(Event::Put(head, _)) if head.version == 3), "{event}");
        }
        assert!(matches!(
            read(&format!(r#"{{"type":"DELETED","object":{object}}}"#)),
            Ok(Event::Deleted(head)) if head.version == 3
        ));
        assert!(matches!(
            read(r#"{"type":"BOOKMARK","object":{"kind":"Deployment","metadata":{"resourceVersion":"9"}}}"#),
            Ok(Event::Bookmark(9))
        ));
        assert!(matches!(
            read(r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"Expired","code":410}}"#),
            Ok(Event::Failed(status)) if status.code == 410
        ));
        assert!(matches!(read(r#"{"type":"NOVEL","object":{}}"#), Ok(Event::Unknown)));
        assert!(read("{").is_err());
    }
}
