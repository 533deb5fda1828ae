//! Who asks, and whether they may.

use std::sync::{Arc, Mutex, PoisonError};

use hyper::header::AUTHORIZATION;
use hyper::http::request::Parts;
use windlass_model::authentication::impersonate;
use windlass_model::authorization::reviews::{Reviewer, review};
use windlass_model::authorization::{
    Attributes, Authorizer, Policy, User, attributes, escalation, forbidden,
};
use windlass_model::{Caller, Effect, Request, Response, Status};

use crate::auth::Auth;
use crate::clock;
use crate::http::api::header;
use crate::store::{Feed, Snapshot, Storage};

const RBAC_GROUP: &str = "rbac.authorization.k8s.io";
const RBAC_RESOURCES: [&str; 4] = ["clusterroles", "roles", "clusterrolebindings", "rolebindings"];

/// Who may do what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AuthorizationMode {
    /// Whoever has a token may do everything.
    #[default]
    AlwaysAllow,
    /// Roles and bindings say who may do what.
    Rbac,
}

/// Lets requests in.
pub(crate) struct Gate {
    pub(crate) auth: Auth,
    /// The roles and bindings, in RBAC mode.
    policy: Option<Mutex<FollowedPolicy>>,
}

/// Roles and bindings, and what has become of them since.
struct FollowedPolicy {
    policy: Arc<Policy>,
    feeds: Vec<Feed>,
}

/// Somebody who was let in.
pub(crate) struct Guest {
    user: Arc<User>,
    policy: Option<Arc<Policy>>,
}

impl Gate {
    pub(crate) fn new(auth: Auth, mode: AuthorizationMode, storage: &Storage) -> Self {
        let followed = || Mutex::new(FollowedPolicy::of(storage));
        Gate { auth, policy: (mode == AuthorizationMode::Rbac).then(followed) }
    }

    /// Finds out who asks, and refuses what they may not do.
    pub(crate) fn admit(
        &self,
        parts: &Parts,
        storage: &Storage,
        snapshot: &Snapshot,
    ) -> Result<Guest, Status> {
        let shown = header(&parts.headers, &AUTHORIZATION);
        let user = self.auth.authenticate(shown, snapshot, clock::now())?;
        let policy = self
            .policy
            .as_ref()
            .map(|followed| followed.lock().unwrap_or_else(PoisonError::into_inner).newest(storage));
        let mut guest = Guest { user: Arc::new(user), policy };
        let headers = parts.headers.iter();
        let texts = headers.filter_map(|(name, value)| Some((name.as_str(), value.to_str().ok()?)));
        if let Some(other) = impersonate(guest.authorizer(), &guest.user, texts)? {
            guest.user = Arc::new(other);
        }
        if guest.policy.is_some() {
            let query = parts.uri.query().unwrap_or_default();
            guest.require(&attributes(parts.method.as_str(), parts.uri.path(), query))?;
        }
        Ok(guest)
    }

    /// Answers what is about rights and identity, and never stored; `None` for everything else.
    pub(crate) fn review(&self, guest: &Guest, snapshot: &Snapshot, request: &Request) -> Option<Response> {
        let now = clock::now();
        let verify = |token: &str, audiences: &[String]| self.auth.verify(token, audiences, snapshot, now);
        let reviewer =
            Reviewer { authorizer: guest.authorizer(), user: &guest.user, now, verify_token: &verify };
        review(reviewer, snapshot.types(), request)
            .or_else(|| self.auth.token_request(snapshot, now, request))
    }
}

impl Guest {
    fn authorizer(&self) -> Authorizer<'_> {
        match &self.policy {
            Some(policy) => Authorizer::Rbac(&**policy),
            None => Authorizer::AlwaysAllow,
        }
    }

    /// Who makes the request, as admission policies see it.
    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { user: &self.user, authorizer: self.authorizer() }
    }

    fn require(&self, attributes: &Attributes) -> Result<(), Status> {
        let decision = self.authorizer().authorize(&self.user, attributes);
        if decision.allowed { Ok(()) } else { Err(forbidden(&self.user, attributes, &decision.reason)) }
    }

    /// Refuses a write that would give rights which its writer does not have.
    pub(crate) fn check_escalation(&self, newest: &Snapshot, request: &Request, effect: Effect) -> Effect {
        let Some(policy) = &self.policy else { return effect };
        match escalation(newest, &**policy, &self.user, request, &effect) {
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
            // Only if the history forgot the snapshot meanwhile, there is no feed from it.
            if let Ok(feeds) = RBAC_RESOURCES.iter().map(feed).collect() {
                return FollowedPolicy { policy: Arc::new(Policy::of(&snapshot)), feeds };
            }
        }
    }

    /// The policy with all that has been written.
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
