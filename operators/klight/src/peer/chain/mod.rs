//! The chain: a set of blocks that only grows, and an order that follows from the set alone.
//!
//! Peers add blocks at the same time, so the links form a tree, or several where networks were joined that had blocks
//! already. Merging is the union. The order is by height (how many links a block is away from its first one), then by
//! time, then by identifier. A block is made on top of the last one that its maker knows, so it comes after everything
//! that was acknowledged there before; and whoever has the same blocks has them in the same order, however they came.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use ring::digest::{SHA256, digest};

use super::block::{Block, BlockTime, MemberRecord};

/// How many earlier digests are remembered, to distinguish a peer that is behind from one that has new blocks.
const REMEMBERED: usize = 4096;

/// The digest of a chain without blocks.
pub const EMPTY: [u8; 32] = [0; 32];

/// How much a chain may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLimits {
    /// Blocks.
    pub blocks: usize,
    /// Bytes of memory, about.
    pub bytes: usize,
    /// Bytes of one payload.
    pub payload_bytes: usize,
    /// Members that were ever recorded.
    pub members: usize,
}

impl Default for ChainLimits {
    fn default() -> ChainLimits {
        ChainLimits { blocks: 1_000_000, bytes: 512 << 20, payload_bytes: 1 << 20, members: 10_000 }
    }
}

/// Why blocks are not taken. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The block before one of them is not known here.
    #[error("block {id} stands after block {previous}, which is not known here")]
    Unlinked {
        /// The block.
        id: String,
        /// The block before it.
        previous: String,
    },
    /// Another block has this identifier already.
    #[error("there is another block {id} already, with other content")]
    Conflict {
        /// The identifier of both.
        id: String,
    },
    /// A payload is too large.
    #[error("the payload has {bytes} bytes, and at most {limit} are allowed; divide it")]
    Large {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The chain has no room.
    #[error("the chain is full: at most {limit} {what} are allowed")]
    Full {
        /// What there is no room for.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// The position of a block in the order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Position {
    height: u64,
    made: BlockTime,
    id: String,
}

/// All blocks that a peer knows.
#[derive(Clone, Debug, Default)]
pub struct Chain {
    limits: ChainLimits,
    positions: BTreeMap<String, Position>,
    order: BTreeMap<Position, Arc<Block>>,
    members: BTreeSet<MemberRecord>,
    bytes: usize,
    digest: [u8; 32],
    recent: VecDeque<[u8; 32]>,
}

impl Chain {
    /// An empty chain.
    pub fn new(limits: ChainLimits) -> Chain {
        Chain { limits, ..Chain::default() }
    }

    /// Adds blocks, in whatever order they are given, and returns those that were new, each after the one before it.
    ///
    /// # Errors
    /// All of them are added, or none.
    pub fn adopt(&mut self, blocks: Vec<Block>) -> Result<Vec<Arc<Block>>, Refusal> {
        let new = self.unknown(blocks)?;
        self.make_room(&new)?;
        let linked = self.link(new)?;
        Ok(linked.into_iter().map(|(height, block)| self.insert(height, block)).collect())
    }

    /// The blocks in order.
    pub fn blocks(&self) -> impl Iterator<Item = &Arc<Block>> {
        self.order.values()
    }

    /// The block of this identifier.
    pub fn get(&self, id: &str) -> Option<&Arc<Block>> {
        self.order.get(self.positions.get(id)?)
    }

    /// How many blocks there are.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// The identifier of the last block, on which the next one is put; empty if there is none.
    pub fn tip(&self) -> &str {
        self.order.last_key_value().map_or("", |(position, _)| &position.id)
    }

    /// All members that were ever recorded.
    pub fn members(&self) -> &BTreeSet<MemberRecord> {
        &self.members
    }

    /// Equal for equal sets of blocks, and for no others.
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// Whether this chain had that digest a while ago: then whoever has it now has nothing that is missing here.
    pub fn has_been(&self, digest: &[u8; 32]) -> bool {
        self.digest == *digest || self.recent.contains(digest)
    }

    /// Those that are not here yet, each once.
    fn unknown(&self, blocks: Vec<Block>) -> Result<BTreeMap<String, Block>, Refusal> {
        let mut new: BTreeMap<String, Block> = BTreeMap::new();
        for block in blocks {
            let same = new.get(&block.id).or_else(|| self.get(&block.id).map(Arc::as_ref));
            match same {
                Some(same) if *same == block => {}
                Some(_) => return Err(Refusal::Conflict { id: block.id }),
                None => {
                    new.insert(block.id.clone(), block);
                }
            }
        }
        Ok(new)
    }

    fn make_room(&self, new: &BTreeMap<String, Block>) -> Result<(), Refusal> {
        let limits = self.limits;
        if let Some(large) = new.values().find(|block| block.payload.len() > limits.payload_bytes) {
            return Err(Refusal::Large { bytes: large.payload.len(), limit: limits.payload_bytes });
        }
        let blocks = self.len() + new.len();
        let bytes = self.bytes + new.values().map(Block::size).sum::<usize>();
        let named: BTreeSet<MemberRecord> = new.values().filter_map(Block::member).collect();
        let members = self.members.union(&named).count();
        let full = |what, limit| Err(Refusal::Full { what, limit });
        match () {
            () if blocks > limits.blocks => full("blocks", limits.blocks),
            () if bytes > limits.bytes => full("bytes", limits.bytes),
            // Without a new member there is no new reason to refuse.
            () if members > limits.members.max(self.members.len()) => full("members", limits.members),
            () => Ok(()),
        }
    }

    /// Finds the height of each, going up from what is known; refuses what nothing leads to.
    fn link(&self, mut new: BTreeMap<String, Block>) -> Result<Vec<(u64, Block)>, Refusal> {
        let mut followers: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let mut ready: VecDeque<(u64, String)> = VecDeque::new();
        for block in new.values() {
            match self.positions.get(&block.previous) {
                Some(previous) => ready.push_back((previous.height + 1, block.id.clone())),
                None if block.previous.is_empty() => ready.push_back((1, block.id.clone())),
                None => followers.entry(block.previous.clone()).or_default().push(block.id.clone()),
            }
        }
        let mut linked = Vec::with_capacity(new.len());
        while let Some((height, id)) = ready.pop_front() {
            let after = followers.remove(&id).unwrap_or_default();
            ready.extend(after.into_iter().map(|follower| (height + 1, follower)));
            linked.extend(new.remove(&id).map(|block| (height, block)));
        }
        match new.into_values().next() {
            Some(block) => Err(Refusal::Unlinked { id: block.id, previous: block.previous }),
            None => Ok(linked),
        }
    }

    fn insert(&mut self, height: u64, block: Block) -> Arc<Block> {
        let position = Position { height, made: block.made, id: block.id.clone() };
        let block = Arc::new(block);
        self.bytes += block.size();
        self.members.extend(block.member());
        self.recent.push_back(self.digest);
        if self.recent.len() > REMEMBERED {
            self.recent.pop_front();
        }
        for (sum, byte) in self.digest.iter_mut().zip(digest(&SHA256, block.id.as_bytes()).as_ref()) {
            *sum ^= byte;
        }
        self.positions.insert(block.id.clone(), position.clone());
        self.order.insert(position, block.clone());
        block
    }
}

#[cfg(test)]
mod tests;
