//! Asks, before controllers start, whether the cluster has what they need and lets them do what they must.
//!
//! Start with [`preflight`]. What it finds degrades a controller, and is asked for again until it is there: permissions
//! may come later, and the watches try again.

mod degraded;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use futures::StreamExt;
use serde_json::{Value, json};
use windlass::model::{Request, ResourceId, Status, Verb};
use windlass::permissions::{Permission, Scope, permissions};
use windlass::{Controller, KindInfo};

use super::perform::Perform;
pub(crate) use degraded::Degraded;

/// Maximum number of concurrent requests.
const AT_ONCE: usize = 8;

/// Something that a controller needs and the cluster does not give.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// It may not do something.
    Forbidden(Permission),
    /// A resource is not served.
    NotServed {
        /// The resource.
        resource: ResourceId,
        /// Its kind.
        kind: String,
        /// The versions of its group that are served.
        served: Vec<String>,
    },
    /// Its parents keep conditions in their status, but the CRD has no status subresource.
    NoStatus {
        /// The resource.
        resource: ResourceId,
    },
    /// The API did not say.
    Unknown {
        /// What was asked, such as `may this process patch pairs/status?`.
        question: String,
        /// What it said instead.
        message: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Forbidden(permission) => {
                let role = if permission.namespace.is_some() { "Role" } else { "ClusterRole" };
                let (verb, group, resource) = (&permission.verb, &permission.group, permission.combined());
                write!(f, "this process may not {permission}: add the verb {verb:?} on the resource ")?;
                write!(f, "{resource:?} in the API group {group:?} to its {role}")
            }
            Problem::NotServed { resource, kind, served } => {
                let group = if resource.group.is_empty() { "core" } else { &resource.group };
                write!(f, "the cluster has no {} {group}/{}: ", resource.plural, resource.version)?;
                if served.is_empty() {
                    write!(f, "apply the CustomResourceDefinition of {kind}")
                } else {
                    let others = served.join(", ");
                    write!(f, "it serves {others} of that group, so apply the CustomResourceDefinition of ")?;
                    write!(f, "{kind} that has {}", resource.version)
                }
            }
            Problem::NoStatus { resource } => write!(
                f,
                "{}.{} has no status subresource: add `subresources: {{ status: {{}} }}` to version {} of its \
                 CustomResourceDefinition",
                resource.plural, resource.group, resource.version
            ),
            Problem::Unknown { question, message } => {
                write!(f, "{question} The API did not say: {message}")
            }
        }
    }
}

/// Asks for everything that some controllers need. Nothing is changed.
pub async fn preflight(api: &dyn Perform, controllers: &[Controller], scope: &Scope) -> Vec<Problem> {
    let kinds = kinds(controllers);
    let mut groups: BTreeSet<(&str, &str)> = BTreeSet::new();
    groups.extend(kinds.keys().map(|resource| (resource.group.as_str(), resource.version.as_str())));
    // Made before the stream: a closure within it could not be sent to another thread.
    let questions: Vec<_> = groups.into_iter().map(|group| discover(api, group)).collect();
    let discovered: BTreeMap<_, _> = futures::stream::iter(questions).buffered(AT_ONCE).collect().await;
    let mut problems = Vec::new();
    for (resource, kind) in &kinds {
        let group = (resource.group.as_str(), resource.version.as_str());
        if let Some(found) = discovered.get(&group) {
            problems.extend(check_resource(resource, kind, found));
        }
    }
    let needed = permissions(controllers, scope);
    let questions: Vec<_> = needed.iter().map(|permission| ask(api, permission)).collect();
    let asked: Vec<_> = futures::stream::iter(questions).buffered(AT_ONCE).collect().await;
    problems.extend(asked.into_iter().flatten());
    problems
}

/// A kind, and whether controllers keep conditions in its status.
struct Needed {
    kind: KindInfo,
    keeps_status: bool,
}

/// All kinds that controllers deal with.
fn kinds(controllers: &[Controller]) -> BTreeMap<ResourceId, Needed> {
    let mut kinds: BTreeMap<ResourceId, Needed> = BTreeMap::new();
    let mut add = |kind: &KindInfo, keeps_status: bool| {
        let new = || Needed { kind: kind.clone(), keeps_status: false };
        kinds.entry(kind.resource.clone()).or_insert_with(new).keeps_status |= keeps_status;
    };
    for declaration in controllers.iter().map(Controller::declaration) {
        add(declaration.parent(), declaration.keeps_status());
        declaration.outputs().iter().for_each(|output| add(&output.kind, false));
        declaration.watched().for_each(|watch| add(&watch.kind, false));
    }
    kinds
}

/// What the API says of one version of a group.
enum Discovered {
    /// It serves these resources, subresources included.
    Resources(Vec<String>),
    /// It serves other versions of the group, or none.
    Versions(Vec<String>),
    Unknown(Status),
}

async fn discover<'a>(api: &dyn Perform, group: (&'a str, &'a str)) -> ((&'a str, &'a str), Discovered) {
    let (name, version) = group;
    let of_group = if name.is_empty() { "/api".to_owned() } else { format!("/apis/{name}") };
    let found = match api.document(&format!("{of_group}/{version}")).await {
        Ok(list) => Discovered::Resources(texts(&list["resources"], "name")),
        Err(status) if status.code == 404 => match api.document(&of_group).await {
            Ok(group) => Discovered::Versions(texts(&group["versions"], "version")),
            Err(status) if status.code == 404 => Discovered::Versions(Vec::new()),
            Err(status) => Discovered::Unknown(status),
        },
        Err(status) => Discovered::Unknown(status),
    };
    (group, found)
}

/// A field of each object of a list.
fn texts(list: &Value, field: &str) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    items.filter_map(|item| item[field].as_str()).map(str::to_owned).collect()
}

fn check_resource(resource: &ResourceId, needed: &Needed, found: &Discovered) -> Option<Problem> {
    let not_served = |served: &[String]| Problem::NotServed {
        resource: resource.clone(),
        kind: needed.kind.kind.clone(),
        served: served.to_vec(),
    };
    match found {
        Discovered::Versions(served) => Some(not_served(served)),
        Discovered::Unknown(status) => Some(Problem::Unknown {
            question: format!("Does the cluster have {} {}?", resource.plural, needed.kind.api_version()),
            message: status.message.clone(),
        }),
        Discovered::Resources(all) if !all.contains(&resource.plural) => Some(not_served(&[])),
        Discovered::Resources(all) => {
            let has_status = all.contains(&format!("{}/status", resource.plural));
            (needed.keeps_status && !has_status).then(|| Problem::NoStatus { resource: resource.clone() })
        }
    }
}

/// Asks whether this process may do something.
async fn ask(api: &dyn Perform, permission: &Permission) -> Option<Problem> {
    let attributes = json!({
        "namespace": permission.namespace.as_deref().unwrap_or_default(),
        "verb": permission.verb,
        "group": permission.group,
        "version": "*",
        "resource": permission.resource,
        "subresource": permission.subresource,
    });
    let question = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": { "resourceAttributes": attributes },
    });
    let reviews = ResourceId::new("authorization.k8s.io", "v1", "selfsubjectaccessreviews");
    let response = api.perform(&Request::new(Verb::Create, reviews).with_body(question)).await;
    if let Some(failure) = response.failure() {
        let question = format!("May this process {permission}?");
        return Some(Problem::Unknown { question, message: failure.message.clone() });
    }
    let allowed = response.as_object().is_some_and(|review| review["status"]["allowed"] == true);
    (!allowed).then(|| Problem::Forbidden(permission.clone()))
}
