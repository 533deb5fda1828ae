//! A future whose panic ends only itself: the connection, and the other requests on it, go on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

/// Yields what the future yields, or `None` if it panicked. The panic hook has said more by then.
pub(crate) struct Guarded<F>(Pin<Box<F>>);

impl<F: Future> Guarded<F> {
    pub(crate) fn new(future: F) -> Self {
        Guarded(Box::pin(future))
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |poll| poll.map(Some))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_none() {
        assert_eq!(Guarded::new(async { 1 }).await, Some(1));
        assert_eq!(
            Guarded::new(async {
                if true {
                    panic!("on purpose")
                }
            })
            .await,
            None
        );
    }
}
