//! The controller that joins pods into networks of lightpeers.
//!
//! Start with [`LightNetworks`], the machine, and [`LightNetwork`], its state in the API. Every call to a peer goes
//! through the service [`Lightpeers`]: [`LightpeerClient`] calls real ones, and [`PeerModel`] is the model in the check,
//! whose worlds are in [`worlds`].
//!
//! Pods are known to their network by uid and address. Lightpeers also say what they call themselves, and a join names
//! whom it means: the controller asks a peer for its name, then asks the API whether the pod still has the address, and
//! only then asks that very peer to join. However late the join arrives, a peer that has got the address meanwhile
//! refuses it. With lightpeers that do not say their names, there is a short window in which an address can change hands.

mod client;
mod controller;
mod join;
mod mistake;
mod model;
mod name;
mod pod;
mod recent;
mod resource;
mod round;
mod service;
#[cfg(test)]
mod tests;
pub mod worlds;

pub use client::{LightpeerClient, LightpeerSettings};
pub use controller::{LightNetworks, NetworkSettings, Step};
pub use mistake::Mistake;
pub use model::{PeerEvent, PeerModel};
pub use name::{network_id, network_name};
pub use pod::{DEFAULT_PORT, NETWORK_LABEL, PORT_ANNOTATION};
pub use resource::{Contact, Known, LightNetwork, LightNetworkSpec, LightNetworkStatus, Waiting};
pub use round::Round;
pub use service::{Lightpeers, Meant, PeerAnswer, PeerRequest};
