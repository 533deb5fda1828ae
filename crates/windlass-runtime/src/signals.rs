//! The signals that ask a process to end.

use tokio::signal::unix::{SignalKind, signal};

use crate::start_error::StartError;

/// A future that is ready when SIGTERM or SIGINT has come. They are caught from now on.
pub(crate) fn signalled() -> Result<impl Future<Output = ()>, StartError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(StartError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(StartError::Signals)?;
    Ok(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!("{name}: active reconciles finish, then this ends");
    })
}
