//! Reorder: a request that its sender has given up on still arrives, after what was sent later.

use super::Faults;

impl Faults {
    /// A write that its sender has given up on, in a partition, is not lost: it may arrive at any later time, also
    /// after what the same process sends next. (What a process sent before a crash always may.)
    #[must_use]
    pub fn reorders(mut self) -> Self {
        self.reorders = true;
        self
    }
}
