//! Writes an event, tries again where that may help, and gives up where it does not.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;
use windlass::model::{PatchKind, Request, ResourceId, Response, Verb, object};

use super::aggregator::Write;
use crate::operations::perform::Perform;

/// Maximum number of attempts to write an event; there is a pause between two attempts.
const TRIES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(1);

/// Writes an event. If the API does not take it, that is logged and forgotten.
pub(super) async fn perform_write(api: &dyn Perform, write: &Write) {
    for attempt in 1..=TRIES {
        let response = try_once(api, write).await;
        let Some(failure) = response.failure() else { return };
        let may_pass = failure.code >= 500 || failure.code == 429;
        if !may_pass || attempt == TRIES {
            let event = match write {
                Write::Create(event) | Write::Count { event, .. } => event,
            };
            let (reason, about) = (&event["reason"], &event["regarding"]["name"]);
            tracing::warn!(%reason, %about, error = %failure.message, "event cannot be written");
            return;
        }
        sleep(PAUSE * attempt).await;
    }
}

async fn try_once(api: &dyn Perform, write: &Write) -> Response {
    match write {
        Write::Create(event) => create(api, (**event).clone()).await,
        Write::Count { event, count, last } => {
            let series = json!({ "count": count, "lastObservedTime": last.to_micro_string() });
            let patch = request(Verb::Patch(PatchKind::Merge), event).named(object::name(event));
            let response = api.perform(&patch.with_body(json!({ "series": series }))).await;
            // The API server deletes events after an hour; one that repeats is then created again.
            if response.code != 404 {
                return response;
            }
            let mut again = (**event).clone();
            again["series"] = series;
            create(api, again).await
        }
    }
}

async fn create(api: &dyn Perform, event: Value) -> Response {
    api.perform(&request(Verb::Create, &event).with_body(event)).await
}

fn request(verb: Verb, event: &Value) -> Request {
    let events = ResourceId::new("events.k8s.io", "v1", "events");
    Request::new(verb, events).in_namespace(object::namespace(event))
}
