//! A certificate that the user has.

use std::path::Path;

use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Certificate, CertificateError, server_config};
use crate::auth::files;

impl Certificate {
    /// Takes certificate and key from PEM files. Kubeconfigs contain the chain as the authority to trust.
    ///
    /// # Errors
    /// The file that cannot be used, and why.
    pub fn given(certificate: &Path, key: &Path) -> Result<Self, CertificateError> {
        let text = files::read(certificate)?;
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
        let chain = chain.map_err(|error| pem_error(certificate, "CERTIFICATE", &error))?;
        if chain.is_empty() {
            return Err(pem_error(certificate, "CERTIFICATE", &PemError::NoItemsFound));
        }
        let secret = PrivateKeyDer::from_pem_slice(&files::read(key)?)
            .map_err(|error| pem_error(key, "PRIVATE KEY", &error))?;
        let config = server_config(chain, secret).map_err(|error| CertificateError::Unusable {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            why: explained(&error),
        })?;
        Ok(Certificate { authority: String::from_utf8_lossy(&text).into_owned(), config })
    }
}

fn pem_error(path: &Path, what: &'static str, error: &PemError) -> CertificateError {
    let path = path.to_owned();
    match error {
        PemError::NoItemsFound => CertificateError::Missing { path, what },
        other => CertificateError::Malformed { path, why: other.to_string() },
    }
}

fn explained(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InconsistentKeys(_) => "the key is not that of the certificate".to_owned(),
        other => other.to_string(),
    }
}
