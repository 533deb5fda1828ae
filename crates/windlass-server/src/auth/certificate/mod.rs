//! The certificate that the server shows, and the authority that clients trust.

mod given;
mod own;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::FileError;

/// What a server needs to speak TLS, and a client to trust it.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What clients trust, as PEM.
    pub authority: String,
    /// For the listener; offers HTTP/2 and HTTP/1.1.
    pub config: Arc<ServerConfig>,
}

/// A certificate that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file has no PEM block of the kind.
    #[error("{} has no {what}; it must be PEM, with a line such as -----BEGIN {what}-----", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// `CERTIFICATE`, `PRIVATE KEY`
        what: &'static str,
    },
    /// A file has a PEM block that cannot be read.
    #[error("{} is not well-formed PEM: {why}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem.
        why: String,
    },
    /// The two files do not go together.
    #[error(
        "the certificate in {} and the private key in {} cannot be used: {why}",
        certificate.display(), key.display()
    )]
    Unusable {
        /// The file of the certificate.
        certificate: PathBuf,
        /// The file of the key.
        key: PathBuf,
        /// The problem.
        why: String,
    },
    /// A name that no certificate can have.
    #[error("no certificate can be made for {name:?}: it is neither an IP address nor a DNS name")]
    Name {
        /// The name.
        name: String,
    },
    /// The system cannot make a certificate.
    #[error("making a certificate failed: {why}")]
    Make {
        /// The problem.
        why: String,
    },
}

/// The names that a certificate is made for: those of this machine, those of the API inside a cluster, the address
/// that the server listens on, and whatever else is given.
pub fn names(listen: SocketAddr, more: &[String]) -> Vec<String> {
    let fixed = [
        "127.0.0.1",
        "::1",
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let mut names: Vec<String> = fixed.iter().map(|name| (*name).to_owned()).collect();
    // Who listens on all addresses listens on none in particular.
    let address = Some(listen.ip()).filter(|address| !address.is_unspecified());
    names.extend(address.map(|address| address.to_string()));
    names.extend(more.iter().cloned());
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    distinct
}

fn server_config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, rustls::Error> {
    let builder = ServerConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

#[cfg(test)]
mod tests;
