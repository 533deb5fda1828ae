//! Authentication, impersonation and authorization of requests.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::{AUTHORIZATION, HeaderMap};
use hyper::http::request::Parts;
use windlass_model::authentication::{User, unauthorized};
use windlass_model::authorization::{
    Attributes, Authorizer, Policy, attributes, escalation, forbidden, impersonate,
};
use windlass_model::reviews::{Reviewer, review};
use windlass_model::{Effect, Request, Response, Status};

use crate::auth::Auth;
use crate::clock;
use crate::store::{Feed, Snapshot, Storage};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC_RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// How requests are authorized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Every authenticated caller may do everything.
    #[default]
    AlwaysAllow,
    /// Roles and bindings define who may do what.
    Rbac,
}

/// Authenticates the callers of requests, and authorizes what they ask for.
pub(crate) struct AccessControl {
    pub(crate) auth: Auth,
    /// The roles and bindings, in RBAC mode.
    policy: Option<Mutex<FollowedPolicy>>,
}

/// Roles and bindings, kept up to date by feeds of their changes.
struct FollowedPolicy {
    policy: Arc<Policy>,
    feeds: Vec<Feed>,
}

/// Who makes a request, with the policy that applies to it.
pub(crate) struct Caller {
    user: Arc<User>,
    policy: Option<Arc<Policy>>,
}

impl AccessControl {
    pub(crate) fn new(auth: Auth, mode: AuthorizationMode, storage: &Storage) -> Self {
        let followed = || Mutex::new(FollowedPolicy::of(storage));
        AccessControl { auth, policy: (mode == AuthorizationMode::Rbac).then(followed) }
    }

    /// Authenticates the caller of a request, applies impersonation, and checks that the request is allowed.
    ///
    /// # Errors
    /// 401 if the caller is not known, 403 if it lacks the right.
    pub(crate) fn authorize(
        &self,
        parts: &Parts,
        storage: &Storage,
        snapshot: &Snapshot,
    ) -> Result<Caller, Status> {
        let user = self.auth.authenticate(credentials(&parts.headers)?, snapshot, clock::now())?;
        let policy = self
            .policy
            .as_ref()
            .map(|followed| followed.lock().unwrap_or_else(PoisonError::into_inner).newest(storage));
        let mut caller = Caller { user: Arc::new(user), policy };
        let wanted = impersonation(&parts.headers)?;
        if let Some(other) = impersonate(caller.authorizer(), &caller.user, wanted)? {
            caller.user = Arc::new(other);
        }
        if caller.policy.is_some() {
            let query = parts.uri.query().unwrap_or_default();
            caller.require(&attributes(parts.method.as_str(), parts.uri.path(), query))?;
        }
        Ok(caller)
    }

    /// Answers requests about rights and identity, such as SubjectAccessReview and TokenRequest, which are never stored;
    /// `None` for all others.
    pub(crate) fn review(&self, caller: &Caller, snapshot: &Snapshot, request: &Request) -> Option<Response> {
        let now = clock::now();
        let verify = |token: &str, audiences: &[String]| self.auth.verify(token, audiences, snapshot, now);
        let reviewer =
            Reviewer { authorizer: caller.authorizer(), user: &caller.user, now, verify_token: &verify };
        review(reviewer, snapshot.types(), request)
            .or_else(|| self.auth.token_request(snapshot, now, request))
    }
}

/// The `Authorization` header. One that is not text is no good, and never the same as none.
fn credentials(headers: &HeaderMap) -> Result<Option<&str>, Status> {
    let texts = headers.get(AUTHORIZATION).map(|value| value.to_str().map_err(|_| unauthorized()));
    texts.transpose()
}

/// The headers that say as whom a request is to be done, in any alphabet. One that cannot be read is refused: without it,
/// the request would be done with the caller's own rights.
fn impersonation(headers: &HeaderMap) -> Result<Vec<(&str, &str)>, Status> {
    let wanted = headers.iter().filter(|(name, _)| name.as_str().starts_with("impersonate-"));
    wanted
        .map(|(name, value)| match std::str::from_utf8(value.as_bytes()) {
            Ok(text) => Ok((name.as_str(), text)),
            Err(_) => Err(Status::bad_request(format!("the header {name} is not UTF-8 text"))),
        })
        .collect()
}

impl Caller {
    fn authorizer(&self) -> Authorizer<'_> {
        match &self.policy {
            Some(policy) => Authorizer::Rbac(&**policy),
            None => Authorizer::AlwaysAllow,
        }
    }

    /// The caller as the model, and so admission policies, see it.
    pub(crate) fn as_model(&self) -> windlass_model::Caller<'_> {
        windlass_model::Caller { user: &self.user, authorizer: self.authorizer() }
    }

    fn require(&self, attributes: &Attributes) -> Result<(), Status> {
        let decision = self.authorizer().authorize(&self.user, attributes);
        if decision.allowed { Ok(()) } else { Err(forbidden(&self.user, attributes, &decision.reason)) }
    }

    /// Refuses a write that would grant rights which the caller does not have.
    pub(crate) fn check_escalation(&self, newest: &Snapshot, request: &Request, effect: Effect) -> Effect {
        let Some(policy) = &self.policy else { return effect };
        match escalation(newest, &**policy, &self.user, request, &effect.response) {
            Some(refusal) => refusal.into(),
            None => effect,
        }
    }
}

impl FollowedPolicy {
    fn of(storage: &Storage) -> Self {
        loop {
            let snapshot = storage.snapshot();
            let feed = |plural: &&str| storage.feed(RBAC_GROUP, plural, snapshot.version());
            // There is no feed only if the history has dropped this version in the meantime: try again.
            if let Ok(feeds) = RBAC_RESOURCES.iter().map(feed).collect() {
                return FollowedPolicy { policy: Arc::new(Policy::of(&snapshot)), feeds };
            }
        }
    }

    /// The policy as of the newest committed write.
    fn newest(&mut self, storage: &Storage) -> Arc<Policy> {
        let mut changes = Vec::new();
        for feed in &mut self.feeds {
            loop {
                match feed.ready() {
                    Ok(records) if records.is_empty() => break,
                    Ok(records) => changes.extend(records.iter().map(|record| record.to_change())),
                    Err(_) => {
                        *self = FollowedPolicy::of(storage);
                        return Arc::clone(&self.policy);
                    }
                }
            }
        }
        for change in &changes {
            Arc::make_mut(&mut self.policy).commit(change);
        }
        Arc::clone(&self.policy)
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn headers(name: &'static str, value: &[u8]) -> HeaderMap {
        HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_bytes(value).unwrap())])
    }

    #[test]
    fn headers_about_identity_are_read_or_refused() {
        let user = headers("impersonate-user", "jürgen".as_bytes());
        assert_eq!(impersonation(&user).unwrap(), [("impersonate-user", "jürgen")]);
        let refused = impersonation(&headers("impersonate-group", b"j\xfcrgen")).unwrap_err();
        assert_eq!(
            (refused.code, &*refused.message),
            (400, "the header impersonate-group is not UTF-8 text")
        );
        assert!(impersonation(&headers("x-other", b"\xfc")).unwrap().is_empty());
        assert_eq!(credentials(&headers("authorization", b"Bearer \xfc")).unwrap_err().code, 401);
        assert_eq!(credentials(&headers("authorization", b"Bearer a")).unwrap(), Some("Bearer a"));
        assert_eq!(credentials(&HeaderMap::new()).unwrap(), None);
    }
}
