//! Asking an informer to list everything again, and waiting until it has.

use tokio::sync::watch;

/// How many lists were asked for, and how many of these requests the lists so far have met.
pub(super) struct Refresh {
    asked: watch::Sender<u64>,
    done: watch::Sender<u64>,
}

impl Default for Refresh {
    fn default() -> Self {
        Refresh { asked: watch::Sender::new(0), done: watch::Sender::new(0) }
    }
}

impl Refresh {
    /// Asks for a list that begins after this call, and waits until it is in the cache. Requests that come before the
    /// list begins share it.
    pub(super) async fn refreshed(&self) {
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        // The sender lives as long as this, so the wait cannot fail.
        let _ = self.done.subscribe().wait_for(|done| *done >= number).await;
    }

    /// A list begins: it meets all requests so far.
    pub(super) fn begin(&self) -> u64 {
        *self.asked.borrow()
    }

    /// The list that began with this number is in the cache.
    pub(super) fn finish(&self, begun: u64) {
        self.done.send_modify(|done| *done = (*done).max(begun));
    }

    /// Waits until a list is asked for after another one began with this number.
    pub(super) async fn asked_since(&self, begun: u64) {
        // The sender lives as long as this, so the wait cannot fail.
        let _ = self.asked.subscribe().wait_for(|asked| *asked > begun).await;
    }

    /// Waits until a list is asked for that has not begun.
    pub(super) async fn wanted(&self) {
        let mut asked = self.asked.subscribe();
        let _ = asked.wait_for(|asked| *asked > *self.done.borrow()).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[tokio::test]
    async fn list_that_began_before_is_not_enough() {
        let refresh = Refresh::default();
        let begun = refresh.begin();
        let mut refreshed = Box::pin(refresh.refreshed());
        assert!(refreshed.as_mut().now_or_never().is_none());
        refresh.finish(begun);
        assert!(refreshed.as_mut().now_or_never().is_none(), "it may have missed what was written meanwhile");
        refresh.wanted().await;
        refresh.asked_since(begun).await;
        assert!(refresh.asked_since(refresh.begin()).now_or_never().is_none());
        refresh.finish(refresh.begin());
        refreshed.await;
        assert!(refresh.wanted().now_or_never().is_none());
    }
}
