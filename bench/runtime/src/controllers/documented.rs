//! The controller on `kube::runtime::Controller`, as its documentation shows one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::controller::Action;
use kube::runtime::{Controller, watcher};
use kube::{Client, ResourceExt};
use serde_json::json;
use two_configmaps::Pair;

use super::peer::{MANAGER, config_maps, look_again, status};

struct Settings {
    client: Client,
    resync: Option<Duration>,
}

pub(super) async fn run(client: Client, namespace: &str, resync: Option<Duration>) -> Result<()> {
    let pairs: Api<Pair> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    Controller::new(pairs, watcher::Config::default())
        .owns(maps, watcher::Config::default())
        .shutdown_on_signal()
        .run(
            reconcile,
            |_, _, _| Action::requeue(Duration::from_secs(1)),
            Arc::new(Settings { client, resync }),
        )
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

async fn reconcile(pair: Arc<Pair>, settings: Arc<Settings>) -> Result<Action, kube::Error> {
    let namespace = pair.namespace().unwrap_or_default();
    let apply = PatchParams::apply(MANAGER).force();
    let maps: Api<ConfigMap> = Api::namespaced(settings.client.clone(), &namespace);
    for map in config_maps(&pair) {
        maps.patch(&map.name_any(), &apply, &Patch::Apply(&map)).await?;
    }
    let pairs: Api<Pair> = Api::namespaced(settings.client.clone(), &namespace);
    let patch = json!({ "status": status(&pair) });
    pairs.patch_status(&pair.name_any(), &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(look_again(settings.resync))
}
