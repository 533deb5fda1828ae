//! The state of an informer, which can be read and awaited.

use tokio::sync::watch;

/// The state of an informer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InformerState {
    /// Whether everything there is has been seen once. From then on the cache answers.
    pub synced: bool,
    /// Why the last try failed; none while its watch is up.
    pub error: Option<String>,
}

/// A state that can be awaited.
pub(crate) struct StateCell(watch::Sender<InformerState>);

impl Default for StateCell {
    fn default() -> Self {
        StateCell(watch::Sender::new(InformerState::default()))
    }
}

impl StateCell {
    pub(crate) fn get(&self) -> InformerState {
        self.0.borrow().clone()
    }

    pub(crate) fn is_synced(&self) -> bool {
        self.0.borrow().synced
    }

    /// Everything has been seen.
    pub(crate) fn set_synced(&self) {
        self.0.send_modify(|state| state.synced = true);
    }

    /// The watch failed, or is up again.
    pub(crate) fn set_error(&self, error: Option<String>) {
        self.0.send_if_modified(|state| {
            let changed = state.error != error;
            state.error = error;
            changed
        });
    }

    /// Waits until everything has been seen.
    pub(crate) async fn synced(&self) {
        // The sender lives as long as this, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|state| state.synced).await;
    }
}
