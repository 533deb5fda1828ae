//! Which peers are thought to be alive, from the results of checks. Time is counted in rounds only.

use std::collections::{BTreeMap, BTreeSet};

/// A dropped peer is asked again after 1, 2, 4, .. rounds, up to this.
const LONGEST_WAIT: u32 = 16;

/// Whether a peer answers this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It answers, as far as is known.
    Live,
    /// Its last answer did not come.
    Suspect,
    /// It did not answer for so long that it is not counted any more.
    Dropped,
}

#[derive(Clone, Debug)]
struct Entry {
    names: BTreeSet<String>,
    liveness: Liveness,
    failures: u32,
    wait: u32,
    rounds_to_wait: u32,
}

/// A peer to call: its address, and the names that it may have. An empty name stands for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contact {
    pub(super) address: String,
    pub(super) names: Vec<String>,
}

/// All other peers, by address.
#[derive(Clone, Debug)]
pub(super) struct Roster {
    failures_until_dropped: u32,
    entries: BTreeMap<String, Entry>,
}

impl Roster {
    pub(super) fn new(failures_until_dropped: u32) -> Roster {
        Roster { failures_until_dropped, entries: BTreeMap::new() }
    }

    /// Takes in a peer, which counts as live until it fails. Returns whether it is new.
    pub(super) fn learn(&mut self, address: &str, name: &str) -> bool {
        let fresh = || Entry {
            names: BTreeSet::new(),
            liveness: Liveness::Live,
            failures: 0,
            wait: 1,
            rounds_to_wait: 0,
        };
        let entry = self.entries.entry(address.to_owned()).or_insert_with(fresh);
        let is_new = entry.names.insert(name.to_owned());
        if is_new {
            // Another peer has the address now: the liveness of the old one does not apply to it.
            *entry = Entry { names: std::mem::take(&mut entry.names), ..fresh() };
        }
        is_new
    }

    /// Whom to check in this round.
    pub(super) fn due(&mut self) -> Vec<Contact> {
        let mut due = Vec::new();
        for (address, entry) in &mut self.entries {
            if entry.liveness == Liveness::Dropped && entry.rounds_to_wait > 0 {
                entry.rounds_to_wait -= 1;
                continue;
            }
            due.push(contact(address, entry));
        }
        due
    }

    /// A peer has answered, or called. Returns whether it was dropped before.
    pub(super) fn answered(&mut self, address: &str) -> bool {
        let Some(entry) = self.entries.get_mut(address) else { return false };
        let returned = entry.liveness == Liveness::Dropped;
        (entry.liveness, entry.failures, entry.wait) = (Liveness::Live, 0, 1);
        returned
    }

    /// A check has failed. Returns whether this was one too many.
    pub(super) fn failed(&mut self, address: &str) -> bool {
        let Some(entry) = self.entries.get_mut(address) else { return false };
        if entry.liveness == Liveness::Dropped {
            entry.rounds_to_wait = entry.wait;
            entry.wait = (entry.wait * 2).min(LONGEST_WAIT);
            return false;
        }
        entry.failures = entry.failures.saturating_add(1);
        let dropped = entry.failures >= self.failures_until_dropped;
        entry.liveness = if dropped { Liveness::Dropped } else { Liveness::Suspect };
        dropped
    }

    /// A peer is not a member any more. Returns whether it counted until now.
    pub(super) fn gone(&mut self, address: &str) -> bool {
        if let Some(entry) = self.entries.get_mut(address) {
            entry.failures = self.failures_until_dropped;
        }
        self.failed(address)
    }

    /// Something other than a check has failed: no call waits for this peer until the next check.
    pub(super) fn suspect(&mut self, address: &str) {
        if let Some(entry) = self.entries.get_mut(address)
            && entry.liveness == Liveness::Live
        {
            entry.liveness = Liveness::Suspect;
        }
    }

    /// How the peer at this address stands.
    pub(super) fn liveness(&self, address: &str) -> Option<Liveness> {
        self.entries.get(address).map(|entry| entry.liveness)
    }

    /// The peer at this address, to be called.
    pub(super) fn contact(&self, address: &str) -> Option<Contact> {
        self.entries.get(address).map(|entry| contact(address, entry))
    }

    /// Those who are not dropped, and whether each is live.
    pub(super) fn counted(&self) -> Vec<(Contact, bool)> {
        let counted = self.entries.iter().filter(|(_, entry)| entry.liveness != Liveness::Dropped);
        counted.map(|(address, entry)| (contact(address, entry), entry.liveness == Liveness::Live)).collect()
    }
}

impl Contact {
    /// Whether a peer of this name is meant.
    pub(super) fn is(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|known| known == name)
    }
}

fn contact(address: &str, entry: &Entry) -> Contact {
    // A peer that was recorded without a name may have any.
    let anonymous = entry.names.contains("");
    let names = if anonymous { Vec::new() } else { entry.names.iter().cloned().collect() };
    Contact { address: address.to_owned(), names }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roster() -> Roster {
        let mut roster = Roster::new(3);
        assert!(roster.learn("a:1", "a"));
        roster
    }

    #[test]
    fn the_third_failure_drops_and_an_answer_takes_back() {
        let mut roster = roster();
        assert_eq!((roster.failed("a:1"), roster.failed("a:1"), roster.failed("a:1")), (false, false, true));
        assert_eq!(roster.liveness("a:1"), Some(Liveness::Dropped));
        assert!(roster.counted().is_empty());
        assert!(roster.answered("a:1"));
        assert_eq!(roster.liveness("a:1"), Some(Liveness::Live));
        assert!(!roster.answered("a:1"));
    }

    #[test]
    fn a_peer_that_is_gone_is_dropped_at_once() {
        let mut roster = roster();
        assert!(roster.gone("a:1"));
        assert_eq!(roster.liveness("a:1"), Some(Liveness::Dropped));
        assert!(!roster.gone("a:1"));
        assert!(roster.answered("a:1"), "it may come back");
    }

    #[test]
    fn an_answer_in_between_starts_the_count_again() {
        let mut roster = roster();
        for _ in 0..5 {
            assert!(!roster.failed("a:1") && !roster.failed("a:1"));
            roster.answered("a:1");
        }
    }

    #[test]
    fn a_dropped_peer_is_asked_ever_more_rarely() {
        let mut roster = roster();
        let mut asked = Vec::new();
        for round in 0..60 {
            if !roster.due().is_empty() {
                asked.push(round);
                roster.failed("a:1");
            }
        }
        assert_eq!(asked, [0, 1, 2, 3, 5, 8, 13, 22, 39, 56]);
    }

    #[test]
    fn a_suspect_is_asked_and_not_waited_for() {
        let mut roster = roster();
        roster.suspect("a:1");
        assert_eq!(roster.counted().iter().map(|(_, live)| *live).collect::<Vec<_>>(), [false]);
        assert_eq!(roster.due().len(), 1);
        roster.answered("a:1");
        assert!(roster.counted()[0].1);
    }

    #[test]
    fn another_peer_at_the_same_address_starts_as_live() {
        let mut roster = roster();
        assert_eq!((0..3).filter(|_| roster.failed("a:1")).count(), 1);
        assert!(!roster.learn("a:1", "a"), "it is known already");
        assert_eq!(roster.liveness("a:1"), Some(Liveness::Dropped));
        assert!(roster.learn("a:1", "b"));
        assert_eq!(roster.liveness("a:1"), Some(Liveness::Live));
        let contact = roster.contact("a:1").unwrap();
        assert!(contact.is("a") && contact.is("b") && !contact.is("c"));
    }

    #[test]
    fn a_peer_without_a_name_may_be_anybody() {
        let mut roster = Roster::new(3);
        roster.learn("a:1", "");
        assert!(roster.contact("a:1").unwrap().is("whoever"));
    }
}
