//! The garbage collector of kube-controller-manager, which a kube-apiserver alone comes without: deletes endpoints and droplets
//! whose owner is gone.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Pod, Service};
use kube::api::{Api, DeleteParams, ListParams, Preconditions};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::task::JoinHandle;
use windlass_mizar::api::{Droplet, Endpoint};

use crate::cluster::Cluster;

/// Collects until it is aborted.
pub(crate) fn collect(cluster: &Cluster) -> JoinHandle<()> {
    let client = cluster.client.clone();
    tokio::spawn(async move {
        loop {
            // An API server that cannot be asked just now can be asked later.
            let _ = collect_once(&client).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
}

async fn collect_once(client: &Client) -> kube::Result<()> {
    // Dependents first: an owner that is missing afterwards has not just been created.
    let endpoints = all::<Endpoint>(client).await?;
    let droplets = all::<Droplet>(client).await?;
    let mut owners = uids::<Pod>(client).await?;
    owners.extend(uids::<Service>(client).await?);
    owners.extend(uids::<Node>(client).await?);
    delete_orphans(client, &endpoints, &owners).await?;
    delete_orphans(client, &droplets, &owners).await
}

async fn all<K>(client: &Client) -> kube::Result<Vec<K>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    Ok(Api::<K>::all(client.clone()).list(&ListParams::default()).await?.items)
}

async fn uids<K>(client: &Client) -> kube::Result<BTreeSet<String>>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned,
{
    Ok(all::<K>(client).await?.iter().filter_map(ResourceExt::uid).collect())
}

async fn delete_orphans<K>(client: &Client, objects: &[K], owners: &BTreeSet<String>) -> kube::Result<()>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned,
{
    let is_orphan = |object: &&K| {
        let references = object.owner_references();
        !references.is_empty() && references.iter().all(|owner| !owners.contains(&owner.uid))
    };
    for orphan in objects.iter().filter(is_orphan).filter(|one| one.meta().deletion_timestamp.is_none()) {
        let api: Api<K> = Api::namespaced(client.clone(), &orphan.namespace().unwrap_or_default());
        let preconditions = Preconditions { uid: orphan.uid(), ..Preconditions::default() };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::default() };
        let _ = api.delete(&orphan.name_any(), &params).await;
    }
    Ok(())
}
