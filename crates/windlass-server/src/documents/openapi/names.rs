//! What schemas, operations and tags are called.

use windlass_model::TypeInfo;

/// Where the full name of a built-in type differs from `io.k8s.api.` and its short one.
const PREFIXES: &[(&str, &str)] = &[
    ("meta.", "io.k8s.apimachinery.pkg.apis."),
    ("resource.", "io.k8s.apimachinery.pkg.api."),
    ("runtime.", "io.k8s.apimachinery.pkg."),
    ("util.", "io.k8s.apimachinery.pkg."),
    ("version.", "io.k8s.apimachinery.pkg."),
    ("apiextensions.", "io.k8s.apiextensions-apiserver.pkg.apis."),
];

/// The full name of a type of the data file: `core.v1.Pod` is `io.k8s.api.core.v1.Pod`.
pub(super) fn component(short: &str) -> String {
    let known = PREFIXES.iter().find(|(start, _)| short.starts_with(start));
    format!("{}{short}", known.map_or("io.k8s.api.", |(_, prefix)| prefix))
}

/// The name in the data file, if the type is built in.
pub(super) fn short(component: &str) -> Option<&str> {
    let known = PREFIXES
        .iter()
        .find_map(|(start, prefix)| component.strip_prefix(prefix).filter(|short| short.starts_with(start)));
    known.or_else(|| component.strip_prefix("io.k8s.api."))
}

/// The name of the schema of a type's objects.
pub(super) fn object(info: &TypeInfo) -> String {
    of_kind(info, &info.kind)
}

/// The name of the schema of a type's lists.
pub(super) fn list(info: &TypeInfo) -> String {
    of_kind(info, &info.list_kind)
}

fn of_kind(info: &TypeInfo, kind: &str) -> String {
    if let Some((package, _)) = info.built_in_name().and_then(|name| name.rsplit_once('.')) {
        return component(&format!("{package}.{kind}"));
    }
    let reversed: Vec<&str> = info.resource.group.rsplit('.').collect();
    format!("{}.{}.{kind}", reversed.join("."), info.resource.version)
}

/// The group in the names of operations: `Core`, `Apps`, `RbacAuthorization`, `StableExampleCom`.
pub(super) fn group_in_operations(group: &str) -> String {
    if group.is_empty() {
        return "Core".to_owned();
    }
    group.trim_end_matches(".k8s.io").split(['.', '-']).map(upper_first).collect()
}

/// The tag of a version's operations: `core_v1`, `rbacAuthorization_v1`.
pub(super) fn tag(group: &str, version: &str) -> String {
    format!("{}_{version}", lower_first(&group_in_operations(group)))
}

/// The tag of a group's operations: `rbacAuthorization`.
pub(super) fn group_tag(group: &str) -> String {
    lower_first(&group_in_operations(group))
}

fn lower_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_lowercase().to_string() + chars.as_str()).unwrap_or_default()
}

/// `Status` for `status`.
pub(super) fn upper_first(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
}
