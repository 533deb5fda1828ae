//! Reorder: messages overtake each other.

use super::Faults;

impl Faults {
    /// Messages may overtake each other: what a controller sends can arrive before what it sent earlier,
    /// say before it crashed. An overtaking delivery is a fault.
    #[must_use]
    pub fn reorders(mut self) -> Self {
        self.reorders = true;
        self
    }
}
