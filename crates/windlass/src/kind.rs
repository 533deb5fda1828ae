//! The typed edge: what the framework needs to know of a Rust type that stands for a Kubernetes kind.

use std::any::TypeId;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass_model::{ResourceId, object};

use crate::outcome::Error;

/// A Rust type of a Kubernetes kind. Implemented for all types of `k8s-openapi` and of kube's derive.
pub trait Kind: Serialize + DeserializeOwned + Clone + Send + Sync + 'static {
    /// Group, version, kind and scope.
    fn kind_info() -> KindInfo;

    /// The object's metadata.
    fn object_meta(&self) -> &ObjectMeta;
}

impl<K> Kind for K
where
    K: kube_core::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static,
    K::Scope: 'static,
{
    fn kind_info() -> KindInfo {
        let cluster_scoped = TypeId::of::<K::Scope>() == TypeId::of::<k8s_openapi::ClusterResourceScope>();
        KindInfo {
            resource: ResourceId::new(&K::group(&()), &K::version(&()), &K::plural(&())),
            kind: K::kind(&()).into_owned(),
            namespaced: !cluster_scoped,
        }
    }

    fn object_meta(&self) -> &ObjectMeta {
        self.meta()
    }
}

/// Group, version, kind and scope of a type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KindInfo {
    /// Group, version and plural.
    pub resource: ResourceId,
    /// `ConfigMap`
    pub kind: String,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

impl KindInfo {
    /// `apps/v1`, or `v1` in the core group.
    pub fn api_version(&self) -> String {
        object::api_version(&self.resource.group, &self.resource.version)
    }

    /// `Deployment.apps`, or `ConfigMap` in the core group.
    pub fn qualified(&self) -> String {
        if self.resource.group.is_empty() {
            self.kind.clone()
        } else {
            format!("{}.{}", self.kind, self.resource.group)
        }
    }
}

/// Namespace and name of an object of a kind that is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ObjectRef {
    /// Empty for cluster-scoped objects.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
}

impl ObjectRef {
    /// An object by namespace (empty for cluster-scoped ones) and name.
    pub fn new(namespace: &str, name: &str) -> Self {
        ObjectRef { namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The object that this JSON is.
    pub fn of(value: &Value) -> Self {
        ObjectRef::new(object::namespace(value), object::name(value))
    }
}

impl std::fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.namespace.is_empty() {
            f.write_str(&self.name)
        } else {
            write!(f, "{}/{}", self.namespace, self.name)
        }
    }
}

/// A typed object as JSON, with `apiVersion` and `kind`.
///
/// # Errors
/// When the type does not serialize to a JSON object.
pub fn to_value<K: Kind>(typed: &K) -> Result<Value, Error> {
    let info = K::kind_info();
    let decode = |message: String| Error::Decode { kind: info.kind.clone(), name: String::new(), message };
    let mut value = serde_json::to_value(typed).map_err(|error| decode(error.to_string()))?;
    let Some(fields) = value.as_object_mut() else {
        return Err(decode("it is not a JSON object".to_owned()));
    };
    fields.insert("apiVersion".to_owned(), info.api_version().into());
    fields.insert("kind".to_owned(), info.kind.into());
    Ok(value)
}

/// JSON as a typed object.
///
/// # Errors
/// When the JSON does not have the type's shape.
pub fn from_value<K: Kind>(value: &Value) -> Result<K, Error> {
    K::deserialize(value).map_err(|error| Error::Decode {
        kind: K::kind_info().kind,
        name: object::name(value).to_owned(),
        message: error.to_string(),
    })
}
