//! How everything that runs learns that the server ends.

use tokio::sync::watch;

/// Held by whoever can end the server.
pub(crate) struct Closer(watch::Sender<bool>);

/// Held by whoever must end with it. Clones wait for the same.
#[derive(Clone)]
pub(crate) struct Closing(watch::Receiver<bool>);

impl Closer {
    /// A server that goes on, and what tells that it no longer does.
    pub(crate) fn new() -> (Closer, Closing) {
        let (closer, closing) = watch::channel(false);
        (Closer(closer), Closing(closing))
    }

    /// Tells all who wait.
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
        // An error means that whoever could end it is gone, which is the same.
        let _ = self.0.wait_for(|closing| *closing).await;
    }
}
