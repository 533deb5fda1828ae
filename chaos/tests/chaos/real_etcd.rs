//! The same with a real etcd: as the registry, and behind a real kube-apiserver.

use anyhow::Result;
use chaos::plan::{Plan, RegistryKind, ServerKind};

use crate::plan;
use crate::short::survives;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_have_one_writer_each_with_the_registry_in_etcd() -> Result<()> {
    survives(Plan { registry: RegistryKind::Etcd, ..plan(23) }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_have_one_writer_each_on_kube_apiserver() -> Result<()> {
    survives(Plan { server: ServerKind::Kubernetes, ..plan(31) }).await
}
