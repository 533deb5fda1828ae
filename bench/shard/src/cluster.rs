//! The embedded server that a measurement has for itself, the parents on it, and what is seen of their children.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use conformance::server::Server;
use conformance::target::http::HttpTarget;
use conformance::target::{Events, Session};
use kube::CustomResourceExt;
use two_configmaps::Pair;
use windlass_bench_load::{all, get, with_body};
use windlass_runtime::managers::definitions;

const JSON: &str = "application/json";
const PAIRS: &str = "/apis/example.windlass.dev/v1/namespaces/default/pairs";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
/// Number of clients that make the parents and edit them.
const CLIENTS: usize = 16;

/// A running server with the kinds of pairs and rings.
pub(crate) struct Cluster {
    pub(crate) target: HttpTarget,
    pub(crate) server: Server,
}

impl Cluster {
    pub(crate) fn start(windlass: &Path) -> Result<Self> {
        let server = Server::start(windlass, &[])?;
        let target = HttpTarget::new("windlass", server.access())?;
        let cluster = Cluster { target, server };
        for definition in definitions().into_iter().chain([serde_json::to_value(Pair::crd())?]) {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let request = with_body("POST", path.to_owned(), JSON, definition.to_string());
            let answer = cluster.target.session().send(&request)?;
            ensure!(answer.code == 201, "{path} answered with {}: {}", answer.code, answer.text());
        }
        let mut session = cluster.target.session();
        for path in [PAIRS, "/apis/windlass.dev/v1alpha1/controllerrings"] {
            while session.send(&get(path))?.code != 200 {
                session.pause();
            }
        }
        Ok(cluster)
    }

    /// Makes parents with a first letter of their own.
    pub(crate) fn create(&self, letter: char, parents: u64, value: &str) -> Result<()> {
        all(&self.target, CLIENTS, parents, |number| {
            let name = format!("{letter}-{number}");
            let body = format!(
                r#"{{"apiVersion":"example.windlass.dev/v1","kind":"Pair","metadata":{{"name":"{name}"}},"spec":{{"value":"{value}"}}}}"#
            );
            with_body("POST", PAIRS.to_owned(), JSON, body)
        })?;
        Ok(())
    }

    /// Gives parents another value.
    pub(crate) fn edit(&self, parents: &[String], value: &str) -> Result<()> {
        all(&self.target, CLIENTS, parents.len() as u64, |number| {
            let path = format!("{PAIRS}/{}", parents[number as usize]);
            let body = format!(r#"{{"spec":{{"value":"{value}"}}}}"#);
            with_body("PATCH", path, "application/merge-patch+json", body)
        })?;
        Ok(())
    }

    /// The names and uids of all parents.
    pub(crate) fn parents(&self) -> Result<Vec<(String, String)>> {
        let list = self.target.get(PAIRS)?.value().context("a list")?;
        let items = list["items"].as_array().context("items")?;
        let text = |item: &serde_json::Value, field: &str| {
            item["metadata"][field].as_str().unwrap_or_default().to_owned()
        };
        Ok(items.iter().map(|item| (text(item, "name"), text(item, "uid"))).collect())
    }

    /// Watches the children, those that are there first.
    pub(crate) fn children(&self) -> Result<Children> {
        let path = format!("{MAPS}?watch=true&resourceVersion=0");
        let (answer, events) = self.target.session().watch(&get(&path))?;
        let events = events.with_context(|| format!("no watch: {}", answer.code))?;
        Ok(Children { events, values: BTreeMap::new() })
    }
}

/// A watch of the children, and the last value of each.
pub(crate) struct Children {
    events: Box<dyn Events>,
    values: BTreeMap<String, String>,
}

impl Children {
    /// Waits until this number of children of these parents have this value, and returns when each of them was seen with it.
    pub(crate) fn wait(
        &mut self,
        count: usize,
        value: &str,
        is_counted: impl Fn(&str) -> bool,
    ) -> Result<Vec<Instant>> {
        let already = self.values.iter().filter(|(name, there)| is_counted(name) && *there == value).count();
        let mut seen = vec![Instant::now(); already];
        while seen.len() < count {
            let event = self.events.next();
            let event = event.with_context(|| format!("{} of {count} children have {value}", seen.len()))?;
            let event = event.context("the watch ended early")?;
            let (name, now) = (&event["object"]["metadata"]["name"], &event["object"]["data"]["value"]);
            let Some(parent) = name.as_str().and_then(|name| name.strip_suffix("-cm1")) else { continue };
            let now = now.as_str().unwrap_or_default();
            let before = self.values.insert(parent.to_owned(), now.to_owned());
            if now == value && before.as_deref() != Some(value) && is_counted(parent) {
                seen.push(Instant::now());
            }
        }
        Ok(seen)
    }
}

/// The number of children in a second between two moments.
pub(crate) fn rate_between(seen: &[Instant], from: Instant, until: Instant) -> f64 {
    let within = seen.iter().filter(|moment| (from..until).contains(*moment)).count();
    let span: Duration = until.saturating_duration_since(from);
    within as f64 / span.as_secs_f64()
}
