//! A parent that says nothing, a ConfigMap that holds nothing, a service that is paid, and a machine's only state.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::{Service, States};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.windlass.dev", version = "v1", kind = "Thing", namespaced)]
pub(crate) struct ThingSpec {
    /// Whatever a test wants to be copied.
    #[serde(default)]
    pub(crate) value: String,
}

pub(crate) fn thing(name: &str) -> Thing {
    Thing::new(name, ThingSpec { value: String::new() })
}

pub(crate) fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::new()),
        ..ConfigMap::default()
    }
}

#[derive(States)]
pub(crate) enum Only {
    #[state(initial, condition = "Made")]
    Make,
}

/// A service that a controller pays, or asks for what was paid: each test says how it answers.
pub(crate) struct Bank;

impl Service for Bank {
    const NAME: &'static str = "bank";
    type Request = Value;
    type Response = Value;
}
