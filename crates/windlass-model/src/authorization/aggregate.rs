//! The controller of aggregated roles as a pure step: a ClusterRole with an aggregation rule has the rules of all
//! that it selects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::GROUP;
use crate::field::FieldPath;
use crate::object;
use crate::request::{PatchKind, Request, ResourceId, Verb};
use crate::selector::from_label_selector_object;
use crate::store::Store;

/// Everything that the controller would do now, by role.
pub fn next_requests<S: Store + ?Sized>(store: &S) -> Vec<Request> {
    let roles: Vec<Arc<Value>> =
        store.scan(GROUP, "clusterroles", Some(""), None).map(|(_, role)| role).collect();
    let aggregates = roles.iter().filter(|role| role["aggregationRule"].is_object());
    aggregates.filter_map(|aggregate| step(aggregate, &roles)).collect()
}

fn step(aggregate: &Value, roles: &[Arc<Value>]) -> Option<Request> {
    let wanted = gathered(aggregate, roles)?;
    let given = aggregate["rules"].as_array().map_or(&[][..], Vec::as_slice);
    if wanted == given {
        return None;
    }
    let name = object::name(aggregate);
    let body = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
        "metadata": { "name": name }, "rules": wanted,
    });
    let mut request =
        Request::new(Verb::Patch(PatchKind::Apply), ResourceId::new(GROUP, "v1", "clusterroles"))
            .named(name)
            .with_body(body)
            .as_manager("clusterrole-aggregation-controller");
    request.options.force = true;
    Some(request)
}

/// The rules of all roles that the aggregate selects, each once; `None` if a selector makes no sense.
fn gathered(aggregate: &Value, roles: &[Arc<Value>]) -> Option<Vec<Value>> {
    let mut rules: Vec<Value> = Vec::new();
    for selector in aggregate["aggregationRule"]["clusterRoleSelectors"].as_array().into_iter().flatten() {
        let selector = from_label_selector_object(selector, &FieldPath::root()).ok()?;
        let others = roles.iter().filter(|role| object::name(role) != object::name(aggregate));
        for role in others.filter(|role| selector.matches(&role["metadata"]["labels"])) {
            for rule in role["rules"].as_array().into_iter().flatten() {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    Some(rules)
}
