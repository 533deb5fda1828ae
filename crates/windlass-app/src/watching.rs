//! Printing something once, or again whenever it has changed.

use std::io::{self, Write};
use std::time::Duration;

/// Prints what is read; with `watch` again whenever it `differs` from what was printed, until Ctrl-C.
///
/// # Errors
/// It cannot be read at first, or written. What cannot be read later is reported, and read again.
pub async fn print<Read>(
    watch: Option<Duration>,
    mut read: impl AsyncFnMut() -> anyhow::Result<Read>,
    differs: impl Fn(&Read, &Read) -> bool,
    text: impl Fn(&Read) -> anyhow::Result<String>,
) -> anyhow::Result<()> {
    let mut printed: Option<Read> = None;
    loop {
        match read().await {
            Ok(now) if printed.as_ref().is_none_or(|before| differs(before, &now)) => {
                io::stdout().lock().write_all(text(&now)?.as_bytes())?;
                printed = Some(now);
            }
            Ok(_) => {}
            // The server may be back soon.
            Err(error) if printed.is_some() => eprintln!("{error:#}"),
            Err(error) => return Err(error),
        }
        let Some(every) = watch else { return Ok(()) };
        tokio::time::sleep(every).await;
    }
}
