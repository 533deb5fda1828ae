//! What every namespace is given, as a pure step: the account `default`, and the certificate authority to trust.

use serde_json::{Value, json};

use crate::object;
use crate::request::{Request, ResourceId, Verb};
use crate::store::{Key, Store};

const ACCOUNT: &str = "default";
const AUTHORITY: &str = "kube-root-ca.crt";
const MANAGER: &str = "kube-controller-manager";

/// Everything that the controllers of service accounts and root certificates would do now, by namespace.
///
/// `authority` is the certificate authority of the server as PEM; without one, only accounts are made.
pub fn next_requests<S: Store + ?Sized>(store: &S, authority: Option<&str>) -> Vec<Request> {
    let namespaces = store.scan("", "namespaces", None, None).map(|(_, namespace)| namespace);
    let active = namespaces.filter(|namespace| !object::is_deleting(namespace));
    active.flat_map(|namespace| in_namespace(store, object::name(&namespace), authority)).collect()
}

fn in_namespace<S: Store + ?Sized>(store: &S, namespace: &str, authority: Option<&str>) -> Vec<Request> {
    let exists = store.get(&Key::new("", "serviceaccounts", namespace, ACCOUNT)).is_some();
    let account = (!exists).then(|| {
        let body = json!({ "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": ACCOUNT } });
        request(Verb::Create, "serviceaccounts", namespace).with_body(body)
    });
    let trusted = authority.and_then(|authority| publish(store, namespace, authority));
    account.into_iter().chain(trusted).collect()
}

fn publish<S: Store + ?Sized>(store: &S, namespace: &str, authority: &str) -> Option<Request> {
    let data = json!({ "ca.crt": authority });
    let Some(found) = store.get(&Key::new("", "configmaps", namespace, AUTHORITY)) else {
        let note =
            "The certificate authority of the API server, for those who reach it from inside the cluster.";
        let body: Value = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": { "name": AUTHORITY, "annotations": { "kubernetes.io/description": note } },
            "data": data,
        });
        return Some(request(Verb::Create, "configmaps", namespace).with_body(body));
    };
    if found["data"] == data {
        return None;
    }
    let mut body = (*found).clone();
    body["data"] = data;
    Some(request(Verb::Update, "configmaps", namespace).named(AUTHORITY).with_body(body))
}

fn request(verb: Verb, plural: &str, namespace: &str) -> Request {
    Request::new(verb, ResourceId::new("", "v1", plural)).in_namespace(namespace).as_manager(MANAGER)
}
