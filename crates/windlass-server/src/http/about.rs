//! What a request is about, for the counters: the words of kube-apiserver, and none that a client can invent.

use std::sync::Arc;

use hyper::http::request::Parts;
use windlass_model::{ResourceId, Types};

use crate::metrics::About;

/// Reads it from method and path. A resource that is not served is left out, so that the number of counters is
/// bounded.
pub(crate) fn of(parts: &Parts, types: &Types) -> About {
    let path = parts.uri.path();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let (group, version, rest) = match segments.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return About { verb: verb(parts, false, false), ..About::default() },
    };
    let (old_watch, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (in_namespace, rest) = match rest {
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (false, rest),
        ["namespaces", _, rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let Some(plural) = rest.first() else {
        return About { verb: verb(parts, false, false), ..About::default() };
    };
    let named = rest.len() > 1;
    let watches = old_watch || !named && asks_to_watch(parts.uri.query().unwrap_or_default());
    let about = About { verb: verb(parts, named, watches), ..About::default() };
    let Some(info) = types.get(&ResourceId::new(group, version, plural)) else { return about };
    About {
        group: info.resource.group.as_str().into(),
        version: info.resource.version.as_str().into(),
        resource: info.resource.plural.as_str().into(),
        subresource: Arc::from(known_subresource(rest.get(2).copied())),
        scope: match (named, in_namespace) {
            (true, _) => "resource",
            (false, true) => "namespace",
            (false, false) => "cluster",
        },
        ..about
    }
}

fn known_subresource(given: Option<&str>) -> &'static str {
    const KNOWN: [&str; 6] = ["status", "scale", "finalize", "binding", "eviction", "token"];
    KNOWN.into_iter().find(|known| Some(*known) == given).unwrap_or("")
}

fn asks_to_watch(query: &str) -> bool {
    let mut pairs = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    pairs.any(|(name, value)| name == "watch" && !matches!(value, "0" | "false"))
}

fn verb(parts: &Parts, named: bool, watches: bool) -> &'static str {
    match parts.method.as_str() {
        "GET" | "HEAD" if watches => "WATCH",
        "GET" | "HEAD" if named => "GET",
        "GET" | "HEAD" => "LIST",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" if named => "DELETE",
        "DELETE" => "DELETECOLLECTION",
        _ => "OTHER",
    }
}
