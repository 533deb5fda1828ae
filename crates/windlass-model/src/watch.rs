//! Watches: the events that a change, or a list, is to one watcher.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::filter::Filter;
use crate::object;
use crate::response::List;
use crate::status::Status;
use crate::store::Change;

/// The annotation of the bookmark that ends the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// What a watch asks for, besides what it selects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatchOptions {
    /// Only changes after this version; 0 for any, where the watch begins with what there is now.
    pub resource_version: u64,
    /// Whether the watch begins with the objects that there are, as `ADDED` events.
    pub send_initial_events: bool,
    /// Whether the watcher takes bookmarks.
    pub allow_bookmarks: bool,
    /// After how many seconds the server ends the watch, if the client says.
    pub timeout_seconds: Option<u64>,
}

/// What happened, from the view of one watcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// An object is new to the watcher.
    Added,
    /// An object that the watcher knows has changed.
    Modified,
    /// An object is gone for the watcher.
    Deleted,
    /// All changes up to a version have been sent.
    Bookmark,
    /// The watch is over; the object is a `Status`.
    Error,
}

/// One event of a watch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// What happened.
    pub(crate) kind: EventKind,
    /// To which object.
    pub(crate) object: Arc<Value>,
}

impl EventKind {
    /// What a change is to a watcher, by whether it selects the object as it was and as it is.
    ///
    /// An object that begins to be selected is added, and one that ceases to be is deleted.
    pub fn of(was_selected: bool, is_selected: bool) -> Option<EventKind> {
        match (was_selected, is_selected) {
            (false, false) => None,
            (false, true) => Some(EventKind::Added),
            (true, true) => Some(EventKind::Modified),
            (true, false) => Some(EventKind::Deleted),
        }
    }

    /// As it stands on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            EventKind::Added => "ADDED",
            EventKind::Modified => "MODIFIED",
            EventKind::Deleted => "DELETED",
            EventKind::Bookmark => "BOOKMARK",
            EventKind::Error => "ERROR",
        }
    }
}

impl Event {
    /// All changes up to this version have been sent.
    pub fn bookmark(filter: &Filter, version: &str) -> Event {
        let object = json!({
            "apiVersion": filter.api_version, "kind": filter.kind, "metadata": { "resourceVersion": version },
        });
        Event { kind: EventKind::Bookmark, object: Arc::new(object) }
    }

    /// The watch ends with this failure.
    pub fn error(status: &Status) -> Event {
        Event { kind: EventKind::Error, object: Arc::new(status.to_value()) }
    }

    /// The JSON that goes over the wire, one event to a line.
    pub(crate) fn to_value(&self) -> Value {
        json!({ "type": self.kind.as_str(), "object": *self.object })
    }
}

/// What a change is to a watcher; `None` if it does not concern it.
///
/// An object that begins to be selected is added, and one that ceases to be is deleted: the watcher then
/// gets it as it last was while it was selected, under the version of the change.
pub fn event_for(change: &Change, filter: &Filter) -> Option<Event> {
    let selected = |object: &&Arc<Value>| filter.matches(&change.key, object);
    let before = change.before.as_ref().filter(selected);
    let after = change.after.as_ref().filter(selected);
    let kind = EventKind::of(before.is_some(), after.is_some())?;
    let object = match after {
        Some(after) => filter.served(after),
        None => Arc::new(last_seen(&filter.served(before?), change.version)),
    };
    Some(Event { kind, object })
}

/// An object that is gone for a watcher: as it last was, under the version of the change.
pub fn last_seen(object: &Value, version: u64) -> Value {
    let mut object = object.clone();
    object::set_meta(&mut object, "resourceVersion", version.to_string());
    object
}

/// The events with which a watch begins: the objects of a list, and the bookmark that ends them.
///
/// There is none of it unless the options ask for it; and the bookmark needs a watcher that takes bookmarks.
pub fn initial_events(list: &List, filter: &Filter, options: &WatchOptions) -> Vec<Event> {
    if !options.send_initial_events {
        return Vec::new();
    }
    let added = |object: &Arc<Value>| Event { kind: EventKind::Added, object: Arc::clone(object) };
    let mut events: Vec<Event> = list.items.iter().map(added).collect();
    if options.allow_bookmarks {
        let mut end = Event::bookmark(filter, &list.resource_version);
        let annotations = json!({ INITIAL_EVENTS_END: "true" });
        object::set_meta(Arc::make_mut(&mut end.object), "annotations", annotations);
        events.push(end);
    }
    events
}

/// 410: the changes since this version are no longer known; `oldest` is the first version to go on from.
pub fn too_old_version(wanted: u64, oldest: u64) -> Status {
    Status::expired(format!("too old resource version: {wanted} ({oldest})"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Request, ResourceId, Verb};
    use crate::store::Key;
    use crate::types::fixtures::custom;

    fn filter() -> Filter {
        let mut request =
            Request::new(Verb::List, ResourceId::new("example.com", "v1", "widgets")).in_namespace("ns");
        request.options.label_selector = Some("app=web".to_owned());
        Filter::of(&custom("example.com", "v1", "widgets", "Widget"), &request).unwrap()
    }

    fn widget(app: &str, version: u64) -> Option<Arc<Value>> {
        Some(Arc::new(json!({
            "apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"name": "a", "resourceVersion": version.to_string(), "labels": {"app": app}},
        })))
    }

    /// The kind of the event with the label and the version that its object shows.
    fn seen(
        namespace: &str,
        before: Option<Arc<Value>>,
        after: Option<Arc<Value>>,
    ) -> Option<(EventKind, String, String)> {
        let key = Key::new("example.com", "widgets", namespace, "a");
        let event = event_for(&Change { key, before, after, version: 7 }, &filter())?;
        let app = object::label(&event.object, "app").unwrap_or_default().to_owned();
        Some((event.kind, app, object::resource_version(&event.object).to_owned()))
    }

    #[test]
    fn changes_become_events() {
        use EventKind::{Added, Deleted, Modified};
        for (before, after, expected) in [
            (None, widget("web", 7), Some((Added, "web"))),
            (None, widget("db", 7), None),
            (widget("web", 5), widget("web", 7), Some((Modified, "web"))),
            (widget("db", 5), widget("web", 7), Some((Added, "web"))),
            (widget("web", 5), widget("db", 7), Some((Deleted, "web"))),
            (widget("db", 5), widget("db", 7), None),
            (widget("web", 5), None, Some((Deleted, "web"))),
            (widget("db", 5), None, None),
        ] {
            let expected = expected.map(|(kind, app)| (kind, app.to_owned(), "7".to_owned()));
            assert_eq!(seen("ns", before.clone(), after.clone()), expected, "{before:?} {after:?}");
            assert_eq!(seen("other", before, after), None);
        }
    }

    #[test]
    fn a_change_of_another_shard_is_no_event() {
        let mut request = Request::new(Verb::List, ResourceId::new("example.com", "v1", "widgets"));
        let info = custom("example.com", "v1", "widgets", "Widget");
        let object = |uid: &str| Some(Arc::new(json!({"metadata": {"name": "a", "uid": uid}})));
        // The hash of `a` begins with `af`, that of `foobar` with `85`.
        let range = "'0xa000000000000000','0x10000000000000000'";
        request.options.shard_selector = Some(format!("shardRange(object.metadata.uid,{range})"));
        let filter = Filter::of(&info, &request).unwrap();
        let key = Key::new("example.com", "widgets", "ns", "a");
        for (uid, selected) in [("a", true), ("foobar", false)] {
            for (before, after, kind) in [
                (None, object(uid), EventKind::Added),
                (object(uid), object(uid), EventKind::Modified),
                (object(uid), None, EventKind::Deleted),
            ] {
                let change = Change { key: key.clone(), before, after, version: 7 };
                let found = event_for(&change, &filter).map(|event| event.kind);
                assert_eq!(found, selected.then_some(kind), "{uid}");
            }
        }
    }

    #[test]
    fn a_watch_can_begin_with_what_there_is() {
        let list = List {
            api_version: "example.com/v1".to_owned(),
            kind: "WidgetList".to_owned(),
            origin: crate::types::Origin::Custom,
            resource_version: "9".to_owned(),
            continue_token: None,
            remaining_items: None,
            items: widget("web", 5).into_iter().collect(),
        };
        let mut options = WatchOptions::default();
        assert!(initial_events(&list, &filter(), &options).is_empty());
        options.send_initial_events = true;
        assert_eq!(initial_events(&list, &filter(), &options).len(), 1);
        options.allow_bookmarks = true;
        let events = initial_events(&list, &filter(), &options);
        assert_eq!(events[0].kind, EventKind::Added);
        assert_eq!(
            events[1].to_value(),
            json!({"type": "BOOKMARK", "object": {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {
                "resourceVersion": "9", "annotations": {"k8s.io/initial-events-end": "true"},
            }}})
        );
    }

    #[test]
    fn failures_end_a_watch() {
        let event = Event::error(&too_old_version(3, 5)).to_value();
        assert_eq!(event["type"], "ERROR");
        assert_eq!(event["object"]["code"], 410);
        assert_eq!(event["object"]["reason"], "Expired");
        assert_eq!(event["object"]["message"], "too old resource version: 3 (5)");
    }
}
