//! What there is besides resources, and which version of Kubernetes this API is.

use serde_json::{Value, json};

use super::groups::groups;
use windlass_model::Types;

/// Paths that do not depend on the types.
const FIXED: &[&str] = &[
    "/api",
    "/apis",
    "/apis/",
    "/healthz",
    "/livez",
    "/metrics",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/readyz",
    "/version",
];

/// `/`: all paths.
pub(super) fn paths(types: &Types) -> Value {
    let mut paths: Vec<String> = FIXED.iter().map(|path| (*path).to_owned()).collect();
    for group in groups(types) {
        let start = if group.name.is_empty() { "/api".to_owned() } else { format!("/apis/{}", group.name) };
        paths.extend(group.versions.iter().map(|(version, _)| format!("{start}/{version}")));
        paths.push(start);
    }
    paths.sort_unstable();
    paths.dedup();
    json!({ "paths": paths })
}

/// `/version`: the level of the API for programs, and whose it is for people.
pub(super) fn version() -> Value {
    // As Go calls them.
    let architecture = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    json!({
        "major": "1",
        "minor": "35",
        "emulationMajor": "1",
        "emulationMinor": "35",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "34",
        "gitVersion": concat!("v1.35.0+windlass.", env!("CARGO_PKG_VERSION")),
        "gitCommit": "",
        "gitTreeState": "",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, architecture),
    })
}
