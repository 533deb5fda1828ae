//! How watches select the objects of slots: by a label, or by the hash that chooses the slot.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass::model::selector::{ShardKey, ShardSelector};
use windlass_shard::{KeyField, Slot, SlotCount, runs};

use crate::informer::Selection;

use super::stamp::SLOT_LABEL;

/// The most slots that one watch selects by label, and the most ranges by hash. Longer selectors make URLs that proxies
/// refuse.
const SLOTS_MAX: usize = 512;
const RANGES_MAX: usize = 64;

/// How the objects of slots are selected.
#[derive(Clone, Copy, Debug)]
pub(super) enum SlotSelection {
    /// Outputs carry their slot. Who owns all slots of a ring watches all objects: such a watch also knows which objects do
    /// not exist, so that none has to be read before it is made.
    Label(SlotCount),
    /// The API server hashes a field of parents as rings do.
    Hash(KeyField, SlotCount),
}

impl SlotSelection {
    /// Divides slots into as many as one watch can select.
    pub(super) fn split(self, slots: &BTreeSet<Slot>) -> Vec<BTreeSet<Slot>> {
        let slots: Vec<Slot> = slots.iter().copied().collect();
        match self {
            SlotSelection::Label(count) if slots.len() == count.get() => vec![slots.into_iter().collect()],
            SlotSelection::Label(_) => {
                slots.chunks(SLOTS_MAX).map(|slots| slots.iter().copied().collect()).collect()
            }
            SlotSelection::Hash(..) => {
                let numbers = |run: &windlass_shard::SlotRange| run.from.index()..=run.to.index();
                let of_runs = |runs: &[windlass_shard::SlotRange]| {
                    runs.iter().flat_map(numbers).map(Slot::new).collect()
                };
                runs(slots).chunks(RANGES_MAX).map(of_runs).collect()
            }
        }
    }

    /// Restricts a selection to slots.
    pub(super) fn restrict(self, selection: Selection, slots: &BTreeSet<Slot>) -> Selection {
        match self.shards(slots) {
            Some(shards) => Selection { shards: Some(shards.to_string()), ..selection },
            None if matches!(self, SlotSelection::Label(count) if slots.len() == count.get()) => selection,
            None => {
                let values: Vec<String> = slots.iter().map(ToString::to_string).collect();
                let labels = format!("{SLOT_LABEL} in ({})", values.join(","));
                Selection { labels: Some(labels), ..selection }
            }
        }
    }

    /// The hashes of slots; none if there are no slots, or these are not selected by hash.
    pub(super) fn shards(self, slots: &BTreeSet<Slot>) -> Option<ShardSelector> {
        let SlotSelection::Hash(key, count) = self else { return None };
        let key = match key {
            KeyField::Uid => ShardKey::Uid,
            KeyField::Namespace => ShardKey::Namespace,
        };
        ShardSelector::new(key, runs(slots.iter().copied()).into_iter().map(|run| run.hashes(count)))
    }

    /// Whether an object that is kept is of one of these slots. What is selected by hash is kept only while it is.
    pub(super) fn is_of(self, text: &str, slots: &BTreeSet<Slot>) -> bool {
        let SlotSelection::Label(_) = self else { return true };
        let object: Option<Value> = serde_json::from_str(text).ok();
        let slot = object.and_then(|object| object["metadata"]["labels"][SLOT_LABEL].as_str()?.parse().ok());
        slot.is_some_and(|slot: usize| slots.iter().any(|one| one.index() == slot))
    }
}

#[cfg(test)]
mod tests {
    use windlass::KindInfo;
    use windlass::model::ResourceId;

    use super::*;

    fn slots(numbers: impl IntoIterator<Item = usize>) -> BTreeSet<Slot> {
        numbers.into_iter().map(Slot::new).collect()
    }

    #[test]
    fn watches_select_no_more_than_fits_in_a_url() {
        let by_hash = SlotSelection::Hash(KeyField::Uid, SlotCount::DEFAULT);
        let scattered = slots((0..4096).step_by(2));
        for (selection, watches) in
            [(by_hash, 2048 / 64), (SlotSelection::Label(SlotCount::DEFAULT), 2048 / 512)]
        {
            let split = selection.split(&scattered);
            assert_eq!(split.len(), watches);
            assert_eq!(split.into_iter().flatten().collect::<BTreeSet<Slot>>(), scattered);
        }
        assert_eq!(by_hash.split(&slots(0..4096)).len(), 1, "neighbours are one range");
        assert_eq!(by_hash.split(&slots([])).len(), 0);
    }

    #[test]
    fn who_owns_all_slots_watches_all_objects() {
        let resource = ResourceId::new("", "v1", "configmaps");
        let kind = KindInfo { resource, kind: "ConfigMap".to_owned(), namespaced: true };
        let (by_label, all) = (SlotSelection::Label(SlotCount::DEFAULT), slots(0..4096));
        assert_eq!(by_label.split(&all), std::slice::from_ref(&all));
        assert_eq!(by_label.restrict(Selection::whole(&kind, None), &all), Selection::whole(&kind, None));
    }

    #[test]
    fn slots_become_ranges_or_labels() {
        let resource = ResourceId::new("", "v1", "configmaps");
        let kind = KindInfo { resource, kind: "ConfigMap".to_owned(), namespaced: true };
        let whole = || Selection::whole(&kind, None);
        let by_hash = SlotSelection::Hash(KeyField::Uid, SlotCount::new(16).expect("a count"));
        let selection = by_hash.restrict(whole(), &slots([1, 2, 15]));
        assert_eq!(
            selection.shards.as_deref(),
            Some(
                "shardRange(object.metadata.uid,'0x1000000000000000','0x3000000000000000') || \
                 shardRange(object.metadata.uid,'0xf000000000000000','0x10000000000000000')"
            )
        );
        assert_eq!(selection.to_string(), "configmaps in 2 ranges of hashes");
        let selection = SlotSelection::Label(SlotCount::DEFAULT).restrict(whole(), &slots([1, 2]));
        assert_eq!(selection.labels.as_deref(), Some("windlass.dev/slot in (1,2)"));
    }
}
