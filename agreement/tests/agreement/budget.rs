//! How often each fault may strike in a run.

use windlass_check::Faults;

/// What is left of each fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    pub(crate) crashes: u8,
    pub(crate) lost_requests: u8,
    pub(crate) lost_replies: u8,
    pub(crate) errors: u8,
    pub(crate) watch_gaps: u8,
    pub(crate) duplicates: bool,
}

impl Budget {
    /// One of several, in turn.
    pub(crate) fn of(number: u64) -> Self {
        let none = Budget::default();
        match number % 8 {
            0 => Budget { crashes: 1, ..none },
            1 => Budget { duplicates: true, ..none },
            2 => Budget { lost_replies: 1, ..none },
            3 => Budget { crashes: 2, ..none },
            4 => Budget { crashes: 1, errors: 1, ..none },
            5 => Budget { crashes: 1, lost_requests: 1, ..none },
            6 => Budget { crashes: 1, duplicates: true, ..none },
            _ => Budget { watch_gaps: 1, lost_replies: 1, ..none },
        }
    }

    /// The same for the checker.
    pub(crate) fn faults(self) -> Faults {
        let faults = Faults::none()
            .crashes(self.crashes)
            .lost_requests(self.lost_requests)
            .lost_replies(self.lost_replies)
            .errors(self.errors)
            .watch_gaps(self.watch_gaps);
        if self.duplicates { faults.duplicates() } else { faults }
    }
}
