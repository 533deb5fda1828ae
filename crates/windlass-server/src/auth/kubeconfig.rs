//! Kubeconfig files: where the server is, which certificate authority to trust, and which token to use.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use windlass_model::base64::Base64;

use super::files::{self, FileError};

/// What cluster, user and context are called; a file with other names was made by others.
const NAME: &str = "windlass";

/// What a client must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kubeconfig {
    /// `https://127.0.0.1:6443`
    pub server: String,
    /// The certificate authority to trust, as PEM; none without TLS.
    pub authority: Option<String>,
    /// What the client shows; none if the server does not ask.
    pub token: Option<String>,
}

/// A kubeconfig that was not written.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    /// The file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The file was not written by Windlass.
    #[error(
        "{} is not a kubeconfig that Windlass wrote, so it is left alone; name another file, or remove this one",
        path.display()
    )]
    NotOurs {
        /// The file.
        path: PathBuf,
    },
    /// A folder or a device.
    #[error("{} is not a file; name one to write the kubeconfig to", path.display())]
    NotAFile {
        /// What it is instead.
        path: PathBuf,
    },
}

impl Kubeconfig {
    /// Replaces a file with this, readable by its owner only.
    ///
    /// The folder is made if it is missing. A file that is empty or that Windlass wrote is replaced, whole or not at
    /// all; one behind a link is replaced where it is.
    ///
    /// # Errors
    /// The file was not written by Windlass, or cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KubeconfigError> {
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        match fs::metadata(&target) {
            Ok(found) if !found.is_file() => return Err(KubeconfigError::NotAFile { path: path.to_owned() }),
            Ok(_) if !is_ours(&files::read(&target)?) => {
                return Err(KubeconfigError::NotOurs { path: path.to_owned() });
            }
            _ => {}
        }
        files::replace(&target, &self.to_string(), files::PRIVATE)?;
        Ok(())
    }
}

/// The text of the file.
impl fmt::Display for Kubeconfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // JSON strings are YAML strings, whatever is in them.
        let quoted = |text: &str| Value::from(text).to_string();
        writeln!(f, "# Written by Windlass, and replaced when the server starts again.")?;
        writeln!(f, "apiVersion: v1\nkind: Config\ncurrent-context: {NAME}\npreferences: {{}}")?;
        writeln!(f, "clusters:\n- name: {NAME}\n  cluster:\n    server: {}", quoted(&self.server))?;
        if let Some(authority) = &self.authority {
            let data = Base64::Standard.encode(authority.as_bytes());
            writeln!(f, "    certificate-authority-data: {data}")?;
        }
        writeln!(f, "contexts:\n- name: {NAME}\n  context:\n    cluster: {NAME}\n    user: {NAME}")?;
        match &self.token {
            Some(token) => writeln!(f, "users:\n- name: {NAME}\n  user:\n    token: {}", quoted(token)),
            None => writeln!(f, "users:\n- name: {NAME}\n  user: {{}}"),
        }
    }
}

/// Whether a file is empty, or has our names and no others. `kubectl config` rewrites files, so that no comment in
/// it would be a lasting mark.
fn is_ours(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return true;
    }
    let Ok(config) = serde_saphyr::from_str::<Value>(&text) else { return false };
    let ours = |field: &str| {
        let entries = config[field].as_array().map_or(&[][..], Vec::as_slice);
        entries.iter().all(|entry| entry["name"] == NAME)
    };
    let has_cluster = config["clusters"].as_array().is_some_and(|clusters| !clusters.is_empty());
    config["kind"] == "Config" && has_cluster && ours("clusters") && ours("users") && ours("contexts")
}
