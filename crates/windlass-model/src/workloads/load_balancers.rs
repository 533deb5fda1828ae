//! Load balancers: a Service of that type gets an address, which leads nowhere.

use serde_json::{Value, json};

use super::template_hash::fnv32;
use super::writes::{SERVICES, status_update};
use crate::object;
use crate::request::Request;

/// Gives a Service an address, or takes away that of one that is no load balancer any more.
pub(super) fn next(service: &Value) -> Option<Request> {
    let has_address =
        service["status"]["loadBalancer"]["ingress"].as_array().is_some_and(|it| !it.is_empty());
    // One with a class of its own has a controller of its own.
    let is_other = service["spec"]["loadBalancerClass"].is_string();
    let wants = service["spec"]["type"] == "LoadBalancer";
    if object::is_deleting(service) || is_other || wants == has_address {
        return None;
    }
    status_update(SERVICES, service, |status| {
        let balancer = if wants { json!({ "ingress": [{ "ip": address(service) }] }) } else { json!({}) };
        status.insert("loadBalancer".to_owned(), balancer);
    })
}

/// An address from a range for documentation, by the name alone.
fn address(service: &Value) -> String {
    let name = format!("{}/{}", object::namespace(service), object::name(service));
    format!("198.51.100.{}", 1 + fnv32(name.as_bytes()) % 254)
}
