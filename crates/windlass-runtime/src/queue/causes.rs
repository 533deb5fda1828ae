//! Why a reconcile is due: every cause, with those that came while it waited.

use windlass::Cause;

/// How many causes are kept as they are; of the rest there is a count.
const KEPT: usize = 16;

/// How urgent a trigger is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// Not urgent: the object was in the initial list of the watch, or it is the controller's own write that comes back
    /// to it.
    Background,
    /// Something just changed.
    Live,
}

/// Why a reconcile is due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// What kind of change it was.
    pub cause: Cause,
    /// What changed, such as `ConfigMap default/a`.
    pub what: String,
    /// How urgent it is.
    pub priority: Priority,
    /// Whether the parent's desired state changed: its uid, generation, labels, annotations or deletionTimestamp; for
    /// kinds without a generation, anything but metadata and status. Only this ends a backoff, or the wait after a
    /// terminal error. A status change must not count: the controller itself writes the status at the end of every run.
    pub spec_changed: bool,
}

/// One thing that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// What kind of change it was.
    pub cause: Cause,
    /// What changed, such as `ConfigMap default/a`.
    pub what: String,
}

/// All that changed since the last reconcile began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// The first of them, each once.
    pub kept: Vec<Changed>,
    /// How many more there were.
    pub more: u64,
}

impl Causes {
    pub(super) fn add(&mut self, changed: Changed) {
        if self.kept.contains(&changed) {
            return;
        }
        if self.kept.len() == KEPT {
            self.more += 1;
            return;
        }
        // Most have one cause, and there may be many thousands of them.
        self.kept.reserve_exact(1);
        self.kept.push(changed);
    }

    pub(super) fn append(&mut self, others: Causes) {
        others.kept.into_iter().for_each(|changed| self.add(changed));
        self.more += others.more;
    }
}

impl std::fmt::Display for Causes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.kept.iter().map(|changed| changed.what.as_str()).collect();
        f.write_str(&names.join(", "))?;
        if self.more > 0 { write!(f, " and {} more", self.more) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(number: usize) -> Changed {
        Changed { cause: Cause::Output, what: format!("ConfigMap a/{number}") }
    }

    #[test]
    fn keeps_each_once_and_counts_what_does_not_fit() {
        let mut causes = Causes::default();
        (0..20).chain(0..10).for_each(|number| causes.add(output(number)));
        assert_eq!((causes.kept.len(), causes.more), (16, 4));
        let mut others = Causes::default();
        others.add(output(3));
        others.add(output(99));
        others.append(causes);
        assert_eq!((others.kept.len(), others.more), (16, 5));
    }

    #[test]
    fn reads_as_a_line() {
        let mut causes = Causes::default();
        (0..2).for_each(|number| causes.add(output(number)));
        assert_eq!(causes.to_string(), "ConfigMap a/0, ConfigMap a/1");
        causes.more = 7;
        assert_eq!(causes.to_string(), "ConfigMap a/0, ConfigMap a/1 and 7 more");
    }
}
