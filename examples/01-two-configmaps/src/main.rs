//! Runs the controller against a cluster in memory: no Kubernetes, no network.

use kube::CustomResourceExt;
use two_configmaps::{Pair, TwoConfigMaps, pair};
use windlass::local::Local;
use windlass::model::{Cluster, Request, Store, Verb};
use windlass::{Controller, Kind, ObjectRef, to_value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut cluster = Cluster::new();
    let definition = serde_json::to_value(Pair::crd())?;
    cluster.install_crd(&definition).map_err(|status| status.message)?;
    let create = Request::new(Verb::Create, Pair::kind_info().resource).in_namespace("default");
    let created = cluster.request(&create.with_body(to_value(&pair("a"))?));
    if let Some(status) = created.failure() {
        return Err(status.message.clone().into());
    }

    let controller = Controller::new(TwoConfigMaps);
    let mut local = Local::new(cluster);
    let ended = local.reconcile(&controller, &ObjectRef::new("default", "a"))?;
    println!("states: {}", ended.path.join(" -> "));
    println!("result: {:?}", ended.result);
    for (key, object) in local.cluster.store().scan("", "configmaps", Some("default"), None) {
        println!("configmap {}: {}", key.name, object["data"]);
    }
    Ok(())
}
