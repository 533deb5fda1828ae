//! The embedded server with the objects of a world, and what is read from it.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};
use windlass_check::{FinalState, Stage};
use windlass_model::http::write;
use windlass_model::{Cluster as Model, Key, PatchKind, Request, ResourceId, Store, TypeInfo, Verb, object};
use windlass_server::{Server, ServerOptions, TlsSource};

use crate::http::{Answered, Sent, Target};

/// The group of definitions: these come first.
const DEFINITIONS: &str = "apiextensions.k8s.io";
/// What is given in a check belongs to this field manager.
const CLIENT: &str = "client";
/// The world is there within this time, or something is wrong.
const BUILT_WITHIN: Duration = Duration::from_secs(10);
const ASK_EVERY: Duration = Duration::from_millis(10);

/// A server of its own for one run.
pub(crate) struct Cluster {
    server: Server,
    pub(crate) target: Target,
    resources: Vec<ResourceId>,
    /// What the server has from the start.
    base: BTreeSet<Key>,
}

impl Cluster {
    /// Starts a server, and makes it what the world is at first.
    pub(crate) async fn start(stage: &Stage) -> Result<Self> {
        let server = Server::start(ServerOptions { tls: TlsSource::Off, ..ServerOptions::default() }).await?;
        let target = Target { address: server.address(), token: server.kubeconfig().token.clone() };
        let stored = stage.cluster.types().iter().filter(|info| info.is_stored() && is_stored_version(info));
        let resources = stored.map(|info| info.resource.clone()).collect();
        let mut cluster = Cluster { server, target, resources, base: BTreeSet::new() };
        cluster.base = cluster.objects().await?.into_iter().map(|(key, _)| key).collect();
        cluster.build(&stage.cluster).await?;
        Ok(cluster)
    }

    /// Creates all objects of a model, and waits until they are there as they are there.
    async fn build(&self, model: &Model) -> Result<()> {
        let first = Model::new();
        let own = model.store().all().filter(|(key, _)| first.store().get(key).is_none());
        let (definitions, objects): (Vec<_>, Vec<_>) = own.partition(|(key, _)| *key.group == *DEFINITIONS);
        for (key, found) in definitions.iter().chain(&objects) {
            let info =
                model.types().any_version(&key.group, &key.plural).context("every object has a type")?;
            self.create(info, &found.as_ref().clone()).await?;
        }
        let wanted = FinalState::of(model.store().all().map(|(key, found)| (key, (*found).clone())));
        let deadline = Instant::now() + BUILT_WITHIN;
        loop {
            let end = self.end().await?;
            if end == wanted {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("the server does not become what the check begins with:\n{}", wanted.difference(&end));
            }
            sleep(ASK_EVERY).await;
        }
    }

    /// Creates an object, with the status that it has. One of a kind that is just being defined takes more than one try.
    async fn create(&self, info: &TypeInfo, found: &Value) -> Result<()> {
        let mut body = found.clone();
        for field in ["resourceVersion", "uid", "creationTimestamp", "managedFields", "generation"] {
            object::remove_meta(&mut body, field);
        }
        let status = body.as_object_mut().and_then(|fields| fields.remove("status"));
        let namespace = info.namespaced.then(|| object::namespace(found).to_owned());
        let request =
            |verb| Request { namespace: namespace.clone(), ..Request::new(verb, info.resource.clone()) };
        let create = request(Verb::Create).with_body(body).as_manager(CLIENT);
        let deadline = Instant::now() + BUILT_WITHIN;
        loop {
            let answered = self.perform(&create).await?;
            if answered.code.is_success() {
                break;
            }
            if answered.code.as_u16() != 404 || Instant::now() > deadline {
                bail!("an object is refused: {}", String::from_utf8_lossy(&answered.body));
            }
            sleep(ASK_EVERY).await;
        }
        if let Some(status) = status.filter(|_| info.has_status && *info.resource.group != *DEFINITIONS) {
            let mut patch = request(Verb::Patch(PatchKind::Merge)).named(object::name(found));
            patch.subresource = Some("status".to_owned());
            self.perform(&patch.with_body(json!({ "status": status })).as_manager(CLIENT)).await?;
        }
        Ok(())
    }

    /// Performs a request as a client does, whatever the answer is.
    pub(crate) async fn perform(&self, request: &Request) -> Result<Answered> {
        self.target.ask(&Sent::from(write(request))).await
    }

    /// All objects, but for those that the server had from the start, in the form in which they are compared.
    pub(crate) async fn end(&self) -> Result<FinalState> {
        let objects = self.objects().await?;
        Ok(FinalState::of(objects.into_iter().filter(|(key, _)| !self.base.contains(key))))
    }

    /// All objects.
    async fn objects(&self) -> Result<Vec<(Key, Value)>> {
        let mut objects = Vec::new();
        for resource in &self.resources {
            let answered = self.perform(&Request::new(Verb::List, resource.clone())).await?;
            if answered.code.as_u16() == 404 {
                // Its definition is not there yet.
                continue;
            }
            let list: Value = serde_json::from_slice(&answered.body)?;
            let items =
                list["items"].as_array().with_context(|| format!("no list of {resource:?}: {list}"))?;
            let kind = list["kind"].as_str().unwrap_or_default().trim_end_matches("List");
            for item in items {
                let mut item = item.clone();
                item["apiVersion"] = list["apiVersion"].clone();
                item["kind"] = kind.into();
                let (namespace, name) = (object::namespace(&item), object::name(&item));
                objects.push((Key::new(&resource.group, &resource.plural, namespace, name), item));
            }
        }
        Ok(objects)
    }

    /// FinalStates the server.
    pub(crate) async fn shutdown(self) {
        self.server.shutdown().await;
    }
}

fn is_stored_version(info: &TypeInfo) -> bool {
    *info.resource.version == *info.storage_version && info.storage_group() == &*info.resource.group
}
