//! Bad definitions, and what is said about each.

use serde_json::json;

use super::*;
use crate::crd::{prepare, set_defaults};

fn good() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "foos.g.io"},
        "spec": {
            "group": "g.io", "scope": "Namespaced", "names": {"plural": "foos", "kind": "Foo"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
                "type": "object", "properties": {"spec": {"type": "object", "properties": {
                    "color": {"type": "string"}, "size": {"type": "number"}}}}}}}],
        },
    })
}

/// Sets what a JSON pointer names.
fn with(mut crd: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    let parent = crd.pointer_mut(parent).unwrap_or_else(|| panic!("no {parent}"));
    match parent {
        Value::Array(items) => items.insert(field.parse().unwrap(), value),
        other => drop(other.as_object_mut().unwrap().insert(field.to_owned(), value)),
    }
    crd
}

fn errors(mut crd: Value, old: Option<&Value>) -> Vec<String> {
    prepare(&mut crd, old);
    set_defaults(&mut crd);
    validate(&crd, old).iter().map(ToString::to_string).collect()
}

fn written(mut crd: Value) -> Value {
    prepare(&mut crd, None);
    set_defaults(&mut crd);
    crd
}

#[test]
fn a_good_definition_passes() {
    assert_eq!(errors(good(), None), Vec::<String>::new());
    let old = written(good());
    assert_eq!(errors(good(), Some(&old)), Vec::<String>::new());
}

#[test]
fn bad_definitions_are_refused() {
    const V1: &str = "/spec/versions/0";
    let label = "a DNS-1035 label must consist of";
    let column = |column: Value| with(good(), &format!("{V1}/additionalPrinterColumns"), json!([column]));
    let selectable =
        |path: &str| with(good(), &format!("{V1}/selectableFields"), json!([{"jsonPath": path}]));
    let scale = |scale: Value| with(good(), &format!("{V1}/subresources"), json!({ "scale": scale }));
    let cases = [
        (
            with(good(), "/metadata/name", json!("bars.g.io")),
            "metadata.name: Invalid value: \"bars.g.io\": must be spec.names.plural+\".\"+spec.group",
        ),
        (
            with(with(good(), "/spec/group", json!("g")), "/metadata/name", json!("foos.g")),
            "spec.group: Invalid value: \"g\": should be a domain with at least one dot",
        ),
        (
            with(good(), "/spec/scope", json!("World")),
            "spec.scope: Unsupported value: \"World\": supported values: \"Cluster\", \"Namespaced\"",
        ),
        (with(good(), "/spec/scope", json!("")), "spec.scope: Required value"),
        (
            with(good(), "/spec/names/singular", json!("Foo")),
            &format!("spec.names.singular: Invalid value: \"Foo\": {label}"),
        ),
        (
            with(good(), "/spec/names/listKind", json!("Foo")),
            "spec.names.listKind: Invalid value: \"Foo\": kind and listKind may not be the same",
        ),
        (
            with(good(), "/spec/names/shortNames", json!(["f", "F"])),
            &format!("spec.names.shortNames[1]: Invalid value: \"F\": {label}"),
        ),
        (
            with(good(), "/spec/names/categories", json!(["-"])),
            &format!("spec.names.categories[0]: Invalid value: \"-\": {label}"),
        ),
        (
            with(
                good(),
                "/spec/names",
                json!({"plural": "foos", "kind": "Foo_", "singular": "foo", "listKind": "FooList"}),
            ),
            "spec.names.kind: Invalid value: \"Foo_\": may have mixed case, but should otherwise match: ",
        ),
        (
            with(good(), &format!("{V1}/name"), json!("1v")),
            &format!("spec.versions[0].name: Invalid value: \"1v\": {label}"),
        ),
        (with(good(), &format!("{V1}/storage"), json!(false)), "spec.versions: Invalid value: "),
        (
            with(good(), &format!("{V1}/schema"), json!(null)),
            "spec.versions[0].schema.openAPIV3Schema: Required value",
        ),
        (
            with(good(), &format!("{V1}/schema/openAPIV3Schema/type"), json!("string")),
            "spec.validation.openAPIV3Schema.type: Invalid value: \"string\": must be object at the root",
        ),
        (
            with(good(), &format!("{V1}/schema/openAPIV3Schema/nullable"), json!(true)),
            "spec.validation.openAPIV3Schema.nullable: Forbidden: nullable cannot be true at the root",
        ),
        (
            with(good(), &format!("{V1}/schema/openAPIV3Schema/maximum"), json!("1")),
            "spec.validation.openAPIV3Schema: Invalid value: \"\": json: cannot unmarshal string into Go struct field JSONSchemaProps.spec.validation.openAPIV3Schema.maximum of type float64",
        ),
        (
            with(good(), &format!("{V1}/schema/openAPIV3Schema/properties/x"), json!({"$ref": "#"})),
            "spec.validation.openAPIV3Schema.properties[x].$ref: Forbidden: $ref is not supported",
        ),
        (
            with(
                with(good(), &format!("{V1}/subresources"), json!({"status": {}})),
                &format!("{V1}/schema/openAPIV3Schema/minProperties"),
                json!(1),
            ),
            "spec.validation.openAPIV3Schema: Invalid value: {",
        ),
        (
            with(good(), &format!("{V1}/deprecationWarning"), json!("old")),
            "spec.versions[0].deprecationWarning: Invalid value: \"old\": can only be set for deprecated versions",
        ),
        (
            with(
                with(good(), &format!("{V1}/deprecationWarning"), json!("a\nb")),
                &format!("{V1}/deprecated"),
                json!(true),
            ),
            "spec.versions[0].deprecationWarning: Invalid value: \"a\\nb\": must only contain printable UTF-8 characters; non-printable character found at index 1",
        ),
        (
            column(json!({"type": "string", "jsonPath": ".a"})),
            "spec.additionalPrinterColumns[0].name: Required value",
        ),
        (
            column(json!({"name": "a", "type": "text", "jsonPath": ".a"})),
            "spec.additionalPrinterColumns[0].type: Invalid value: \"text\": must be one of boolean,date,integer,number,string",
        ),
        (
            column(json!({"name": "a", "type": "string", "format": "x", "jsonPath": ".a"})),
            "spec.additionalPrinterColumns[0].format: Invalid value: \"x\": must be one of byte,date,date-time,double,float,int32,int64,password",
        ),
        (
            column(json!({"name": "a", "type": "string", "jsonPath": "a"})),
            "spec.additionalPrinterColumns[0].JSONPath: Invalid value: \"a\": must be a simple json path starting with .",
        ),
        (
            column(json!({"name": "a", "type": "string"})),
            "spec.additionalPrinterColumns[0].JSONPath: Required value",
        ),
        (
            selectable(".spec.missing"),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.missing\": is an invalid path: does not refer to a valid field",
        ),
        (
            selectable(".spec.size"),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec.size\": must point to a field of type string, boolean or integer. Enum string fields and strings with formats are allowed.",
        ),
        (
            selectable(".spec['color']"),
            "spec.selectableFields[0].jsonPath: Invalid value: \".spec['color']\": is an invalid path: array notation is not allowed",
        ),
        (selectable(""), "spec.selectableFields[0].jsonPath: Required value"),
        (
            scale(json!({"specReplicasPath": ".spec.a"})),
            "spec.subresources.scale.statusReplicasPath: Required value",
        ),
        (
            scale(json!({"specReplicasPath": ".status.a", "statusReplicasPath": ".status.a"})),
            "spec.subresources.scale.specReplicasPath: Invalid value: \".status.a\": should be a json path under .spec",
        ),
        (
            scale(
                json!({"specReplicasPath": ".spec.a", "statusReplicasPath": ".status.a", "labelSelectorPath": ".x"}),
            ),
            "spec.subresources.scale.labelSelectorPath: Invalid value: \".x\": should be a json path under either .spec or .status",
        ),
        (
            with(good(), "/spec/conversion", json!({"strategy": "Magic"})),
            "spec.conversion.strategy: Unsupported value: \"Magic\": supported values: \"None\", \"Webhook\"",
        ),
        (
            with(good(), "/spec/conversion", json!({"strategy": "None", "webhook": {"clientConfig": {}}})),
            "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
        ),
        (
            with(
                good(),
                "/spec/conversion",
                json!({"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"]}}),
            ),
            "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
        ),
        (
            with(
                good(),
                "/spec/conversion",
                json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "http://a"}, "conversionReviewVersions": ["v1"]}}),
            ),
            "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
        ),
        (
            with(
                good(),
                "/spec/conversion",
                json!({"strategy": "Webhook", "webhook": {"clientConfig": {"url": "https://a"}, "conversionReviewVersions": ["v9"]}}),
            ),
            "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\"]: must include at least one of v1, v1beta1",
        ),
        (
            with(good(), "/spec/preserveUnknownFields", json!(true)),
            "spec.preserveUnknownFields: Invalid value: true: cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead",
        ),
        (
            with(with(good(), "/spec/group", json!("x.k8s.io")), "/metadata/name", json!("foos.x.k8s.io")),
            "metadata.annotations[api-approved.kubernetes.io]: Required value: protected groups must have approval annotation \"api-approved.kubernetes.io\", see https://github.com/kubernetes/enhancements/pull/1111",
        ),
    ];
    for (crd, wanted) in cases {
        let found = errors(crd.clone(), None);
        assert!(found.first().is_some_and(|first| first.starts_with(wanted)), "{wanted}\n{found:#?}");
        // Without a storage version there is none to be stored either.
        let also_unstored = usize::from(crd["spec"]["versions"][0]["storage"] == false);
        let also_named = found.iter().filter(|error| error.starts_with("spec.version:")).count();
        assert_eq!(found.len(), 1 + also_unstored + also_named, "{found:#?}");
    }
}

#[test]
fn what_versions_do_not_share_is_reported_per_version() {
    let mut second = good()["spec"]["versions"][0].clone();
    second["name"] = "v2".into();
    second["storage"] = false.into();
    second["schema"]["openAPIV3Schema"]["properties"]["x"] = json!({});
    let crd = with(good(), "/spec/versions/1", second);
    let wanted = [
        "spec.versions[1].schema.openAPIV3Schema.properties[x].type: Required value: must not be empty for specified object fields",
    ];
    assert_eq!(errors(crd, None), wanted);
}

#[test]
fn version_names_are_unique_and_one_is_stored() {
    let twice = with(good(), "/spec/versions/1", good()["spec"]["versions"][0].clone());
    let found = errors(twice, None);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(found[0].ends_with("must contain unique version names"));
    assert!(found[1].ends_with("must have exactly one version marked as storage version"));
    let found = errors(with(good(), "/spec/versions", json!([])), None);
    assert_eq!(found[1], "status.storedVersions: Invalid value: null: must have at least one stored version");
}

#[test]
fn too_many_selectable_fields_are_refused_unless_they_were_there() {
    let mut crd = good();
    let fields: Vec<String> = (0..9).map(|index| format!("f{index}")).collect();
    for field in &fields {
        crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][field] =
            json!({"type": "string"});
    }
    let paths: Vec<Value> = fields.iter().map(|field| json!({"jsonPath": format!(".{field}")})).collect();
    crd["spec"]["versions"][0]["selectableFields"] = json!(paths);
    assert_eq!(errors(crd.clone(), None), ["spec.selectableFields: Too many: 9: must have at most 8 items"]);
    let old = written(crd.clone());
    assert_eq!(errors(crd, Some(&old)), Vec::<String>::new());
}

#[test]
fn what_cannot_change() {
    let mut old = written(good());
    let renamed = with(good(), "/spec/names/plural", json!("bars"));
    assert_eq!(
        errors(renamed, Some(&old)),
        ["spec.names.plural: Invalid value: \"bars\": field is immutable"]
    );
    let moved = with(good(), "/spec/group", json!("h.io"));
    assert_eq!(errors(moved, Some(&old)), ["spec.group: Invalid value: \"h.io\": field is immutable"]);
    let widened = with(good(), "/spec/scope", json!("Cluster"));
    assert_eq!(errors(widened.clone(), Some(&old)), Vec::<String>::new());
    old["status"]["conditions"] = json!([{"type": "Established", "status": "True"}]);
    assert_eq!(errors(widened, Some(&old)), ["spec.scope: Invalid value: \"Cluster\": field is immutable"]);
    let kind = with(good(), "/spec/names/kind", json!("Bar"));
    assert_eq!(errors(kind, Some(&old)), ["spec.names.kind: Invalid value: \"Bar\": field is immutable"]);
}

#[test]
fn stored_versions_stay() {
    let mut old = written(good());
    old["status"]["storedVersions"] = json!(["v0", "v1"]);
    let wanted = "status.storedVersions[0]: Invalid value: \"v0\": missing from spec.versions; v0 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v0 and removes v0 from status.storedVersions";
    assert_eq!(errors(good(), Some(&old)), [wanted]);
}

#[test]
fn hostile_shapes_are_refused_without_panic() {
    let odd = [
        json!(null),
        json!([]),
        json!({"spec": []}),
        json!({"spec": {"versions": [null, 1, {"schema": []}], "names": 1}}),
    ];
    for crd in odd {
        assert!(!errors(crd.clone(), None).is_empty(), "{crd}");
        assert!(!errors(crd.clone(), Some(&crd)).is_empty(), "{crd}");
    }
}
