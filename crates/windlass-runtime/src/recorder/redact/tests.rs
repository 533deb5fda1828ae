//! What is hidden, and what is left so that a reconcile can be run again.

use serde_json::json;
use windlass::model::base64::Base64;
use windlass::model::{PatchKind, Response, Timestamp, Verb};
use windlass::recording::{Batch, Exchange, FORMAT};
use windlass::{Detail, Kind, ObjectRef, Shortcut};

use super::*;

fn secrets() -> ResourceId {
    ResourceId::new("", "v1", "secrets")
}

fn exchange(request: Request, response: Response) -> Exchange {
    let ask = Ask::Api { request: Box::new(request), shortcut: Shortcut::None, detail: Detail::Whole };
    Exchange { ask, answer: Answer::Api(response) }
}

fn recorded(exchanges: Vec<Exchange>, message: &str) -> Recording {
    let result = ReconcileResult::Failed { reason: "Broken".to_owned(), message: message.to_owned() };
    let events = vec![Event::warning("Broken", message)];
    Recording {
        recording: FORMAT,
        windlass: String::new(),
        id: "pairs-1".to_owned(),
        controller: "pairs".to_owned(),
        target: ObjectRef::new("default", "a"),
        create_missing: false,
        causes: Vec::new(),
        at: Timestamp::default(),
        batches: vec![Batch { state: "First".to_owned(), exchanges }],
        end: RecordedEnd::Ended { result, path: Vec::new(), bug: Some(message.to_owned()), events },
    }
}

fn of(recording: &Recording, index: usize) -> (Value, Value) {
    let exchange = &recording.batches[0].exchanges[index];
    let (Ask::Api { request, .. }, Answer::Api(response)) = (&exchange.ask, &exchange.answer) else {
        panic!("requests only")
    };
    (request.body.clone().unwrap_or_default(), response.to_value())
}

#[test]
fn a_secret_is_hidden_wherever_it_goes() {
    let encoded = Base64::Standard.encode(b"hunter22\n");
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "s", "annotations": {LAST_APPLIED: format!("{{\"data\":{{\"p\":\"{encoded}\"}}}}")}},
        "data": {"password": encoded, "pin": "MTI="},
    });
    let get = Request::new(Verb::Get, secrets()).in_namespace("default").named("s");
    let body = json!({"kind": "ConfigMap", "metadata": {"name": "hunter22", "labels": {"l": "hunter22"}},
        "data": {"url": "postgres://me:hunter22@host", "encoded": Base64::Standard.encode(b"hunter22")}});
    let apply = Request::new(Verb::Patch(PatchKind::Apply), ResourceId::new("", "v1", "configmaps"))
        .named("hunter22")
        .with_body(body);
    let refused = Status::bad_request("hunter22 is no host");
    let mut recording = recorded(
        vec![exchange(get, Response::object(secret)), exchange(apply, refused.into())],
        "cannot log in with hunter22",
    );
    Redaction::default().recording(&mut recording);
    let text = recording.to_json();
    let (_, secret) = of(&recording, 0);
    let password =
        Base64::Standard.decode(secret["data"]["password"].as_str().expect("a text")).expect("base64");
    let placeholder = String::from_utf8(password).expect("a text");
    assert!(windlass::recording::is_placeholder(&placeholder), "{placeholder}");
    assert_ne!(secret["data"]["pin"], "MTI=", "short ones too");
    let (body, answer) = of(&recording, 1);
    assert_eq!(body["metadata"]["name"], "hunter22", "names say which object it is");
    assert_eq!(body["metadata"]["labels"]["l"], placeholder.as_str());
    assert_eq!(body["data"]["url"], format!("postgres://me:{placeholder}@host"));
    assert_eq!(body["data"]["encoded"], Base64::Standard.encode(placeholder.as_bytes()));
    assert_eq!(answer["message"], format!("{placeholder} is no host"));
    assert_eq!(text.matches("hunter22").count(), 2, "the name of the request and that of the body: {text}");
    assert!(!text.contains(&encoded) && !text.contains(&Base64::Standard.encode(b"hunter22")), "{text}");
    assert_eq!(text.matches(&format!("cannot log in with {placeholder}")).count(), 3, "{text}");
}

#[test]
fn the_same_secret_has_the_same_placeholder_and_another_process_another() {
    let body = || json!({"stringData": {"a": "hunter22", "b": "hunter23"}, "data": {"c": Base64::Standard.encode(b"hunter22")}});
    let patch = || Request::new(Verb::Patch(PatchKind::Merge), secrets()).named("s").with_body(body());
    let redacted = |redaction: &Redaction| {
        let mut recording = recorded(vec![exchange(patch(), Response::object(body()))], "");
        redaction.recording(&mut recording);
        of(&recording, 0).0
    };
    let one = Redaction::default();
    let first = redacted(&one);
    assert_eq!(first, redacted(&one));
    assert_ne!(first, redacted(&Redaction::default()));
    assert_ne!(first["stringData"]["a"], first["stringData"]["b"]);
    let decoded = Base64::Standard.decode(first["data"]["c"].as_str().expect("a text")).expect("base64");
    assert_eq!(first["stringData"]["a"].as_str().expect("a text").as_bytes(), decoded);
}

#[test]
fn what_the_user_names_is_hidden_too() {
    let mut redaction = Redaction::default();
    redaction.add(two_configmaps::Pair::kind_info(), "/spec/value");
    let pair = json!({"apiVersion": "example.windlass.dev/v1", "kind": "Pair", "metadata": {"name": "a"}, "spec": {"value": "swordfish"}});
    let get = Request::new(Verb::Get, ResourceId::new("example.windlass.dev", "v1", "pairs")).named("a");
    let mut recording = recorded(vec![exchange(get, Response::object(pair))], "swordfish");
    redaction.recording(&mut recording);
    assert!(!recording.to_json().contains("swordfish"));
}

#[test]
fn what_is_no_secret_stays() {
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "true or false"}});
    let flag = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"on": Base64::Standard.encode(b"true"), "none": ""}});
    let get = |plural: &str| Request::new(Verb::Get, ResourceId::new("", "v1", plural)).named("a");
    let mut recording = recorded(
        vec![
            exchange(get("configmaps"), Response::object(map.clone())),
            exchange(get("secrets"), Response::object(flag)),
        ],
        "",
    );
    Redaction::default().recording(&mut recording);
    assert_eq!(of(&recording, 0).1, map);
    assert_ne!(of(&recording, 1).1["data"]["on"], Base64::Standard.encode(b"true"));
    assert_eq!(of(&recording, 1).1["data"]["none"], "");
}
