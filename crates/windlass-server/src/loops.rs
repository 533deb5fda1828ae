//! The cluster's own controllers: the model decides what to do next, and this module does it.
//!
//! Each change is processed once, and costs no more than what it affects; everything is processed on start, and when the
//! types have changed.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::sleep;
use windlass_model::{
    Change, Key, Request, Status, authentication, authorization, controllers, handle, shapes_types, workloads,
};

use crate::clock;
use crate::closing::Closing;
use crate::http::api::Api;
use crate::store::{Feed, Record, Snapshot};

/// Delay after a write that could not be stored, until everything is processed again.
const RETRY: Duration = Duration::from_secs(1);

/// The cluster's own controllers.
pub(crate) struct Loops {
    pub(crate) api: Arc<Api>,
    /// The certificate authority of the server, as PEM.
    pub(crate) authority: Option<String>,
    /// Whether each namespace gets a service account.
    pub(crate) service_accounts: bool,
    /// Whether the workload controllers are among them.
    pub(crate) workloads: bool,
}

/// What there is to scope at.
enum Scope<'a> {
    Everything,
    Changes(&'a [Change]),
}

/// Some step could not be stored.
struct NotStored;

/// Lets them work until the server ends.
pub(crate) async fn run(loops: Loops, mut closing: Closing) {
    tokio::select! {
        () = loops.work() => {}
        () = closing.wait() => {}
    }
}

impl Loops {
    async fn work(&self) {
        loop {
            let feed = self.everything().await;
            if let Ok(feed) = feed {
                self.follow(feed).await;
            }
            sleep(RETRY).await;
        }
    }

    /// Looks at everything, and returns the changes from there on.
    async fn everything(&self) -> Result<Feed, NotStored> {
        let snapshot = self.api.storage.snapshot();
        let feed = self.api.storage.feed_of_all(snapshot.version()).map_err(|_| NotStored)?;
        self.perform(self.next_requests(&snapshot, &Scope::Everything)).await?;
        Ok(feed)
    }

    /// Processes each change until a write fails or the feed is lost.
    async fn follow(&self, mut feed: Feed) {
        while let Ok(records) = feed.next().await {
            let interesting = records.iter().filter(|record| self.is_interesting(record));
            let changes: Vec<Change> = interesting.map(|record| record.to_change()).collect();
            if changes.is_empty() {
                continue;
            }
            let snapshot = self.api.storage.snapshot();
            // What a policy has refused is tried again when policies change.
            let redefined = changes.iter().any(|change| shapes_types(&change.key));
            let scope = if redefined { Scope::Everything } else { Scope::Changes(&changes) };
            if self.perform(self.next_requests(&snapshot, &scope)).await.is_err() {
                return;
            }
        }
    }

    /// Most writes are to objects that have no owner and stay: there is nothing to do about them.
    fn is_interesting(&self, record: &Record) -> bool {
        let mut objects = record.before.iter().chain(&record.after);
        record.after.is_none()
            || shapes_types(&record.key)
            || objects.any(|object| object.is_deleting() || object.is_owned())
            || self.workloads && workloads::is_watched(&record.key)
            || match &*record.key.plural {
                "clusterroles" | "namespaces" | "secrets" | "serviceaccounts" => true,
                "configmaps" => self.service_accounts,
                _ => false,
            }
    }

    fn next_requests(&self, snapshot: &Snapshot, scope: &Scope<'_>) -> Vec<Request> {
        let mut requests = Vec::new();
        if scope.concerns(|key| &*key.plural == "clusterroles") {
            requests.extend(authorization::next_requests(snapshot));
        }
        let authority = self.authority.as_deref();
        if scope.concerns(|key| matches!(&*key.plural, "secrets" | "serviceaccounts")) {
            let secrets = authentication::missing_tokens(snapshot);
            requests.extend(secrets.iter().map(|secret| self.api.access.auth.fill(secret, authority)));
        }
        let accounts = |key: &Key| matches!(&*key.plural, "namespaces" | "serviceaccounts" | "configmaps");
        if self.service_accounts && scope.concerns(accounts) {
            requests.extend(authentication::next_requests(snapshot, authority));
        }
        let (types, now) = (snapshot.types(), clock::now());
        let mut steps = match scope {
            Scope::Everything => controllers::next_requests(snapshot, types, now),
            Scope::Changes(changes) => controllers::requests_after(snapshot, types, now, changes),
        };
        if self.workloads {
            steps.extend(match scope {
                Scope::Everything => workloads::next_requests(snapshot, now),
                Scope::Changes(changes) => workloads::requests_after(snapshot, now, changes),
            });
        }
        requests.extend(steps.into_iter().map(|step| step.request));
        requests
    }

    async fn perform(&self, requests: Vec<Request>) -> Result<(), NotStored> {
        for request in requests {
            let storage = &self.api.storage;
            let written =
                storage.write(|newest| handle(newest, newest.types(), clock::now(), &request)).await;
            match written {
                Err(error) => {
                    tracing::warn!(%error, "built-in controller failed to write");
                    return Err(NotStored);
                }
                Ok(written) => log_refusal(&request, written.effect.response.failure()),
            }
        }
        Ok(())
    }
}

/// Logs a refusal. Not found and conflict are normal: the change that outran the request is processed next.
fn log_refusal(request: &Request, refusal: Option<&Status>) {
    let Some(status) = refusal.filter(|status| !matches!(status.code, 404 | 409)) else { return };
    let (verb, resource) = (request.verb.name(), &request.resource.plural);
    tracing::warn!(verb, resource, reason = %status.message, "request of built-in controller refused");
}

impl Scope<'_> {
    /// Whether any object of this kind is to be looked at.
    fn concerns(&self, is_kind: impl Fn(&Key) -> bool) -> bool {
        match self {
            Scope::Everything => true,
            Scope::Changes(changes) => changes.iter().any(|change| is_kind(&change.key)),
        }
    }
}
