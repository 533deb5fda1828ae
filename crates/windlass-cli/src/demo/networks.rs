//! Virtual networks in the demonstration: droplets as processes, pods and a service in two VPCs, and a droplet that is lost.

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, ApiResource, ListParams, Patch, PatchParams};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use windlass_mizar::MizarSettings;
use windlass_mizar::api::{Bouncer, Endpoint, Phase, Subnet, Vpc};

use crate::child::ServerProcess;
use crate::droplet::nodes;
use crate::mizar::audit_of;

use super::progress::Progress;

/// How many nodes there are, each with a droplet.
const DROPLETS: u8 = 20;
/// Each VPC, with its range, its subnet and the range of that.
const VPCS: [(&str, &str, &str, &str); 2] =
    [("shop", "10.1.0.0", "shop-net", "10.1.1.0"), ("bank", "10.2.0.0", "bank-net", "10.2.1.0")];
const PODS_OF_EACH: usize = 4;
/// The service is in the first VPC, in front of all of its pods.
const SERVICE: &str = "checkout";
const TIMEOUT: Duration = Duration::from_secs(20);

/// The operators notice within a second or two that a droplet is lost.
pub(super) fn settings(settings: MizarSettings) -> MizarSettings {
    MizarSettings {
        check_interval: Duration::from_millis(250),
        lost_after: Duration::from_secs(1),
        retry_interval: Duration::from_millis(100),
        ..settings
    }
}

/// Makes everything, and waits until all of it works. The daemons end when they are dropped.
pub(super) async fn make(client: &Client) -> anyhow::Result<Vec<ServerProcess>> {
    let daemons = nodes::start(client, DROPLETS).await?;
    for (vpc, range, subnet, subnet_range) in VPCS {
        apply::<Vpc>(client, vpc, json!({ "spec": { "ip": range, "prefix": 16, "dividers": 2 } })).await?;
        let spec = json!({ "vpc": vpc, "ip": subnet_range, "prefix": 24, "bouncers": 3 });
        apply::<Subnet>(client, subnet, json!({ "spec": spec })).await?;
        for number in 0..PODS_OF_EACH {
            let pod = json!({
                "metadata": { "annotations": annotations(vpc, subnet) },
                "spec": {
                    "nodeName": daemons[number * 5].name,
                    "containers": [{ "name": "main", "image": "main" }],
                },
            });
            apply::<Pod>(client, &pod_name(vpc, number), pod).await?;
        }
    }
    let (vpc, _, subnet, _) = VPCS[0];
    let service = json!({
        "metadata": { "annotations": annotations(vpc, subnet) }, "spec": { "ports": [{ "port": 80 }] },
    });
    apply::<Service>(client, SERVICE, service).await?;
    apply::<EndpointSlice>(client, "checkout-1", slice(vpc)).await?;
    until("all endpoints are Provisioned", async || {
        let endpoints: Vec<Endpoint> = own(client).await?;
        let backends = endpoints.iter().map(|endpoint| endpoint.spec.backends.len()).max().unwrap_or(0);
        let all = endpoints.len() == VPCS.len() * PODS_OF_EACH + 1 && backends == PODS_OF_EACH;
        Ok(all && endpoints.iter().all(|one| one.state().phase == Phase::Provisioned))
    })
    .await?;
    Ok(daemons)
}

/// What the demonstration shows of them.
pub(super) fn kinds() -> Vec<ApiResource> {
    vec![ApiResource::erase::<Vpc>(&()), ApiResource::erase::<Subnet>(&())]
}

/// Whether the VPCs and their subnets are, as they were last seen.
pub(super) fn are_ready(progress: &Progress) -> bool {
    VPCS.iter()
        .all(|(vpc, _, subnet, _)| progress.is_ready("Vpc", vpc) && progress.is_ready("Subnet", subnet))
}

/// Kills the daemon of a droplet that a bouncer is on; the bouncer is placed on another one.
pub(super) async fn lose_a_droplet(
    client: &Client,
    mut daemons: Vec<ServerProcess>,
) -> anyhow::Result<Vec<ServerProcess>> {
    let bouncers: Vec<Bouncer> = own(client).await?;
    let bouncer = bouncers.first().context("there is no bouncer")?;
    let (name, lost) = (bouncer.name_any(), bouncer.state().droplet.context("a bouncer is not placed")?);
    let index = daemons.iter().position(|daemon| daemon.name == lost).context("a droplet has no daemon")?;
    let daemon = daemons.remove(index);
    say!("   kill -9 {}, the droplet of {lost}, where the bouncer {name} is", daemon.process_id());
    daemon.kill()?;
    until("the bouncer is placed on another droplet", async || {
        let bouncers: Vec<Bouncer> = own(client).await?;
        let all = bouncers.iter().all(|one| {
            one.state().droplet.as_ref() != Some(&lost) && one.state().phase == Phase::Provisioned
        });
        Ok(all && bouncers.len() == VPCS.len() * 3)
    })
    .await?;
    let bouncers: Vec<Bouncer> = own(client).await?;
    let moved = bouncers.iter().find(|one| one.name_any() == name).context("the bouncer is gone")?;
    say!("   {name} is on {} now, and all who have to know it do", moved.state().droplet.unwrap_or_default());
    show_tables(client).await?;
    Ok(daemons)
}

/// Compares the tables of all droplets with what the objects say, once all is at rest.
pub(super) async fn show_tables(client: &Client) -> anyhow::Result<()> {
    let mut found = audit_of(client).await?;
    until("the tables of all droplets are what the objects say", async || {
        found = audit_of(client).await?;
        Ok(found.is_right())
    })
    .await?;
    say!("   {} droplets with {} rows: all as the objects say", found.droplets, found.rows);
    Ok(())
}

fn pod_name(vpc: &str, number: usize) -> String {
    format!("{vpc}-{number}")
}

fn annotations(vpc: &str, subnet: &str) -> Value {
    json!({ "mizar.com/vpc": vpc, "mizar.com/subnet": subnet })
}

fn slice(vpc: &str) -> Value {
    let endpoint = |number: usize| {
        let target = json!({ "kind": "Pod", "name": pod_name(vpc, number), "namespace": "default" });
        json!({ "addresses": ["192.0.2.1"], "targetRef": target })
    };
    json!({
        "metadata": { "labels": { "kubernetes.io/service-name": SERVICE } },
        "addressType": "IPv4", "endpoints": (0..PODS_OF_EACH).map(endpoint).collect::<Vec<_>>(),
        "ports": [{ "port": 8080, "protocol": "TCP" }],
    })
}

async fn apply<K>(client: &Client, name: &str, mut object: Value) -> anyhow::Result<()>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    object["apiVersion"] = K::api_version(&()).into();
    object["kind"] = K::kind(&()).into();
    object["metadata"]["name"] = name.into();
    let api = Api::<K>::namespaced(client.clone(), "default");
    let applied = api.patch(name, &PatchParams::apply("windlass").force(), &Patch::Apply(&object)).await;
    applied.with_context(|| format!("cannot make the {} {name}", K::kind(&())))?;
    Ok(())
}

/// The objects of the two VPCs.
async fn own<K>(client: &Client) -> anyhow::Result<Vec<K>>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + serde::Serialize,
{
    let mut found = Vec::new();
    for (vpc, ..) in VPCS {
        let of_vpc = ListParams::default().fields(&format!("spec.vpc={vpc}"));
        found.extend(Api::<K>::namespaced(client.clone(), "default").list(&of_vpc).await?.items);
    }
    Ok(found)
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let begun = Instant::now();
    while !is_so().await? {
        ensure!(begun.elapsed() < TIMEOUT, "it took too long: {what}");
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    Ok(())
}
