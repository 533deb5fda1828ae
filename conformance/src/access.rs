//! How to reach an API server: its address, who is asking, and whom to trust.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use windlass_model::base64::Base64;

/// What a client needs to know of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// `https://127.0.0.1:6443`
    pub url: String,
    /// Goes into the `Authorization` header, after `Bearer`.
    pub token: String,
    /// The certificate that signed the server's own.
    pub ca_pem: String,
}

impl Access {
    /// Reads a kubeconfig with one cluster and one user that has a token.
    ///
    /// # Errors
    /// If the file cannot be read or lacks any of the three.
    pub fn from_kubeconfig(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let config: Value =
            serde_saphyr::from_str(&text).with_context(|| format!("{} is not YAML", path.display()))?;
        let field = |pointer: &str| {
            let found = config.pointer(pointer).and_then(Value::as_str);
            found.map(str::to_owned).with_context(|| format!("{} has no {pointer}", path.display()))
        };
        let ca = Base64::Standard.decode(&field("/clusters/0/cluster/certificate-authority-data")?);
        let ca = ca.ok().and_then(|bytes| String::from_utf8(bytes).ok());
        Ok(Access {
            url: field("/clusters/0/cluster/server")?,
            token: field("/users/0/user/token")?,
            ca_pem: ca.context("certificate-authority-data is not base64 of text")?,
        })
    }

    /// A kubeconfig for clients that take no other word.
    pub fn kubeconfig(&self) -> String {
        let (url, token, ca) = (&self.url, &self.token, Base64::Standard.encode(self.ca_pem.as_bytes()));
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: test\n\
             clusters:\n- name: test\n  cluster:\n    server: {url}\n    certificate-authority-data: {ca}\n\
             users:\n- name: test\n  user:\n    token: {token}\n\
             contexts:\n- name: test\n  context:\n    cluster: test\n    user: test\n"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kubeconfig_is_read_back() {
        for ca_pem in ["a", "ab", "abc", "-----BEGIN CERTIFICATE-----\n"] {
            let access =
                Access { url: "https://127.0.0.1:1".into(), token: "t".into(), ca_pem: ca_pem.into() };
            let path = std::env::temp_dir().join(format!("windlass-access-{}", std::process::id()));
            fs::write(&path, access.kubeconfig()).unwrap();
            let read = Access::from_kubeconfig(&path);
            fs::remove_file(&path).unwrap();
            assert_eq!(read.unwrap(), access);
        }
    }
}
