//! A client that has written a definition of a custom type finds its conditions as soon as it has its answer.

use std::time::Duration;

use tokio::time::timeout;
use windlass_model::{Change, Key, Store, is_definition, object};

use crate::store::{Feed, Storage};

/// The definition controller needs a few milliseconds; on a machine that is busy beyond this, the client is answered
/// without conditions, which Kubernetes does always.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Waits until the definition controller has processed what was written. `kubectl wait --for=condition=Established` fails
/// on a definition whose conditions are null, which in Kubernetes it is for a moment after `kubectl apply`.
pub(crate) async fn conditions_set(storage: &Storage, changes: &[Change]) {
    for change in changes.iter().filter(|change| is_definition(&change.key) && change.after.is_some()) {
        // Without conditions in time, the answer is as right as before.
        let _elapsed = timeout(TIMEOUT, has_conditions(storage, &change.key)).await;
    }
}

async fn has_conditions(storage: &Storage, key: &Key) {
    let mut feed: Option<Feed> = None;
    loop {
        let snapshot = storage.snapshot();
        let is_processed = snapshot
            .get(key)
            .is_none_or(|found| object::is_deleting(&found) || found["status"]["conditions"].is_array());
        if is_processed {
            return;
        }
        // The feed begins at the snapshot that was looked at, so no change is missed in between.
        let changes = match &mut feed {
            Some(feed) => feed,
            None => match storage.feed(&key.group, &key.plural, snapshot.version()) {
                Ok(new) => feed.insert(new),
                Err(_) => continue,
            },
        };
        if changes.next().await.is_err() {
            feed = None;
        }
    }
}
