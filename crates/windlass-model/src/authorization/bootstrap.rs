//! The roles and bindings that every cluster starts with.

use serde_json::{Map, Value, json};

use super::GROUP;
use crate::object;
use crate::request::{Request, ResourceId, Verb};
use crate::store::{Key, Store};

/// One object per line at the margin, with its rules or subjects below it.
const POLICY: &str = include_str!("bootstrap.policy");
const AGGREGATE_TO: &str = "rbac.authorization.k8s.io/aggregate-to-";

/// The objects: ClusterRoles such as `cluster-admin` and `view`, Roles in `kube-system`, and their bindings.
pub(crate) fn bootstrap_policy() -> Vec<Value> {
    let mut objects: Vec<Value> = Vec::new();
    for line in POLICY.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match objects.last_mut() {
            Some(object) if line.starts_with(' ') => add_detail(object, &words),
            _ => objects.extend(head(&words)),
        }
    }
    objects
}

/// Requests that create what of the policy is not there yet, in an order in which they succeed.
///
/// What is there stays as it is, whatever somebody made of it.
pub fn bootstrap_requests<S: Store + ?Sized>(store: &S) -> Vec<Request> {
    let missing = bootstrap_policy().into_iter().filter_map(|body| {
        let plural = format!("{}s", body["kind"].as_str().unwrap_or_default().to_ascii_lowercase());
        let (namespace, name) = (object::namespace(&body), object::name(&body));
        if store.get(&Key::new(GROUP, &plural, namespace, name)).is_some() {
            return None;
        }
        let request =
            Request::new(Verb::Create, ResourceId::new(GROUP, "v1", &plural)).in_namespace(namespace);
        Some(request.with_body(body).as_manager("kube-apiserver"))
    });
    missing.collect()
}

/// The object that a line at the margin names.
fn head(words: &[&str]) -> Option<Value> {
    let [kind, name, rest @ ..] = words else { return None };
    let (namespace, name) = match name.split_once('/') {
        Some((namespace, name)) => (Some(namespace), name),
        None => (None, *name),
    };
    let mut labels = Map::new();
    labels.insert("kubernetes.io/bootstrapping".to_owned(), "rbac-defaults".into());
    let mut object = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": kind,
        "metadata": {
            "name": name,
            "annotations": { "rbac.authorization.kubernetes.io/autoupdate": "true" },
        },
    });
    if let Some(namespace) = namespace {
        object::set_meta(&mut object, "namespace", namespace);
    }
    match rest {
        [role_kind, role] if kind.ends_with("Binding") => {
            object["roleRef"] = json!({ "apiGroup": GROUP, "kind": role_kind, "name": role });
        }
        options => {
            for option in options {
                match option.split_once('=') {
                    Some(("into", role)) => {
                        labels.insert(format!("{AGGREGATE_TO}{role}"), "true".into());
                    }
                    Some(("from", role)) => {
                        let selector =
                            json!({ "matchLabels": { (format!("{AGGREGATE_TO}{role}")): "true" } });
                        object["aggregationRule"] = json!({ "clusterRoleSelectors": [selector] });
                    }
                    _ => {}
                }
            }
        }
    }
    object::set_meta(&mut object, "labels", labels);
    Some(object)
}

/// Adds an indented line: a rule of a role, or a subject of a binding.
fn add_detail(object: &mut Value, words: &[&str]) {
    let split = |list: &str| -> Vec<String> {
        list.split(',').map(|word| if word == "core" { String::new() } else { word.to_owned() }).collect()
    };
    let (field, detail) = match words {
        [kind, name] if object["roleRef"].is_object() => ("subjects", subject(kind, name)),
        [verbs, urls] => ("rules", json!({ "nonResourceURLs": split(urls), "verbs": split(verbs) })),
        [verbs, groups, resources, names @ ..] => {
            let mut rule = json!({
                "apiGroups": split(groups), "resources": split(resources), "verbs": split(verbs),
            });
            if let [names] = names {
                rule["resourceNames"] = json!(split(names));
            }
            ("rules", rule)
        }
        _ => return,
    };
    match object[field].as_array_mut() {
        Some(list) => list.push(detail),
        None => object[field] = json!([detail]),
    }
}

fn subject(kind: &str, name: &str) -> Value {
    match name.split_once('/') {
        Some((namespace, name)) => json!({ "kind": kind, "namespace": namespace, "name": name }),
        None => json!({ "apiGroup": GROUP, "kind": kind, "name": name }),
    }
}
