//! Whether the server is well, for probes and scripts; and what it counts, for Prometheus.

use hyper::http::request::Parts;
use windlass_model::http::Format;

use crate::http::answer::{Answer, of_bytes, of_value};
use crate::http::api::Api;
use crate::metrics;

const TEXT: &str = "text/plain; charset=utf-8";

/// One health check and its problem, if it fails.
struct Check {
    name: &'static str,
    problem: Option<String>,
}

/// Answers `/healthz`, `/livez` and `/readyz`, also with `?verbose`, `?exclude=CHECK` and `/CHECK`. No token is needed,
/// since probes have none.
pub(crate) fn answer(api: &Api, parts: &Parts) -> Option<Answer> {
    let path = parts.uri.path().trim_end_matches('/').strip_prefix('/')?;
    let (asked, only) = path.split_once('/').map_or((path, None), |(asked, only)| (asked, Some(only)));
    let name = ["healthz", "livez", "readyz"].into_iter().find(|name| *name == asked)?;
    let query = parts.uri.query().unwrap_or_default();
    let is_excluded = |check: &str| query.split('&').any(|part| part.strip_prefix("exclude=") == Some(check));
    let mut checks = checks(api, name);
    match only {
        Some(only) => checks.retain(|check| check.name == only),
        None => checks.retain(|check| !is_excluded(check.name)),
    }
    if only.is_some() && checks.is_empty() {
        return None;
    }
    let well = checks.iter().all(|check| check.problem.is_none());
    if well && !query.split('&').any(|part| part.starts_with("verbose")) {
        return Some(of_bytes(200, TEXT, "ok"));
    }
    let report = report(name, &checks);
    Some(of_bytes(if well { 200 } else { 500 }, TEXT, report))
}

/// A server that cannot write is not ready; but it lives, since starting it again would make nothing better.
fn checks(api: &Api, name: &str) -> Vec<Check> {
    let mut checks = vec![Check { name: "ping", problem: None }];
    if name != "livez" {
        let problem = api.storage.failure().map(|failure| failure.to_string());
        checks.push(Check { name: "storage", problem });
    }
    if name == "readyz" {
        let problem = api.closing.is_closing().then(|| "the server is shutting down".to_owned());
        checks.push(Check { name: "shutdown", problem });
    }
    checks
}

fn report(name: &str, checks: &[Check]) -> String {
    let mut report = String::new();
    for Check { name, problem } in checks {
        report += &match problem {
            None => format!("[+]{name} ok\n"),
            Some(problem) => format!("[-]{name} failed: {problem}\n"),
        };
    }
    let well = checks.iter().all(|check| check.problem.is_none());
    report + &format!("{name} check {}\n", if well { "passed" } else { "failed" })
}

/// Answers `/metrics`, and how the tokens of service accounts can be verified.
pub(crate) fn answer_authorized(api: &Api, parts: &Parts) -> Option<Answer> {
    match parts.uri.path().trim_end_matches('/') {
        "/metrics" => Some(of_bytes(200, metrics::CONTENT_TYPE, api.metrics.text(&api.storage))),
        "/openid/v1/jwks" => Some(of_value(200, Format::Json, &api.access.auth.key_set())),
        "/.well-known/openid-configuration" => {
            Some(of_value(200, Format::Json, &api.access.auth.openid_configuration(&api.url)))
        }
        _ => None,
    }
}
