//! An informer against a server that answers from a script.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::client::Body;
use serde_json::{Value, json};
use windlass::KindInfo;
use windlass::model::ResourceId;

use super::*;

/// What is asked, in order, and what is answered: a code, and lines of JSON.
type Script = Vec<(&'static str, u16, Vec<Value>)>;

/// What was asked so far.
type Asked = Arc<Mutex<Vec<String>>>;

/// Answers requests by a script. When it is over, nothing is answered any more.
fn scripted(script: &Script) -> (Api, Asked) {
    let asked = Asked::default();
    let (diary, script) = (Arc::clone(&asked), script.clone());
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let mut asked = diary.lock().expect("lock is not poisoned");
        let step = script.get(asked.len()).cloned();
        asked.push(request.uri().to_string());
        async move {
            let Some((_, code, lines)) = step else { return std::future::pending().await };
            let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
            http::Response::builder().status(code).body(Body::from(lines.concat().into_bytes()))
        }
    });
    (Api::new(kube::Client::new(service, "default")), asked)
}

fn kind() -> KindInfo {
    let resource = ResourceId::new("", "v1", "configmaps");
    KindInfo { resource, kind: "ConfigMap".to_owned(), namespaced: true }
}

fn object(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "namespace": "default", "uid": name, "resourceVersion": version.to_string()}})
}

fn typed(name: &str, version: u64) -> Value {
    let mut object = object(name, version);
    object["kind"] = "ConfigMap".into();
    object
}

fn list(version: u64, token: &str, items: Value) -> Value {
    json!({"kind": "ConfigMapList", "apiVersion": "v1", "items": items,
           "metadata": {"resourceVersion": version.to_string(), "continue": token}})
}

fn event(kind: &str, object: &Value) -> Value {
    json!({"type": kind, "object": object})
}

/// Records the events that it handles: `+a` for an object that exists, `-a` for one that is gone, `*` if it belongs to
/// the initial list.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl EventHandler for Diary {
    fn changed(&self, event: &WatchEvent) {
        let sign = if event.after.is_some() { "+" } else { "-" };
        let initial = if event.origin == EventOrigin::Initial { "*" } else { "" };
        self.0.lock().expect("lock is not poisoned").push(format!("{sign}{}{initial}", event.key.name));
    }
}

const LIST: &str = "/api/v1/configmaps?limit=500";

fn watch_from(version: u64) -> &'static str {
    // The texts are few and live as long as the test.
    let query = format!("watch=true&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=290");
    Box::leak(format!("/api/v1/configmaps?{query}").into_boxed_str())
}

/// Follows a script to its end, and returns the observed events and the state of the informer.
async fn followed(script: Script) -> (Vec<String>, InformerState) {
    let (api, asked) = scripted(&script);
    let informers = Informers::new(api.clone());
    let kind = kind();
    let diary = Arc::new(Diary::default());
    let handler: Arc<dyn EventHandler> = Arc::<Diary>::clone(&diary);
    let informer =
        informers.open(&kind, Selection::whole(&kind, None), std::iter::empty()).expect("no selector");
    informer.add_event_handler(handler);
    let over = async {
        while asked.lock().expect("lock is not poisoned").len() < script.len() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // What was answered last is read within this, and the next request is not given up yet.
        tokio::time::sleep(Duration::from_secs(20)).await;
    };
    tokio::select! {
        () = follow(&api, &informer) => {}
        () = over => {}
    }
    let expected: Vec<&str> = script.iter().map(|(target, ..)| *target).collect();
    assert_eq!(asked.lock().expect("lock is not poisoned")[..script.len()], expected);
    let observed = diary.0.lock().expect("lock is not poisoned").clone();
    (observed, informer.state.get())
}

#[tokio::test(start_paused = true)]
async fn pages_make_one_list() {
    let (observed, state) = followed(vec![
        (LIST, 200, vec![list(5, "next", json!([object("a", 1), object("b", 2)]))]),
        ("/api/v1/configmaps?limit=500&continue=next", 200, vec![list(5, "", json!([object("c", 3)]))]),
        (watch_from(5), 200, vec![event("ADDED", &typed("d", 6)), event("DELETED", &typed("a", 7))]),
        (watch_from(7), 200, vec![event("BOOKMARK", &typed("", 9))]),
        (watch_from(9), 200, vec![event("MODIFIED", &typed("b", 10))]),
    ])
    .await;
    assert_eq!(observed, ["+a*", "+b*", "+c*", "+d", "-a", "+b"]);
    assert_eq!(state, InformerState { synced: true, error: None });
}

#[tokio::test(start_paused = true)]
async fn an_expired_watch_lists_again_and_reports_only_changes() {
    let expired = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410});
    let (observed, _) = followed(vec![
        (LIST, 200, vec![list(5, "", json!([object("a", 1), object("b", 2)]))]),
        (watch_from(5), 200, vec![event("ERROR", &expired)]),
        (LIST, 200, vec![list(9, "", json!([object("b", 2), object("c", 8)]))]),
        (watch_from(9), 410, vec![expired.clone()]),
        (LIST, 410, vec![expired.clone()]),
        (LIST, 200, vec![list(12, "", json!([object("b", 11), object("c", 8)]))]),
    ])
    .await;
    assert_eq!(observed, ["+a*", "+b*", "-a", "+c", "+b"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_asked_again() {
    let (api, asked) = scripted(&Vec::new());
    let kind = kind();
    let informers = Informers::new(api.clone());
    let informer =
        informers.open(&kind, Selection::whole(&kind, None), std::iter::empty()).expect("no selector");
    tokio::select! {
        () = follow(&api, &informer) => {}
        () = tokio::time::sleep(Duration::from_secs(300)) => {}
    }
    assert!((3..=5).contains(&asked.lock().expect("lock is not poisoned").len()));
    let error = informer.state.get().error;
    assert_eq!(error.as_deref(), Some("cannot watch configmaps: the API server does not answer"));
}

#[tokio::test(start_paused = true)]
async fn a_list_that_somebody_asks_for_does_not_wait_for_the_backoff() {
    let refused = json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "InternalError", "code": 500});
    let failing = || (watch_from(5), 500, vec![refused.clone()]);
    let script = vec![
        (LIST, 200, vec![list(5, "", json!([object("a", 1)]))]),
        failing(),
        failing(),
        failing(),
        failing(),
        failing(),
        (LIST, 500, vec![refused.clone()]),
        (LIST, 200, vec![list(9, "", json!([object("a", 1), object("b", 8)]))]),
    ];
    let (api, asked) = scripted(&script);
    let kind = kind();
    let informers = Informers::new(api.clone());
    let informer =
        informers.open(&kind, Selection::whole(&kind, None), std::iter::empty()).expect("no selector");
    let requests = || asked.lock().expect("lock is not poisoned").len();
    let asking = async {
        // The fifth attempt to watch comes 7.5 seconds after the list at the latest; the next one would be 4 later.
        tokio::time::sleep(Duration::from_millis(7_600)).await;
        assert_eq!(requests(), 6);
        let refreshed = tokio::time::timeout(Duration::from_millis(1), informer.refreshed()).await;
        assert!(refreshed.is_err(), "the list failed");
        assert_eq!(requests(), 7, "who asks does not wait; who fails does");
        let start = tokio::time::Instant::now();
        informer.refreshed().await;
        // The next watch may have begun as well.
        assert!(requests() >= 8 && start.elapsed() == Duration::ZERO, "{} {:?}", requests(), start.elapsed());
    };
    tokio::select! {
        () = follow(&api, &informer) => {}
        () = asking => {}
    }
    assert_eq!(informer.cache.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_tried_again() {
    let refused = json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "InternalError", "code": 500});
    let (observed, state) = followed(vec![
        (LIST, 500, vec![refused.clone()]),
        (LIST, 200, vec![json!({"kind": "ConfigMapList"})]),
        (LIST, 200, vec![list(5, "", json!([object("a", 1)]))]),
        (watch_from(5), 200, vec![json!("no event"), event("ADDED", &typed("lost", 6))]),
        (watch_from(5), 200, vec![event("NOVEL", &typed("x", 6)), event("ADDED", &typed("b", 6))]),
        (watch_from(6), 500, vec![refused]),
    ])
    .await;
    assert_eq!(observed, ["+a*", "+b"]);
    assert_eq!(state, InformerState { synced: true, error: Some("cannot watch configmaps: no".to_owned()) });
}

/// The events that an informer of a selection reports for own writes, and what it keeps.
fn observed_writes(selection: Selection, writes: &[Value]) -> (Vec<String>, Vec<Arc<str>>) {
    let (api, _) = scripted(&Vec::new());
    let informers = Informers::new(api);
    let informer = informers.open(&kind(), selection, std::iter::empty()).expect("a selector");
    let diary = Arc::new(Diary::default());
    informer.add_event_handler(Arc::<Diary>::clone(&diary));
    for write in writes {
        informers.wrote(&informer.selection.resource, &Arc::new(write.clone()), &write.to_string(), |_| None);
    }
    let observed = diary.0.lock().expect("lock is not poisoned").clone();
    let kept = informer.cache.list(None, &LabelSelector::everything());
    (observed, kept.into_iter().map(|found| found.text).collect())
}

#[tokio::test]
async fn an_own_write_is_reported_as_the_watch_will_report_it() {
    let with = |version, label: Option<&str>| {
        let mut object = typed("a", version);
        object["metadata"]["labels"] = json!(label.map(|value| json!({"net": value})));
        object["data"] = json!({"large": "x"});
        object
    };
    let writes = [with(1, None), with(2, Some("a")), with(3, Some("b")), with(4, None), with(5, Some("c"))];
    let selective = Selection { labels: Some("net".to_owned()), ..Selection::whole(&kind(), None) };
    let (observed, kept) = observed_writes(selective.clone(), &writes);
    assert_eq!(observed, ["+a", "+a", "-a", "+a"]);
    assert_eq!(kept, [writes[4].to_string().into()]);
    let (observed, kept) = observed_writes(Selection { metadata_only: true, ..selective }, &writes);
    assert_eq!(observed, ["+a", "+a", "-a", "+a"]);
    assert_eq!(kept, [only_metadata(&writes[4]).to_string().into()]);
    assert!(!kept[0].contains("large"));
}

#[tokio::test]
async fn a_watch_serves_for_what_lies_within_it() {
    let (api, _) = scripted(&Vec::new());
    let informers = Informers::new(api);
    let selection = |namespace: Option<&str>, labels: &str, fields: &str, metadata_only: bool| Selection {
        labels: Some(labels.to_owned()).filter(|text| !text.is_empty()),
        fields: Some(fields.to_owned()).filter(|text| !text.is_empty()),
        metadata_only,
        ..Selection::whole(&kind(), namespace)
    };
    let opened = |selection: Selection| {
        let informer = informers.open(&kind(), selection, std::iter::empty()).expect("a selector");
        informer.selection.to_string()
    };
    assert_eq!(opened(selection(Some("a"), "net", "", false)), "configmaps in namespace a with net");
    assert_eq!(opened(selection(Some("a"), "net=1", "", false)), "configmaps in namespace a with net");
    assert_eq!(opened(selection(Some("a"), "net=1", "a=b", true)), "configmaps in namespace a with net");
    assert_eq!(opened(selection(Some("b"), "net=1", "", false)), "configmaps in namespace b with net=1");
    assert_eq!(opened(selection(None, "net", "", true)), "metadata of configmaps with net");
    assert_eq!(opened(selection(None, "net=1", "", true)), "metadata of configmaps with net");
    // Fields cannot be evaluated on metadata alone.
    assert_eq!(opened(selection(None, "net", "a=b", true)), "metadata of configmaps with net with a=b");
    assert_eq!(opened(selection(None, "net", "", false)), "configmaps with net");
    assert_eq!(informers.all().len(), 5);
    let order = |one: &Selection, other: &Selection| one.narrowness() < other.narrowness();
    assert!(order(&selection(None, "", "", false), &selection(None, "", "", true)));
    assert!(order(&selection(None, "", "", true), &selection(None, "a", "", false)));
    assert!(order(&selection(None, "a", "", false), &selection(None, "a", "b=c", false)));
}

#[tokio::test]
async fn reads_are_answered_by_watches_that_know_enough() {
    let (api, _) = scripted(&Vec::new());
    let informers = Informers::new(api);
    let resource = kind().resource;
    let mut known = typed("a", 1);
    known["metadata"]["labels"] = json!({"net": "1"});
    let key = ObjectRef::new("default", "a");
    let answers = || {
        let listed = |labels| {
            let (labels, fields) = (LabelSelector::parse(labels).expect("one"), FieldSelector::default());
            informers.covering_selection(&resource, Some("default"), &labels, &fields).is_some()
        };
        let whole = informers.covering(&resource, Some("default")).is_some();
        (whole, listed(""), listed("net=1"), informers.knowing(&resource, &key).is_some())
    };
    let open = |labels: Option<&str>, metadata_only| {
        let labels = labels.map(str::to_owned);
        let selection = Selection { labels, metadata_only, ..Selection::whole(&kind(), None) };
        let informer = informers.open(&kind(), selection, std::iter::empty()).expect("a selector");
        informers.wrote(&resource, &Arc::new(known.clone()), &known.to_string(), |_| None);
        informer
    };
    open(None, true).state.set_synced();
    assert_eq!(answers(), (false, false, false, false), "metadata is not enough");
    let selective = open(Some("net"), false);
    assert_eq!(answers(), (false, false, false, false), "it is not synced");
    selective.state.set_synced();
    assert_eq!(answers(), (false, false, true, true));
    open(None, false).state.set_synced();
    assert_eq!(answers(), (true, true, true, true));
}

/// Two sharded controllers may have outputs of one kind in slots of the same numbers.
#[tokio::test]
async fn informers_of_the_same_selection_live_side_by_side() {
    let informers = Informers::new(scripted(&Vec::new()).0);
    let resource = ResourceId::new("", "v1", "configmaps");
    let kind = KindInfo { resource, kind: "ConfigMap".to_owned(), namespaced: true };
    let add = || informers.add(&kind, Selection::whole(&kind, None), std::iter::empty());
    let (first, second) = (add(), add());
    assert_eq!(informers.all().len(), 2);
    informers.close(&first);
    assert!(matches!(&informers.all()[..], [left] if Arc::ptr_eq(left, &second)));
}
