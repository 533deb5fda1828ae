//! Whether the server is well, for probes and scripts; and what it counts, for Prometheus.

use hyper::http::request::Parts;
use windlass_model::http::Format;

use crate::http::answer::{Answer, of_bytes, of_value};
use crate::http::api::Api;
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// Answers `/healthz`, `/livez` and `/readyz`, also with `?verbose`: to anybody, for probes have no token.
pub(crate) fn answer(api: &Api, parts: &Parts) -> Option<Answer> {
    let path = parts.uri.path().trim_end_matches('/');
    let name =
        ["healthz", "livez", "readyz"].into_iter().find(|name| path.strip_prefix('/') == Some(name))?;
    let going_on = name != "readyz" || !api.closing.is_closing();
    let checks = [("ping", true), ("shutdown", going_on)];
    let well = checks.iter().all(|(_, well)| *well);
    let query = parts.uri.query().unwrap_or_default();
    if well && !query.split('&').any(|part| part.starts_with("verbose")) {
        return Some(of_bytes(200, TEXT, "ok"));
    }
    let mut report = String::new();
    for (check, well) in checks {
        report += &if well { format!("[+]{check} ok\n") } else { format!("[-]{check} failed\n") };
    }
    report += &format!("{name} check {}\n", if well { "passed" } else { "failed" });
    Some(of_bytes(if well { 200 } else { 500 }, TEXT, report))
}

/// Answers `/metrics`, and how the tokens of service accounts can be verified.
pub(crate) fn answer_guest(api: &Api, parts: &Parts) -> Option<Answer> {
    match parts.uri.path().trim_end_matches('/') {
        "/metrics" => Some(of_bytes(200, metrics::CONTENT_TYPE, api.metrics.text(&api.storage))),
        "/openid/v1/jwks" => Some(of_value(200, Format::Json, &api.gate.auth.key_set())),
        "/.well-known/openid-configuration" => {
            Some(of_value(200, Format::Json, &api.gate.auth.openid_configuration(&api.url)))
        }
        _ => None,
    }
}
