//! The options of a request, from its query and from the body of a delete.

use serde_json::{Map, Value};

use crate::field::{FieldError, FieldPath, quoted};
use crate::http::query::Query;
use crate::list;
use crate::metadata;
use crate::request::{FieldValidation, Options, PatchKind, Preconditions, Propagation, Verb};
use crate::selector::{FieldSelector, LabelSelector, ShardSelector};
use crate::status::Status;
use crate::types::FeatureGates;
use crate::unmarshal;
use crate::watch::WatchOptions;

const GROUP: &str = "meta.k8s.io";

/// The options of a write other than a delete. 422 for values that are not allowed.
pub(super) fn of_write(verb: Verb, query: &Query) -> Result<Options, Status> {
    let kind = match verb {
        Verb::Create => "CreateOptions",
        Verb::Patch(_) => "PatchOptions",
        _ => "UpdateOptions",
    };
    let manager = query.text("fieldManager");
    let force = query.flag("force");
    let mut errors = Vec::new();
    match verb {
        Verb::Patch(PatchKind::Apply) if manager.is_empty() => {
            let path = FieldPath::of("fieldManager");
            errors.push(FieldError::required(&path, "is required for apply patch"));
        }
        Verb::Patch(kind) if kind != PatchKind::Apply && force.is_some() => {
            let path = FieldPath::of("force");
            errors.push(FieldError::forbidden(&path, "may not be specified for non-apply patch"));
        }
        _ => {}
    }
    errors.extend(metadata::field_manager(manager, &FieldPath::of("fieldManager")));
    let dry_run: Vec<&str> = query.all("dryRun").collect();
    errors.extend(check_dry_run(&dry_run));
    let field_validation = match query.text("fieldValidation") {
        "" | "Warn" => FieldValidation::Warn,
        "Ignore" => FieldValidation::Ignore,
        "Strict" => FieldValidation::Strict,
        other => {
            let path = FieldPath::of("fieldValidation");
            errors.push(FieldError::not_supported(&path, other, &["", "Ignore", "Strict", "Warn"]));
            FieldValidation::Warn
        }
    };
    if !errors.is_empty() {
        return Err(Status::invalid(GROUP, kind, "", &errors));
    }
    Ok(Options {
        dry_run: !dry_run.is_empty(),
        field_manager: query.owned("fieldManager"),
        force: force.unwrap_or(false),
        field_validation,
        ..Options::default()
    })
}

/// The options of a get. A version that is no number is a failure of the server to Kubernetes.
pub(super) fn of_get(query: &Query) -> Result<Options, Status> {
    if query.flag("export") == Some(true) {
        let message = "the export parameter, deprecated since v1.14, is no longer supported";
        return Err(Status::bad_request(message));
    }
    let resource_version = query.owned("resourceVersion");
    check_version(resource_version.as_deref())?;
    Ok(Options { resource_version, ..Options::default() })
}

/// The options of a list, of a watch, and of the selection of a delete of many.
///
/// 400 for numbers and selectors that cannot be read, 422 for options that contradict each other.
pub(super) fn of_list(
    query: &Query,
    watch_path: bool,
    gates: FeatureGates,
) -> Result<(Options, Option<WatchOptions>), Status> {
    let timeout = query.number("timeoutSeconds")?;
    let limit = query.number("limit")?.unwrap_or(0);
    let options = Options {
        label_selector: query.owned("labelSelector"),
        field_selector: query.owned("fieldSelector"),
        // A server without the feature passes over the parameter, as over any that it does not know.
        shard_selector: query.owned("shardSelector").filter(|_| gates.sharded_list_and_watch),
        limit: u64::try_from(limit).unwrap_or(0),
        continue_token: query.owned("continue"),
        resource_version: query.owned("resourceVersion"),
        resource_version_match: query.owned("resourceVersionMatch"),
        ..Options::default()
    };
    LabelSelector::parse(query.text("labelSelector")).map_err(Status::bad_request)?;
    FieldSelector::parse(query.text("fieldSelector")).map_err(Status::bad_request)?;
    if let Some(text) = &options.shard_selector {
        ShardSelector::parse(text).map_err(Status::bad_request)?;
    }
    if query.flag("watch") == Some(true) {
        return of_watch(options, query, timeout);
    }
    list::check_options(&options)?;
    if query.flag("sendInitialEvents").is_some() {
        let path = FieldPath::of("sendInitialEvents");
        let error = FieldError::forbidden(&path, "sendInitialEvents is forbidden for list");
        return Err(Status::invalid(GROUP, "ListOptions", "", &[error]));
    }
    if watch_path {
        return of_watch(options, query, timeout);
    }
    Ok((options, None))
}

fn of_watch(
    mut options: Options,
    query: &Query,
    timeout: Option<i64>,
) -> Result<(Options, Option<WatchOptions>), Status> {
    let mut wanted = options.resource_version_match.take().unwrap_or_default();
    let mut initial = query.flag("sendInitialEvents");
    // Without a version to go on from, old clients expect to see what there is.
    let fresh = matches!(options.resource_version.as_deref().unwrap_or_default(), "" | "0");
    if fresh && wanted.is_empty() && initial.is_none() {
        (wanted, initial) = ("NotOlderThan".to_owned(), Some(true));
    }
    check_watch(&options, &wanted, initial)?;
    check_version(options.resource_version.as_deref())?;
    let version = options.resource_version.as_deref().unwrap_or_default();
    let watch = WatchOptions {
        resource_version: version.parse().unwrap_or(0),
        send_initial_events: initial.unwrap_or(false),
        allow_bookmarks: query.flag("allowWatchBookmarks").unwrap_or(false),
        // Zero leaves it to the server, and what is below zero is over at once.
        timeout_seconds: timeout
            .filter(|seconds| *seconds != 0)
            .map(|seconds| u64::try_from(seconds).unwrap_or(0)),
    };
    // A watch has neither pages nor a version of its list.
    options.resource_version = None;
    options.continue_token = None;
    options.limit = 0;
    Ok((options, Some(watch)))
}

fn check_watch(options: &Options, wanted: &str, initial: Option<bool>) -> Result<(), Status> {
    let path = FieldPath::of("resourceVersionMatch");
    let mut errors = Vec::new();
    if initial.is_some() && wanted != "NotOlderThan" {
        let detail = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan";
        errors.push(FieldError::forbidden(&path, detail));
    }
    if !wanted.is_empty() {
        if initial.is_none() {
            let detail = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
        if wanted != "NotOlderThan" {
            errors.push(FieldError::not_supported(&path, wanted, &["NotOlderThan"]));
        }
        if options.continue_token.as_deref().is_some_and(|token| !token.is_empty()) {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, "ListOptions", "", &errors)) }
}

/// Gets and watches answer a version that is no number with a failure that has no reason.
fn check_version(version: Option<&str>) -> Result<(), Status> {
    let Err(message) = list::parse_resource_version(version.unwrap_or_default()) else { return Ok(()) };
    Err(Status { reason: None, ..Status::failure(500, crate::status::Reason::InternalError, message) })
}

/// Adds the options of a delete: those of the body if there is one, else those of the query.
pub(super) fn add_delete(
    options: &mut Options,
    query: &Query,
    body: Option<&Map<String, Value>>,
) -> Result<(), Status> {
    let given = match body {
        Some(body) => DeleteOptions::of_body(body).map_err(Status::bad_request)?,
        None => DeleteOptions::of_query(query)?,
    };
    given.check()?;
    options.dry_run = !given.dry_run.is_empty();
    options.grace_period_seconds = given.grace_period_seconds;
    options.propagation = given.propagation();
    options.preconditions = given.preconditions;
    Ok(())
}

/// Delete options as given, before validation.
#[derive(Default)]
struct DeleteOptions {
    dry_run: Vec<String>,
    grace_period_seconds: Option<i64>,
    orphan_dependents: Option<bool>,
    propagation_policy: Option<String>,
    preconditions: Preconditions,
}

impl DeleteOptions {
    fn of_query(query: &Query) -> Result<Self, Status> {
        Ok(DeleteOptions {
            dry_run: query.all("dryRun").map(str::to_owned).collect(),
            grace_period_seconds: query.number("gracePeriodSeconds")?,
            orphan_dependents: query.flag("orphanDependents"),
            propagation_policy: query.all("propagationPolicy").next().map(str::to_owned),
            preconditions: Preconditions {
                uid: query.owned("uid"),
                resource_version: query.owned("resourceVersion"),
            },
        })
    }

    /// The error is worded as the decoder of Kubernetes words it.
    fn of_body(body: &Map<String, Value>) -> Result<Self, String> {
        let kind = text(body, "", "kind")?.unwrap_or_default();
        if !matches!(kind.as_str(), "" | "DeleteOptions") {
            let version = text(body, "", "apiVersion")?.unwrap_or_default();
            let (kind, version) = (quoted(&kind), quoted(&version));
            return Err(format!(
                "no kind {kind} is registered for version {version} in scheme \"pkg/runtime/scheme.go:111\""
            ));
        }
        let empty = Map::new();
        let preconditions = match body.get("preconditions") {
            None | Some(Value::Null) => &empty,
            Some(Value::Object(fields)) => fields,
            Some(other) => return Err(mismatch(other, "preconditions", "v1.Preconditions")),
        };
        let dry_run = match body.get("dryRun") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| {
                    item.as_str().map(str::to_owned).ok_or_else(|| mismatch(item, "dryRun", "string"))
                })
                .collect::<Result<_, _>>()?,
            Some(other) => return Err(mismatch(other, "dryRun", "[]string")),
        };
        Ok(DeleteOptions {
            dry_run,
            grace_period_seconds: read(body, "gracePeriodSeconds", "int64", Value::as_i64)?,
            orphan_dependents: read(body, "orphanDependents", "bool", Value::as_bool)?,
            propagation_policy: text(body, "", "propagationPolicy")?,
            preconditions: Preconditions {
                uid: text(preconditions, "preconditions.", "uid")?,
                resource_version: text(preconditions, "preconditions.", "resourceVersion")?,
            },
        })
    }

    fn check(&self) -> Result<(), Status> {
        let mut errors = Vec::new();
        if let Some(policy) = &self.propagation_policy {
            let path = FieldPath::of("propagationPolicy");
            if self.orphan_dependents.is_some() {
                let detail = "orphanDependents and deletionPropagation cannot be both set";
                errors.push(FieldError::invalid(&path, policy.as_str(), detail));
            }
            if propagation_named(policy).is_none() {
                let allowed = ["Foreground", "Background", "Orphan", "nil"];
                errors.push(FieldError::not_supported(&path, policy.as_str(), &allowed));
            }
        }
        let dry_run: Vec<&str> = self.dry_run.iter().map(String::as_str).collect();
        errors.extend(check_dry_run(&dry_run));
        if errors.is_empty() { Ok(()) } else { Err(Status::invalid(GROUP, "DeleteOptions", "", &errors)) }
    }

    fn propagation(&self) -> Option<Propagation> {
        let of_flag = |orphan| if orphan { Propagation::Orphan } else { Propagation::Background };
        match &self.propagation_policy {
            Some(policy) => propagation_named(policy),
            None => self.orphan_dependents.map(of_flag),
        }
    }
}

fn propagation_named(policy: &str) -> Option<Propagation> {
    Some(match policy {
        "Foreground" => Propagation::Foreground,
        "Background" => Propagation::Background,
        "Orphan" => Propagation::Orphan,
        _ => return None,
    })
}

fn check_dry_run(values: &[&str]) -> Option<FieldError> {
    if values.iter().all(|value| *value == "All") {
        return None;
    }
    Some(FieldError::not_supported(&FieldPath::of("dryRun"), values, &["All"]))
}

fn text(fields: &Map<String, Value>, prefix: &str, name: &str) -> Result<Option<String>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(mismatch(other, &format!("{prefix}{name}"), "string")),
    }
}

fn read<Wanted>(
    fields: &Map<String, Value>,
    name: &str,
    wanted: &str,
    convert: fn(&Value) -> Option<Wanted>,
) -> Result<Option<Wanted>, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => convert(value).map(Some).ok_or_else(|| mismatch(value, name, wanted)),
    }
}

fn mismatch(value: &Value, field: &str, wanted: &str) -> String {
    unmarshal::into_field(value, &format!("DeleteOptions.{field}"), wanted)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn of_list(query: &Query, watch_path: bool) -> Result<(Options, Option<WatchOptions>), Status> {
        super::of_list(query, watch_path, FeatureGates::default())
    }

    fn message<Good: std::fmt::Debug>(result: Result<Good, Status>) -> String {
        let status = result.unwrap_err();
        format!("{} {}", status.code, status.message)
    }

    #[test]
    fn write_options() {
        let apply = Verb::Patch(PatchKind::Apply);
        let options =
            of_write(apply, &Query::parse("fieldManager=me&force=true&dryRun=All&fieldValidation=Strict"));
        let options = options.unwrap();
        assert_eq!(options.field_manager.as_deref(), Some("me"));
        assert!(options.force && options.dry_run);
        assert_eq!(options.field_validation, FieldValidation::Strict);
        for (verb, query, expected) in [
            (
                apply,
                "",
                "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch",
            ),
            (
                Verb::Patch(PatchKind::Merge),
                "force=false",
                "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch",
            ),
            (
                Verb::Create,
                "dryRun=Some&dryRun=All",
                "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\",\"All\"]: supported values: \"All\"",
            ),
            (
                Verb::Update,
                "fieldValidation=strict",
                "UpdateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"strict\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\"",
            ),
        ] {
            assert_eq!(message(of_write(verb, &Query::parse(query))), format!("422 {expected}"), "{query}");
        }
        assert_eq!(message(of_write(Verb::Create, &Query::parse("dryRun="))).split(' ').next(), Some("422"));
    }

    #[test]
    fn list_options() {
        let query = "labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5&continue=t&resourceVersion=0&pretty=true";
        let (options, watch) = of_list(&Query::parse(query), false).unwrap();
        assert_eq!(watch, None);
        assert_eq!(options.label_selector.as_deref(), Some("a=b"));
        assert_eq!(options.field_selector.as_deref(), Some("metadata.name=x"));
        assert_eq!((options.limit, options.continue_token.as_deref()), (5, Some("t")));
        assert_eq!(of_list(&Query::parse("limit=-1"), false).unwrap().0.limit, 0);
        for (query, expected) in [
            ("limit=x", "400 strconv.ParseInt: parsing \"x\": invalid syntax"),
            ("labelSelector=%3D", "400 found '=', expected: !, identifier, or 'end of string'"),
            ("shardSelector=a", "400 invalid shardSelector: expected shardRange at character 1, found \"a\""),
            ("fieldSelector=a", "400 invalid selector: 'a'; can't understand 'a'"),
            (
                "resourceVersionMatch=Exact",
                "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided",
            ),
            (
                "resourceVersionMatch=Other&resourceVersion=1",
                "422 ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Unsupported value: \"Other\": supported values: \"Exact\", \"NotOlderThan\", \"\"",
            ),
            (
                "sendInitialEvents=true",
                "422 ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
            ),
        ] {
            assert_eq!(message(of_list(&Query::parse(query), false)), expected, "{query}");
        }
    }

    #[test]
    fn shard_selectors_are_behind_a_feature_gate() {
        let selector = "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')";
        for query in [format!("shardSelector={selector}"), format!("watch=true&shardSelector={selector}")] {
            let (options, _) = of_list(&Query::parse(&query), false).unwrap();
            assert_eq!(options.shard_selector.as_deref(), Some(selector));
        }
        assert_eq!(of_list(&Query::parse("shardSelector="), false).unwrap().0.shard_selector, None);
        let closed = FeatureGates { sharded_list_and_watch: false, ..FeatureGates::default() };
        let (options, _) = super::of_list(&Query::parse("shardSelector=a"), false, closed).unwrap();
        assert_eq!(options.shard_selector, None);
    }

    #[test]
    fn watch_options() {
        let read = |query: &str| of_list(&Query::parse(query), false).unwrap().1.unwrap();
        let watch = read("watch=1&allowWatchBookmarks=true&timeoutSeconds=30&resourceVersion=7&limit=5");
        let expected = WatchOptions {
            resource_version: 7,
            send_initial_events: false,
            allow_bookmarks: true,
            timeout_seconds: Some(30),
        };
        assert_eq!(watch, expected);
        assert!(read("watch=true").send_initial_events);
        assert!(read("watch=true&resourceVersion=0").send_initial_events);
        assert!(
            !read("watch=true&sendInitialEvents=false&resourceVersionMatch=NotOlderThan").send_initial_events
        );
        assert!(
            read("watch&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=5")
                .send_initial_events
        );
        assert_eq!(read("watch=true&timeoutSeconds=0").timeout_seconds, None);
        assert_eq!(read("watch=true&timeoutSeconds=-3").timeout_seconds, Some(0));
        assert!(of_list(&Query::parse(""), true).unwrap().1.is_some());
        for (query, code) in [
            ("watch=true&resourceVersion=x", "500"),
            ("watch=true&sendInitialEvents=true", "422"),
            ("watch=true&resourceVersionMatch=NotOlderThan", "422"),
            ("watch=true&resourceVersionMatch=Exact&sendInitialEvents=true", "422"),
            ("watch=true&timeoutSeconds=x", "400"),
        ] {
            let answer = message(of_list(&Query::parse(query), false));
            assert!(answer.starts_with(code), "{query}: {answer}");
        }
    }

    #[test]
    fn get_options() {
        assert_eq!(
            of_get(&Query::parse("resourceVersion=0&export=false")).unwrap().resource_version.as_deref(),
            Some("0")
        );
        assert!(message(of_get(&Query::parse("export=1"))).starts_with("400 the export parameter"));
        let status = of_get(&Query::parse("resourceVersion=x")).unwrap_err();
        assert_eq!((status.code, status.reason), (500, None));
    }

    fn delete(query: &str, body: Option<Value>) -> Result<Options, Status> {
        let mut options = Options::default();
        let body = body.as_ref().and_then(Value::as_object);
        add_delete(&mut options, &Query::parse(query), body).map(|()| options)
    }

    #[test]
    fn delete_options() {
        let options =
            delete("dryRun=All&gracePeriodSeconds=3&propagationPolicy=Orphan&uid=u&resourceVersion=5", None);
        let options = options.unwrap();
        assert_eq!((options.dry_run, options.grace_period_seconds), (true, Some(3)));
        assert_eq!(options.propagation, Some(Propagation::Orphan));
        let both = Preconditions { uid: Some("u".to_owned()), resource_version: Some("5".to_owned()) };
        assert_eq!(options.preconditions, both);

        let body = json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0, "orphanDependents": false,
            "preconditions": {"uid": "w"}, "unknown": 1});
        let options = delete("dryRun=All&propagationPolicy=Orphan", Some(body)).unwrap();
        assert_eq!((options.dry_run, options.grace_period_seconds), (false, Some(0)));
        assert_eq!(options.propagation, Some(Propagation::Background));
        assert_eq!(options.preconditions.uid.as_deref(), Some("w"));
        assert_eq!(delete("orphanDependents=true", None).unwrap().propagation, Some(Propagation::Orphan));
    }

    #[test]
    fn invalid_delete_options_are_refused() {
        for (query, body, expected) in [
            (
                "propagationPolicy=X",
                None,
                "422 DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Unsupported value: \"X\": supported values: \"Foreground\", \"Background\", \"Orphan\", \"nil\"",
            ),
            (
                "propagationPolicy=Orphan&orphanDependents=true",
                None,
                "422 DeleteOptions.meta.k8s.io \"\" is invalid: propagationPolicy: Invalid value: \"Orphan\": orphanDependents and deletionPropagation cannot be both set",
            ),
            ("gracePeriodSeconds=x", None, "400 strconv.ParseInt: parsing \"x\": invalid syntax"),
            (
                "",
                Some(json!({"gracePeriodSeconds": "1"})),
                "400 json: cannot unmarshal string into Go struct field DeleteOptions.gracePeriodSeconds of type int64",
            ),
            (
                "",
                Some(json!({"preconditions": {"uid": 1}})),
                "400 json: cannot unmarshal number into Go struct field DeleteOptions.preconditions.uid of type string",
            ),
            (
                "",
                Some(json!({"kind": "Pod", "apiVersion": "v1"})),
                "400 no kind \"Pod\" is registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\"",
            ),
            (
                "",
                Some(json!({"dryRun": ["x"]})),
                "422 DeleteOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"x\"]: supported values: \"All\"",
            ),
        ] {
            assert_eq!(message(delete(query, body)), expected, "{query}");
        }
    }
}
