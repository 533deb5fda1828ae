//! Backoff while the disk fails: each attempt reads the whole file.

use std::io;
use std::time::{Duration, Instant};

use super::disk::Refusal;
use super::error::WriteError;

/// A first failure is followed by an attempt at once, further ones by longer and longer pauses.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const MAX_DOUBLINGS: u32 = 6;

/// How long the disk has been failing.
#[derive(Default)]
pub(crate) struct Outage {
    failures: u32,
    /// Until when writes are refused, and how.
    pause: Option<(Instant, WriteError)>,
}

impl Outage {
    /// Whether the last attempt failed.
    pub(crate) fn is_on(&self) -> bool {
        self.failures > 0
    }

    /// Error for writes during a pause.
    pub(crate) fn refusal(&self) -> Option<WriteError> {
        let (until, error) = self.pause.as_ref()?;
        (Instant::now() < *until).then(|| error.clone())
    }

    /// Records the result of a commit.
    pub(crate) fn note(&mut self, result: Result<(), Refusal>) -> Result<(), WriteError> {
        let Err(refusal) = result else {
            *self = Outage::default();
            return Ok(());
        };
        tracing::error!(%refusal, "commit failed");
        let error = write_error(&refusal);
        if let Some(doublings) = self.failures.checked_sub(1) {
            let pause = FIRST_PAUSE * 2u32.pow(doublings.min(MAX_DOUBLINGS));
            self.pause = Some((Instant::now() + pause, error.clone()));
        }
        self.failures += 1;
        Err(error)
    }
}

fn write_error(refusal: &Refusal) -> WriteError {
    let text = refusal.to_string().into();
    match refusal {
        Refusal::Io(error) if is_full(error) => WriteError::Full(text),
        _ => WriteError::Disk(text),
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure() -> Result<(), Refusal> {
        Err(io::Error::from(io::ErrorKind::StorageFull).into())
    }

    #[test]
    fn the_disk_is_asked_again_at_once_and_then_after_a_pause() {
        let mut outage = Outage::default();
        assert!(matches!(outage.note(failure()), Err(WriteError::Full(_))));
        assert!(outage.refusal().is_none() && outage.is_on());
        for _ in 0..20 {
            assert!(outage.note(failure()).is_err());
            assert!(matches!(outage.refusal(), Some(WriteError::Full(_))));
        }
        outage.note(Ok(())).unwrap();
        assert!(outage.refusal().is_none() && !outage.is_on());
        assert!(matches!(outage.note(Err(Refusal::Newer(2))), Err(WriteError::Disk(_))));
    }
}
