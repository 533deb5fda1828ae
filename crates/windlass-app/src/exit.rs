//! How a program ends.

use std::io;
use std::process::ExitCode;

/// The exit code of what could not even be started: bad usage, a cluster that does not answer. For a check, 1 means that
/// something is violated.
const BAD_USAGE: u8 = 2;

/// The exit code of a command; an error is printed to standard error.
pub fn exit_code(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        eprintln!("error: {error:#}");
        ExitCode::from(BAD_USAGE)
    })
}

/// Whether the other end of a pipe, `head` say, has read enough.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let causes = error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>());
    causes.map(io::Error::kind).any(|kind| kind == io::ErrorKind::BrokenPipe)
}
