//! One block: what it holds, what it is called, and how it looks on the wire.

use ring::digest::{Context, SHA256};
use serde::{Deserialize, Serialize};

use crate::wire::messages::{Lightblock, lightblock};

/// The longest identifier that is taken.
const LONGEST_ID: usize = 256;
/// Characters of an identifier of our own: the random part, a dash, the digest.
const NONCE_DIGITS: usize = 16;
const DIGEST_DIGITS: usize = 64;

/// What a block is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockKind {
    /// A peer became a member; the payload says which.
    Network,
    /// The payload is a client's.
    Client,
}

/// When a block was made, by the clock of the peer that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockTime {
    /// Seconds since 1970.
    pub seconds: i64,
    /// And nanoseconds.
    pub nanos: i32,
}

/// One block of the chain.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Unique among all blocks.
    pub id: String,
    /// The block before it, empty for a first one.
    pub previous: String,
    /// What it is for.
    pub kind: BlockKind,
    /// When it was made.
    pub made: BlockTime,
    /// What it holds.
    pub payload: Vec<u8>,
}

/// A member of the network, as a network block records it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct MemberRecord {
    /// `HOST:PORT`.
    pub address: String,
    /// What it is called; another peer that gets the address later has another name.
    #[serde(default)]
    pub name: String,
}

impl Block {
    /// A new block with a unique identifier: `nonce` is random.
    pub fn new(previous: &str, kind: BlockKind, made: BlockTime, payload: Vec<u8>, nonce: u64) -> Block {
        let mut block = Block { id: String::new(), previous: previous.to_owned(), kind, made, payload };
        let nonce = format!("{nonce:016x}");
        block.id = format!("{nonce}-{}", block.digest(&nonce));
        block
    }

    /// The member that a network block records. None for other blocks, and for those of lightpeers that record members
    /// in a way of their own.
    pub fn member(&self) -> Option<MemberRecord> {
        match self.kind {
            BlockKind::Network => serde_json::from_slice(&self.payload).ok(),
            BlockKind::Client => None,
        }
    }

    /// Reads a block as it came over the wire, and says what is wrong with one that makes no sense by itself.
    pub fn from_wire(block: Lightblock) -> Result<Block, String> {
        let kind = match lightblock::BlockType::try_from(block.r#type) {
            Ok(lightblock::BlockType::Network) => BlockKind::Network,
            Ok(lightblock::BlockType::Client) => BlockKind::Client,
            Err(_) => return Err(format!("a block of the unknown type {}", block.r#type)),
        };
        let time = block.last_updated.unwrap_or_default();
        let made = BlockTime { seconds: time.seconds, nanos: time.nanos };
        let read = Block { id: block.id, previous: block.prev_id, kind, made, payload: block.payload };
        read.check().map(|()| read)
    }

    /// The block as it goes over the wire.
    pub fn to_wire(&self) -> Lightblock {
        let kind = match self.kind {
            BlockKind::Network => lightblock::BlockType::Network,
            BlockKind::Client => lightblock::BlockType::Client,
        };
        Lightblock {
            id: self.id.clone(),
            payload: self.payload.clone(),
            prev_id: self.previous.clone(),
            r#type: kind.into(),
            last_updated: Some(prost_types::Timestamp { seconds: self.made.seconds, nanos: self.made.nanos }),
        }
    }

    /// What the block costs, about, while it is in memory.
    pub fn size(&self) -> usize {
        const OVERHEAD: usize = 256;
        self.payload.len() + 3 * self.id.len() + self.previous.len() + OVERHEAD
    }

    fn check(&self) -> Result<(), String> {
        let shown = &self.id.get(..LONGEST_ID).unwrap_or(&self.id);
        if self.id.is_empty() {
            return Err("a block without an identifier".to_owned());
        }
        if self.id.len() > LONGEST_ID || self.previous.len() > LONGEST_ID {
            return Err(format!("a block whose identifier is longer than {LONGEST_ID} bytes"));
        }
        if self.id == self.previous {
            return Err(format!("block {shown}, which stands before itself"));
        }
        match own_form(&self.id) {
            Some((nonce, digest)) if digest != self.digest(nonce) => {
                Err(format!("block {shown}, whose content is not what its identifier says"))
            }
            _ => Ok(()),
        }
    }

    /// Of all but the identifier; each part with its length, so that no two blocks run into one text.
    fn digest(&self, nonce: &str) -> String {
        let mut context = Context::new(&SHA256);
        for part in [nonce.as_bytes(), self.previous.as_bytes(), &self.payload] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        context.update(&[self.kind as u8]);
        context.update(&self.made.seconds.to_le_bytes());
        context.update(&self.made.nanos.to_le_bytes());
        hexadecimal(context.finish().as_ref())
    }
}

/// The parts of an identifier that one of our peers made. Other lightpeers choose theirs as they like.
fn own_form(id: &str) -> Option<(&str, &str)> {
    let (nonce, digest) = id.split_once('-')?;
    let is_hexadecimal = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let fits = nonce.len() == NONCE_DIGITS && digest.len() == DIGEST_DIGITS;
    (fits && is_hexadecimal(nonce) && is_hexadecimal(digest)).then_some((nonce, digest))
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block() -> Block {
        Block::new("", BlockKind::Client, BlockTime { seconds: 1, nanos: 2 }, b"hello".to_vec(), 3)
    }

    #[track_caller]
    fn check_refused(block: Lightblock, why: &str) {
        let refusal = Block::from_wire(block).unwrap_err();
        assert!(refusal.contains(why), "{refusal}");
    }

    #[test]
    fn a_block_survives_the_wire() {
        assert_eq!(Block::from_wire(block().to_wire()), Ok(block()));
    }

    #[test]
    fn a_changed_block_is_refused() {
        let not_what = "not what its identifier says";
        check_refused(Lightblock { payload: b"hellO".to_vec(), ..block().to_wire() }, not_what);
        check_refused(Lightblock { prev_id: "x".to_owned(), ..block().to_wire() }, not_what);
        check_refused(Lightblock { r#type: 0, ..block().to_wire() }, not_what);
        check_refused(Lightblock { last_updated: None, ..block().to_wire() }, not_what);
    }

    #[test]
    fn garbage_is_refused() {
        check_refused(Lightblock::default(), "without an identifier");
        check_refused(Lightblock { r#type: 7, ..block().to_wire() }, "unknown type 7");
        check_refused(Lightblock { id: "é".repeat(200), ..block().to_wire() }, "longer than");
        let itself = Lightblock { id: "a".to_owned(), prev_id: "a".to_owned(), ..Lightblock::default() };
        check_refused(itself, "before itself");
    }

    #[test]
    fn identifiers_of_other_lightpeers_are_taken_as_they_are() {
        let other = Lightblock { id: "f81d4fae-7dec-11d0".to_owned(), ..block().to_wire() };
        assert_eq!(Block::from_wire(other).map(|block| block.id), Ok("f81d4fae-7dec-11d0".to_owned()));
    }

    #[test]
    fn a_network_block_names_a_member() {
        let payload = br#"{"Address":"h:1"}"#.to_vec();
        let network = Block { kind: BlockKind::Network, payload, ..block() };
        assert_eq!(network.member(), Some(MemberRecord { address: "h:1".to_owned(), name: String::new() }));
        assert_eq!(Block { kind: BlockKind::Network, ..block() }.member(), None);
    }
}
