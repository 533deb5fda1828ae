//! The custom resource, and the object that is created for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

/// A request to greet somebody.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "guide.windlass.dev",
    version = "v1",
    kind = "Greeting",
    namespaced,
    status = "MachineStatus",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#
)]
pub struct GreetingSpec {
    /// The name to greet.
    pub who: String,
}

/// A greeting in the namespace `default`.
pub fn greeting(name: &str, who: &str) -> Greeting {
    let mut greeting = Greeting::new(name, GreetingSpec { who: who.to_owned() });
    greeting.metadata.namespace = Some("default".to_owned());
    greeting
}

/// The ConfigMap of a greeting. It has the same name.
pub fn config_map(greeting: &Greeting) -> ConfigMap {
    let text = format!("Hello, {}!", greeting.spec.who);
    ConfigMap {
        metadata: ObjectMeta { name: greeting.metadata.name.clone(), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("text".to_owned(), text)])),
        ..ConfigMap::default()
    }
}
