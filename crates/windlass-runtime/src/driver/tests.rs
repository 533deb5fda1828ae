//! What a driver holds back is answered with a failure, whatever shortcut was allowed, and is not sent.

use std::sync::atomic::{AtomicUsize, Ordering};

use kube::client::Body;
use serde_json::json;
use windlass::model::{PatchKind, ResourceId};

use super::*;

/// An API that answers everything with the same object, and counts what it is asked.
fn counting_api() -> (Api, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let service = tower::service_fn(move |_: http::Request<Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        let metadata = json!({ "name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1" });
        let object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        async move { http::Response::builder().status(200).body(Body::from(object.to_string().into_bytes())) }
    });
    (Api::new(kube::Client::new(service, "default")), asked)
}

fn ask(verb: Verb, shortcut: Shortcut) -> Ask {
    let request = Request::new(verb, ResourceId::new("", "v1", "configmaps"));
    let request = request.in_namespace("default").named("a").with_body(json!({})).as_manager("me");
    Ask::Api { request: Box::new(request), shortcut, detail: windlass::Detail::Whole }
}

fn failure(answer: &Answer) -> Option<u16> {
    let Answer::Api(response) = answer else { panic!("{answer:?}") };
    response.failure().map(|status| status.code)
}

#[tokio::test]
async fn writes_are_held_back_while_another_leads_whatever_their_shortcut() {
    let (api, asked) = counting_api();
    let (lease, leading) = Leading::controlled();
    let informers = Arc::new(Informers::new(api));
    let contests = ContestSettings::default();
    let driver = Driver::new(informers, Arc::default(), Duration::from_secs(60), contests);
    let driver = driver.only_while(Some(leading));
    let writes = [
        ask(Verb::Create, Shortcut::None),
        ask(Verb::Delete, Shortcut::None),
        ask(Verb::Patch(PatchKind::Merge), Shortcut::None),
        ask(Verb::Patch(PatchKind::Apply), Shortcut::SkipIfUnchanged),
    ];
    for write in &writes {
        assert_eq!(failure(&driver.perform(write, &Memo::default()).await), Some(503), "{write:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0, "nothing was sent");
    let read = ask(Verb::Get, Shortcut::None);
    assert_eq!(failure(&driver.perform(&read, &Memo::default()).await), None, "to read is harmless");
    lease.win();
    for write in &writes {
        assert_eq!(failure(&driver.perform(write, &Memo::default()).await), None, "{write:?}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1 + writes.len());
}

#[tokio::test(start_paused = true)]
async fn a_write_is_not_sent_again_after_the_lease_was_lost() {
    let (lease, leading) = Leading::controlled();
    lease.win();
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let service = tower::service_fn(move |_: http::Request<Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        // While the server is too busy to answer, another process takes over.
        lease.lose();
        let busy = http::Response::builder().status(429).header("Retry-After", "3");
        async move { busy.body(Body::empty()) }
    });
    let api = Api::new(kube::Client::new(service, "default"));
    let contests = ContestSettings::default();
    let driver =
        Driver::new(Arc::new(Informers::new(api)), Arc::default(), Duration::from_secs(60), contests);
    let driver = driver.only_while(Some(leading));
    let answer = driver.perform(&ask(Verb::Create, Shortcut::None), &Memo::default()).await;
    assert_eq!(failure(&answer), Some(503));
    assert_eq!(asked.load(Ordering::Relaxed), 1, "it was sent once, while this process led");
}

#[tokio::test]
async fn a_contested_status_is_held_back_with_a_conflict() {
    let (api, asked) = counting_api();
    let kind = windlass::KindInfo {
        resource: ResourceId::new("", "v1", "configmaps"),
        kind: "ConfigMap".to_owned(),
        namespaced: true,
    };
    let informers = Arc::new(Informers::new(api));
    let opened = informers.open(&kind, crate::informer::Selection::whole(&kind, None), std::iter::empty());
    opened.expect("an informer of everything").state.set_synced();
    let driver = Driver::new(informers, Arc::default(), Duration::from_secs(60), ContestSettings::default());
    let Ask::Api { mut request, shortcut, detail } = ask(Verb::Patch(PatchKind::Merge), Shortcut::None)
    else {
        unreachable!("it asks the API");
    };
    request.subresource = Some("status".to_owned());
    request.body = Some(json!({ "status": { "phase": "Done" } }));
    let write = Ask::Api { request, shortcut, detail };
    let answers: Vec<Option<u16>> = {
        let mut answers = Vec::new();
        for _ in 0..8 {
            answers.push(failure(&driver.perform(&write, &Memo::default()).await));
        }
        answers
    };
    let sent = asked.load(Ordering::Relaxed);
    assert!(sent < answers.len(), "some were held back: {answers:?}");
    assert_eq!(answers.last(), Some(&Some(409)), "{answers:?}");
    let unsent_but_well = answers.iter().filter(|answer| answer.is_none()).count() > sent;
    assert!(!unsent_but_well, "what was not sent has failed: {answers:?}, {sent} sent");
}
