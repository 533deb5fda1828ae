//! Which resource, namespace, name and subresource a path names.

use crate::field::quoted;
use crate::request::ResourceId;
use crate::status::Status;
use windlass_cel::formats::names;

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) resource: ResourceId,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
    /// Whether the path itself asks for a watch: `/api/v1/watch/pods`, the form of old clients.
    pub(super) watch: bool,
}

/// Reads a path as it stands in the request line, without its query.
///
/// 400 if it is not percent-encoded UTF-8, or the name cannot be one; 404 if it names no resource.
pub(super) fn parse(path: &str) -> Result<Target, Status> {
    let path = percent_decoded(path, false).and_then(|bytes| String::from_utf8(bytes).ok());
    let Some(path) = path else {
        return Err(Status::bad_request("the path of the request is not valid percent-encoded UTF-8"));
    };
    // An encoded slash separates like any other, so no name can have one.
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    if parts.contains(&"") {
        return Err(Status::no_such_resource());
    }
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", *version, rest),
        ["apis", group, version, rest @ ..] => (*group, *version, rest),
        _ => return Err(Status::no_such_resource()),
    };
    let (watch, rest) = match rest {
        ["watch", rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let (namespace, rest) = match rest {
        // A namespace is an object too, and these are its subresources.
        ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
        ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
        rest => (None, rest),
    };
    let (plural, name, subresource) = match rest {
        [plural] => (*plural, None, None),
        [plural, name] => (*plural, Some(*name), None),
        [plural, name, subresource] => (*plural, Some(*name), Some(*subresource)),
        _ => return Err(Status::no_such_resource()),
    };
    if let Some(name) = name {
        check_name(name)?;
    }
    Ok(Target {
        resource: ResourceId::new(group, version, plural),
        namespace: namespace.map(str::to_owned),
        name: name.map(str::to_owned),
        subresource: subresource.map(str::to_owned),
        watch,
    })
}

fn check_name(name: &str) -> Result<(), Status> {
    let violations = names::is_path_segment(name);
    if violations.is_empty() {
        return Ok(());
    }
    Err(Status::bad_request(format!("Name parameter invalid: {}: {}", quoted(name), violations.join(";"))))
}

/// The bytes behind percent signs; `None` if two hexadecimal digits do not follow each.
pub(crate) fn percent_decoded(text: &str, plus_is_space: bool) -> Option<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => hex(bytes.next()?)? << 4 | hex(bytes.next()?)?,
            b'+' if plus_is_space => b' ',
            other => other,
        });
    }
    Some(decoded)
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(path: &str) -> String {
        match parse(path) {
            Err(status) => format!("{} {}", status.code, status.message),
            Ok(target) => {
                let ResourceId { group, version, plural } = target.resource;
                let or_dash = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
                let (namespace, name) = (or_dash(target.namespace), or_dash(target.name));
                let watch = if target.watch { " watch" } else { "" };
                format!(
                    "{group}|{version}|{plural} {namespace} {name} {}{watch}",
                    or_dash(target.subresource)
                )
            }
        }
    }

    #[test]
    fn paths_name_resources() {
        let missing = "404 the server could not find the requested resource";
        for (path, expected) in [
            ("/api/v1/pods", "|v1|pods - - -"),
            ("/api/v1/nodes/n", "|v1|nodes - n -"),
            ("/api/v1/nodes/n/status", "|v1|nodes - n status"),
            ("/api/v1/namespaces", "|v1|namespaces - - -"),
            ("/api/v1/namespaces/a", "|v1|namespaces - a -"),
            ("/api/v1/namespaces/a/status", "|v1|namespaces - a status"),
            ("/api/v1/namespaces/a/finalize", "|v1|namespaces - a finalize"),
            ("/api/v1/namespaces/a/pods", "|v1|pods a - -"),
            ("/api/v1/namespaces/a/pods/p/", "|v1|pods a p -"),
            ("/api/v1/namespaces/a/pods/p/log", "|v1|pods a p log"),
            ("/apis/apps/v1/namespaces/a/deployments/d/scale", "apps|v1|deployments a d scale"),
            ("/apis/apps/v1/deployments", "apps|v1|deployments - - -"),
            ("/api/v1/watch/namespaces/a/pods/p", "|v1|pods a p - watch"),
            ("/api/v1/namespaces/a/pods/a%20b", "|v1|pods a a b -"),
            ("/api/v1/namespaces/a/pods/a+b", "|v1|pods a a+b -"),
            ("/api/v1/namespaces/a/pods/p%2flog", "|v1|pods a p log"),
            ("/api/v1/namespaces/a/pods/p/log/x", missing),
            ("/api/v1/namespaces/a/pods//log", missing),
            ("/api/v1", missing),
            ("/api/v1/watch", missing),
            ("/apis/apps/v1", missing),
            ("/healthz/x/y/z", missing),
            ("", missing),
            ("/", missing),
            ("/api/v1/nodes/..", "400 Name parameter invalid: \"..\": may not be '..'"),
            ("/api/v1/nodes/%2e", "400 Name parameter invalid: \".\": may not be '.'"),
            ("/api/v1/nodes/a%25b", "400 Name parameter invalid: \"a%b\": may not contain '%'"),
            ("/api/v1/nodes/a%", "400 the path of the request is not valid percent-encoded UTF-8"),
            ("/api/v1/nodes/a%zz", "400 the path of the request is not valid percent-encoded UTF-8"),
            ("/api/v1/nodes/%ff", "400 the path of the request is not valid percent-encoded UTF-8"),
        ] {
            assert_eq!(shown(path), expected, "{path}");
        }
    }
}
