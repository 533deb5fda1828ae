//! The types that every Kubernetes has, put together once.

use std::sync::OnceLock;

use super::resources::{MUTATING_ADMISSION_POLICY, RESOURCES, Resource, TOKEN_REQUEST};
use super::{FeatureGates, Origin, Scale, TypeInfo, Types, columns};
use crate::request::ResourceId;
use crate::schema;

/// All built-in types. Made at the first call; later calls share them.
pub(super) fn types() -> Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES
        .get_or_init(|| {
            let mut types = Types::empty();
            RESOURCES.iter().for_each(|resource| types.insert(type_info(resource)));
            types
        })
        .clone()
}

/// The types behind the gates that are open.
pub(super) fn gated_types(gates: FeatureGates) -> impl Iterator<Item = TypeInfo> {
    let mutating = if gates.mutating_admission_policy { MUTATING_ADMISSION_POLICY } else { &[] };
    mutating.iter().map(type_info)
}

impl TypeInfo {
    /// The name of a built-in type in the data file: `apps.v1.Deployment`.
    pub fn built_in_name(&self) -> Option<&'static str> {
        let resource = &self.resource;
        let found = RESOURCES.iter().chain(MUTATING_ADMISSION_POLICY).find(|known| {
            known.group == resource.group
                && known.plural == resource.plural
                && known.version() == resource.version
        });
        found.filter(|_| self.origin == Origin::BuiltIn).map(|known| known.type_name)
    }
}

/// The type of requests for tokens, which is no resource of its own.
pub(crate) fn token_request() -> &'static TypeInfo {
    static TYPE: OnceLock<TypeInfo> = OnceLock::new();
    TYPE.get_or_init(|| type_info(&TOKEN_REQUEST))
}

fn type_info(resource: &Resource) -> TypeInfo {
    let kind = resource.kind();
    TypeInfo {
        resource: ResourceId::new(resource.group, resource.version(), resource.plural),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        singular: kind.to_ascii_lowercase(),
        short_names: owned(resource.short_names),
        categories: owned(resource.categories),
        namespaced: resource.namespaced,
        has_status: resource.has_status,
        scale: resource.has_scale.then(scale),
        schema: schema::builtin::schema(resource.type_name).unwrap_or_default(),
        open_api: None,
        origin: Origin::BuiltIn,
        reading: None,
        storage_version: resource.version().to_owned(),
        columns: columns::of(resource.group, kind),
        selectable_fields: owned(resource.selectable),
        has_generation: resource.has_generation,
        deprecation: (resource.type_name == "core.v1.Endpoints").then(|| {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice".to_owned()
        }),
    }
}

/// The selector of built-in types is an object, not a string: whoever answers scale requests writes it as one.
fn scale() -> Scale {
    Scale {
        spec_replicas: ".spec.replicas".to_owned(),
        status_replicas: ".status.replicas".to_owned(),
        label_selector: Some(".spec.selector".to_owned()),
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::schema::Shape;

    #[test]
    fn every_resource_has_a_schema_with_metadata() {
        for info in types().iter() {
            let Shape::Object { fields, .. } = &info.schema.shape else {
                panic!("{} has no schema", info.kind)
            };
            assert!(fields.contains_key("metadata"), "{}", info.kind);
            let has_status = info.has_status || info.is_review();
            assert_eq!(fields.contains_key("status"), has_status, "{}", info.kind);
        }
    }

    #[test]
    fn names_do_not_collide_within_a_group() {
        let types = types();
        for one in types.iter() {
            for other in types.iter().filter(|other| other.resource != one.resource) {
                if one.resource.group == other.resource.group {
                    assert!(
                        one.short_names.iter().all(|name| !other.short_names.contains(name)),
                        "{}",
                        one.kind
                    );
                }
            }
        }
        assert_eq!(types.iter().count(), RESOURCES.len());
    }

    #[test]
    fn facts_of_some_kinds() {
        let types = types();
        let deployment = types.get(&ResourceId::new("apps", "v1", "deployments")).unwrap();
        assert_eq!((deployment.kind.as_str(), deployment.singular.as_str()), ("Deployment", "deployment"));
        assert!(deployment.scale.is_some() && deployment.has_status && deployment.has_generation);
        let config_map = types.by_kind("", "v1", "ConfigMap").unwrap();
        assert!(!config_map.has_status && !config_map.has_generation && config_map.namespaced);
        assert!(!types.by_kind("", "v1", "Namespace").unwrap().namespaced);
        assert!(
            ["autoscaling.v1.Scale", "policy.v1.Eviction"]
                .iter()
                .all(|name| schema::builtin::schema(name).is_some())
        );
    }

    #[test]
    fn all_calls_share_the_types() {
        let (one, two) = (types(), types());
        let pods = ResourceId::new("", "v1", "pods");
        assert!(Arc::ptr_eq(one.get(&pods).unwrap(), two.get(&pods).unwrap()));
    }
}
