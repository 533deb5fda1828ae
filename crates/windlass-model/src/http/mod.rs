//! From the parts of an HTTP request to a [`Request`], and back.

mod accept;
pub(crate) mod encode;
mod messages;
mod options;
mod path;
mod present;
mod query;
mod write;

use std::sync::Arc;

use serde_json::Value;

use crate::field::{FieldError, FieldPath, quoted};
use crate::json_syntax;
use crate::metadata;
use crate::object::split_api_version;
use crate::request::{FieldValidation, Options, PatchKind, Request, ResourceId, Verb};
use crate::schema::Schema;
use crate::status::Status;
use crate::types::{Origin, TypeInfo, Types};
use crate::unmarshal;
use crate::watch::WatchOptions;

use crate::json_body::{self as body, Document};

pub use accept::{DiscoveryForm, Format, Include, Output, first_acceptable, negotiate_discovery};
pub use encode::{encode, encode_event};
pub(crate) use path::percent_decoded;
pub use present::{EventWriter, present};
pub(crate) use query::Query;
pub use write::{Written, write, write_watch};

/// The text of a page that is not there.
pub const NO_SUCH_PAGE: &str = "404 page not found\n";
/// Maximum number of bytes of a body.
pub const BODY_BYTES_MAX: usize = 3 * 1024 * 1024;

const PATCH_TYPES: &[(&str, PatchKind)] = &[
    ("application/json-patch+json", PatchKind::Json),
    ("application/merge-patch+json", PatchKind::Merge),
    ("application/strategic-merge-patch+json", PatchKind::Strategic),
    ("application/apply-patch+yaml", PatchKind::Apply),
];

/// What of an HTTP request says what to do. Who asks, and whether they may, is not part of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct HttpParts<'a> {
    /// `GET`
    pub method: &'a str,
    /// The path as it stands in the request line, percent-encoded.
    pub path: &'a str,
    /// What follows the question mark.
    pub query: &'a str,
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// The `Accept` header.
    pub accept: Option<&'a str>,
    /// The `User-Agent` header: it names the field manager where the query does not.
    pub user_agent: Option<&'a str>,
    /// JSON or protobuf. A YAML body is converted by whoever calls.
    pub body: &'a [u8],
    /// What a strict reader of YAML complains about, if the body was converted.
    pub yaml_findings: &'a [String],
}

/// What an HTTP request asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What to do. A watch is a list request, whose objects are those to watch.
    pub request: Request,
    /// Set if the client wants to watch.
    pub watch: Option<WatchOptions>,
    /// What goes into `Warning` headers, besides what handling the request yields.
    pub warnings: Vec<String>,
    /// What the answer shows of objects.
    pub output: Output,
    /// How the answer is written.
    pub format: Format,
}

/// Reads a request for one of the types that are served. Whether the type knows the verb is for the handler to say.
///
/// Every input is answered: with 400 if it is malformed, 404 if the path names no resource, 405 if the
/// method does not fit the path, 406 and 415 for media types that are not spoken, 413 for a body that is
/// too large, and 422 for options that are not allowed.
pub fn parse(parts: &HttpParts<'_>, types: &Types) -> Result<Parsed, Status> {
    let target = path::parse(parts.path)?;
    let info = types.get(&target.resource);
    let has_path = |info: &&Arc<TypeInfo>| match target.namespace {
        None => !info.namespaced || info.is_stored(),
        Some(_) => info.namespaced,
    };
    let info = info.filter(has_path).ok_or_else(Status::no_such_resource)?;
    // What is not kept is made, and that is all.
    if !info.is_stored() && target.name.is_some() {
        return Err(Status::no_such_resource());
    }
    if !info.is_stored() && parts.method != "POST" {
        return Err(Status::method_not_allowed());
    }
    let query = Query::parse(parts.query);
    let is_custom = info.origin == Origin::Custom;
    let verb = verb_of(parts, &target, is_custom)?;
    if !is_custom {
        accept::check_known(parts.accept, verb)?;
    }
    if parts.body.len() > BODY_BYTES_MAX {
        return Err(Status::too_large(BODY_BYTES_MAX));
    }
    let (output, format) = accept::negotiate(parts.accept, &query, is_custom)?;
    let mut request = Request::new(verb, target.resource);
    request.namespace = target.namespace;
    request.name = target.name;
    request.subresource = target.subresource;
    let (mut watch, mut warnings) = (None, Vec::new());
    match verb {
        Verb::Get => request.options = options::of_get(&query)?,
        Verb::List => (request.options, watch) = options::of_list(&query, target.watch, types.gates())?,
        Verb::Delete => options::add_delete(&mut request.options, &query, delete_body(parts)?.as_ref())?,
        Verb::DeleteCollection => {
            request.options = options::of_list(&query, false, types.gates())?.0;
            options::add_delete(&mut request.options, &query, delete_body(parts)?.as_ref())?;
        }
        Verb::Create | Verb::Update | Verb::Patch(_) => {
            request.options = options::of_write(verb, &query)?;
            default_manager(verb, &mut request.options, parts.user_agent);
            let wanted = Wanted::of(&request, info);
            let document = written_body(verb, parts, &wanted)?;
            warnings = findings(verb, parts, &document, request.options.field_validation, &wanted)?;
            request.body = Some(document.value);
        }
    }
    if watch.is_some() && format == Format::Yaml {
        return Err(accept::not_acceptable_for_watch());
    }
    Ok(Parsed { request, watch, warnings, output, format })
}

/// Whether a path is answered with 404 and a page of plain text, [`NO_SUCH_PAGE`].
///
/// The groups of Kubernetes itself answer for all their paths with a `Status`; others only where they serve something.
pub fn has_no_page(method: &str, path: &str, types: &Types) -> bool {
    let mut parts = path.trim_matches('/').split('/');
    let group = match (parts.next(), parts.next()) {
        (Some("api"), _) => return false,
        (Some("apis"), Some(group)) => group,
        _ => return true,
    };
    let built_in = |info: &&Arc<TypeInfo>| info.origin == Origin::BuiltIn;
    if types.iter().filter(built_in).any(|info| info.resource.group == group) {
        return false;
    }
    let Ok(target) = path::parse(path) else {
        return !types.iter().any(|info| info.resource.group == group);
    };
    match types.get(&target.resource) {
        None => true,
        Some(info) if !info.namespaced => target.namespace.is_some(),
        // Only lists and watches go over all namespaces.
        Some(_) => {
            target.namespace.is_none() && !(method == "GET" && (target.name.is_none() || target.watch))
        }
    }
}

fn verb_of(parts: &HttpParts<'_>, target: &path::Target, is_custom: bool) -> Result<Verb, Status> {
    let whole_object = target.name.is_some() && target.subresource.is_none();
    // Only custom resources know this method.
    if parts.method == "HEAD" && !is_custom {
        return Err(Status::method_not_allowed());
    }
    Ok(match (parts.method, &target.name) {
        ("GET" | "HEAD", _) if target.watch => Verb::List,
        (_, _) if target.watch => return Err(Status::method_not_allowed()),
        ("GET" | "HEAD", Some(_)) => Verb::Get,
        ("GET" | "HEAD", None) => Verb::List,
        // Only subresources are created under a name: an eviction, a token.
        ("POST", _) if !whole_object => Verb::Create,
        ("PUT", Some(_)) => Verb::Update,
        ("PATCH", Some(_)) => Verb::Patch(patch_kind(parts.content_type.unwrap_or_default())?),
        ("DELETE", Some(_)) => Verb::Delete,
        ("DELETE", None) => Verb::DeleteCollection,
        _ => return Err(Status::method_not_allowed()),
    })
}

fn patch_kind(content_type: &str) -> Result<PatchKind, Status> {
    let given = content_type.split(';').next().unwrap_or_default();
    let known = PATCH_TYPES.iter().find(|(name, _)| *name == given);
    known.map(|(_, kind)| *kind).ok_or_else(Status::unsupported_patch_type)
}

/// The format of a body; without a type it is JSON. 415 for any other type.
fn body_format(content_type: Option<&str>) -> Result<Format, Status> {
    let given = content_type.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if given.is_empty() {
        return Ok(Format::Json);
    }
    Format::of(given).ok_or_else(|| Status::unsupported_media_type(&Format::media_types()))
}

/// Clients that do not name themselves are known by their user agent, but an apply must say who it is.
fn default_manager(verb: Verb, options: &mut Options, user_agent: Option<&str>) {
    if options.field_manager.is_none() && verb != Verb::Patch(PatchKind::Apply) {
        options.field_manager = user_agent.and_then(metadata::manager_of_user_agent);
    }
}

/// The options in the body of a delete, if it has a body.
fn delete_body(parts: &HttpParts<'_>) -> Result<Option<serde_json::Map<String, Value>>, Status> {
    if parts.body.is_empty() {
        return Ok(None);
    }
    if body_format(parts.content_type)? == Format::Protobuf {
        return messages::delete_options(parts.body).map(Some);
    }
    match body::read(parts.body) {
        Ok(Document { value: Value::Object(fields), .. }) => Ok(Some(fields)),
        Ok(Document { value, .. }) => {
            let why = unmarshal::into_value(&value, "v1.DeleteOptions");
            Err(Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")))
        }
        Err(error) => {
            let why = json_syntax::fault(parts.body).unwrap_or_else(|| error.to_string());
            Err(Status::bad_request(format!("couldn't get version/kind; json parse error: {why}")))
        }
    }
}

/// What kind of object a write should carry.
struct Wanted<'a> {
    kind: &'a str,
    group: &'a str,
    version: &'a str,
    custom: bool,
    /// What Go decodes the object into.
    schema: Option<&'a Schema>,
}

impl<'a> Wanted<'a> {
    fn of(request: &'a Request, info: &'a TypeInfo) -> Self {
        let ResourceId { group, version, .. } = &request.resource;
        let (kind, group, version) = match request.subresource.as_deref() {
            Some("scale") => ("Scale", "autoscaling", "v1"),
            Some("eviction") => ("Eviction", "policy", "v1"),
            Some("token") => ("TokenRequest", "authentication.k8s.io", "v1"),
            Some("binding") => ("Binding", "", "v1"),
            _ => (info.kind.as_str(), group.as_str(), version.as_str()),
        };
        let custom = info.origin == Origin::Custom && kind != "Scale";
        let schema = (kind == info.kind && !custom).then_some(&*info.schema);
        Wanted { kind, group, version, custom, schema }
    }
}

/// The body of a write: an object, or a list of operations in a JSON patch.
fn written_body(verb: Verb, parts: &HttpParts<'_>, wanted: &Wanted<'_>) -> Result<Document, Status> {
    if !matches!(verb, Verb::Patch(_)) && body_format(parts.content_type)? == Format::Protobuf {
        // There is nothing to be strict about: a message has no field twice, and unknown ones are passed over.
        let value = messages::object(parts.body, wanted)?;
        return Ok(Document { value, duplicates: Vec::new() });
    }
    let refused = |why: &str| unreadable(verb, parts, wanted, why);
    let decoded_into = wanted.schema.filter(|_| !matches!(verb, Verb::Patch(_)));
    let mut document = body::read_as(parts.body, decoded_into)
        .map_err(|error| refused(&json_syntax::fault(parts.body).unwrap_or_else(|| error.to_string())))?;
    if let Verb::Patch(kind) = verb {
        let (fits, go_type) = match kind {
            PatchKind::Json => (document.value.is_array(), "[]handlers.jsonPatchOp"),
            _ => (document.value.is_object(), "map[string]interface {}"),
        };
        let why = || refused(&unmarshal::into_value(&document.value, go_type));
        return if fits { Ok(document) } else { Err(why()) };
    }
    if document.value.is_null() && !wanted.custom {
        document.value = Value::Object(serde_json::Map::new());
    }
    check_type(&document.value, parts.body, wanted).map_err(|why| refused(&why))?;
    Ok(document)
}

/// What Go reads first, to know what the rest is.
const TYPE_META: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// A body must say its type in text; that of a custom resource must say it at all.
fn check_type(body: &Value, text: &[u8], wanted: &Wanted<'_>) -> Result<(), String> {
    if !body.is_object() && !body.is_null() {
        return Err(unmarshal::into_value(body, TYPE_META));
    }
    for field in ["apiVersion", "kind"] {
        if !matches!(body[field], Value::Null | Value::String(_)) {
            return Err(unmarshal::into_field(&body[field], &format!(".{field}"), "string"));
        }
    }
    for (field, name) in [("kind", "Kind"), ("apiVersion", "apiVersion")] {
        if wanted.custom && body[field].as_str().unwrap_or_default().is_empty() {
            return Err(format!("Object '{name}' is missing in '{}'", String::from_utf8_lossy(text)));
        }
    }
    Ok(())
}

fn unreadable(verb: Verb, parts: &HttpParts<'_>, wanted: &Wanted<'_>, why: &str) -> Status {
    let yaml = parts.content_type.unwrap_or_default().contains("yaml");
    let hint = if yaml { " (YAML must be converted to JSON before it gets here)" } else { "" };
    Status::bad_request(match verb {
        Verb::Patch(PatchKind::Apply) if json_syntax::fault(parts.body).is_none() => {
            format!("error decoding YAML: error unmarshaling JSON: while decoding JSON: {why}")
        }
        Verb::Patch(PatchKind::Apply) => format!("error decoding YAML: {why}{hint}"),
        Verb::Patch(PatchKind::Strategic) => why.to_owned(),
        Verb::Patch(_) => format!("error decoding patch: {why}"),
        _ => {
            let missing = why.starts_with("Object '");
            let prefix = if missing { "" } else { "couldn't get version/kind; json parse error: " };
            let (kind, body) = (wanted.kind, summary(parts.body));
            format!(
                "the object provided is unrecognized (must be of type {kind}): {prefix}{why}{hint} ({body})"
            )
        }
    })
}

/// The start of a body, for an error: as text if it looks like JSON, else in hexadecimal.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let start = body.get(..SHOWN).unwrap_or(body);
    let more = if body.len() > SHOWN { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let digits: Vec<String> = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}{more}", digits.concat())
        }
    }
}

/// What a strict decoder complains about before it knows the type.
fn strict_findings(verb: Verb, document: &Document) -> Vec<String> {
    let duplicates = document.duplicates.iter().map(|path| format!("duplicate field {}", quoted(path)));
    if verb != Verb::Patch(PatchKind::Json) {
        return duplicates.collect();
    }
    let mut findings: Vec<String> = duplicates.collect();
    for (index, operation) in document.value.as_array().into_iter().flatten().enumerate() {
        let keys = operation.as_object().into_iter().flat_map(serde_json::Map::keys);
        let unknown = keys.filter(|key| !matches!(key.as_str(), "op" | "path" | "from" | "value"));
        findings.extend(unknown.map(|key| format!("unknown field {}", quoted(&format!("[{index}].{key}")))));
        if findings.len() >= 100 {
            findings.truncate(100);
            break;
        }
    }
    findings.into_iter().map(|finding| format!("json patch {finding}")).collect()
}

/// Refuses, warns about or ignores what a strict decoder finds, as the client requests.
fn findings(
    verb: Verb,
    parts: &HttpParts<'_>,
    document: &Document,
    validation: FieldValidation,
    wanted: &Wanted<'_>,
) -> Result<Vec<String>, Status> {
    let of_yaml = parts.yaml_findings;
    let of_json = strict_findings(verb, document);
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Strict if !(of_yaml.is_empty() && of_json.is_empty()) => {
            let prefix =
                if verb == Verb::Patch(PatchKind::Apply) { "error converting YAML to JSON: " } else { "" };
            let of_yaml = of_yaml.join("\n  ");
            let of_yaml =
                (!of_yaml.is_empty()).then(|| format!("{prefix}yaml: unmarshal errors:\n  {of_yaml}"));
            let all: Vec<String> = of_yaml.into_iter().chain(of_json).collect();
            Err(strict_error(verb, document, &all.join(", "), wanted))
        }
        FieldValidation::Warn | FieldValidation::Strict => {
            Ok(of_yaml.iter().cloned().chain(of_json).collect())
        }
    }
}

fn strict_error(verb: Verb, document: &Document, findings: &str, wanted: &Wanted<'_>) -> Status {
    let why = format!("strict decoding error: {findings}");
    match verb {
        Verb::Patch(PatchKind::Apply) => {
            Status::bad_request(format!("error strict decoding YAML: {findings}"))
        }
        Verb::Patch(_) => {
            let error = FieldError::invalid(&FieldPath::of("patch"), document.value.to_string(), why);
            Status::invalid("", "", "", &[error])
        }
        _ => {
            let kind = document.value["kind"].as_str().unwrap_or(wanted.kind);
            let given = document.value["apiVersion"].as_str();
            let version = quoted(given.map_or(wanted.version, |given| split_api_version(given).1));
            let wanted = wanted.kind;
            Status::bad_request(format!("{kind} in version {version} cannot be handled as a {wanted}: {why}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use std::sync::LazyLock;

    use super::*;

    const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
    const CONFIG_MAP: &str = "/api/v1/namespaces/default/configmaps/a";

    fn parts<'a>(method: &'a str, path: &'a str) -> HttpParts<'a> {
        HttpParts { method, path, ..HttpParts::default() }
    }

    fn parse(parts: &HttpParts<'_>) -> Result<Parsed, Status> {
        static TYPES: LazyLock<Types> = LazyLock::new(Types::built_in);
        super::parse(parts, &TYPES)
    }

    fn code(parts: &HttpParts<'_>) -> u16 {
        parse(parts).map_or_else(|status| status.code, |_| 200)
    }

    #[test]
    fn methods_become_verbs() {
        for (method, path, expected) in [
            ("GET", CONFIG_MAP, Ok(Verb::Get)),
            ("HEAD", CONFIG_MAP, Err(405)),
            ("GET", CONFIG_MAPS, Ok(Verb::List)),
            ("GET", "/api/v1/watch/configmaps", Ok(Verb::List)),
            ("POST", CONFIG_MAPS, Ok(Verb::Create)),
            ("POST", "/api/v1/namespaces/default/pods/p/eviction", Ok(Verb::Create)),
            ("PUT", CONFIG_MAP, Ok(Verb::Update)),
            ("DELETE", CONFIG_MAP, Ok(Verb::Delete)),
            ("DELETE", CONFIG_MAPS, Ok(Verb::DeleteCollection)),
            ("POST", CONFIG_MAP, Err(405)),
            ("PUT", CONFIG_MAPS, Err(405)),
            ("PATCH", CONFIG_MAPS, Err(405)),
            ("POST", "/api/v1/watch/configmaps", Err(405)),
            ("OPTIONS", CONFIG_MAPS, Err(405)),
            ("get", CONFIG_MAPS, Err(405)),
            ("GET", "/version", Err(404)),
        ] {
            let body: &[u8] = if method.starts_with('P') { b"{}" } else { b"" };
            let read = parse(&HttpParts { body, ..parts(method, path) });
            let verb = read.map(|parsed| parsed.request.verb).map_err(|status| status.code);
            assert_eq!(verb, expected, "{method} {path}");
        }
    }

    #[test]
    fn a_create_carries_its_body() {
        let parsed = parse(&HttpParts {
            query: "dryRun=All&pretty=true",
            content_type: Some("application/json; charset=utf-8"),
            user_agent: Some("kubectl/v1.35.0 (linux/amd64)"),
            body: br#"{"kind":"ConfigMap","data":{"a":"1","a":"2"}}"#,
            ..parts("POST", CONFIG_MAPS)
        })
        .unwrap();
        let mut expected = Request::new(Verb::Create, ResourceId::new("", "v1", "configmaps"))
            .in_namespace("default")
            .with_body(json!({"kind": "ConfigMap", "data": {"a": "2"}}))
            .as_manager("kubectl");
        expected.options.dry_run = true;
        assert_eq!(parsed.request, expected);
        assert_eq!(parsed.warnings, ["duplicate field \"data.a\""]);
        assert_eq!((parsed.output, parsed.format), (Output::Object, Format::Json));
    }

    #[test]
    fn patches_are_distinguished_by_content_type() {
        let read = |content_type, body: &'static [u8], query| {
            let content_type = Some(content_type);
            parse(&HttpParts {
                content_type,
                body,
                query,
                user_agent: Some("me"),
                ..parts("PATCH", CONFIG_MAP)
            })
        };
        for (content_type, body, query, kind) in [
            ("application/json-patch+json", &b"[]"[..], "", PatchKind::Json),
            ("application/merge-patch+json; charset=utf-8", b"{}", "", PatchKind::Merge),
            ("application/strategic-merge-patch+json", b"{}", "", PatchKind::Strategic),
            ("application/apply-patch+yaml", b"{}", "fieldManager=me&force=1", PatchKind::Apply),
        ] {
            assert_eq!(read(content_type, body, query).unwrap().request.verb, Verb::Patch(kind));
        }
        let status = read("application/json", b"{}", "").unwrap_err();
        assert_eq!(status.code, 415);
        assert_eq!(status.message, "415: Unsupported Media Type");
        assert_eq!(read("application/apply-patch+yaml", b"{}", "").unwrap_err().code, 422);
        let status = read("application/apply-patch+yaml", b"a: b", "fieldManager=me").unwrap_err();
        assert!(
            status.message.ends_with("(YAML must be converted to JSON before it gets here)"),
            "{}",
            status.message
        );
        let status = read("application/json-patch+json", b"{}", "").unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                400,
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
            )
        );
        let parsed =
            read("application/json-patch+json", br#"[{"op":"test","op":"add","extra":1}]"#, "").unwrap();
        assert_eq!(
            parsed.warnings,
            ["json patch duplicate field \"[0].op\"", "json patch unknown field \"[0].extra\""]
        );
    }

    #[test]
    fn strictness_is_the_clients_choice() {
        let body = br#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"1","a":"2"}}"#;
        let read = |query| parse(&HttpParts { query, body, ..parts("POST", CONFIG_MAPS) });
        assert!(read("fieldValidation=Ignore").unwrap().warnings.is_empty());
        assert_eq!(read("fieldValidation=Warn").unwrap().warnings.len(), 1);
        let status = read("fieldValidation=Strict").unwrap_err();
        assert_eq!(status.code, 400);
        assert_eq!(
            status.message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: duplicate field \"data.a\""
        );
        let patch = HttpParts {
            query: "fieldValidation=Strict",
            content_type: Some("application/merge-patch+json"),
            body: br#"{"a":1,"a":2}"#,
            ..parts("PATCH", CONFIG_MAP)
        };
        let status = parse(&patch).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (
                422,
                r#" "" is invalid: patch: Invalid value: "{\"a\":2}": strict decoding error: duplicate field "a""#
            )
        );
    }

    #[test]
    fn bodies_that_cannot_be_read() {
        for (content_type, body, code, message) in [
            (None, &b""[..], 400, "unexpected end of JSON input (<empty>)"),
            (None, b"{\"a\":", 400, "unexpected end of JSON input ({\"a\":)"),
            (None, b"x", 400, "invalid character 'x' looking for beginning of value (78)"),
            (
                None,
                b"[]",
                400,
                "json: cannot unmarshal array into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (5b5d)",
            ),
            (
                Some("text/plain"),
                b"{}",
                415,
                "accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf",
            ),
            (
                Some("application/vnd.kubernetes.protobuf"),
                b"k8s\0",
                400,
                "the object provided is unrecognized (must be of type ConfigMap): empty body (6b387300)",
            ),
        ] {
            let status = parse(&HttpParts { content_type, body, ..parts("PUT", CONFIG_MAP) }).unwrap_err();
            assert_eq!(status.code, code);
            assert!(status.message.ends_with(message), "{}", status.message);
        }
        let large = vec![b' '; BODY_BYTES_MAX + 1];
        let status = parse(&HttpParts { body: &large, ..parts("POST", CONFIG_MAPS) }).unwrap_err();
        assert_eq!(
            (status.code, status.message.as_str()),
            (413, "Request entity too large: limit is 3145728")
        );
    }

    #[test]
    fn deletes_take_options_from_body_or_query() {
        let body = br#"{"gracePeriodSeconds":5}"#;
        let parsed = parse(&HttpParts { body, query: "dryRun=All", ..parts("DELETE", CONFIG_MAP) }).unwrap();
        assert_eq!(parsed.request.options.grace_period_seconds, Some(5));
        assert!(!parsed.request.options.dry_run);
        assert_eq!(parsed.request.body, None);
        let query = "labelSelector=a&gracePeriodSeconds=0";
        let parsed = parse(&HttpParts { query, ..parts("DELETE", CONFIG_MAPS) }).unwrap();
        assert_eq!(parsed.request.options.label_selector.as_deref(), Some("a"));
        assert_eq!(parsed.request.options.grace_period_seconds, Some(0));
        assert_eq!(code(&HttpParts { body: b"null", ..parts("DELETE", CONFIG_MAP) }), 400);
        assert_eq!(code(&HttpParts { body: b"{", ..parts("DELETE", CONFIG_MAP) }), 400);
    }

    #[test]
    fn watches_are_lists_that_go_on() {
        let parsed =
            parse(&HttpParts { query: "watch=true&resourceVersion=5", ..parts("GET", CONFIG_MAPS) }).unwrap();
        assert_eq!(parsed.request.verb, Verb::List);
        assert_eq!(parsed.watch.map(|watch| watch.resource_version), Some(5));
        // One object is got, not watched.
        assert_eq!(
            parse(&HttpParts { query: "watch=true", ..parts("GET", CONFIG_MAP) }).unwrap().watch,
            None
        );
        let parsed = parse(&parts("GET", "/api/v1/watch/namespaces/default/configmaps/a")).unwrap();
        assert_eq!((parsed.watch.is_some(), parsed.request.name.as_deref()), (true, Some("a")));
    }

    proptest! {
        #[test]
        fn any_request_is_read_or_refused(
            method in "GET|POST|PUT|PATCH|DELETE|HEAD|[A-Z]{0,5}",
            path in "(/(api|apis|v1|namespaces|watch|a|%2e|%|\\PC)){0,7}",
            query in "((watch|limit|dryRun|labelSelector|shardSelector|continue|resourceVersion)=[a-z0-9%!=]{0,5}&){0,3}|\\PC{0,20}",
            content_type in proptest::option::of("application/(json|yaml|merge-patch\\+json|json-patch\\+json|apply-patch\\+yaml)|\\PC{0,10}"),
            accept in proptest::option::of("(application/json|\\*/\\*|as=Table|;|,|q=[0-9.a-z]{0,4}|\\PC){0,6}"),
            user_agent in proptest::option::of("\\PC{0,10}"),
            body in proptest::collection::vec(any::<u8>(), 0..40),
        ) {
            let result = parse(&HttpParts {
                method: &method,
                path: &path,
                query: &query,
                content_type: content_type.as_deref(),
                accept: accept.as_deref(),
                user_agent: user_agent.as_deref(),
                body: &body,
                ..HttpParts::default()
            });
            if let Err(status) = result {
                prop_assert!((400..=504).contains(&status.code));
            }
        }
    }
}
