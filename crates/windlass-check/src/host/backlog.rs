//! Backlog: what was committed and a watch has not delivered yet.
//!
//! Each kind has a watch of its own, so kinds are behind independently of each other; within a kind, changes are
//! delivered in the order of their commits. What a process sees of an object is what the first undelivered change found.

use crate::ids::ChangeId;
use crate::index::KindIndex;

/// Changes that are still to be delivered, by their numbers: per kind, the oldest first. Kinds in order, none empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Backlog {
    by_kind: Vec<(KindIndex, Vec<ChangeId>)>,
}

impl Backlog {
    /// The kinds that are behind.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = KindIndex> {
        self.by_kind.iter().map(|(kind, _)| *kind)
    }

    /// The undelivered changes of a kind, the oldest first.
    pub(crate) fn of(&self, kind: KindIndex) -> &[ChangeId] {
        self.index_of(kind).map_or(&[], |index| &self.by_kind[index].1)
    }

    /// All undelivered changes, by kind; those of one kind in their order.
    pub(crate) fn all(&self) -> impl Iterator<Item = (KindIndex, ChangeId)> {
        self.by_kind.iter().flat_map(|(kind, changes)| changes.iter().map(|change| (*kind, *change)))
    }

    /// A change was committed.
    pub(crate) fn push(&mut self, kind: KindIndex, change: ChangeId) {
        match self.index_of(kind) {
            Ok(index) => self.by_kind[index].1.push(change),
            Err(index) => self.by_kind.insert(index, (kind, vec![change])),
        }
    }

    /// The oldest change of a kind is delivered.
    pub(crate) fn pop(&mut self, kind: KindIndex) -> Option<ChangeId> {
        let index = self.index_of(kind).ok()?;
        let change = self.by_kind[index].1.remove(0);
        self.drop_if_empty(index);
        Some(change)
    }

    /// Keeps only some changes of a kind.
    pub(crate) fn retain(&mut self, kind: KindIndex, keep: impl FnMut(&ChangeId) -> bool) {
        if let Ok(index) = self.index_of(kind) {
            self.by_kind[index].1.retain(keep);
            self.drop_if_empty(index);
        }
    }

    /// The same with each change replaced by another.
    pub(crate) fn map(&self, mut with: impl FnMut(ChangeId) -> ChangeId) -> Self {
        let by_kind = self.by_kind.iter();
        Backlog {
            by_kind: by_kind
                .map(|(kind, changes)| (*kind, changes.iter().map(|change| with(*change)).collect()))
                .collect(),
        }
    }

    /// Every backlog of a watch that begins again, for each kind at its own position: the newest of each kind's
    /// changes, none to all.
    pub(crate) fn positions(&self) -> Vec<Backlog> {
        let mut all = vec![Backlog::default()];
        for (kind, changes) in &self.by_kind {
            let with = |known: &Backlog| {
                let known = known.clone();
                (0..=changes.len()).map(move |newest| {
                    let mut next = known.clone();
                    let undelivered = &changes[changes.len() - newest..];
                    undelivered.iter().for_each(|change| next.push(*kind, *change));
                    next
                })
            };
            all = all.iter().flat_map(with).collect();
        }
        all
    }

    fn index_of(&self, kind: KindIndex) -> Result<usize, usize> {
        self.by_kind.binary_search_by_key(&kind, |(known, _)| *known)
    }

    fn drop_if_empty(&mut self, index: usize) {
        if self.by_kind[index].1.is_empty() {
            self.by_kind.remove(index);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn change(number: u32) -> ChangeId {
        ChangeId::from_word(number)
    }

    const fn kind(number: u8) -> KindIndex {
        KindIndex::new(number as usize)
    }

    fn backlog(changes: &[(u8, u32)]) -> Backlog {
        let mut backlog = Backlog::default();
        changes.iter().for_each(|(kind, number)| backlog.push(self::kind(*kind), change(*number)));
        backlog
    }

    #[test]
    fn kinds_are_delivered_independently_and_each_in_its_order() {
        let mut behind = backlog(&[(2, 10), (1, 11), (2, 12)]);
        assert_eq!(behind.kinds().collect::<Vec<_>>(), [1, 2].map(kind));
        assert_eq!(behind.pop(kind(2)), Some(change(10)));
        assert_eq!(behind.of(kind(2)), [change(12)]);
        assert_eq!(behind.pop(kind(1)), Some(change(11)));
        assert_eq!(behind, backlog(&[(2, 12)]));
        behind.retain(kind(2), |_| false);
        assert_eq!((behind.pop(kind(2)), behind), (None, Backlog::default()));
    }

    #[test]
    fn a_watch_begins_again_at_a_place_of_its_own_for_each_kind() {
        let positions = backlog(&[(1, 10), (1, 11), (2, 20)]).positions();
        let expected: [&[(u8, u32)]; 6] = [
            &[],
            &[(2, 20)],
            &[(1, 11)],
            &[(1, 11), (2, 20)],
            &[(1, 10), (1, 11)],
            &[(1, 10), (1, 11), (2, 20)],
        ];
        assert_eq!(positions, expected.map(backlog));
    }
}
