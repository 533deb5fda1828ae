//! Peer networks of pods: the wire that lightpeers speak, a lightpeer, and the controller that joins pods.
//!
//! Start with [`peer::Peer`]: it runs a member of a network in this process. [`wire::Client`] asks something of one,
//! wherever it runs.
//!
//! ```
//! use windlass_klight::peer::{Peer, PeerSettings};
//! use windlass_klight::wire::{Client, ClientSettings};
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let first = Peer::start(PeerSettings::default()).await?;
//! let second = Peer::start(PeerSettings::default()).await?;
//! second.join(first.address()).await?;
//! let client = Client::new(first.address(), &ClientSettings::default())?;
//! client.persist(b"hello".to_vec()).await?;
//! assert_eq!(Client::new(second.address(), &ClientSettings::default())?.query().await?, [b"hello"]);
//! first.shutdown().await;
//! second.shutdown().await;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod network;
pub mod peer;
pub mod wire;
