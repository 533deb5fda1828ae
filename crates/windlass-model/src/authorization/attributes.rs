//! What a request wants to do, as far as authorization looks at it.

use crate::http::{Query, percent_decoded};
use crate::selector::{FieldSelector, LabelSelector};
use windlass_cel::formats::names;

/// What a request wants to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attributes {
    /// Something with objects.
    Resource(ResourceAttributes),
    /// Anything else that the server answers: `/version`, `/healthz`.
    NonResource {
        /// The method in small letters: `get`.
        verb: String,
        /// The path, decoded.
        path: String,
    },
}

/// A request that is about objects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourceAttributes {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`, `bind`, …
    pub(crate) verb: String,
    /// Empty for the core group.
    pub(crate) group: String,
    /// `v1`; roles do not look at it.
    pub(crate) version: String,
    /// `pods`.
    pub(crate) resource: String,
    /// `log`; empty for the object itself.
    pub(crate) subresource: String,
    /// Empty for cluster-scoped objects and for all namespaces.
    pub(crate) namespace: String,
    /// Empty for collections.
    pub(crate) name: String,
}

impl ResourceAttributes {
    /// `pods`, or `pods/log` for a subresource.
    pub(crate) fn combined(&self) -> String {
        if self.subresource.is_empty() {
            return self.resource.clone();
        }
        format!("{}/{}", self.resource, self.subresource)
    }
}

impl From<ResourceAttributes> for Attributes {
    fn from(resource: ResourceAttributes) -> Self {
        Attributes::Resource(resource)
    }
}

/// Reads what an HTTP request wants to do. `path` and `query` are as in the request line.
///
/// Every input is read somehow: whether the path names anything that exists is for others to say, after this
/// request was authorized.
pub fn attributes(method: &str, path: &str, query: &str) -> Attributes {
    let decoded = percent_decoded(path, false).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    let path = decoded.unwrap_or_else(|| path.to_owned());
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        _ => return Attributes::NonResource { verb: method.to_ascii_lowercase(), path },
    };
    let (verb, rest) = match rest {
        [special @ ("watch" | "proxy"), rest @ ..] => (*special, rest),
        rest => (verb_of(method), rest),
    };
    let mut wanted = ResourceAttributes {
        verb: verb.to_owned(),
        group: group.to_owned(),
        version: version.to_owned(),
        ..ResourceAttributes::default()
    };
    locate(&mut wanted, rest);
    if wanted.name.is_empty() {
        as_collection(&mut wanted, query);
    }
    wanted.into()
}

fn verb_of(method: &str) -> &'static str {
    match method {
        "POST" => "create",
        "GET" | "HEAD" => "get",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    }
}

/// Reads namespace, resource, name and subresource.
fn locate(wanted: &mut ResourceAttributes, parts: &[&str]) {
    let parts = match parts {
        // A namespace lies in itself, and these are its subresources.
        ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize", ..] => {
            wanted.namespace = (*namespace).to_owned();
            parts
        }
        ["namespaces", namespace, rest @ ..] => {
            wanted.namespace = (*namespace).to_owned();
            rest
        }
        parts => parts,
    };
    let part = |index: usize| parts.get(index).copied().unwrap_or_default().to_owned();
    wanted.resource = part(0);
    wanted.name = part(1);
    if wanted.verb != "proxy" {
        wanted.subresource = part(2);
    }
}

/// Without a name a get is a list or a watch, and a delete one of many. A selector for one name names it after all.
fn as_collection(wanted: &mut ResourceAttributes, query: &str) {
    match wanted.verb.as_str() {
        "get" => {
            let query = Query::parse(query);
            let watch = query.flag("watch").unwrap_or(false);
            wanted.verb = if watch { "watch" } else { "list" }.to_owned();
            wanted.name = selected_name(&query).unwrap_or_default();
        }
        "delete" => wanted.verb = "deletecollection".to_owned(),
        _ => {}
    }
}

/// The only name that a list can have. Options that cannot be read select nothing.
fn selected_name(query: &Query) -> Option<String> {
    let selector = FieldSelector::parse(query.text("fieldSelector")).ok()?;
    LabelSelector::parse(query.text("labelSelector")).ok()?;
    for number in ["limit", "timeoutSeconds"] {
        query.number(number).ok()?;
    }
    let name = selector.required("metadata.name")?;
    names::is_path_segment(name).is_empty().then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(method: &str, target: &str) -> String {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        match attributes(method, path, query) {
            Attributes::NonResource { verb, path } => format!("{verb} {path}"),
            Attributes::Resource(wanted) => format!(
                "{} {}|{}|{} ns={} name={}",
                wanted.verb,
                wanted.group,
                wanted.version,
                wanted.combined(),
                wanted.namespace,
                wanted.name
            ),
        }
    }

    #[test]
    fn requests_say_what_they_want() {
        for (method, target, expected) in [
            ("GET", "/", "get /"),
            ("GET", "/healthz/etcd", "get /healthz/etcd"),
            ("HEAD", "/version", "head /version"),
            ("GET", "/api", "get /api"),
            ("GET", "/api/v1", "get /api/v1"),
            ("GET", "/apis/apps/v1", "get /apis/apps/v1"),
            ("POST", "/openapi/%76%32", "post /openapi/v2"),
            ("GET", "/api/v1/pods", "list |v1|pods ns= name="),
            ("HEAD", "/api/v1/pods", "list |v1|pods ns= name="),
            ("GET", "/api/v1/pods?watch", "watch |v1|pods ns= name="),
            ("GET", "/api/v1/pods?watch=1", "watch |v1|pods ns= name="),
            ("GET", "/api/v1/pods?watch=False", "list |v1|pods ns= name="),
            ("GET", "/api/v1/watch/pods", "watch |v1|pods ns= name="),
            ("GET", "/api/v1/watch/namespaces/a/pods/p", "watch |v1|pods ns=a name=p"),
            ("GET", "/api/v1/namespaces/a/pods/p", "get |v1|pods ns=a name=p"),
            ("HEAD", "/api/v1/namespaces/a/pods/p", "get |v1|pods ns=a name=p"),
            ("GET", "/api/v1/namespaces/a/pods/p/log", "get |v1|pods/log ns=a name=p"),
            ("GET", "/api/v1/namespaces/a/services/s/proxy/x/y", "get |v1|services/proxy ns=a name=s"),
            ("POST", "/api/v1/namespaces/a/pods", "create |v1|pods ns=a name="),
            (
                "PUT",
                "/apis/apps/v1/namespaces/a/deployments/d/scale",
                "update apps|v1|deployments/scale ns=a name=d",
            ),
            ("PATCH", "/apis/apps/v1/namespaces/a/deployments/d", "patch apps|v1|deployments ns=a name=d"),
            ("DELETE", "/api/v1/namespaces/a/pods/p", "delete |v1|pods ns=a name=p"),
            ("DELETE", "/api/v1/namespaces/a/pods", "deletecollection |v1|pods ns=a name="),
            ("OPTIONS", "/api/v1/namespaces/a/pods", " |v1|pods ns=a name="),
            ("GET", "/api/v1/namespaces", "list |v1|namespaces ns= name="),
            ("GET", "/api/v1/namespaces/a", "get |v1|namespaces ns=a name=a"),
            ("PUT", "/api/v1/namespaces/a/finalize", "update |v1|namespaces/finalize ns=a name=a"),
            ("GET", "/api/v1/nodes/n", "get |v1|nodes ns= name=n"),
            ("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dp", "list |v1|pods ns=a name=p"),
            (
                "GET",
                "/api/v1/namespaces/a/pods?watch=true&fieldSelector=spec.nodeName=n,metadata.name=p",
                "watch |v1|pods ns=a name=p",
            ),
            ("GET", "/api/v1/namespaces/a/pods?fieldSelector=metadata.name!%3Dp", "list |v1|pods ns=a name="),
            (
                "GET",
                "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Da/b",
                "list |v1|pods ns=a name=",
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods?fieldSelector=metadata.name=p&limit=q",
                "list |v1|pods ns=a name=",
            ),
            (
                "GET",
                "/api/v1/namespaces/a/pods?fieldSelector=metadata.name=p&limit=5",
                "list |v1|pods ns=a name=p",
            ),
            ("GET", "/api/v1//secrets", "get |v1| ns= name=secrets"),
            ("GET", "/api/v1/proxy/nodes/x/y", "proxy |v1|nodes ns= name=x"),
            ("GET", "/api/v1/namespaces/a/pods?fieldSelector=nonsense", "list |v1|pods ns=a name="),
            ("GET", "/api/v1/namespaces/a/secrets%2fs", "get |v1|secrets ns=a name=s"),
        ] {
            assert_eq!(shown(method, target), expected, "{method} {target}");
        }
    }
}
