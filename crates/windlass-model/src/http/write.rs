//! From a [`Request`] to the parts of an HTTP request: what [`super::parse`] reads, written.

use serde_json::{Map, Value, json};

use crate::request::{FieldValidation, Options, PatchKind, Propagation, Request, Verb};
use crate::watch::WatchOptions;

use super::PATCH_TYPES;

/// An HTTP request as a client sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// `GET`
    pub method: &'static str,
    /// Path and query, percent-encoded.
    pub target: String,
    /// The `Content-Type` header, if there is a body.
    pub content_type: Option<&'static str>,
    /// JSON, or nothing.
    pub body: String,
}

/// Writes a request so that [`super::parse`] reads the same again.
///
/// Options that the verb does not know, such as the limit of a create, are left out.
pub fn write(request: &Request) -> Written {
    let content_type = match request.verb {
        Verb::Get | Verb::List => None,
        Verb::Patch(kind) => Some(patch_type(kind)),
        Verb::Create | Verb::Update | Verb::Delete | Verb::DeleteCollection => Some("application/json"),
    };
    let body = match request.verb {
        Verb::Get | Verb::List => String::new(),
        Verb::Delete | Verb::DeleteCollection => delete_options(&request.options).to_string(),
        _ => request.body.as_ref().unwrap_or(&Value::Null).to_string(),
    };
    let mut query = Query::default();
    match request.verb {
        Verb::Get => query.add_text("resourceVersion", request.options.resource_version.as_deref()),
        Verb::List | Verb::DeleteCollection => add_list_options(&mut query, &request.options),
        Verb::Delete => {}
        Verb::Create | Verb::Update | Verb::Patch(_) => add_write_options(&mut query, request),
    }
    Written { method: method(request.verb), target: path(request) + &query.text, content_type, body }
}

/// Writes a watch of what a list request selects.
pub fn write_watch(request: &Request, watch: &WatchOptions) -> Written {
    let mut query = Query::default();
    query.add("watch", "true");
    query.add_text("labelSelector", request.options.label_selector.as_deref());
    query.add_text("fieldSelector", request.options.field_selector.as_deref());
    query.add_text("shardSelector", request.options.shard_selector.as_deref());
    query.add("resourceVersion", &watch.resource_version.to_string());
    // A watch from no version begins with what there is, unless it says that it does not want that.
    if watch.send_initial_events || watch.resource_version == 0 {
        query.add("sendInitialEvents", if watch.send_initial_events { "true" } else { "false" });
        query.add("resourceVersionMatch", "NotOlderThan");
    }
    if watch.allow_bookmarks {
        query.add("allowWatchBookmarks", "true");
    }
    // To the server zero means what is absent, and what is below zero is over at once.
    match watch.timeout_seconds {
        None => {}
        Some(0) => query.add("timeoutSeconds", "-1"),
        Some(seconds) => query.add("timeoutSeconds", &seconds.to_string()),
    }
    Written { method: "GET", target: path(request) + &query.text, content_type: None, body: String::new() }
}

fn method(verb: Verb) -> &'static str {
    match verb {
        Verb::Get | Verb::List => "GET",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch(_) => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
    }
}

fn patch_type(wanted: PatchKind) -> &'static str {
    let known = PATCH_TYPES.iter().find(|(_, kind)| *kind == wanted);
    known.expect("every kind of patch has a type").0
}

fn path(request: &Request) -> String {
    let resource = &request.resource;
    let mut path = String::new();
    let mut add = |segment: &str| {
        path.push('/');
        encode(&mut path, segment);
    };
    if resource.group.is_empty() {
        add("api");
    } else {
        add("apis");
        add(&resource.group);
    }
    add(&resource.version);
    if let Some(namespace) = &request.namespace {
        add("namespaces");
        add(namespace);
    }
    add(&resource.plural);
    request.name.as_deref().into_iter().chain(request.subresource.as_deref()).for_each(add);
    path
}

fn add_list_options(query: &mut Query, options: &Options) {
    query.add_text("labelSelector", options.label_selector.as_deref());
    query.add_text("fieldSelector", options.field_selector.as_deref());
    query.add_text("shardSelector", options.shard_selector.as_deref());
    if options.limit > 0 {
        query.add("limit", &options.limit.to_string());
    }
    query.add_text("continue", options.continue_token.as_deref());
    query.add_text("resourceVersion", options.resource_version.as_deref());
    query.add_text("resourceVersionMatch", options.resource_version_match.as_deref());
}

fn add_write_options(query: &mut Query, request: &Request) {
    let options = &request.options;
    query.add_text("fieldManager", options.field_manager.as_deref());
    if options.force && request.verb == Verb::Patch(PatchKind::Apply) {
        query.add("force", "true");
    }
    if options.dry_run {
        query.add("dryRun", "All");
    }
    match options.field_validation {
        FieldValidation::Ignore => query.add("fieldValidation", "Ignore"),
        FieldValidation::Warn => {}
        FieldValidation::Strict => query.add("fieldValidation", "Strict"),
    }
}

/// The options of a delete go into its body: in the query, a version would be that of a list.
fn delete_options(options: &Options) -> Value {
    let mut fields = Map::new();
    fields.insert("apiVersion".to_owned(), "v1".into());
    fields.insert("kind".to_owned(), "DeleteOptions".into());
    let uid = options.preconditions.uid.as_ref().map(|uid| ("uid".to_owned(), uid.as_str().into()));
    let version = options.preconditions.resource_version.as_ref();
    let version = version.map(|version| ("resourceVersion".to_owned(), version.as_str().into()));
    let preconditions: Map<String, Value> = uid.into_iter().chain(version).collect();
    if !preconditions.is_empty() {
        fields.insert("preconditions".to_owned(), preconditions.into());
    }
    if let Some(seconds) = options.grace_period_seconds {
        fields.insert("gracePeriodSeconds".to_owned(), seconds.into());
    }
    if let Some(propagation) = options.propagation {
        let policy = match propagation {
            Propagation::Background => "Background",
            Propagation::Foreground => "Foreground",
            Propagation::Orphan => "Orphan",
        };
        fields.insert("propagationPolicy".to_owned(), policy.into());
    }
    if options.dry_run {
        fields.insert("dryRun".to_owned(), json!(["All"]));
    }
    fields.into()
}

/// A query, begun with its question mark.
#[derive(Default)]
struct Query {
    text: String,
}

impl Query {
    fn add(&mut self, name: &str, value: &str) {
        self.text.push(if self.text.is_empty() { '?' } else { '&' });
        self.text.push_str(name);
        self.text.push('=');
        encode(&mut self.text, value);
    }

    fn add_text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.add(name, value);
        }
    }
}

/// Adds text with all but the unreserved characters of RFC 3986 percent-encoded.
fn encode(encoded: &mut String, text: &str) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let digit = |value: u8| char::from(DIGITS[usize::from(value & 15)]);
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => encoded.extend(['%', digit(byte >> 4), digit(byte)]),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::option;
    use proptest::prelude::*;

    use super::super::{HttpParts, Parsed, parse};
    use super::*;
    use crate::request::{Preconditions, ResourceId};
    use crate::types::Types;

    fn parsed(written: &Written) -> Result<Parsed, crate::status::Status> {
        static TYPES: LazyLock<Types> = LazyLock::new(Types::built_in);
        let (path, query) = written.target.split_once('?').unwrap_or((&written.target, ""));
        let parts = HttpParts {
            method: written.method,
            path,
            query,
            content_type: written.content_type,
            body: written.body.as_bytes(),
            ..HttpParts::default()
        };
        parse(&parts, &TYPES)
    }

    #[test]
    fn what_goes_over_the_wire() {
        let config_maps = ResourceId::new("", "v1", "configmaps");
        let mut delete = Request::new(Verb::Delete, config_maps.clone()).in_namespace("default").named("a");
        delete.options.preconditions.uid = Some("u".to_owned());
        let mut list = Request::new(Verb::List, ResourceId::new("apps", "v1", "deployments"));
        list.options.label_selector = Some("a in (b,c)".to_owned());
        list.options.limit = 500;
        for (request, expected) in [
            (delete, "DELETE /api/v1/namespaces/default/configmaps/a"),
            (list, "GET /apis/apps/v1/deployments?labelSelector=a%20in%20%28b%2Cc%29&limit=500"),
        ] {
            let written = write(&request);
            assert_eq!(format!("{} {}", written.method, written.target), expected);
        }
    }

    fn text() -> impl Strategy<Value = Option<String>> {
        option::of("[a-z&=+%/? \u{e4}]{1,8}")
    }

    fn shards() -> impl Strategy<Value = String> {
        "shardRange\\(object\\.metadata\\.uid, ?'0x[0-7][0-9a-f]{15}','0x([89a-f][0-9a-f]{15}|10000000000000000)'\\)"
    }

    fn verb() -> impl Strategy<Value = Verb> {
        prop_oneof![
            Just(Verb::Get),
            Just(Verb::List),
            Just(Verb::Create),
            Just(Verb::Update),
            Just(Verb::Delete),
            Just(Verb::DeleteCollection),
            Just(Verb::Patch(PatchKind::Json)),
            Just(Verb::Patch(PatchKind::Merge)),
            Just(Verb::Patch(PatchKind::Strategic)),
            Just(Verb::Patch(PatchKind::Apply)),
        ]
    }

    fn target() -> impl Strategy<Value = (ResourceId, Option<String>)> {
        let name = || "[a-z0-9]{1,5}".prop_map(Some);
        prop_oneof![
            name().prop_map(|namespace| (ResourceId::new("", "v1", "configmaps"), namespace)),
            name().prop_map(|namespace| (ResourceId::new("apps", "v1", "deployments"), namespace)),
            Just((ResourceId::new("", "v1", "namespaces"), None)),
            Just((ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions"), None)),
        ]
    }

    prop_compose! {
        /// Options with everything set that any verb knows.
        fn all_options()(
            (dry_run, force) in any::<(bool, bool)>(),
            field_manager in option::of("[a-z /+&%]{1,8}"),
            field_validation in prop_oneof![
                Just(FieldValidation::Ignore), Just(FieldValidation::Warn), Just(FieldValidation::Strict)
            ],
            label_selector in option::of("[a-z]{1,5}( in \\([a-z]{1,3},[a-z]{1,3}\\))?"),
            shard_selector in option::of(shards()),
            field_selector in option::of("metadata\\.name=[a-z]{1,5}"),
            limit in 0..1000_u64,
            continue_token in text(),
            resource_version in option::of("[1-9][0-9]{0,5}"),
            (uid, precondition) in (text(), text()),
            grace_period_seconds in option::of(0..100_i64),
            propagation in option::of(prop_oneof![
                Just(Propagation::Background), Just(Propagation::Foreground), Just(Propagation::Orphan)
            ]),
        ) -> Options {
            Options {
                dry_run,
                field_manager,
                force,
                field_validation,
                label_selector,
                field_selector,
                shard_selector,
                limit,
                continue_token,
                resource_version,
                resource_version_match: None,
                preconditions: Preconditions { uid, resource_version: precondition },
                grace_period_seconds,
                propagation,
            }
        }
    }

    /// What a verb knows of all options.
    fn options_for(verb: Verb, all: Options) -> Options {
        let none = Options::default();
        match verb {
            Verb::Get => Options { resource_version: all.resource_version, ..none },
            Verb::List => Options { field_manager: None, ..list_options(all) },
            Verb::Delete => delete_only(all, none),
            Verb::DeleteCollection => delete_only(all.clone(), list_options(all)),
            Verb::Create | Verb::Update | Verb::Patch(_) => {
                let apply = verb == Verb::Patch(PatchKind::Apply);
                Options {
                    dry_run: all.dry_run,
                    field_manager: all.field_manager.or(apply.then(|| "me".to_owned())),
                    force: all.force && apply,
                    field_validation: all.field_validation,
                    ..none
                }
            }
        }
    }

    fn list_options(all: Options) -> Options {
        // A token says what version the list is of.
        let exact = all.continue_token.is_none() && all.resource_version.is_some() && all.limit > 0;
        Options {
            label_selector: all.label_selector,
            field_selector: all.field_selector,
            shard_selector: all.shard_selector,
            limit: all.limit,
            resource_version: all.resource_version.filter(|_| all.continue_token.is_none()),
            resource_version_match: exact.then(|| "Exact".to_owned()),
            continue_token: all.continue_token,
            ..Options::default()
        }
    }

    fn delete_only(all: Options, others: Options) -> Options {
        Options {
            dry_run: all.dry_run,
            preconditions: all.preconditions,
            grace_period_seconds: all.grace_period_seconds,
            propagation: all.propagation,
            ..others
        }
    }

    prop_compose! {
        fn request()(
            verb in verb(),
            (resource, namespace) in target(),
            name in "[a-z0-9&=+? \u{e4}]{1,8}",
            with_status in any::<bool>(),
            options in all_options(),
            value in "\\PC{0,8}",
        ) -> Request {
            let mut request = Request::new(verb, resource);
            let names_an_object = !matches!(verb, Verb::List | Verb::Create | Verb::DeleteCollection);
            request.namespace = namespace;
            request.name = names_an_object.then_some(name);
            request.subresource = (names_an_object && with_status && verb != Verb::Delete)
                .then(|| "status".to_owned());
            request.body = match verb {
                Verb::Patch(PatchKind::Json) => Some(json!([{"op": "add", "path": "/a", "value": value}])),
                Verb::Create | Verb::Update | Verb::Patch(_) => {
                    Some(json!({"apiVersion": "v1", "metadata": {"name": "a"}, "data": {"a": value}, "n": 1}))
                }
                _ => None,
            };
            request.options = options_for(verb, options);
            request
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(request in request()) {
            let read = parsed(&write(&request)).map_err(|status| TestCaseError::fail(status.message))?;
            prop_assert_eq!(read.request, request);
            prop_assert_eq!(read.watch, None);
        }

        #[test]
        fn a_watch_is_read_again(
            selector in option::of("[a-z]{1,5}"),
            shards in option::of(shards()),
            resource_version in 0..10_u64,
            (send_initial_events, allow_bookmarks) in any::<(bool, bool)>(),
            timeout_seconds in option::of(0..10_u64),
        ) {
            let mut request = Request::new(Verb::List, ResourceId::new("", "v1", "pods")).in_namespace("a");
            request.options.label_selector = selector;
            request.options.shard_selector = shards;
            let watch =
                WatchOptions { resource_version, send_initial_events, allow_bookmarks, timeout_seconds };
            let read = parsed(&write_watch(&request, &watch))
                .map_err(|status| TestCaseError::fail(status.message))?;
            prop_assert_eq!(read.request, request);
            prop_assert_eq!(read.watch, Some(watch));
        }
    }
}
