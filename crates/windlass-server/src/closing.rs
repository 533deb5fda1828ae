//! The signal that the server shuts down.

use tokio::sync::watch;

/// Shuts the server down.
pub(crate) struct Closer(watch::Sender<bool>);

/// Resolves when the server shuts down. Clones wait for the same signal.
#[derive(Clone)]
pub(crate) struct Closing(watch::Receiver<bool>);

impl Closer {
    /// A connected pair, of a server that runs.
    pub(crate) fn new() -> (Closer, Closing) {
        let (closer, closing) = watch::channel(false);
        (Closer(closer), Closing(closing))
    }

    /// Notifies all waiters.
    pub(crate) fn close(&self) {
        self.0.send_replace(true);
    }
}

impl Closing {
    /// Whether the server is ending.
    pub(crate) fn is_closing(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the server ends.
    pub(crate) async fn wait(&mut self) {
        // An error means that the closer was dropped, which ends the server as well.
        let _ = self.0.wait_for(|closing| *closing).await;
    }
}
