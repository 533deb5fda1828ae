//! What each path answers.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::Full;

use super::{Check, Health};
use crate::operations::metrics::{self, Metrics};

const PLAIN: &str = "text/plain; charset=utf-8";

/// The answer to a request. Reading a body is never needed.
pub(super) fn answer<Body>(
    request: &Request<Body>,
    metrics: &Metrics,
    health: &dyn Health,
) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut refused =
            text(StatusCode::METHOD_NOT_ALLOWED, PLAIN, "only GET and HEAD are served\n".to_owned());
        refused.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return refused;
    }
    let verbose = request.uri().query().is_some_and(asks_for_all);
    match request.uri().path() {
        "/metrics" => text(StatusCode::OK, metrics::CONTENT_TYPE, metrics.text()),
        "/readyz" => report("readyz", &health.readiness(), verbose),
        "/livez" => report("livez", &health.liveness(), verbose),
        "/healthz" => report("healthz", &health.liveness(), verbose),
        path => {
            if let Some(document) = health.document(path) {
                return text(StatusCode::OK, "application/json", document);
            }
            let known = "/metrics, /healthz, /livez, /readyz and /debug/recordings";
            text(StatusCode::NOT_FOUND, PLAIN, format!("there is nothing at {path}, only {known}\n"))
        }
    }
}

/// Whether a query has `verbose` in it, with or without a value, as with kube-apiserver.
fn asks_for_all(query: &str) -> bool {
    query.split('&').any(|pair| pair.split('=').next() == Some("verbose"))
}

/// `ok`, or what is wrong; with all checks if they are asked for. The shape is that of kube-apiserver.
fn report(endpoint: &str, checks: &[Check], verbose: bool) -> Response<Full<Bytes>> {
    let fails = checks.iter().any(|check| check.problem.is_some());
    if !fails && !verbose {
        return text(StatusCode::OK, PLAIN, "ok".to_owned());
    }
    let mut lines = String::new();
    for Check { name, problem } in checks {
        match problem {
            None if verbose => lines += &format!("[+]{name} ok\n"),
            None => {}
            Some(problem) => lines += &format!("[-]{name} failed: {problem}\n"),
        }
    }
    let (code, outcome) =
        if fails { (StatusCode::SERVICE_UNAVAILABLE, "failed") } else { (StatusCode::OK, "passed") };
    text(code, PLAIN, format!("{lines}{endpoint} check {outcome}\n"))
}

fn text(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = code;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
