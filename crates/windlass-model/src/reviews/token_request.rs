//! `serviceaccounts/NAME/token`: asking for a token of a service account.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::authentication::{Issuer, TokenSubject, token_claims};
use crate::field::{FieldError, FieldPath, quoted};
use crate::object;
use crate::request::Request;
use crate::response::Response;
use crate::status::Status;
use crate::store::{Key, Store};
use crate::time::Timestamp;
use crate::types::builtin;
use crate::verbs::read_question;

const GROUP: &str = "authentication.k8s.io";
const KIND: &str = "TokenRequest";
const MIN_SECONDS: i64 = 10 * 60;
const MAX_SECONDS: i64 = 1 << 32;

/// Answers a request for a token of a service account; `None` for a request about anything else.
///
/// `new_id` makes a name that no other token has, `sign` a token of what it says.
pub fn token_request<S: Store + ?Sized>(
    store: &S,
    now: Timestamp,
    request: &Request,
    issuer: &Issuer,
    new_id: impl FnOnce() -> String,
    sign: impl FnOnce(&Value) -> String,
) -> Option<Response> {
    if !is_token_request(request) {
        return None;
    }
    let granted = grant(store, now, request, issuer, &new_id());
    Some(granted.map_or_else(Response::status, |mut granted| {
        granted.answer["status"]["token"] = sign(&granted.claims).into();
        Response { code: 201, warnings: granted.warnings, ..Response::object(granted.answer) }
    }))
}

/// A token that may be made.
struct TokenGrant {
    /// What the token says.
    claims: Value,
    answer: Value,
    warnings: Vec<String>,
}

fn is_token_request(request: &Request) -> bool {
    request.resource.group.is_empty()
        && request.resource.plural == "serviceaccounts"
        && request.subresource.as_deref() == Some("token")
}

/// The error is the refusal: no such account, a time that is too short or too long, an object that the token cannot end
/// with.
fn grant<S: Store + ?Sized>(
    store: &S,
    now: Timestamp,
    request: &Request,
    issuer: &Issuer,
    id: &str,
) -> Result<TokenGrant, Status> {
    let (mut asked, warnings) = read_question(store, now, builtin::token_request(), request)?;
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let name = request.name.as_deref().unwrap_or_default();
    check_metadata(&asked, namespace, name)?;
    let account = store.get(&Key::new("", "serviceaccounts", namespace, name));
    let account = account.ok_or_else(|| Status::not_found("", "serviceaccounts", name))?;
    fill(&mut asked, &account, &issuer.audiences, now)?;
    let seconds = asked["spec"]["expirationSeconds"].as_i64().unwrap_or_default();
    check_seconds(seconds)?;
    let bound = bound_objects(store, &asked["spec"]["boundObjectRef"], namespace, name)?;
    let given = object::texts(&asked["spec"]["audiences"]);
    let mut claims = token_claims(&TokenSubject {
        account: &account,
        bound_to: bound.iter().map(|(field, object)| (*field, &**object)).collect(),
        audiences: &given,
        now,
        seconds,
        id,
    });
    claims["iss"] = issuer.name.as_str().into();
    asked["status"] = json!({ "token": "", "expirationTimestamp": now.plus_seconds(seconds).to_string() });
    Ok(TokenGrant { claims, answer: asked, warnings })
}

fn check_metadata(asked: &Value, namespace: &str, name: &str) -> Result<(), Status> {
    for (field, wanted) in [("name", name), ("namespace", namespace)] {
        let given = object::meta_str(asked, field);
        if !given.is_empty() && given != wanted {
            let path = FieldPath::of("metadata").child(field);
            let detail = format!("must match the service account {field} if specified");
            return Err(Status::invalid(GROUP, KIND, name, &[FieldError::invalid(&path, given, detail)]));
        }
    }
    Ok(())
}

/// Sets what the request left out.
fn fill(asked: &mut Value, account: &Value, audiences: &[String], now: Timestamp) -> Result<(), Status> {
    let (uid, name) = (object::uid(account), object::name(account));
    let given = object::uid(asked).to_owned();
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the token request ({given}) does not match the UID of the service account ({uid})"
        );
        return Err(Status::conflict(GROUP, KIND, name, &why));
    }
    object::set_meta(asked, "name", name);
    object::set_meta(asked, "namespace", object::namespace(account));
    object::set_meta(asked, "uid", uid);
    object::set_meta(asked, "creationTimestamp", now.to_string());
    if asked["spec"]["audiences"].as_array().is_none_or(Vec::is_empty) {
        asked["spec"]["audiences"] = json!(audiences);
    }
    // The one field that is written though it is not set.
    if let Some(spec) = asked["spec"].as_object_mut() {
        spec.entry("boundObjectRef").or_insert(Value::Null);
    }
    Ok(())
}

fn check_seconds(seconds: i64) -> Result<(), Status> {
    let detail = match seconds {
        ..MIN_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_SECONDS..=MAX_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let error = FieldError::invalid(&FieldPath::of("spec.expirationSeconds"), seconds, detail);
    Err(Status::invalid(GROUP, KIND, "", &[error]))
}

type Bound = Vec<(&'static str, Arc<Value>)>;

/// What the token ends with: the object that the request names, and the node of a pod.
fn bound_objects<S: Store + ?Sized>(
    store: &S,
    reference: &Value,
    namespace: &str,
    account: &str,
) -> Result<Bound, Status> {
    if reference.is_null() {
        return Ok(Vec::new());
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let (group, version) = object::split_api_version(text("apiVersion"));
    let get = |plural: &str, namespace: &str| {
        let found = store.get(&Key::new("", plural, namespace, text("name")));
        found.ok_or_else(|| Status::not_found("", plural, text("name")))
    };
    let mut bound: Bound = match (group, text("kind")) {
        ("", "Pod") => vec![("pod", get("pods", namespace)?)],
        ("", "Secret") => vec![("secret", get("secrets", namespace)?)],
        ("", "Node") => vec![("node", get("nodes", "")?)],
        (_, kind) => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message));
        }
    };
    let Some((field, first)) = bound.first().cloned() else { return Ok(bound) };
    if field == "pod" {
        if first["spec"]["serviceAccountName"].as_str().unwrap_or_default() != account {
            return Err(Status::bad_request(format!(
                "cannot bind token for serviceaccount {} to pod running with different serviceaccount name.",
                quoted(account)
            )));
        }
        bound.extend(node_of(store, &first).map(|node| ("node", node)));
    }
    let (given, uid) = (text("uid"), object::uid(&first));
    if !given.is_empty() && given != uid {
        let why = format!(
            "the UID in the bound object reference ({given}) does not match the UID in record. \
             The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(group, text("kind"), text("name"), &why));
    }
    Ok(bound)
}

/// The node that a pod is on; only its name if there is no such object.
fn node_of<S: Store + ?Sized>(store: &S, pod: &Value) -> Option<Arc<Value>> {
    let name = pod["spec"]["nodeName"].as_str().filter(|name| !name.is_empty())?;
    let found = store.get(&Key::new("", "nodes", "", name));
    Some(found.unwrap_or_else(|| Arc::new(json!({ "metadata": { "name": name } }))))
}
