//! Who gives parameters to an admission policy must be able to read them: its messages can show them.

use serde_json::Value;

use crate::authorization::ResourceAttributes;
use crate::field::{FieldError, FieldPath};
use crate::object;
use crate::policies::{BINDINGS, GROUP, MUTATING_BINDINGS, MUTATING_POLICIES, POLICIES};
use crate::store::{Key, Store};

use super::call::Call;

/// What the writer of a policy or binding may not read, if it is new in what is written.
pub(super) fn missing<S: Store + ?Sized>(
    call: &Call<'_, S>,
    new: &Value,
    live: Option<&Value>,
) -> Option<FieldError> {
    let resource = &call.info.resource;
    let unchanged = |fields: &[&str]| {
        live.is_some_and(|live| fields.iter().all(|field| live["spec"][*field] == new["spec"][*field]))
    };
    match (resource.group.as_str(), resource.plural.as_str()) {
        (GROUP, POLICIES | MUTATING_POLICIES)
            if new["spec"]["paramKind"].is_object() && !unchanged(&["paramKind"]) =>
        {
            policy(call, new)
        }
        (GROUP, BINDINGS | MUTATING_BINDINGS)
            if new["spec"]["paramRef"].is_object() && !unchanged(&["paramRef", "policyName"]) =>
        {
            binding(call, new)
        }
        _ => None,
    }
}

fn policy<S: Store + ?Sized>(call: &Call<'_, S>, new: &Value) -> Option<FieldError> {
    let kind = &new["spec"]["paramKind"];
    let wanted = ResourceAttributes {
        verb: "get".to_owned(),
        namespace: "*".to_owned(),
        name: "*".to_owned(),
        ..resource_of(call, kind).unwrap_or_else(any_resource)
    };
    let text = |field: &str| kind[field].as_str().unwrap_or_default();
    refusal(call, wanted, "paramKind", || {
        format!(
            "user {} must have \"get\" permission on all objects of the referenced paramKind (kind={}, \
             apiVersion={})",
            shown_user(call),
            text("kind"),
            text("apiVersion")
        )
    })
}

fn binding<S: Store + ?Sized>(call: &Call<'_, S>, new: &Value) -> Option<FieldError> {
    let (reference, name) =
        (&new["spec"]["paramRef"], new["spec"]["policyName"].as_str().unwrap_or_default());
    let text = |field: &str| reference[field].as_str().unwrap_or_default().to_owned();
    let mutating = call.info.resource.plural == MUTATING_BINDINGS;
    let policies = if mutating { MUTATING_POLICIES } else { POLICIES };
    let policy = call.store.get(&Key::new(GROUP, policies, "", name));
    let kind = policy.as_ref().map(|policy| &policy["spec"]["paramKind"]).filter(|kind| kind.is_object());
    let resource = kind.and_then(|kind| resource_of(call, kind));
    let verb = if text("name").is_empty() { "list" } else { "get" };
    let wanted = ResourceAttributes {
        verb: verb.to_owned(),
        namespace: text("namespace"),
        name: text("name"),
        ..resource.clone().unwrap_or_else(any_resource)
    };
    let everything = format!("\"{verb}\" permission for all groups, versions and resources");
    refusal(call, wanted, "paramRef", || {
        let user = shown_user(call);
        match (&policy, kind, resource) {
            (None, ..) => format!(
                "unable to get policy {name} to determine minimum required permissions and user {user} does not \
                 have {everything}"
            ),
            (_, Some(_), Some(found)) if found.resource == "*" => format!(
                "unable to resolve paramKind to determine minimum required permissions and user {user} does not \
                 have {everything}"
            ),
            _ => format!(
                "user {user} does not have \"{verb}\" permission on the object referenced by paramRef"
            ),
        }
    })
}

/// The resource of a kind; any resource of its group if there is no such kind.
fn resource_of<S: Store + ?Sized>(call: &Call<'_, S>, kind: &Value) -> Option<ResourceAttributes> {
    let text = |field: &str| kind[field].as_str();
    let (group, version) = object::split_api_version(text("apiVersion")?);
    let found = call.types.by_kind(group, version, text("kind")?);
    let resource = found.map_or("*", |info| info.resource.plural.as_str());
    Some(ResourceAttributes {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
        ..ResourceAttributes::default()
    })
}

fn any_resource() -> ResourceAttributes {
    let any = || "*".to_owned();
    ResourceAttributes { group: any(), version: any(), resource: any(), ..ResourceAttributes::default() }
}

fn refusal<S: Store + ?Sized>(
    call: &Call<'_, S>,
    wanted: ResourceAttributes,
    field: &str,
    why: impl FnOnce() -> String,
) -> Option<FieldError> {
    let decision = call.caller.authorizer.authorize(call.caller.user, &wanted.into());
    (!decision.allowed).then(|| FieldError::forbidden(&FieldPath::of("spec").child(field), why()))
}

/// As Go prints a user.
fn shown_user<S: Store + ?Sized>(call: &Call<'_, S>) -> String {
    let user = call.caller.user;
    let extra: Vec<String> =
        user.extra.iter().map(|(key, values)| format!("{key}:[{}]", values.join(" "))).collect();
    format!("&{{{} {} [{}] map[{}]}}", user.name, user.uid, user.groups.join(" "), extra.join(" "))
}
