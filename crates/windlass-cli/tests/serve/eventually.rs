//! Polling for what becomes true by itself.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Timeout after which something has hung.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(120);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Polls until a condition holds, and panics if it does not in time.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let polling = async {
        while !is_so().await {
            sleep(POLL_INTERVAL).await;
        }
    };
    timeout(TIMEOUT, polling).await.unwrap_or_else(|_| panic!("it does not come true: {what}"));
}
