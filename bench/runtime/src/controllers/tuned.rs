//! The controller on `kube::runtime::Controller` as somebody writes it who has measured it: what the watches know is
//! read from caches, and nothing is sent that is so already.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::{Action, Config};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{Controller, PredicateConfig, WatchStreamExt, predicates, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use two_configmaps::Pair;
use windlass_runtime::DEFAULT_WORKERS;

use super::peer::{MANAGER, config_maps, look_again, status};

struct Known {
    client: Client,
    maps: Store<ConfigMap>,
    resync: Option<Duration>,
}

pub(super) async fn run(client: Client, namespace: &str, resync: Option<Duration>) -> Result<()> {
    // As many reconciles at a time as Windlass has.
    let concurrency = u16::try_from(DEFAULT_WORKERS)?;
    let (pair_store, pair_writer) = reflector::store();
    let (map_store, map_writer) = reflector::store();
    let pairs: Api<Pair> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let pairs = watcher(pairs, watcher::Config::default())
        .default_backoff()
        .reflect(pair_writer)
        .applied_objects()
        // Its own status does not wake it.
        .predicate_filter(predicates::generation, PredicateConfig::default());
    let maps =
        watcher(maps, watcher::Config::default()).default_backoff().reflect(map_writer).touched_objects();
    let known = Arc::new(Known { client, maps: map_store, resync });
    Controller::for_stream(pairs, pair_store)
        .with_config(Config::default().concurrency(concurrency))
        .owns_stream(maps)
        .shutdown_on_signal()
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), known)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

async fn reconcile(pair: Arc<Pair>, known: Arc<Known>) -> Result<Action, kube::Error> {
    let namespace = pair.namespace().unwrap_or_default();
    let maps: Api<ConfigMap> = Api::namespaced(known.client.clone(), &namespace);
    for map in config_maps(&pair) {
        let there = known.maps.get(&ObjectRef::from_obj(&map));
        if there.is_none_or(|there| !is_as_wanted(&there, &map)) {
            let apply = PatchParams::apply(MANAGER).force();
            maps.patch(&map.name_any(), &apply, &Patch::Apply(&map)).await?;
        }
    }
    let status = status(&pair);
    if pair.status.as_ref() != Some(&status) {
        let pairs: Api<Pair> = Api::namespaced(known.client.clone(), &namespace);
        let patch = json!({ "status": status });
        pairs.patch_status(&pair.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    }
    Ok(look_again(known.resync))
}

fn is_as_wanted(there: &ConfigMap, wanted: &ConfigMap) -> bool {
    let labels = wanted.metadata.labels.iter().flatten();
    there.data == wanted.data
        && there.metadata.owner_references == wanted.metadata.owner_references
        && labels.into_iter().all(|(key, value)| there.labels().get(key) == Some(value))
}
