//! A watch against a server that answers from a script.

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
        let mut asked = diary.lock().expect("nobody panicked");
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

/// Writes down what it is told: `+a` for an object that is there, `-a` for one that is gone, `*` if it is how the
/// watch begins.
#[derive(Default)]
struct Diary(Mutex<Vec<String>>);

impl Listener for Diary {
    fn changed(&self, news: &News) {
        let sign = if news.after.is_some() { "+" } else { "-" };
        let initial = if news.initial { "*" } else { "" };
        self.0.lock().expect("nobody panicked").push(format!("{sign}{}{initial}", news.key.name));
    }
}

const LIST: &str = "/api/v1/configmaps?limit=500";

fn watch_from(version: u64) -> &'static str {
    // The texts are few and live as long as the test.
    let query = format!("watch=true&resourceVersion={version}&allowWatchBookmarks=true&timeoutSeconds=290");
    Box::leak(format!("/api/v1/configmaps?{query}").into_boxed_str())
}

/// Follows a script to its end, and returns what was told and the state that the watch is in then.
async fn followed(script: Script) -> (Vec<String>, WatchState) {
    let (api, asked) = scripted(&script);
    let watches = Watches::new(api.clone());
    let kind = kind();
    let diary = Arc::new(Diary::default());
    let listener: Arc<dyn Listener> = Arc::<Diary>::clone(&diary);
    let watch = watches.open(&kind, Selection::whole(&kind, None), std::iter::empty()).expect("no selector");
    watch.listen(listener);
    let over = async {
        while asked.lock().expect("nobody panicked").len() < script.len() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        // What was answered last is read within this, and the next request is not given up yet.
        tokio::time::sleep(Duration::from_secs(20)).await;
    };
    tokio::select! {
        () = follow(&api, &watch) => {}
        () = over => {}
    }
    let expected: Vec<&str> = script.iter().map(|(target, ..)| *target).collect();
    assert_eq!(asked.lock().expect("nobody panicked")[..script.len()], expected);
    let told = diary.0.lock().expect("nobody panicked").clone();
    (told, watch.state.get())
}

#[tokio::test(start_paused = true)]
async fn pages_make_one_list() {
    let (told, state) = followed(vec![
        (LIST, 200, vec![list(5, "next", json!([object("a", 1), object("b", 2)]))]),
        ("/api/v1/configmaps?limit=500&continue=next", 200, vec![list(5, "", json!([object("c", 3)]))]),
        (watch_from(5), 200, vec![event("ADDED", &typed("d", 6)), event("DELETED", &typed("a", 7))]),
        (watch_from(7), 200, vec![event("BOOKMARK", &typed("", 9))]),
        (watch_from(9), 200, vec![event("MODIFIED", &typed("b", 10))]),
    ])
    .await;
    assert_eq!(told, ["+a*", "+b*", "+c*", "+d", "-a", "+b"]);
    assert_eq!(state, WatchState { synced: true, error: None });
}

#[tokio::test(start_paused = true)]
async fn a_lost_history_is_listed_again_and_only_news_are_told() {
    let expired = json!({"kind": "Status", "status": "Failure", "reason": "Expired", "code": 410});
    let (told, _) = followed(vec![
        (LIST, 200, vec![list(5, "", json!([object("a", 1), object("b", 2)]))]),
        (watch_from(5), 200, vec![event("ERROR", &expired)]),
        (LIST, 200, vec![list(9, "", json!([object("b", 2), object("c", 8)]))]),
        (watch_from(9), 410, vec![expired.clone()]),
        (LIST, 410, vec![expired.clone()]),
        (LIST, 200, vec![list(12, "", json!([object("b", 11), object("c", 8)]))]),
    ])
    .await;
    assert_eq!(told, ["+a*", "+b*", "-a", "+c", "+b"]);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_says_nothing_is_asked_again() {
    let (api, asked) = scripted(&Vec::new());
    let kind = kind();
    let watches = Watches::new(api.clone());
    let watch = watches.open(&kind, Selection::whole(&kind, None), std::iter::empty()).expect("no selector");
    tokio::select! {
        () = follow(&api, &watch) => {}
        () = tokio::time::sleep(Duration::from_secs(300)) => {}
    }
    assert!((3..=5).contains(&asked.lock().expect("nobody panicked").len()));
    let error = watch.state.get().error;
    assert_eq!(error.as_deref(), Some("cannot watch configmaps: the API server does not answer"));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_is_tried_again() {
    let refused = json!({"kind": "Status", "status": "Failure", "message": "no", "reason": "InternalError", "code": 500});
    let (told, state) = followed(vec![
        (LIST, 500, vec![refused.clone()]),
        (LIST, 200, vec![json!({"kind": "ConfigMapList"})]),
        (LIST, 200, vec![list(5, "", json!([object("a", 1)]))]),
        (watch_from(5), 200, vec![json!("no event"), event("ADDED", &typed("lost", 6))]),
        (watch_from(5), 200, vec![event("NOVEL", &typed("x", 6)), event("ADDED", &typed("b", 6))]),
        (watch_from(6), 500, vec![refused]),
    ])
    .await;
    assert_eq!(told, ["+a*", "+b"]);
    assert_eq!(state, WatchState { synced: true, error: Some("cannot watch configmaps: no".to_owned()) });
}
