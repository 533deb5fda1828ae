//! The parameters that a binding gives to its policy.

use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::store::{Key, Store};
use crate::types::{TypeInfo, Types};

use super::review::Review;
use crate::policies::{Binding, ParamRef, Policy};

/// The type of a policy's parameters; `None` if it takes none.
///
/// # Errors
/// There is no such type.
pub(super) fn kind_of<'t>(policy: &Policy, types: &'t Types) -> Result<Option<&'t Arc<TypeInfo>>, String> {
    let Some((api_version, kind)) = &policy.param_kind else { return Ok(None) };
    let (group, version) = object::split_api_version(api_version);
    types.by_kind(group, version, kind).map(Some).ok_or_else(|| {
        format!("failed to find resource referenced by paramKind: '{group}/{version}, Kind={kind}'")
    })
}

/// The parameters with which a binding asks for its policy to be evaluated; `None` if it is not about the request.
///
/// # Errors
/// Why that cannot be known, or why the binding and its parameters do not go together.
pub(super) fn of_binding<S: Store + ?Sized>(
    review: &Review<'_>,
    store: &S,
    types: &Types,
    kind: Option<&Arc<TypeInfo>>,
    binding: &Binding,
) -> Result<Option<Vec<Option<Arc<Value>>>>, String> {
    if let Some(resources) = &binding.resources
        && resources.matches(review, store, types)?.is_none()
    {
        return Ok(None);
    }
    collect(store, kind, binding, review.namespace).map(Some)
}

/// The parameters to evaluate the policy with, once for each. Without parameters that is once, with none.
///
/// # Errors
/// Why the binding and its parameters do not go together.
fn collect<S: Store + ?Sized>(
    store: &S,
    kind: Option<&Arc<TypeInfo>>,
    binding: &Binding,
    namespace: &str,
) -> Result<Vec<Option<Arc<Value>>>, String> {
    let (Some(info), Some(reference)) = (kind, &binding.param_ref) else { return Ok(vec![None]) };
    let namespace = match (info.namespaced, &*reference.namespace) {
        (true, "") if namespace.is_empty() => {
            let why =
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources";
            return Err(why.to_owned());
        }
        (true, "") => namespace,
        (true, named) => named,
        (false, "") => "",
        (false, _) => {
            let why = "paramRef.namespace must not be provided for a cluster-scoped `paramKind`";
            return Err(why.to_owned());
        }
    };
    let found = find(store, info, reference, namespace);
    if found.is_empty() && reference.required {
        return Err("no params found for policy binding with `Deny` parameterNotFoundAction".to_owned());
    }
    Ok(found.iter().map(|stored| Some(info.show(stored))).collect())
}

fn find<S: Store + ?Sized>(
    store: &S,
    info: &TypeInfo,
    reference: &ParamRef,
    namespace: &str,
) -> Vec<Arc<Value>> {
    let (group, plural) = (info.storage_group(), info.resource.plural.as_str());
    match &reference.selector {
        Some(selector) => {
            let all = store.scan(group, plural, Some(namespace), None).map(|(_, object)| object);
            all.filter(|object| selector.matches(&object["metadata"]["labels"])).collect()
        }
        None => store.get(&Key::new(group, plural, namespace, &reference.name)).into_iter().collect(),
    }
}
