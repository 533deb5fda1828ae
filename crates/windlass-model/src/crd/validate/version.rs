//! The rules for one version of a CRD: its schema, its subresources, its columns.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::{list, text};
use crate::field::{FieldError, FieldPath};
use crate::schema::{
    Schema, Shape, decode_open_api, parse, parse_unchanged, read_checked, resolve_field_path,
};
use windlass_cel::formats::names;

const MAX_SELECTABLE_FIELDS: usize = 8;
const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Which parts all versions have in common. Kubernetes keeps these, and reports them, at the level of spec.
pub(super) struct Placement {
    schema: bool,
    subresources: bool,
    columns: bool,
    selectable_fields: bool,
    any_status: bool,
}

impl Placement {
    pub(super) fn of(versions: &[Value]) -> Self {
        let shared = |field: &str| {
            versions.first().is_none_or(|first| versions.iter().all(|version| version[field] == first[field]))
        };
        Placement {
            schema: shared("schema"),
            subresources: shared("subresources"),
            columns: shared("additionalPrinterColumns"),
            selectable_fields: shared("selectableFields"),
            any_status: versions.iter().any(has_status),
        }
    }
}

fn has_status(version: &Value) -> bool {
    version["subresources"]["status"].is_object()
}

/// Checks what a version has for itself.
pub(super) fn check(
    version: &Value,
    placement: &Placement,
    old: Option<&Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let name = text(version, "name");
    let broken = names::is_dns1035_label(name);
    if !broken.is_empty() {
        errors.push(FieldError::invalid(&path.child("name"), name, broken.join(",")));
    }
    check_deprecation(version, &path.child("deprecationWarning"), errors);
    let open_api = &version["schema"]["openAPIV3Schema"];
    if !placement.schema {
        let is_unchanged = is_unchanged(version, old);
        check_schema(open_api, is_unchanged, has_status(version), &path.child("schema"), errors);
    }
    if !placement.subresources {
        check_scale(&version["subresources"]["scale"], &path.child("subresources"), errors);
    }
    if !placement.columns {
        check_columns(version, path, errors);
    }
    if !placement.selectable_fields {
        let path = path.child("selectableFields");
        // A schema that all versions share does not count as the version's own.
        if list(version, "selectableFields").is_empty() || open_api.is_object() && !placement.schema {
            check_selectable_fields(version, old, &path, errors);
        } else {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(FieldError::invalid(&path, "", detail));
        }
    }
}

/// Checks what all versions have in common.
pub(super) fn check_shared(
    versions: &[Value],
    placement: &Placement,
    old: Option<&Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let Some(version) = versions.first() else { return };
    let open_api = &version["schema"]["openAPIV3Schema"];
    if placement.schema {
        let is_unchanged = is_unchanged(version, old);
        check_schema(open_api, is_unchanged, placement.any_status, &path.child("validation"), errors);
    }
    if placement.subresources {
        check_scale(&version["subresources"]["scale"], &path.child("subresources"), errors);
    }
    if placement.columns {
        check_columns(version, path, errors);
    }
    if placement.selectable_fields && !list(version, "selectableFields").is_empty() {
        let path = path.child("selectableFields");
        if placement.schema && open_api.is_object() {
            check_selectable_fields(version, old, &path, errors);
        } else {
            let detail = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(&path, "", detail));
        }
    }
}

fn check_deprecation(version: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else { return };
    let mut fail = |detail: String| errors.push(FieldError::invalid(path, warning, detail));
    if version["deprecated"] != true {
        return fail("can only be set for deprecated versions".to_owned());
    }
    if warning.len() > 256 {
        fail("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        fail("must not be an empty string".to_owned());
    }
    let hidden = |char: char| char.is_control() || char.is_whitespace() && char != ' ';
    if let Some((at, _)) = warning.char_indices().find(|(_, char)| hidden(*char)) {
        fail(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        ));
    }
}

/// Keywords that the root may have if status is validated on its own.
const ROOT_KEYWORDS: [(&str, &str); 22] = [
    ("description", "Description"),
    ("type", "Type"),
    ("format", "Format"),
    ("title", "Title"),
    ("maximum", "Maximum"),
    ("exclusiveMaximum", "ExclusiveMaximum"),
    ("minimum", "Minimum"),
    ("exclusiveMinimum", "ExclusiveMinimum"),
    ("maxLength", "MaxLength"),
    ("minLength", "MinLength"),
    ("pattern", "Pattern"),
    ("maxItems", "MaxItems"),
    ("minItems", "MinItems"),
    ("uniqueItems", "UniqueItems"),
    ("multipleOf", "MultipleOf"),
    ("required", "Required"),
    ("items", "Items"),
    ("properties", "Properties"),
    ("externalDocs", "ExternalDocs"),
    ("example", "Example"),
    ("x-kubernetes-preserve-unknown-fields", "XPreserveUnknownFields"),
    ("x-kubernetes-validations", "XValidations"),
];

/// Whether the version had this schema before.
fn is_unchanged(version: &Value, old: Option<&Value>) -> bool {
    let mut before = old.into_iter().flat_map(|old| list(&old["spec"], "versions"));
    before.any(|old| old["name"] == version["name"] && old["schema"] == version["schema"])
}

fn check_schema(
    open_api: &Value,
    is_unchanged: bool,
    has_status: bool,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    if !open_api.is_object() {
        return;
    }
    if has_status {
        errors.extend(check_root_keywords(open_api, path));
    }
    if open_api["nullable"] == true {
        let path = path.child("openAPIV3Schema.nullable");
        errors.push(FieldError::forbidden(&path, "nullable cannot be true at the root"));
    }
    let path = path.child("openAPIV3Schema");
    let mut decoded = open_api.clone();
    match decode_open_api(&mut decoded, path.as_str()) {
        Err(why) => errors.push(FieldError::invalid(&path, "", why)),
        Ok(_) => {
            let parsed = if is_unchanged { parse_unchanged(&decoded, &path) } else { parse(&decoded, &path) };
            errors.extend(parsed.err().unwrap_or_default());
        }
    }
}

fn check_root_keywords(open_api: &Value, path: &FieldPath) -> Option<FieldError> {
    let unset = |value: &Value| {
        value.is_null()
            || *value == false
            || value.as_str() == Some("")
            || value.as_array().is_some_and(Vec::is_empty)
    };
    let set = open_api.as_object().into_iter().flatten().filter(|(_, value)| !unset(value));
    for (keyword, value) in set {
        if keyword == "type" && value != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
            return Some(FieldError::invalid(&path.child("openAPIV3Schema.type"), value.clone(), detail));
        }
        if !ROOT_KEYWORDS.iter().any(|(allowed, _)| allowed == keyword) {
            let allowed: Vec<&str> = ROOT_KEYWORDS.iter().map(|(_, shown)| *shown).collect();
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                allowed.join(" ")
            );
            return Some(FieldError::invalid(&path.child("openAPIV3Schema"), open_api.clone(), detail));
        }
    }
    None
}

fn check_scale(scale: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    if !scale.is_object() {
        return;
    }
    let fields = [
        ("specReplicasPath", &[".spec."][..], "should be a json path under .spec"),
        ("statusReplicasPath", &[".status."], "should be a json path under .status"),
        ("labelSelectorPath", &[".spec.", ".status."], "should be a json path under either .spec or .status"),
    ];
    for (field, roots, detail) in fields {
        let at = path.child(&format!("scale.{field}"));
        match text(scale, field) {
            "" if field == "labelSelectorPath" => {}
            "" => errors.push(FieldError::required(&at, "")),
            value if !value.starts_with('.') => errors.push(not_simple(&at, value)),
            value if !roots.iter().any(|root| value.starts_with(root)) => {
                errors.push(FieldError::invalid(&at, value, detail));
            }
            _ => {}
        }
    }
}

fn not_simple(path: &FieldPath, value: &str) -> FieldError {
    FieldError::invalid(path, value, "must be a simple json path starting with .")
}

fn check_columns(version: &Value, path: &FieldPath, errors: &mut Vec<FieldError>) {
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let path = path.child("additionalPrinterColumns").index(index);
        if text(column, "name").is_empty() {
            errors.push(FieldError::required(&path.child("name"), ""));
        }
        let kind = text(column, "type");
        let kinds = format!("must be one of {}", COLUMN_TYPES.join(","));
        if kind.is_empty() {
            errors.push(FieldError::required(&path.child("type"), kinds));
        } else if !COLUMN_TYPES.contains(&kind) {
            errors.push(FieldError::invalid(&path.child("type"), kind, kinds));
        }
        let format = text(column, "format");
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            errors.push(FieldError::invalid(&path.child("format"), format, detail));
        }
        match text(column, "jsonPath") {
            "" => errors.push(FieldError::required(&path.child("JSONPath"), "")),
            value if !value.starts_with('.') => errors.push(not_simple(&path.child("JSONPath"), value)),
            _ => {}
        }
    }
}

fn check_selectable_fields(
    version: &Value,
    old: Option<&Value>,
    path: &FieldPath,
    errors: &mut Vec<FieldError>,
) {
    let fields = list(version, "selectableFields");
    let schema = read_checked(&version["schema"]["openAPIV3Schema"]);
    let mut seen = BTreeSet::new();
    for (index, field) in fields.iter().enumerate() {
        let at = path.index(index).child("jsonPath");
        let json_path = text(field, "jsonPath");
        if json_path.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        match resolve_field_path(json_path, &schema, false) {
            Err(why) => {
                errors.push(FieldError::invalid(&at, json_path, format!("is an invalid path: {why}")))
            }
            Ok((found, below)) => {
                errors.extend(check_selectable(json_path, found.as_str(), below, &at));
                if !seen.insert(found.as_str().to_owned()) {
                    errors.push(FieldError::duplicate(&at, json_path));
                }
            }
        }
    }
    let unchanged = old.is_some_and(|old| {
        let versions = list(&old["spec"], "versions").iter();
        let same = |old: &&Value| {
            old["name"] == version["name"] && old["selectableFields"] == version["selectableFields"]
        };
        versions.filter(same).count() > 0
    });
    if seen.len() > MAX_SELECTABLE_FIELDS && !unchanged {
        errors.push(FieldError::too_many(path, seen.len(), MAX_SELECTABLE_FIELDS));
    }
}

fn check_selectable(json_path: &str, found: &str, schema: &Schema, path: &FieldPath) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if found.split(['.', '[']).next() == Some("metadata") {
        errors.push(FieldError::invalid(path, json_path, "must not point to fields in metadata"));
    }
    if !matches!(schema.shape, Shape::String | Shape::Boolean | Shape::Integer) {
        let detail = "must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.";
        errors.push(FieldError::invalid(path, json_path, detail));
    }
    errors
}
