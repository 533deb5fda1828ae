//! The controller on `kube::runtime::Controller` as somebody shards it by hand: the uid of a parent, modulo the number of
//! instances, is the number of its owner. No one takes over what a lost instance had.

use std::hash::Hasher;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, watcher};
use kube::{Client, Resource, ResourceExt};
use serde_json::json;
use two_configmaps::{Pair, config_map};
use windlass::{Condition, MachineStatus};

const MANAGER: &str = "pairs.example.windlass.dev";

/// An instance on kube-rs.
#[derive(Clone, Copy, Parser)]
struct ModuloArguments {
    #[arg(long)]
    workers: u16,
    #[arg(long)]
    wait_ms: u64,
    /// Number of this instance, from 0.
    #[arg(long)]
    number: u64,
    /// Number of instances.
    #[arg(long)]
    of: u64,
}

impl ModuloArguments {
    fn owns(self, uid: Option<&str>) -> bool {
        // Not keyed, so that all instances agree.
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write(uid.unwrap_or_default().as_bytes());
        hasher.finish() % self.of == self.number
    }
}

struct Known {
    client: Client,
    maps: Store<ConfigMap>,
    wait: Duration,
}

/// The program: `modulo --number 0 --of 5 ...`.
pub(crate) fn main() -> Result<()> {
    let arguments = ModuloArguments::parse_from(std::env::args().skip(1));
    tokio::runtime::Runtime::new()?.block_on(run(arguments))
}

async fn run(arguments: ModuloArguments) -> Result<()> {
    let client = Client::try_default().await?;
    let (pair_store, pair_writer) = reflector::store();
    let (map_store, map_writer) = reflector::store();
    let pairs = watcher(Api::<Pair>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(pair_writer)
        .applied_objects()
        .try_filter(move |pair| std::future::ready(arguments.owns(pair.metadata.uid.as_deref())))
        // Its own status does not wake it.
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let maps = watcher(Api::<ConfigMap>::all(client.clone()), watcher::Config::default())
        .default_backoff()
        .reflect(map_writer)
        .touched_objects()
        .try_filter(move |map| {
            let owner = map.owner_references().first();
            std::future::ready(arguments.owns(owner.map(|owner| owner.uid.as_str())))
        });
    let known = Known { client, maps: map_store, wait: Duration::from_millis(arguments.wait_ms) };
    Controller::for_stream(pairs, pair_store)
        .with_config(Config::default().concurrency(arguments.workers))
        .owns_stream(maps)
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(known))
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

async fn reconcile(pair: Arc<Pair>, known: Arc<Known>) -> Result<Action, kube::Error> {
    let namespace = pair.namespace().unwrap_or_default();
    let mut map = config_map("cm1", &pair);
    map.metadata.namespace = Some(namespace.clone());
    map.metadata.owner_references = pair.controller_owner_ref(&()).map(|owner| vec![owner]);
    let there = known.maps.get(&ObjectRef::from_obj(&map));
    if there.is_some_and(|there| there.data == map.data) {
        return Ok(Action::await_change());
    }
    // The call of something outside.
    tokio::time::sleep(known.wait).await;
    let apply = PatchParams::apply(MANAGER).force();
    let maps: Api<ConfigMap> = Api::namespaced(known.client.clone(), &namespace);
    maps.patch(&map.name_any(), &apply, &Patch::Apply(&map)).await?;
    let pairs: Api<Pair> = Api::namespaced(known.client.clone(), &namespace);
    let patch = json!({ "status": status(&pair) });
    pairs.patch_status(&pair.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(Action::await_change())
}

fn status(pair: &Pair) -> MachineStatus {
    let generation = pair.metadata.generation.unwrap_or_default();
    let made = serde_json::to_value(pair.creation_timestamp()).unwrap_or_default();
    let conditions = ["Made", "Ready"].map(|kind| Condition {
        r#type: kind.to_owned(),
        status: "True".to_owned(),
        reason: "Done".to_owned(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: made.as_str().unwrap_or_default().to_owned(),
    });
    MachineStatus {
        observed_generation: Some(generation),
        conditions: conditions.to_vec(),
        ..MachineStatus::default()
    }
}
