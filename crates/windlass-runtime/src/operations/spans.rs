//! The spans of a reconcile: one for all of it, one for each state, one for each request.
//!
//! Logs show their fields with every line within them; with the feature `otel`, a collector of traces gets them too.

use tracing::field::Empty;
use tracing::{Span, info_span};
use windlass::ReconcileResult;
use windlass::model::{Request, Response};

use crate::operations::entropy::random_u64;
use crate::queue::{Due, Work};

/// The span of a reconcile. How it ended goes in by [`finished`].
pub fn reconcile_span(controller: &str, work: &Work) -> Span {
    info_span!(
        "reconcile",
        otel.name = format!("reconcile {controller}"),
        otel.status_code = Empty,
        controller,
        namespace = work.key.namespace,
        name = work.key.name,
        reconcile_id = reconcile_id(),
        causes = %work.causes,
        due = due(work.due),
        attempt = work.attempt,
        waited_seconds = work.waited.as_secs_f64(),
        result = Empty,
    )
}

/// Identifies a reconcile among those of all processes, in logs and traces.
fn reconcile_id() -> String {
    format!("{:016x}{:016x}", random_u64(), random_u64())
}

/// Records in the span of a reconcile how it ended.
pub fn finished(span: &Span, result: &ReconcileResult) {
    let word = match result {
        ReconcileResult::Idle => "idle",
        ReconcileResult::Done { .. } => "done",
        ReconcileResult::Requeue { .. } => "requeue",
        ReconcileResult::Failed { .. } => "failed",
        ReconcileResult::Conflict { .. } => "conflict",
        ReconcileResult::Terminal { .. } => "terminal",
        ReconcileResult::Gone => "gone",
    };
    span.record("result", word);
    if matches!(result, ReconcileResult::Failed { .. } | ReconcileResult::Terminal { .. }) {
        span.record("otel.status_code", "ERROR");
    }
}

/// The span of a state, within that of its reconcile.
pub fn state(reconcile: &Span, state: &str) -> Span {
    info_span!(parent: reconcile, "state", otel.name = format!("state {state}"), state)
}

/// The span of a call to an external service, within that of its state.
pub fn call(state: &Span, service: &str) -> Span {
    info_span!(parent: state, "call", otel.name = format!("call {service}"), otel.kind = "client", service)
}

/// The span of a request, within that of its state. The answer goes in by [`answered`].
pub fn request(state: &Span, request: &Request) -> Span {
    let (verb, resource) = (request.verb.name(), &request.resource);
    info_span!(
        parent: state,
        "request",
        otel.name = format!("{verb} {}", resource.plural),
        otel.kind = "client",
        otel.status_code = Empty,
        verb,
        group = resource.group,
        version = resource.version,
        resource = resource.plural,
        subresource = request.subresource.as_deref().unwrap_or_default(),
        object = object_of(request),
        http.response.status_code = Empty,
    )
}

/// Says in the span of a request what was answered.
pub fn answered(span: &Span, response: &Response) {
    span.record("http.response.status_code", response.code);
    // A conflict, or something that is not there, is an ordinary answer and no error.
    if response.code >= 500 {
        span.record("otel.status_code", "ERROR");
    }
}

/// `namespace/name`, or as much of it as a request names.
fn object_of(request: &Request) -> String {
    let parts = [request.namespace.as_deref(), request.name.as_deref()];
    parts.into_iter().flatten().collect::<Vec<&str>>().join("/")
}

fn due(due: Due) -> &'static str {
    match due {
        Due::Change => "change",
        Due::Timer => "timer",
        Due::Retry => "retry",
    }
}
