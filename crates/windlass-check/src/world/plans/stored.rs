//! A state as the engine stores it: the number of its network, and that of the situation of each process, as words.
//!
//! Here, and nowhere else, words become numbers of parts, and numbers become words.

use super::situation::SituationId;
use crate::ids::NetworkId;
use crate::index::ProcessIndex;

const NETWORK: usize = 0;
/// The first situation; those of the other processes follow.
const SITUATIONS: usize = 1;

/// How many words a state takes.
pub(in crate::world) fn width(processes: usize) -> usize {
    SITUATIONS + processes
}

#[inline]
pub(in crate::world) fn network(words: &[u32]) -> NetworkId {
    NetworkId::from_word(words[NETWORK])
}

#[inline]
pub(in crate::world) fn set_network(words: &mut [u32], network: NetworkId) {
    words[NETWORK] = network.word();
}

#[inline]
pub(in crate::world) fn situation(words: &[u32], process: ProcessIndex) -> SituationId {
    SituationId::from_word(words[SITUATIONS + process.index()])
}

#[inline]
pub(in crate::world) fn set_situation(words: &mut [u32], process: ProcessIndex, situation: SituationId) {
    words[SITUATIONS + process.index()] = situation.word();
}

/// The situation of some process, for what is the same in all: cluster and environment.
#[inline]
pub(in crate::world) fn any_situation(words: &[u32]) -> SituationId {
    SituationId::from_word(words[SITUATIONS])
}

/// The situations of all processes, in their order.
#[inline]
pub(in crate::world) fn situations(words: &[u32]) -> impl Iterator<Item = (ProcessIndex, SituationId)> {
    let situations = words[SITUATIONS..].iter().map(|word| SituationId::from_word(*word));
    situations.enumerate().map(|(process, situation)| (ProcessIndex::new(process), situation))
}

/// Replaces the situation of each process by another.
#[inline]
pub(in crate::world) fn map_situations(
    words: &mut [u32],
    mut map: impl FnMut(ProcessIndex, SituationId) -> SituationId,
) {
    for (process, word) in words[SITUATIONS..].iter_mut().enumerate() {
        *word = map(ProcessIndex::new(process), SituationId::from_word(*word)).word();
    }
}
