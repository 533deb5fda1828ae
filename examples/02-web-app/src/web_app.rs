//! The custom resource: what a user asks for.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use windlass::MachineStatus;

/// On a Secret: the app that waits for it, so that it goes on at once.
pub const WAITING_APP_LABEL: &str = "example.windlass.dev/web-app";

/// A web application.
#[derive(CustomResource, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.windlass.dev",
    version = "v1",
    kind = "WebApp",
    namespaced,
    status = "MachineStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].status"}"#,
    printcolumn = r#"{"name":"Reason","type":"string","jsonPath":".status.conditions[?(@.type==\"Ready\")].reason"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct WebAppSpec {
    /// The image that is run.
    pub image: String,
    /// How many of it.
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 100))]
    pub replicas: i32,
    /// The configuration file that it finds as `/etc/web-app/app.conf`.
    #[serde(default)]
    pub config: String,
    /// A Secret that must exist before anything is started; its entries become environment variables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_secret: Option<String>,
    /// Whether it can be reached, and has a name.
    #[serde(default)]
    pub exposed: bool,
}

fn one() -> i32 {
    1
}

/// An app in the namespace `default` that is not exposed and waits for nothing.
pub fn web_app(name: &str) -> WebApp {
    let spec = WebAppSpec {
        image: "registry.example/shop:1".to_owned(),
        replicas: 2,
        config: "colour = blue".to_owned(),
        ..WebAppSpec::default()
    };
    let mut app = WebApp::new(name, spec);
    app.metadata.namespace = Some("default".to_owned());
    app
}
