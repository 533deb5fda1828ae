//! A small certificate authority, for servers that tests start.

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};

/// Issues certificates that are trusted by those who trust it.
pub struct CertificateAuthority(CertifiedIssuer<'static, KeyPair>);

/// A certificate with its key, both PEM.
#[derive(Clone, Debug)]
pub struct IssuedCertificate {
    /// The certificate.
    pub certificate: String,
    /// Its private key.
    pub key: String,
}

impl CertificateAuthority {
    /// A new authority with a new key.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn new() -> Result<Self> {
        let mut parameters = CertificateParams::default();
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().context("cannot make a key")?;
        let issuer = CertifiedIssuer::self_signed(parameters, key).context("cannot sign a certificate")?;
        Ok(CertificateAuthority(issuer))
    }

    /// Its own certificate, for those who are to trust it, as PEM.
    pub fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate of a server on this machine: for `127.0.0.1` and `localhost`.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn issue(&self) -> Result<IssuedCertificate> {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let parameters = CertificateParams::new(names).context("cannot describe a certificate")?;
        let key = KeyPair::generate().context("cannot make a key")?;
        let certificate = parameters.signed_by(&key, &self.0).context("cannot sign a certificate")?;
        Ok(IssuedCertificate { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}
