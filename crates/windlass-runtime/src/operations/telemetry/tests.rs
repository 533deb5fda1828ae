//! What a collector receives, over a real connection and in the real encoding.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use kube::CustomResourceExt;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::{Span, span::SpanKind, status::StatusCode};
use prost::Message;
use serde_json::json;
use tokio::net::TcpListener;
use tracing_subscriber::Registry;
use tracing_subscriber::layer::SubscriberExt;
use two_configmaps::{Pair, TwoConfigMaps, pair};
use windlass::model::{self, ResourceId, Status, Verb};
use windlass::{Cause, ObjectRef, ReconcileResult, to_value};

use super::*;
use crate::Manager;
use crate::operations::spans;
use crate::operations::test_server::TestServer;
use crate::queue::{Causes, Changed, Due, Work};

/// A collector that keeps what it is sent: the path, and the body.
#[derive(Clone, Default)]
struct Collector {
    received: Arc<Mutex<Vec<(String, Bytes)>>>,
}

impl Collector {
    async fn listen(&self) -> SocketAddr {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
        let address = listener.local_addr().expect("it is bound");
        let collector = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let collector = collector.clone();
                let service = service_fn(move |request| collector.clone().take(request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        address
    }

    async fn take(self, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
        let path = request.uri().path().to_owned();
        assert_eq!(request.headers()["content-type"], "application/x-protobuf");
        let body = request.into_body().collect().await.expect("a body").to_bytes();
        self.received.lock().expect("lock is not poisoned").push((path, body));
        Ok(Response::new(Full::default()))
    }

    /// All spans, and the name of the service that sent them.
    fn spans(&self) -> (Vec<Span>, String) {
        let mut spans = Vec::new();
        let mut service = String::new();
        for (path, body) in self.received.lock().expect("lock is not poisoned").iter() {
            assert_eq!(path, "/v1/traces");
            let request = ExportTraceServiceRequest::decode(body.clone()).expect("spans in protobuf");
            for of_resource in request.resource_spans {
                let attributes = of_resource.resource.expect("a resource").attributes;
                service = text(&attributes, "service.name");
                spans.extend(of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
            }
        }
        (spans, service)
    }
}

/// An attribute as text.
fn text(attributes: &[KeyValue], key: &str) -> String {
    let found = attributes.iter().find(|attribute| attribute.key == key);
    match found.and_then(|attribute| attribute.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        Some(Value::IntValue(number)) => number.to_string(),
        other => panic!("{key} is {other:?}"),
    }
}

/// A reconcile with one state and one request that fails.
fn reconcile() {
    let changed = Changed { cause: Cause::Output, what: "ConfigMap default/a-cm1".to_owned() };
    let work = Work {
        key: ObjectRef::new("default", "a"),
        causes: Causes { kept: vec![changed], more: 0 },
        due: Due::Change,
        create_missing: false,
        waited: Duration::from_millis(5),
        attempt: 2,
    };
    let reconcile = spans::reconcile_span("pair", &work);
    let state = spans::state(&reconcile, "First");
    let get = model::Request::new(Verb::Get, ResourceId::new("", "v1", "configmaps"));
    let request = spans::request(&state, &get.in_namespace("default").named("a-cm1"));
    spans::answered(&request, &model::Response::status(Status::internal("broken")));
    let failed =
        ReconcileResult::Failed { reason: "RequestFailed".to_owned(), message: "no answer".to_owned() };
    spans::finished(&reconcile, &failed);
}

#[tokio::test]
async fn a_collector_receives_a_reconcile_with_its_states_and_requests() {
    let collector = Collector::default();
    let address = collector.listen().await;
    let telemetry = Telemetry::to("windlass-test", &format!("http://{address}/")).expect("an address");
    let subscriber = Registry::default().with(telemetry.layer());
    tracing::subscriber::with_default(subscriber, || {
        reconcile();
        drop(tracing::info_span!(target: "hyper::client", "of the sender"));
        drop(tracing::debug_span!("too small"));
    });
    telemetry.shutdown().await;
    let (spans, service) = collector.spans();
    assert_eq!(service, "windlass-test");
    let spans: BTreeMap<String, Span> = spans.into_iter().map(|span| (span.name.clone(), span)).collect();
    assert_eq!(spans.keys().collect::<Vec<_>>(), ["get configmaps", "reconcile pair", "state First"]);
    let (root, state, request) = (&spans["reconcile pair"], &spans["state First"], &spans["get configmaps"]);
    assert!(root.parent_span_id.is_empty());
    assert_eq!((&state.parent_span_id, &request.parent_span_id), (&root.span_id, &state.span_id));
    assert_eq!((&state.trace_id, &request.trace_id), (&root.trace_id, &root.trace_id));
    for (key, value) in [
        ("controller", "pair"),
        ("namespace", "default"),
        ("name", "a"),
        ("causes", "ConfigMap default/a-cm1"),
        ("attempt", "2"),
        ("result", "failed"),
    ] {
        assert_eq!(text(&root.attributes, key), value);
    }
    assert_eq!(text(&request.attributes, "object"), "default/a-cm1");
    assert_eq!(text(&request.attributes, "http.response.status_code"), "500");
    assert_eq!(request.kind, SpanKind::Client as i32);
    for span in [root, request] {
        assert_eq!(span.status.as_ref().map(|status| status.code), Some(StatusCode::Error as i32));
    }
}

/// Waits until a pair is ready.
async fn until_ready(server: &TestServer, name: &str) {
    let pairs = ResourceId::new("example.windlass.dev", "v1", "pairs");
    loop {
        let get = model::Request::new(Verb::Get, pairs.clone()).in_namespace("default").named(name);
        let pair = server.perform(get).await.to_value();
        let conditions = pair["status"]["conditions"].as_array().cloned().unwrap_or_default();
        if conditions.iter().any(|condition| condition["type"] == "Ready" && condition["status"] == "True") {
            return;
        }
    }
}

#[tokio::test]
async fn a_running_manager_sends_its_spans() {
    let (collector, server) = (Collector::default(), TestServer::start().await);
    let address = collector.listen().await;
    let telemetry = Telemetry::to("windlass-test", &format!("http://{address}")).expect("an address");
    // All tasks of this test run on this thread, so this one subscriber sees all of their spans.
    let subscribed = tracing::subscriber::set_default(Registry::default().with(telemetry.layer()));
    let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    server.create(definitions, "", json!(Pair::crd())).await;
    let manager = Manager::new().client(server.client()).namespace("default").preflight(false);
    let running = manager.controller(TwoConfigMaps).start().await.expect("it starts");
    let pairs = ResourceId::new("example.windlass.dev", "v1", "pairs");
    server.create(pairs, "default", to_value(&pair("a")).expect("a pair is an object")).await;
    until_ready(&server, "a").await;
    running.stop().await;
    drop(subscribed);
    telemetry.shutdown().await;
    server.shutdown().await;
    let (spans, _) = collector.spans();
    let created = spans.iter().filter(|span| span.name == "patch configmaps");
    let parent = |child: &Span| spans.iter().find(|span| span.span_id == child.parent_span_id);
    let ways = created.map(|request| {
        let state = parent(request).expect("a request has a state");
        let reconcile = parent(state).expect("a state has a reconcile");
        let code = text(&request.attributes, "http.response.status_code");
        [state.name.as_str(), &reconcile.name, &text(&reconcile.attributes, "result"), &code].join(", ")
    });
    let reconcile = "reconcile two-configmaps, done, 201";
    let expected = ["First", "Second"].map(|state| format!("state {state}, {reconcile}"));
    assert_eq!(ways.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_missing_collector_does_no_harm() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    drop(listener);
    let telemetry = Telemetry::to("windlass-test", &format!("http://{address}")).expect("an address");
    tracing::subscriber::with_default(Registry::default().with(telemetry.layer()), reconcile);
    telemetry.shutdown().await;
}

#[tokio::test]
async fn an_address_that_makes_no_sense_is_refused() {
    assert!(Telemetry::to("windlass-test", "http://[").is_err());
}
