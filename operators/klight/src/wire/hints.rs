//! What our peers send each other beside the messages, as gRPC metadata, which other lightpeers ignore.
//!
//! Messages name peers by address alone, and addresses are given out again: without the name, a peer that has got the
//! address of a dead one would be taken for it, and two networks would become one. Nor do they say which network a call
//! is about: without that, a peer that changes networks would merge the two.

use tonic::metadata::{MetadataMap, MetadataValue};

const MEANT_FOR: &str = "lightpeer-for-bin";
const CONTACT: &str = "lightpeer-contact-bin";
const NAME: &str = "lightpeer-name-bin";
const CHAIN: &str = "lightpeer-chain-bin";
const NETWORK: &str = "klight-network";

/// Whom a request is meant for, and what it is about.
#[derive(Clone, Debug, Default)]
pub(crate) struct Hints {
    /// Any of these names, or anybody if there is none.
    pub(crate) meant_for: Vec<String>,
    /// The network that it is about, if that is known.
    pub(crate) network: Option<String>,
}

impl Hints {
    pub(crate) fn write(&self, metadata: &mut MetadataMap) {
        for name in &self.meant_for {
            metadata.append_bin(MEANT_FOR, MetadataValue::from_bytes(name.as_bytes()));
        }
        write_network(metadata, self.network.as_deref());
    }
}

/// Says which network a call, an answer or a refusal is about.
pub(crate) fn write_network(metadata: &mut MetadataMap, network: Option<&str>) {
    if let Some(value) = network.and_then(|network| MetadataValue::try_from(network).ok()) {
        metadata.insert(NETWORK, value);
    }
}

/// Which network the other side speaks of. What is no text at all is still another network than ours.
pub(crate) fn network_said(metadata: &MetadataMap) -> Option<String> {
    metadata.get(NETWORK).map(|value| String::from_utf8_lossy(value.as_encoded_bytes()).into_owned())
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

/// Who answers, a digest of the blocks that it has, and its network, if it is assigned to one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) name: String,
    pub(crate) chain: [u8; 32],
    pub(crate) network: Option<String>,
}

impl Identity {
    pub(crate) fn write(&self, metadata: &mut MetadataMap) {
        metadata.insert_bin(NAME, MetadataValue::from_bytes(self.name.as_bytes()));
        metadata.insert_bin(CHAIN, MetadataValue::from_bytes(&self.chain));
        write_network(metadata, self.network.as_deref());
    }

    /// None for a lightpeer that is not one of ours.
    pub(crate) fn read(metadata: &MetadataMap) -> Option<Identity> {
        let name = metadata.get_bin(NAME)?.to_bytes().ok()?;
        let chain = metadata.get_bin(CHAIN)?.to_bytes().ok()?;
        let name = String::from_utf8(name.to_vec()).ok()?;
        let chain = chain.as_ref().try_into().ok()?;
        Some(Identity { name, chain, network: network_said(metadata) })
    }
}
