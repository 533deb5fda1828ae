//! Tokens that live in Secrets of type `kubernetes.io/service-account-token`, as a pure step.

use std::sync::Arc;

use serde_json::{Value, json};

use super::tokens::legacy_claims;
use crate::object;
use crate::request::{PatchKind, Preconditions, Request, ResourceId, Verb};
use crate::store::{Key, Store};
use windlass_cel::formats::base64::Base64;

const TYPE: &str = "kubernetes.io/service-account-token";
const ACCOUNT_NAME: &str = "kubernetes.io/service-account.name";
const ACCOUNT_UID: &str = "kubernetes.io/service-account.uid";
const MANAGER: &str = "kube-controller-manager";

/// A Secret that waits for its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenSecret {
    /// It is to be filled with a token that says this.
    Fill {
        /// What the token says; sign it and call [`TokenSecret::request`].
        claims: Value,
        /// The Secret as it is.
        secret: Arc<Value>,
        /// The uid of the account.
        account_uid: String,
    },
    /// The account is gone, so that the Secret goes too.
    Delete(Arc<Value>),
}

/// The Secrets that wait for something, by namespace and name.
pub fn missing_tokens<S: Store + ?Sized>(store: &S) -> Vec<TokenSecret> {
    let secrets = store.scan("", "secrets", None, None).map(|(_, secret)| secret);
    secrets
        .filter(|secret| secret["type"] == TYPE && !object::is_deleting(secret))
        .filter_map(|secret| step(store, secret))
        .collect()
}

fn step<S: Store + ?Sized>(store: &S, secret: Arc<Value>) -> Option<TokenSecret> {
    let name = object::annotation(&secret, ACCOUNT_NAME)?;
    let wanted_uid = object::annotation(&secret, ACCOUNT_UID).unwrap_or_default();
    let account = store.get(&Key::new("", "serviceaccounts", object::namespace(&secret), name));
    let account = account.filter(|account| wanted_uid.is_empty() || object::uid(account) == wanted_uid);
    let Some(account) = account else { return Some(TokenSecret::Delete(secret)) };
    let complete = ["token", "namespace"].iter().all(|key| secret["data"][*key].is_string());
    if complete && !wanted_uid.is_empty() {
        return None;
    }
    let claims = legacy_claims(&account, &secret);
    Some(TokenSecret::Fill { claims, secret, account_uid: object::uid(&account).to_owned() })
}

impl TokenSecret {
    /// The request that does it. `sign` makes a token of claims; `authority` is the server's certificate authority
    /// as PEM, if it has one.
    pub fn request(&self, sign: impl FnOnce(&Value) -> String, authority: Option<&str>) -> Request {
        let resource = ResourceId::new("", "v1", "secrets");
        let to = |verb: Verb, secret: &Value| {
            Request::new(verb, resource.clone())
                .in_namespace(object::namespace(secret))
                .named(object::name(secret))
                .as_manager(MANAGER)
        };
        match self {
            TokenSecret::Delete(secret) => {
                let mut request = to(Verb::Delete, secret);
                let uid = Some(object::uid(secret).to_owned());
                request.options.preconditions = Preconditions { uid, resource_version: None };
                request
            }
            TokenSecret::Fill { claims, secret, account_uid } => {
                let encoded = |text: &str| Base64::Standard.encode(text.as_bytes());
                let mut data = json!({
                    "token": encoded(&sign(claims)), "namespace": encoded(object::namespace(secret)),
                });
                if let Some(authority) = authority {
                    data["ca.crt"] = encoded(authority).into();
                }
                // The version makes sure that a Secret which changed meanwhile is looked at again.
                let body = json!({
                    "metadata": {
                        "resourceVersion": object::resource_version(secret),
                        "annotations": { (ACCOUNT_UID): account_uid },
                    },
                    "data": data,
                });
                to(Verb::Patch(PatchKind::Merge), secret).with_body(body)
            }
        }
    }
}
