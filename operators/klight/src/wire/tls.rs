//! TLS between peers, and from clients to peers.

use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

use super::CallError;
use super::error::innermost;

/// How every certificate begins.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";
/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// What a peer shows, and whom it trusts; all of it PEM.
#[derive(Clone)]
pub struct Tls {
    /// The certificate chain that it shows; it must be for the address that it advertises.
    pub certificate: Vec<u8>,
    /// The key of the certificate.
    pub key: Vec<u8>,
    /// The authorities that sign the certificates of its peers.
    pub authority: Vec<u8>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key stays out of logs.
        f.debug_struct("Tls").finish_non_exhaustive()
    }
}

impl Tls {
    pub(crate) fn server(&self) -> ServerTlsConfig {
        ServerTlsConfig::new()
            .identity(Identity::from_pem(&self.certificate, &self.key))
            .timeout(HANDSHAKE_TIMEOUT)
    }
}

/// A client checks the server that it calls: only what this authority has signed is trusted.
pub(super) fn trusting(authority: &[u8], endpoint: Endpoint) -> Result<Endpoint, CallError> {
    let refuse = |problem: String| CallError::Authority { problem };
    // An empty list of certificates is accepted by the library, and then nothing is trusted.
    if !authority.windows(CERTIFICATE.len()).any(|text| text == CERTIFICATE) {
        return Err(refuse("there is no certificate (PEM) in it".to_owned()));
    }
    let config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(authority));
    endpoint.tls_config(config).map_err(|error| refuse(innermost(&error)))
}
