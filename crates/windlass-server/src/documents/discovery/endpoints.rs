//! Which resources and subresources a type has, and which verbs each knows.

use windlass_model::{Origin, TypeInfo};

/// A resource or a subresource, as discovery lists it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint<'a> {
    /// `None` for the resource itself.
    pub(crate) subresource: Option<&'static str>,
    /// Group and version of what it takes and gives, if it is not the type itself.
    pub(crate) foreign: Option<(&'static str, &'static str)>,
    /// The kind of what it takes and gives.
    pub(crate) kind: &'a str,
    /// In the order in which Kubernetes names them.
    pub(crate) verbs: &'static [&'static str],
}

const ALL: &[&str] = &["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
/// Namespaces are deleted one by one.
const NO_COLLECTION: &[&str] = &["create", "delete", "get", "list", "patch", "update", "watch"];
/// The same as for other types, but in the order that Kubernetes has for custom resources.
const CUSTOM: &[&str] = &["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];
const PART: &[&str] = &["get", "patch", "update"];
const CREATE: &[&str] = &["create"];
const UPDATE: &[&str] = &["update"];

/// The resource itself, then its subresources, in the order of discovery.
pub(crate) fn endpoints(info: &TypeInfo) -> Vec<Endpoint<'_>> {
    let name = (info.resource.group.as_str(), info.resource.plural.as_str());
    let own = |subresource, verbs| Endpoint { subresource, foreign: None, kind: &info.kind, verbs };
    let custom = info.origin == Origin::Custom;
    let verbs = match name {
        _ if custom => CUSTOM,
        _ if !info.is_stored() => CREATE,
        ("", "namespaces") => NO_COLLECTION,
        _ => ALL,
    };
    let mut all = vec![own(None, verbs)];
    if !custom && name == ("", "namespaces") {
        all.push(own(Some("finalize"), UPDATE));
    }
    if !custom && name == ("", "serviceaccounts") {
        let foreign = Some(("authentication.k8s.io", "v1"));
        all.push(Endpoint { subresource: Some("token"), foreign, kind: "TokenRequest", verbs: CREATE });
    }
    if !custom && name == ("", "pods") {
        all.push(Endpoint { subresource: Some("binding"), foreign: None, kind: "Binding", verbs: CREATE });
        all.push(own(Some("ephemeralcontainers"), PART));
        let foreign = Some(("policy", "v1"));
        all.push(Endpoint { subresource: Some("eviction"), foreign, kind: "Eviction", verbs: CREATE });
        all.push(own(Some("resize"), PART));
    }
    let status = info.has_status.then(|| own(Some("status"), PART));
    let foreign = Some(("autoscaling", "v1"));
    let scale = Endpoint { subresource: Some("scale"), foreign, kind: "Scale", verbs: PART };
    let scale = info.scale.is_some().then_some(scale);
    // Built-in subresources are listed by name.
    all.extend(if custom { [status, scale] } else { [scale, status] }.into_iter().flatten());
    all
}
