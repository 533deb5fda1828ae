//! What may go wrong, and how often.

/// The faults of a check. Each is off until it is asked for, and each is named in the verdict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    pub(crate) crashes: u32,
    pub(crate) duplicates: bool,
    pub(crate) reorders: bool,
}

impl Faults {
    /// Nothing goes wrong: only the order of independent work is open.
    pub fn none() -> Self {
        Faults::default()
    }

    /// Controllers crash, so many times in all, at any moment. A crash forgets all that is local; requests
    /// that were sent stay on the network and arrive later: before anything that the restarted controller
    /// sends, or at any time if messages can be reordered.
    #[must_use]
    pub fn crashes(mut self, most: u32) -> Self {
        self.crashes = most;
        self
    }

    /// Each request of a controller may be delivered a second time, at any later moment; a watch may repeat
    /// itself at any time.
    #[must_use]
    pub fn duplicates(mut self) -> Self {
        self.duplicates = true;
        self
    }

    /// Messages may overtake each other.
    #[must_use]
    pub fn reorders(mut self) -> Self {
        self.reorders = true;
        self
    }
}

impl Faults {
    /// All that allow less than these, those with the fewest faults first.
    pub(crate) fn weaker(&self) -> Vec<Faults> {
        let choices = |allowed: bool| if allowed { vec![false, true] } else { vec![false] };
        let mut weaker = Vec::new();
        for crashes in 0..=self.crashes {
            for reorders in choices(self.reorders) {
                for duplicates in choices(self.duplicates) {
                    weaker.push(Faults { crashes, duplicates, reorders });
                }
            }
        }
        weaker.retain(|faults| faults != self);
        weaker
            .sort_by_key(|faults| faults.crashes + u32::from(faults.duplicates) + u32::from(faults.reorders));
        weaker
    }
}

impl std::fmt::Display for Faults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut parts = Vec::new();
        if self.crashes > 0 {
            let plural = if self.crashes == 1 { "" } else { "es" };
            parts.push(format!("<= {} crash{plural}", self.crashes));
        }
        if self.duplicates {
            parts.push("1 duplicate per message".to_owned());
        }
        if self.reorders {
            parts.push("any reordering".to_owned());
        }
        if parts.is_empty() { f.write_str("no faults") } else { f.write_str(&parts.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weakest_come_first() {
        let all = Faults::none().crashes(1).duplicates().reorders();
        let weaker = all.weaker();
        assert_eq!(weaker.len(), 7);
        assert_eq!(weaker[0], Faults::none());
        assert!(!weaker.contains(&all));
        assert_eq!(Faults::none().weaker(), []);
    }
}
