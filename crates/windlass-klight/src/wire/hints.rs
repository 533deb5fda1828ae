//! What our peers tell each other beside the messages, as gRPC metadata, which other lightpeers ignore.
//!
//! Messages name peers by address alone, and addresses are given out again: without the name, a peer that has got the
//! address of a dead one would be taken for it, and two networks would become one.

use tonic::metadata::{MetadataMap, MetadataValue};

const MEANT_FOR: &str = "lightpeer-for-bin";
const CONTACT: &str = "lightpeer-contact-bin";
const NAME: &str = "lightpeer-name-bin";
const CHAIN: &str = "lightpeer-chain-bin";

/// Whom a request is meant for: any of these names, or anybody if there is none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    pub(crate) meant_for: Vec<String>,
}

impl Hints {
    pub(crate) fn write(&self, metadata: &mut MetadataMap) {
        for name in &self.meant_for {
            metadata.append_bin(MEANT_FOR, MetadataValue::from_bytes(name.as_bytes()));
        }
    }
}

/// Says which contact a join means, by its name.
pub(crate) fn write_contact(metadata: &mut MetadataMap, name: &str) {
    metadata.insert_bin(CONTACT, MetadataValue::from_bytes(name.as_bytes()));
}

/// Which contact a join means; `None` if whoever is at its address is meant.
pub(crate) fn contact_meant(metadata: &MetadataMap) -> Option<String> {
    let name = metadata.get_bin(CONTACT)?.to_bytes().ok()?;
    String::from_utf8(name.to_vec()).ok()
}

/// Whether a request is meant for the peer of this name.
pub(crate) fn is_meant_for(metadata: &MetadataMap, name: &str) -> bool {
    let mut names = metadata.get_all_bin(MEANT_FOR).iter().peekable();
    names.peek().is_none()
        || names.any(|meant| meant.to_bytes().is_ok_and(|meant| meant.as_ref() == name.as_bytes()))
}

/// Who answers a health check, and a digest of the blocks that it has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) chain: [u8; 32],
}

impl Identity {
    pub(crate) fn write(&self, metadata: &mut MetadataMap) {
        metadata.insert_bin(NAME, MetadataValue::from_bytes(self.name.as_bytes()));
        metadata.insert_bin(CHAIN, MetadataValue::from_bytes(&self.chain));
    }

    /// None for a lightpeer that is not one of ours.
    pub(crate) fn read(metadata: &MetadataMap) -> Option<Identity> {
        let name = metadata.get_bin(NAME)?.to_bytes().ok()?;
        let chain = metadata.get_bin(CHAIN)?.to_bytes().ok()?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        Some(Identity { name, chain: chain.as_ref().try_into().ok()? })
    }
}
