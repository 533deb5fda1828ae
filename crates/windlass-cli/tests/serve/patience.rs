//! How long a test waits, and how it waits for what comes by itself.

use std::time::Duration;

use tokio::time::{sleep, timeout};

/// Nothing takes so long unless it hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
const ASK_EVERY: Duration = Duration::from_millis(20);

/// Asks again and again until it is so.
pub(crate) async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let asked = async {
        while !is_so().await {
            sleep(ASK_EVERY).await;
        }
    };
    timeout(PATIENCE, asked).await.unwrap_or_else(|_| panic!("it does not come true: {what}"));
}
