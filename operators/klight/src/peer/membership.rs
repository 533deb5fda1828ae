//! Which network a peer is in, and as who: a small file beside the chain, replaced as a whole.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::private;

/// The network that a peer is assigned to, and its incarnation in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Membership {
    /// The network that it is assigned to, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) network: Option<String>,
    /// Different each time that it has left a network; empty before the first time.
    #[serde(default)]
    pub(super) incarnation: String,
}

impl Membership {
    /// What the peer of this name is called by others. Whatever is meant for one incarnation is not for the next.
    pub(super) fn name(&self, given: &str) -> String {
        match self.incarnation.as_str() {
            "" => given.to_owned(),
            incarnation => format!("{given}~{incarnation}"),
        }
    }

    /// What is kept in a folder; nothing is kept there at first.
    pub(super) fn read(folder: &Path) -> io::Result<Membership> {
        match std::fs::read(file(folder)) {
            Ok(text) => Ok(serde_json::from_slice(&text)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Membership::default()),
            Err(error) => Err(error),
        }
    }

    /// Keeps it: after a crash there is the old one or the new one.
    pub(super) fn write(&self, folder: &Path) -> io::Result<()> {
        let new = folder.join("membership.new");
        let mut written = private::open(OpenOptions::new().write(true).create(true).truncate(true), &new)?;
        written.write_all(&serde_json::to_vec(self)?)?;
        written.sync_all()?;
        std::fs::rename(new, file(folder))?;
        File::open(folder)?.sync_all()
    }
}

/// Where it is kept.
pub(super) fn file(folder: &Path) -> PathBuf {
    folder.join("membership")
}

/// Whether two sides may share blocks: they must not be of different networks. A peer without a network shares with all.
pub(super) fn agree(one: Option<&str>, other: Option<&str>) -> bool {
    one.is_none() || other.is_none() || one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_read() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Membership::read(folder.path()).unwrap(), Membership::default());
        let kept = Membership { network: Some("default/blue".to_owned()), incarnation: "7".to_owned() };
        for membership in [Membership { network: None, ..kept.clone() }, kept] {
            membership.write(folder.path()).unwrap();
            assert_eq!(Membership::read(folder.path()).unwrap(), membership);
        }
        std::fs::write(file(folder.path()), "{").unwrap();
        assert!(Membership::read(folder.path()).is_err());
    }

    #[test]
    fn each_incarnation_has_a_name_of_its_own() {
        let named = |incarnation: &str| {
            Membership { network: None, incarnation: incarnation.to_owned() }.name("pod-0")
        };
        assert_eq!(named(""), "pod-0");
        assert_ne!(named("1"), named("2"));
        assert!(named("1").starts_with("pod-0"));
    }

    #[test]
    fn only_two_networks_that_differ_do_not_agree() {
        assert!(agree(None, None) && agree(Some("a"), None) && agree(None, Some("a")));
        assert!(agree(Some("a"), Some("a")));
        assert!(!agree(Some("a"), Some("b")));
    }
}
