//! The requests of operators to the daemons on droplets, and their answers.

use serde::{Deserialize, Serialize};
use windlass::Service;

use crate::api::Droplet;
use crate::tables::{Change, Held, Scope};

/// All daemons, as one service.
pub struct Droplets;

impl Service for Droplets {
    const NAME: &'static str = "droplets";
    type Request = DropletRequest;
    type Response = DropletAnswer;
}

/// Which daemon is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Daemon {
    /// The droplet.
    pub droplet: String,
    /// Where its daemon listens.
    pub address: String,
}

impl From<&Droplet> for Daemon {
    fn from(droplet: &Droplet) -> Self {
        let name = droplet.metadata.name.clone().unwrap_or_default();
        Daemon { droplet: name, address: droplet.address() }
    }
}

/// What is asked of a daemon. Everything may be asked twice.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "call", rename_all = "camelCase")]
pub enum DropletRequest {
    /// Who are you? Answered with [`DropletAnswer::Info`].
    Info {
        /// Who is asked.
        daemon: Daemon,
    },
    /// Which rows do you have? Answered with [`DropletAnswer::Rows`].
    Read {
        /// Who is asked.
        daemon: Daemon,
        /// All rows in these.
        scopes: Vec<Scope>,
    },
    /// Change rows: all of these, or none if one of them is not of the generation that it replaces. Answered with
    /// [`DropletAnswer::Written`] or [`DropletAnswer::Outdated`].
    Write {
        /// Who is asked.
        daemon: Daemon,
        /// What the daemon called itself when the rows were read.
        boot: String,
        /// The changes.
        changes: Vec<Change>,
    },
}

/// The answer of a daemon, or the failure to get one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum DropletAnswer {
    /// Who it is.
    Info(DropletInfo),
    /// The rows, and the traces of deleted ones.
    Rows {
        /// What it called itself when it was started.
        boot: String,
        /// The rows, by key.
        held: Vec<Held>,
        /// The generation of every row that is not among them.
        #[serde(default, skip_serializing_if = "crate::tables::is_zero")]
        floor: u64,
    },
    /// All is changed.
    Written,
    /// Nothing is changed: a row has changed since it was read, or the daemon was restarted.
    Outdated {
        /// What has changed.
        why: String,
    },
    /// It cannot be reached, or does not answer in time, or refuses. Whether it has changed something is not known.
    Failed {
        /// Why.
        why: String,
    },
}

/// Who a daemon is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DropletInfo {
    /// What it called itself when it was started.
    pub boot: String,
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// The name of its droplet.
    pub name: String,
    /// The address of its droplet.
    pub ip: String,
    /// The MAC address of that interface.
    pub mac: String,
    /// The name of that interface.
    pub itf: String,
}

impl DropletRequest {
    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        !matches!(self, DropletRequest::Write { .. })
    }

    /// Who is asked.
    pub fn daemon(&self) -> &Daemon {
        match self {
            DropletRequest::Info { daemon }
            | DropletRequest::Read { daemon, .. }
            | DropletRequest::Write { daemon, .. } => daemon,
        }
    }
}
