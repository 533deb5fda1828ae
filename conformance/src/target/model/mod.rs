//! The rules themselves, called in process.

mod store;

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use serde_json::{Value, json};
use windlass_model::Filter;
use windlass_model::http::{self, EventWriter, Format, HttpParts, Parsed, present};
use windlass_model::list::list;
use windlass_model::watch::{self, Event};
use windlass_model::{
    FeatureGates, Request, ResourceId, Response, Status, Timestamp, TypeInfo, Types, Verb, controllers,
    handle, types_after,
};
use windlass_server::documents::{Document, discovery, openapi};

use super::{Events, Session};
use crate::exchange::{Answer, Sent};
use store::NumberedStore;

/// Every cluster begins with the same types.
static BUILT_IN: LazyLock<Types> = LazyLock::new(Types::built_in);

/// A cluster of its own for one script.
pub struct ModelSession {
    store: NumberedStore,
    types: Types,
    watches: Vec<Watcher>,
}

/// Somebody who watches.
struct Watcher {
    filter: Filter,
    info: Arc<TypeInfo>,
    writer: RefCell<EventWriter>,
    queue: Rc<RefCell<VecDeque<Value>>>,
}

impl Default for ModelSession {
    fn default() -> Self {
        ModelSession::new(FeatureGates::default())
    }
}

impl ModelSession {
    /// A cluster with nothing in it but the namespaces that every cluster has, and with these feature gates.
    pub fn new(gates: FeatureGates) -> Self {
        let mut types = BUILT_IN.clone();
        types.open_gates(gates);
        let mut session = ModelSession { store: NumberedStore::default(), types, watches: Vec::new() };
        for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
            let create = Request::new(Verb::Create, ResourceId::new("", "v1", "namespaces"));
            session.perform(&create.with_body(json!({ "metadata": { "name": name } })));
        }
        session
    }

    /// Answers a request and makes its changes visible.
    fn perform(&mut self, request: &Request) -> Response {
        let effect = handle(&self.store, &self.types, now(), request);
        for change in &effect.changes {
            self.store.commit(change);
            for watcher in &self.watches {
                if let Some(event) = watch::event_for(change, &watcher.filter) {
                    watcher.tell(&event);
                }
            }
        }
        if let Some(types) = types_after(&self.types, &effect.changes) {
            self.types = types;
        }
        effect.response
    }

    fn info(&self, request: &Request) -> Option<Arc<TypeInfo>> {
        self.types.get(&request.resource).cloned()
    }

    /// Discovery or OpenAPI, if that is asked for.
    fn document(&self, sent: &Sent, path: &str) -> Option<Answer> {
        let accept = sent.header("Accept");
        let read = (sent.method == "GET").then_some(&self.types)?;
        let document =
            discovery::answer(read, path, accept).or_else(|| openapi::document(read, path, accept))?;
        let Document { code, content_type: kind, body, .. } = document;
        Some(Answer { code, headers: vec![content_type(&kind)], body })
    }

    fn answer(&self, parsed: &Parsed, response: &Response) -> Answer {
        let warnings = parsed.warnings.iter().chain(&response.warnings);
        let mut headers: Vec<(String, String)> =
            warnings.map(|warning| ("Warning".to_owned(), format!("299 - {}", quoted(warning)))).collect();
        let body = match self.info(&parsed.request) {
            Some(info) => present(response, parsed.output, &info, now()),
            None => Cow::Owned(response.to_value()),
        };
        let yaml = parsed.format == Format::Yaml;
        headers.push(content_type(if yaml { "application/yaml" } else { "application/json" }));
        headers.extend(response.failure().and_then(retry_after));
        // YAML is a superset of JSON, and what is compared is the data.
        Answer { code: response.code, headers, body: body.to_string().into_bytes() }
    }
}

impl Session for ModelSession {
    fn send(&mut self, sent: &Sent) -> Result<Answer> {
        let path = sent.path.split('?').next().unwrap_or_default();
        if let Some(document) = self.document(sent, path) {
            return Ok(document);
        }
        if http::has_no_page(&sent.method, path, &self.types) {
            return Ok(no_page());
        }
        let parsed = match parse(sent, &self.types) {
            Ok(parsed) => parsed,
            Err(status) => return Ok(without_body_of_head(sent, refusal(&status))),
        };
        if parsed.watch.is_some() {
            bail!("a watch is opened with `@watch`");
        }
        let response = self.perform(&parsed.request);
        Ok(without_body_of_head(sent, self.answer(&parsed, &response)))
    }

    fn watch(&mut self, sent: &Sent) -> Result<(Answer, Option<Box<dyn Events>>)> {
        let parsed = match parse(sent, &self.types) {
            Ok(parsed) => parsed,
            Err(status) => return Ok((refusal(&status), None)),
        };
        let Some(options) = &parsed.watch else { bail!("the request of `@watch` is not a watch") };
        let Some(info) = self.info(&parsed.request) else {
            return Ok((refusal(&Status::no_such_resource()), None));
        };
        let filter = match Filter::of(&info, &parsed.request) {
            Ok(filter) => filter,
            Err(status) => return Ok((refusal(&status), None)),
        };
        let writer = RefCell::new(EventWriter::new(parsed.output));
        let watcher = Watcher { filter, info, writer, queue: Rc::default() };
        if let Ok(list) = list(&self.store, &watcher.info, &parsed.request) {
            watch::initial_events(&list, &watcher.filter, options)
                .iter()
                .for_each(|event| watcher.tell(event));
        }
        if !options.send_initial_events {
            let changes = self.store.changes_after(options.resource_version);
            let events = changes.filter_map(|change| watch::event_for(change, &watcher.filter));
            events.for_each(|event| watcher.tell(&event));
        }
        let queue = Rc::clone(&watcher.queue);
        self.watches.push(watcher);
        let ends = options.timeout_seconds.is_some();
        let answer = Answer { code: 200, headers: vec![content_type("application/json")], body: Vec::new() };
        Ok((answer, Some(Box::new(ModelEvents { queue, ends }))))
    }

    fn pause(&mut self) {
        for step in controllers::next_requests(&self.store, &self.types, now()) {
            self.perform(&step.request);
        }
    }
}

impl Watcher {
    /// Tells the watcher of an event, in the form that it wants.
    fn tell(&self, event: &Event) {
        let shown = self.writer.borrow_mut().next(event, &self.info, now());
        self.queue.borrow_mut().push_back(shown);
    }
}

/// The events of a watch in process: what there is, is there at once.
struct ModelEvents {
    queue: Rc<RefCell<VecDeque<Value>>>,
    ends: bool,
}

impl Events for ModelEvents {
    fn next(&mut self) -> Result<Option<Value>> {
        match self.queue.borrow_mut().pop_front() {
            Some(event) => Ok(Some(event)),
            None if self.ends => Ok(None),
            None => bail!("there are no more events"),
        }
    }
}

/// Reads a request; a YAML body is made JSON first, as a server does.
#[expect(clippy::result_large_err, reason = "it is how the rules say it")]
fn parse(sent: &Sent, types: &Types) -> Result<Parsed, Status> {
    let (path, query) = sent.path.split_once('?').unwrap_or((&sent.path, ""));
    let content_type = sent.header("Content-Type");
    let is_yaml = content_type.is_some_and(|kind| kind.contains("yaml"));
    let converted: Option<Value> =
        is_yaml.then(|| serde_saphyr::from_str(&String::from_utf8_lossy(&sent.body)).ok()).flatten();
    let body = converted.map_or_else(|| sent.body.clone(), |value| value.to_string().into_bytes());
    let parts = HttpParts {
        method: &sent.method,
        path,
        query,
        content_type,
        accept: sent.header("Accept"),
        user_agent: sent.header("User-Agent"),
        body: &body,
        ..HttpParts::default()
    };
    http::parse(&parts, types)
}

/// The answer to a HEAD is what a GET would be answered, but for the body.
fn without_body_of_head(sent: &Sent, answer: Answer) -> Answer {
    if sent.method == "HEAD" { Answer { body: Vec::new(), ..answer } } else { answer }
}

fn no_page() -> Answer {
    let headers = vec![content_type("text/plain; charset=utf-8")];
    Answer { code: 404, headers, body: http::NO_SUCH_PAGE.as_bytes().to_vec() }
}

fn refusal(status: &Status) -> Answer {
    let body = status.to_value().to_string().into_bytes();
    let headers = retry_after(status).into_iter().chain([content_type("application/json")]).collect();
    Answer { code: status.code, headers, body }
}

fn retry_after(status: &Status) -> Option<(String, String)> {
    let seconds = status.details.as_ref()?.retry_after_seconds?;
    Some(("Retry-After".to_owned(), seconds.to_string()))
}

fn content_type(value: &str) -> (String, String) {
    ("Content-Type".to_owned(), value.to_owned())
}

/// As in a `Warning` header.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_unix_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
