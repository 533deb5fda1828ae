//! The API server that all contestants share, and what is made on it for them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use conformance::kubernetes::{Durability, Kubernetes};
use conformance::target::http::HttpTarget;
use conformance::target::{Events, Session};
use kube::CustomResourceExt;
use two_configmaps::Pair;
use windlass_bench_load::process::cpu_seconds;
use windlass_bench_load::{all, get, with_body};

const JSON: &str = "application/json";

/// A real API server.
pub(crate) struct Cluster {
    pub(crate) target: HttpTarget,
    kubernetes: Kubernetes,
}

impl Cluster {
    /// Starts one, durable, with the definition of pairs.
    pub(crate) fn start(assets: &Path) -> Result<Self> {
        let kubernetes = Kubernetes::start_from(assets, Durability::Durable)?;
        let target = HttpTarget::new("kubernetes", kubernetes.access())?;
        let cluster = Cluster { target, kubernetes };
        let definition = serde_json::to_string(&Pair::crd())?;
        let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        cluster.create(path, definition)?;
        let mut session = cluster.target.session();
        while session.send(&get("/apis/example.windlass.dev/v1/pairs"))?.code != 200 {
            session.pause();
        }
        Ok(cluster)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.kubernetes.kubeconfig()
    }

    /// The seconds that the API server and etcd have computed.
    pub(crate) fn cpu_seconds(&self) -> Result<f64> {
        let (server, etcd) = self.kubernetes.process_ids();
        Ok(cpu_seconds(server)? + cpu_seconds(etcd)?)
    }

    /// Makes a namespace with a number of pairs.
    pub(crate) fn prepare(&self, namespace: &str, parents: u64, clients: usize) -> Result<()> {
        let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
        self.create("/api/v1/namespaces", body)?;
        all(&self.target, clients, parents, |number| {
            let body = format!(
                r#"{{"apiVersion":"example.windlass.dev/v1","kind":"Pair","metadata":{{"name":"{}"}},"spec":{{"value":"hello"}}}}"#,
                name(number)
            );
            with_body("POST", pairs(namespace), JSON, body)
        })?;
        Ok(())
    }

    /// Changes an annotation of every pair, which no controller cares about.
    pub(crate) fn touch(&self, namespace: &str, parents: u64, clients: usize) -> Result<()> {
        all(&self.target, clients, parents, |number| {
            let path = format!("{}/{}", pairs(namespace), name(number));
            let body = r#"{"metadata":{"annotations":{"touched":"now"}}}"#.to_owned();
            with_body("PATCH", path, "application/merge-patch+json", body)
        })?;
        Ok(())
    }

    /// Watches the pairs of a namespace from now on.
    pub(crate) fn readiness(&self, namespace: &str) -> Result<Readiness> {
        let path = format!("{}?watch=true&resourceVersion=0", pairs(namespace));
        let (answer, events) = self.target.session().watch(&get(&path))?;
        let events = events.with_context(|| format!("no watch: {}", answer.code))?;
        Ok(Readiness { events, ready: BTreeSet::new() })
    }

    fn create(&self, path: &str, body: String) -> Result<()> {
        let answer = self.target.session().send(&with_body("POST", path.to_owned(), JSON, body))?;
        ensure!(answer.code == 201, "{path} answered with {}: {}", answer.code, answer.text());
        Ok(())
    }
}

/// The name of a pair.
pub(crate) fn name(number: u64) -> String {
    format!("p-{number}")
}

/// The path of the pairs in a namespace.
pub(crate) fn pairs(namespace: &str) -> String {
    format!("/apis/example.windlass.dev/v1/namespaces/{namespace}/pairs")
}

/// A watch that counts the pairs that are ready.
pub(crate) struct Readiness {
    events: Box<dyn Events>,
    ready: BTreeSet<String>,
}

impl Readiness {
    /// Waits until this many are.
    pub(crate) fn wait(mut self, parents: u64) -> Result<()> {
        while (self.ready.len() as u64) < parents {
            let event = self.events.next()?.context("the watch ended early")?;
            let object = &event["object"];
            let conditions = object["status"]["conditions"].as_array().into_iter().flatten();
            let is_ready = conditions
                .into_iter()
                .any(|condition| condition["type"] == "Ready" && condition["status"] == "True");
            if let (true, Some(name)) = (is_ready, object["metadata"]["name"].as_str()) {
                self.ready.insert(name.to_owned());
            }
        }
        Ok(())
    }
}
