//! What the tests share: clusters, a tap on the wire, and waiting for what must come.

mod cluster;
mod rig;
mod tap;

pub(crate) use cluster::{Cluster, Embedded, client_of};
pub(crate) use rig::{Rig, manager};
pub(crate) use tap::{Fault, Sent, Tap};

use std::time::Duration;

/// Nothing here takes so long unless it never comes.
const PATIENCE: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(5);

/// Waits until something holds; fails with `what` if it never does.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(ASK_EVERY).await;
        }
    };
    assert!(tokio::time::timeout(PATIENCE, waiting).await.is_ok(), "this never came: {what}");
}
