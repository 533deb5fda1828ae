//! Ctrl-C: the first one ends a check with what is known so far, the second one ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context;

/// The exit code of a program that was interrupted, as shells have it.
const INTERRUPTED: i32 = 130;

/// A flag that Ctrl-C sets.
pub(super) fn watch() -> anyhow::Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    let wanted = stop.clone();
    ctrlc::set_handler(move || {
        if wanted.swap(true, Ordering::Relaxed) {
            std::process::exit(INTERRUPTED);
        }
        eprintln!("\nstopping; press Ctrl-C again to end at once");
    })
    .context("Ctrl-C cannot be caught")?;
    Ok(stop)
}
