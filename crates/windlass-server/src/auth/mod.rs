//! Authentication of clients and of the server: tokens, certificates and kubeconfigs, in the data folder or in memory.
//!
//! What a token says and who may do what are rules of [`windlass_model`]; here are keys, files and signatures.

pub mod certificate;
mod files;
pub mod kubeconfig;
pub mod tokens;

use std::path::Path;

use serde_json::{Value, json};
use windlass_model::authentication::{self, Issuer, TokenSecret, User, unauthorized};
use windlass_model::{Request, Response, Status, Store, Timestamp, reviews};

pub use certificate::{Certificate, CertificateError};
pub use files::FileError;
pub use kubeconfig::{Kubeconfig, KubeconfigError};
pub use tokens::{AdminToken, AuthError, TokenSigner};

/// The issuer that tokens name, unless another is given: the name of the API inside a cluster.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// Error for an unknown token, as Kubernetes words it.
const UNKNOWN: &str = "invalid bearer token";

/// Authenticates clients, and issues the tokens of service accounts.
pub struct Auth {
    admin: AdminToken,
    signer: TokenSigner,
    issuer: Issuer,
    anonymous: Option<User>,
}

impl Auth {
    /// Takes the keys of a data folder, which are made if there are none; without a folder they live in memory.
    ///
    /// `anonymous` is the user of requests without credentials; if it is `None`, they are refused.
    ///
    /// # Errors
    /// A key that cannot be read, made or written.
    pub fn open(folder: Option<&Path>, anonymous: Option<User>) -> Result<Self, AuthError> {
        let issuer = Issuer { name: DEFAULT_ISSUER.to_owned(), audiences: vec![DEFAULT_ISSUER.to_owned()] };
        Ok(Auth { admin: AdminToken::open(folder)?, signer: TokenSigner::open(folder)?, issuer, anonymous })
    }

    /// The token that may do anything.
    pub fn admin_token(&self) -> &str {
        self.admin.text()
    }

    /// The user of a request, by its `Authorization` header.
    ///
    /// # Errors
    /// 401 for a token that is not valid, and for a request without one if anonymous requests are not allowed.
    pub fn authenticate(
        &self,
        authorization: Option<&str>,
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<User, Status> {
        match authorization.and_then(bearer) {
            None => self.anonymous.clone().ok_or_else(unauthorized),
            Some(token) => match self.verify(token, &[], store, now) {
                Ok((user, _)) => Ok(user),
                Err(why) => {
                    tracing::debug!(why, "bearer token rejected");
                    Err(unauthorized())
                }
            },
        }
    }

    /// Whose token it is, and for which of the wanted audiences; without any, those of the server are meant.
    ///
    /// # Errors
    /// Why the token is not good, in the words of a `TokenReview`.
    pub fn verify(
        &self,
        token: &str,
        audiences: &[String],
        store: &dyn Store,
        now: Timestamp,
    ) -> Result<(User, Vec<String>), String> {
        if self.admin.is(token) {
            let own = &self.issuer.audiences;
            let common = own.iter().filter(|one| audiences.is_empty() || audiences.contains(one));
            let common: Vec<String> = common.cloned().collect();
            let known = !common.is_empty();
            return known.then(|| (User::admin("admin"), common)).ok_or_else(|| UNKNOWN.to_owned());
        }
        let claims = self.signer.verified(token).ok_or(UNKNOWN)?;
        authentication::user_of_claims(store, now, &claims, token, &self.issuer, audiences)
            .map_err(|why| format!("[{UNKNOWN}, {why}]"))
    }

    /// Answers a request for a token of a service account; `None` for a request about anything else.
    pub fn token_request(&self, store: &dyn Store, now: Timestamp, request: &Request) -> Option<Response> {
        let sign = |claims: &Value| self.signer.sign(claims);
        reviews::token_request(store, now, request, &self.issuer, tokens::random_id, sign)
    }

    /// What a Secret that waits for its token is to be written with. `authority` is the server's certificate
    /// authority as PEM.
    pub fn fill(&self, secret: &TokenSecret, authority: Option<&str>) -> Request {
        secret.request(|claims| self.signer.sign(claims), authority)
    }

    /// The body of `/openid/v1/jwks`, of type `application/jwk-set+json`.
    pub fn key_set(&self) -> Value {
        json!({ "keys": [self.signer.public_key()] })
    }

    /// The body of `/.well-known/openid-configuration`. `server` is the address of this server.
    pub fn openid_configuration(&self, server: &str) -> Value {
        json!({
            "issuer": self.issuer.name,
            "jwks_uri": format!("{}/openid/v1/jwks", server.trim_end_matches('/')),
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
        })
    }
}

/// The token of a header; `None` if it has another scheme, or nothing after it.
fn bearer(header: &str) -> Option<&str> {
    let mut parts = header.trim().splitn(3, ' ');
    let scheme = parts.next()?;
    let token = parts.next().filter(|token| !token.is_empty())?;
    scheme.eq_ignore_ascii_case("bearer").then_some(token)
}

#[cfg(test)]
mod tests;
