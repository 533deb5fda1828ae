//! A cluster with a custom resource that has two versions, for the tests of documents.

use windlass_model::Cluster;

/// A cluster that serves `widgets` of `example.com`, in `v1` and `v2`.
pub(crate) fn cluster() -> Cluster {
    let definition = serde_json::from_str(include_str!("widgets.json")).expect("JSON");
    let mut cluster = Cluster::new();
    cluster.install_crd(&definition).expect("a valid definition");
    cluster
}
