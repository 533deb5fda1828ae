//! TLS between peers, and from clients to peers. Both sides show a certificate: whoever has one of the authority's is trusted.

use std::time::Duration;

use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity, ServerTlsConfig};

use super::CallError;
use super::error::innermost;

/// How every certificate begins.
const CERTIFICATE: &[u8] = b"-----BEGIN CERTIFICATE-----";
/// Timeout of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// A certificate with its key; both PEM.
#[derive(Clone)]
pub struct KeyPair {
    /// The certificate chain.
    pub certificate: Vec<u8>,
    /// The key of the certificate.
    pub key: Vec<u8>,
}

impl std::fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key stays out of logs.
        f.debug_struct("KeyPair").finish_non_exhaustive()
    }
}

impl KeyPair {
    fn identity(&self) -> Identity {
        Identity::from_pem(&self.certificate, &self.key)
    }
}

/// What a peer shows, and whom it trusts.
#[derive(Clone, Debug)]
pub struct Tls {
    /// The certificate that it shows, to those who call it and to those whom it calls; it must be for the address that it
    /// advertises.
    pub own: KeyPair,
    /// The authorities (PEM) that sign the certificates of its peers, and of the clients that it obeys.
    pub authority: Vec<u8>,
}

impl Tls {
    /// How it is served: clients must show a certificate of the authority, unless anyone may call.
    pub(crate) fn server(&self, allow_unauthenticated: bool) -> ServerTlsConfig {
        let config = ServerTlsConfig::new().identity(self.own.identity()).timeout(HANDSHAKE_TIMEOUT);
        if allow_unauthenticated {
            return config;
        }
        config.client_ca_root(Certificate::from_pem(&self.authority))
    }

    /// How it calls others.
    pub(crate) fn client(&self) -> ClientTls {
        ClientTls { authority: self.authority.clone(), own: Some(self.own.clone()) }
    }
}

/// Whom a client trusts, and what it shows.
#[derive(Clone, Debug)]
pub struct ClientTls {
    /// The authorities (PEM) that sign the certificates of peers.
    pub authority: Vec<u8>,
    /// The certificate that the client shows. Peers refuse a client without one, unless they allow it.
    pub own: Option<KeyPair>,
}

impl ClientTls {
    pub(super) fn configure(&self, endpoint: Endpoint) -> Result<Endpoint, CallError> {
        let refuse = |problem: String| CallError::Authority { problem };
        // An empty list of certificates is accepted by the library, and then nothing is trusted.
        if !self.authority.windows(CERTIFICATE.len()).any(|text| text == CERTIFICATE) {
            return Err(refuse("there is no certificate (PEM) in it".to_owned()));
        }
        let mut config = ClientTlsConfig::new().ca_certificate(Certificate::from_pem(&self.authority));
        if let Some(own) = &self.own {
            config = config.identity(own.identity());
        }
        endpoint.tls_config(config).map_err(|error| refuse(innermost(&error)))
    }
}
