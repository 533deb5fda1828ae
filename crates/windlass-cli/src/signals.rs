//! When a command that runs for long is told to end.

use std::future::Future;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

/// Ready at the first Ctrl-C or SIGTERM from now on.
///
/// # Errors
/// When the system does not tell of signals.
pub(crate) fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    let mut terminated = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let mut interrupted = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    Ok(async move {
        tokio::select! {
            _ = terminated.recv() => {}
            _ = interrupted.recv() => {}
        }
    })
}
