//! The signals that ask a process to end.

use std::io;

use tokio::signal::unix::{SignalKind, signal};

/// A future that is ready with the name of the signal when SIGTERM or SIGINT has come. They are caught from now on.
///
/// # Errors
/// When the system does not let them be caught.
pub fn signalled() -> io::Result<impl Future<Output = &'static str>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
