//! What the tokens of service accounts say, and whether it still holds.
//!
//! Signing and verifying signatures is for whoever holds the key.

use serde_json::{Value, json};

use super::{User, service_account_name};
use crate::field::quoted;
use crate::object;
use crate::store::{Key, Store};
use crate::time::Timestamp;
use windlass_cel::formats::base64::Base64;
use windlass_cel::formats::names;

/// The issuer of tokens that live in Secrets.
pub(crate) const LEGACY_ISSUER: &str = "kubernetes/serviceaccount";
/// What stands before the names of claims in such tokens.
const LEGACY: &str = "kubernetes.io/serviceaccount/";
/// Tolerated clock skew.
const LEEWAY_SECONDS: i64 = 60;
const EXTRA: &str = "authentication.kubernetes.io/";

/// Who makes tokens, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issuer {
    /// What the tokens name as their issuer: an URL.
    pub name: String,
    /// What the server takes tokens for, and gives those that ask for nothing else.
    pub audiences: Vec<String>,
}

/// Who and for how long a token is for.
pub(crate) struct TokenSubject<'a> {
    /// The ServiceAccount.
    pub(crate) account: &'a Value,
    /// Field of the claims and object that the token ends with: `("pod", pod)`.
    pub(crate) bound_to: Vec<(&'static str, &'a Value)>,
    /// For whom it is meant.
    pub(crate) audiences: &'a [String],
    /// From when.
    pub(crate) now: Timestamp,
    /// For how long.
    pub(crate) seconds: i64,
    /// A name that no other token has.
    pub(crate) id: &'a str,
}

/// The claims of a token, but for its issuer.
pub(crate) fn token_claims(subject: &TokenSubject<'_>) -> Value {
    let account = subject.account;
    let reference = |object: &Value| match object::uid(object) {
        "" => json!({ "name": object::name(object) }),
        uid => json!({ "name": object::name(object), "uid": uid }),
    };
    let mut kubernetes =
        json!({ "namespace": object::namespace(account), "serviceaccount": reference(account) });
    for (field, bound) in &subject.bound_to {
        kubernetes[*field] = reference(bound);
    }
    let now = subject.now.unix_seconds();
    json!({
        "aud": subject.audiences,
        "exp": now.saturating_add(subject.seconds),
        "iat": now,
        "nbf": now,
        "jti": subject.id,
        "kubernetes.io": kubernetes,
        "sub": user_name(account),
    })
}

/// The claims of a token that lives in a Secret: it has no end, and no audience.
pub(crate) fn legacy_claims(account: &Value, secret: &Value) -> Value {
    json!({
        "iss": LEGACY_ISSUER,
        (format!("{LEGACY}namespace")): object::namespace(account),
        (format!("{LEGACY}secret.name")): object::name(secret),
        (format!("{LEGACY}service-account.name")): object::name(account),
        (format!("{LEGACY}service-account.uid")): object::uid(account),
        "sub": user_name(account),
    })
}

/// Whose token it is whose signature was found right, and for which of the wanted audiences.
///
/// `token` is the token itself: one that lives in a Secret must be the one in there. Without wanted audiences, those
/// of the issuer are meant.
///
/// # Errors
/// Why the token is not, or no longer, good.
pub fn user_of_claims<S: Store + ?Sized>(
    store: &S,
    now: Timestamp,
    claims: &Value,
    token: &str,
    issuer: &Issuer,
    wanted: &[String],
) -> Result<(User, Vec<String>), String> {
    let given = claims["iss"].as_str().unwrap_or_default();
    let (user, audiences) = if given == LEGACY_ISSUER {
        (legacy_user(store, claims, token)?, Vec::new())
    } else if given == issuer.name {
        check_time(now, claims)?;
        (bound_user(store, now, claims)?, audiences(&claims["aud"]))
    } else {
        return Err(format!("token issuer {} is invalid", quoted(given)));
    };
    let or_own = |list: &[String]| if list.is_empty() { issuer.audiences.clone() } else { list.to_vec() };
    let (audiences, wanted) = (or_own(&audiences), or_own(wanted));
    let common: Vec<String> = audiences.iter().filter(|one| wanted.contains(one)).cloned().collect();
    if common.is_empty() {
        let shown = |list: &[String]| {
            let quoted: Vec<String> = list.iter().map(|one| quoted(one)).collect();
            format!("[{}]", quoted.join(" "))
        };
        return Err(format!(
            "token audiences {} is invalid for the target audiences {}",
            shown(&audiences),
            shown(&wanted)
        ));
    }
    Ok((user, common))
}

fn user_name(account: &Value) -> String {
    User::service_account(object::namespace(account), object::name(account), "").name
}

/// One text, or a list of them.
fn audiences(claim: &Value) -> Vec<String> {
    claim.as_str().map_or_else(|| object::texts(claim), |one| vec![one.to_owned()])
}

fn check_time(now: Timestamp, claims: &Value) -> Result<(), String> {
    let now = now.unix_seconds();
    let at = |claim: &str| claims[claim].as_i64();
    if at("exp").is_none_or(|end| now - LEEWAY_SECONDS > end) {
        return Err("service account token has expired".to_owned());
    }
    if at("nbf").is_some_and(|start| now + LEEWAY_SECONDS < start) {
        return Err("service account token is not valid yet".to_owned());
    }
    if at("iat").is_some_and(|issued| now + LEEWAY_SECONDS < issued) {
        return Err("service account token is issued in the future".to_owned());
    }
    Ok(())
}

fn bound_user<S: Store + ?Sized>(store: &S, now: Timestamp, claims: &Value) -> Result<User, String> {
    let kubernetes = &claims["kubernetes.io"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let namespace = text(&kubernetes["namespace"]);
    let (name, uid) =
        (text(&kubernetes["serviceaccount"]["name"]), text(&kubernetes["serviceaccount"]["uid"]));
    let key = Key::new("", "serviceaccounts", &namespace, &name);
    let account = store.get(&key).ok_or_else(|| format!("serviceaccounts {} not found", quoted(&name)))?;
    if object::uid(&account) != uid {
        return Err(format!("service account UID ({}) does not match claim ({uid})", object::uid(&account)));
    }
    if is_gone(&account, now) {
        return Err(format!("service account {namespace}/{name} has been deleted"));
    }
    let mut user = User::service_account(&namespace, &name, &uid);
    let (pod, node) = (&kubernetes["pod"], &kubernetes["node"]);
    check_bound(store, now, "secrets", "secret", &namespace, &kubernetes["secret"])?;
    check_bound(store, now, "pods", "pod", &namespace, pod)?;
    if pod.is_null() {
        check_bound(store, now, "nodes", "node", "", node)?;
    }
    for (key, value) in [
        ("pod-name", text(&pod["name"])),
        ("pod-uid", text(&pod["uid"])),
        ("node-name", text(&node["name"])),
        ("node-uid", text(&node["uid"])),
        ("credential-id", claims["jti"].as_str().map(|id| format!("JTI={id}")).unwrap_or_default()),
    ] {
        if !value.is_empty() {
            user.extra.insert(format!("{EXTRA}{key}"), vec![value]);
        }
    }
    Ok(user)
}

/// Whether what a token ends with is still there.
fn check_bound<S: Store + ?Sized>(
    store: &S,
    now: Timestamp,
    plural: &str,
    claim: &str,
    namespace: &str,
    reference: &Value,
) -> Result<(), String> {
    if reference.is_null() {
        return Ok(());
    }
    let text = |field: &str| reference[field].as_str().unwrap_or_default();
    let bound = store.get(&Key::new("", plural, namespace, text("name")));
    match bound {
        Some(bound) if object::uid(&bound) != text("uid") => {
            let (found, claimed) = (object::uid(&bound), text("uid"));
            Err(format!("{claim} UID ({found}) does not match service account {claim} ref claim ({claimed})"))
        }
        Some(bound) if !is_gone(&bound, now) => Ok(()),
        _ => Err("service account token has been invalidated".to_owned()),
    }
}

/// Whether an object has been deleted for longer than clocks may differ, and only waits for its removal.
fn is_gone(object: &Value, now: Timestamp) -> bool {
    let deleted = object["metadata"]["deletionTimestamp"].as_str().and_then(Timestamp::parse);
    deleted.is_some_and(|deleted| deleted < now.plus_seconds(-LEEWAY_SECONDS))
}

fn legacy_user<S: Store + ?Sized>(store: &S, claims: &Value, token: &str) -> Result<User, String> {
    let claim = |name: &str| claims[format!("{LEGACY}{name}")].as_str().unwrap_or_default();
    let (namespace, name) = (claim("namespace"), claim("service-account.name"));
    let (uid, secret_name) = (claim("service-account.uid"), claim("secret.name"));
    let subject = claims["sub"].as_str().unwrap_or_default();
    if service_account_name(subject) != Some((namespace, name)) {
        return Err("sub claim is invalid".to_owned());
    }
    let secret = store.get(&Key::new("", "secrets", namespace, secret_name));
    let Some(secret) = secret.filter(|secret| !object::is_deleting(secret)) else {
        return Err("Token has been invalidated".to_owned());
    };
    let stored = secret["data"]["token"].as_str().unwrap_or_default();
    if stored != Base64::Standard.encode(token.as_bytes()) {
        return Err("Token does not match server's copy".to_owned());
    }
    let account = store.get(&Key::new("", "serviceaccounts", namespace, name));
    let account = account.ok_or_else(|| format!("serviceaccounts {} not found", quoted(name)))?;
    if object::is_deleting(&account) {
        return Err(format!("ServiceAccount {namespace}/{name} has been deleted"));
    }
    if object::uid(&account) != uid {
        let found = object::uid(&account);
        return Err(format!("ServiceAccount UID ({found}) does not match claim ({uid})"));
    }
    Ok(User::service_account(namespace, name, uid))
}

/// Namespace and name of the service account that a user asks to be, if the name is that of one.
pub(crate) fn split_service_account(user_name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = service_account_name(user_name)?;
    let valid = names::is_dns1123_label(namespace).is_empty() && names::is_dns1123_subdomain(name).is_empty();
    valid.then_some((namespace, name))
}
