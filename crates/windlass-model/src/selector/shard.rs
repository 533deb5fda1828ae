//! Shard selectors: `shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')`.

use std::fmt;

use serde_json::Value;

use crate::object;
use crate::selector::shard_parse;

/// The offset basis and the prime of FNV-1a with 64 bits.
const FNV_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// A condition on the hash of a field: it must be in one of some ranges. There is at least one, and none is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardSelector {
    key: ShardKey,
    /// The first and the last hash of each range, in order and with gaps between them.
    ranges: Vec<(u64, u64)>,
}

/// The field that is hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardKey {
    /// `object.metadata.uid`
    Uid,
    /// `object.metadata.namespace`
    Namespace,
}

/// The hash by which objects are divided into shards: FNV-1a with 64 bits of the text of the field.
pub fn shard_hash(text: &str) -> u64 {
    text.bytes().fold(FNV_BASIS, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME))
}

impl ShardKey {
    /// All fields that can be selected by.
    pub(super) const ALL: [ShardKey; 2] = [ShardKey::Uid, ShardKey::Namespace];

    /// As selectors name it.
    pub(crate) fn path(self) -> &'static str {
        match self {
            ShardKey::Uid => "object.metadata.uid",
            ShardKey::Namespace => "object.metadata.namespace",
        }
    }
}

impl ShardSelector {
    /// Selects the hashes of half-open ranges: from the first number to before the second, which is at most 2^64.
    ///
    /// Without any hash there is no selector: a request without one would select everything.
    pub fn new(key: ShardKey, ranges: impl IntoIterator<Item = (u128, u128)>) -> Option<Self> {
        let last_of = |end: u128| u64::try_from(end - 1).unwrap_or(u64::MAX);
        let ranges = ranges.into_iter().filter(|(start, end)| start < end);
        let ranges = ranges.filter_map(|(start, end)| Some((u64::try_from(start).ok()?, last_of(end))));
        let ranges = merged(ranges.collect());
        (!ranges.is_empty()).then_some(ShardSelector { key, ranges })
    }

    /// Reads the written form.
    ///
    /// # Errors
    /// Says what was expected, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (key, ranges) =
            shard_parse::ranges(text).map_err(|why| format!("invalid shardSelector: {why}"))?;
        Ok(ShardSelector { key, ranges: merged(ranges) })
    }

    /// The field that is hashed.
    pub fn key(&self) -> ShardKey {
        self.key
    }

    /// The first and the last hash of each range, in order and with gaps between them.
    pub fn ranges(&self) -> &[(u64, u64)] {
        &self.ranges
    }

    /// Whether a field with this hash is selected.
    pub fn contains(&self, hash: u64) -> bool {
        let begun = self.ranges.partition_point(|(first, _)| *first <= hash);
        self.ranges[..begun].last().is_some_and(|(_, last)| hash <= *last)
    }

    /// Whether the object is selected.
    pub fn matches(&self, object: &Value) -> bool {
        self.contains(shard_hash(match self.key {
            ShardKey::Uid => object::uid(object),
            ShardKey::Namespace => object::namespace(object),
        }))
    }
}

/// The written form, with ranges that touch each other as one.
impl fmt::Display for ShardSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.key.path();
        for (index, (first, last)) in self.ranges.iter().enumerate() {
            let or = if index > 0 { " || " } else { "" };
            let end = u128::from(*last) + 1;
            write!(f, "{or}shardRange({path},'{first:#018x}','{end:#018x}')")?;
        }
        Ok(())
    }
}

/// The same hashes in order, with as few ranges as possible.
fn merged(mut ranges: Vec<(u64, u64)>) -> Vec<(u64, u64)> {
    ranges.sort_unstable();
    let mut merged: Vec<(u64, u64)> = Vec::new();
    for (first, last) in ranges {
        match merged.last_mut() {
            Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
            _ => merged.push((first, last)),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const TOP: u128 = 1 << 64;

    fn uids(ranges: &[(u128, u128)]) -> ShardSelector {
        ShardSelector::new(ShardKey::Uid, ranges.iter().copied()).unwrap()
    }

    #[test]
    fn hash_is_the_one_of_slots() {
        // The test vectors of its authors; `windlass_shard::Slot` is tested with the same.
        assert_eq!(shard_hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(shard_hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(shard_hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn ranges_are_half_open() {
        let selector = uids(&[(2, 4), (TOP - 1, TOP)]);
        let selected = [0, 1, 2, 3, 4, u64::MAX - 1, u64::MAX].map(|hash| selector.contains(hash));
        assert_eq!(selected, [false, false, true, true, false, false, true]);
    }

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(uids(&[(4, 6), (0, 2), (2, 3), (5, TOP)]).ranges(), [(0, 2), (4, u64::MAX)]);
        assert_eq!(uids(&[(0, 10), (2, 3), (10, TOP)]).ranges(), [(0, u64::MAX)]);
    }

    #[test]
    fn there_is_no_selector_without_hashes() {
        for ranges in [vec![], vec![(5, 5), (6, 2)], vec![(TOP, TOP + 1)]] {
            assert_eq!(ShardSelector::new(ShardKey::Uid, ranges), None);
        }
    }

    #[test]
    fn objects_are_selected_by_the_hash_of_a_field() {
        // The hashes begin with `af` and `85`.
        let object = json!({"metadata": {"uid": "a", "namespace": "foobar"}});
        let upper = (0xa000_0000_0000_0000, TOP);
        for (key, object, expected) in [
            (ShardKey::Uid, &object, true),
            (ShardKey::Namespace, &object, false),
            // The empty text has a hash, too: `cb`.
            (ShardKey::Namespace, &json!({"metadata": {"uid": "foobar"}}), true),
            (ShardKey::Uid, &json!({"metadata": {"uid": "foobar"}}), false),
        ] {
            let selector = ShardSelector::new(key, [upper]).unwrap();
            assert_eq!(selector.matches(object), expected, "{key:?} {object}");
        }
    }

    #[test]
    fn prints_as_kubernetes_reads_it() {
        assert_eq!(
            uids(&[(0, 0xff), (1 << 63, TOP)]).to_string(),
            "shardRange(object.metadata.uid,'0x0000000000000000','0x00000000000000ff') || \
             shardRange(object.metadata.uid,'0x8000000000000000','0x10000000000000000')"
        );
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_back(
            namespaces in any::<bool>(),
            ranges in proptest::collection::vec((any::<u64>(), 1..=u64::MAX), 1..5),
        ) {
            let key = if namespaces { ShardKey::Namespace } else { ShardKey::Uid };
            let ranges = ranges.into_iter().map(|(start, length)| (u128::from(start), u128::from(start) + u128::from(length)));
            let selector = ShardSelector::new(key, ranges).unwrap();
            prop_assert_eq!(ShardSelector::parse(&selector.to_string()), Ok(selector));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,30}|(shardRange|[(),' |]|object.metadata.uid|0x[0-9a-f]{15,18}){0,12}") {
            if let Ok(selector) = ShardSelector::parse(&text) {
                prop_assert_eq!(ShardSelector::parse(&selector.to_string()), Ok(selector));
            }
        }
    }
}
