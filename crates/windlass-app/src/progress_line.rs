//! A line that shows how far something is, on a terminal only.

use std::io::{IsTerminal, Write, stderr};

/// Back to the start of the line, and clear it.
const CLEAR: &str = "\r\x1b[2K";

/// The last line of the terminal.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgressLine(());

impl ProgressLine {
    /// `None` if standard error is no terminal.
    pub(crate) fn new() -> Option<Self> {
        stderr().is_terminal().then_some(ProgressLine(()))
    }

    /// Shows a text in place of the last one.
    pub(crate) fn show(&self, text: &str) {
        // A line that cannot be shown is no reason to end what it is about.
        let _ = write!(stderr().lock(), "{CLEAR}{text}");
        let _ = stderr().flush();
    }

    /// Removes the line, so that the result stands there by itself.
    pub(crate) fn clear(&self) {
        let _ = write!(stderr().lock(), "{CLEAR}");
    }
}
