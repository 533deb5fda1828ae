//! What every namespace is given.

use serde_json::json;
use windlass_model::{Cluster, Verb, authentication};

use crate::support::{exists, found, merge, namespace, ok, request};

fn settle(cluster: &mut Cluster, authority: Option<&str>) -> usize {
    let requests = authentication::next_requests(cluster.store(), authority);
    requests.iter().for_each(|request| drop(ok(cluster, request)));
    assert_eq!(authentication::next_requests(cluster.store(), authority), [], "one round is enough");
    requests.len()
}

#[test]
fn every_namespace_has_an_account_and_an_authority() {
    let mut cluster = Cluster::new();
    assert_eq!(settle(&mut cluster, None), 4);
    assert!(exists(&mut cluster, "serviceaccounts", "default"));
    assert!(!exists(&mut cluster, "configmaps", "kube-root-ca.crt"));
    assert_eq!(settle(&mut cluster, Some("PEM")), 4);
    ok(&mut cluster, &request(Verb::Create, "namespaces").with_body(namespace("new")));
    assert_eq!(settle(&mut cluster, Some("PEM")), 2);
    ok(&mut cluster, &request(Verb::Delete, "serviceaccounts").named("default"));
    assert_eq!(settle(&mut cluster, Some("PEM")), 1);
}

#[test]
fn the_authority_is_put_right() {
    let mut cluster = Cluster::new();
    settle(&mut cluster, Some("old"));
    assert_eq!(settle(&mut cluster, Some("new")), 4);
    ok(
        &mut cluster,
        &merge("configmaps", "kube-root-ca.crt", json!({ "data": { "ca.crt": "forged", "more": "x" } })),
    );
    assert_eq!(settle(&mut cluster, Some("new")), 1);
    assert_eq!(found(&mut cluster, "configmaps", "kube-root-ca.crt")["data"], json!({ "ca.crt": "new" }));
}

#[test]
fn a_namespace_that_goes_is_given_nothing() {
    let mut cluster = Cluster::new();
    ok(&mut cluster, &request(Verb::Create, "namespaces").with_body(namespace("going")));
    ok(&mut cluster, &request(Verb::Delete, "namespaces").named("going"));
    assert!(exists(&mut cluster, "namespaces", "going"));
    assert_eq!(settle(&mut cluster, None), 4);
}
