//! A certificate that Windlass makes, with an authority of its own.

use std::net::IpAddr;
use std::path::Path;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use windlass_model::Timestamp;
use windlass_model::base64::Base64;

use super::{Certificate, CertificateError, server_config};
use crate::auth::files;

const FOLDER: &str = "tls";
/// Certificate and key of the authority.
const AUTHORITY: &str = "authority.pem";
/// The certificate of the authority, for those who need to trust it.
const TRUSTED: &str = "ca.crt";
/// Certificate and key of the server.
const SERVER: &str = "server.pem";

const DAY: i64 = 24 * 60 * 60;
const AUTHORITY_DAYS: i64 = 3650;
const SERVER_DAYS: i64 = 365;
/// Number of days before its end at which a certificate is renewed.
const RENEWAL_DAYS: i64 = 30;

/// A certificate with its key, as one text, so that two files can never disagree. Lines before it say what it is
/// for, since nothing here parses certificates.
struct Bundle {
    /// What it was made for.
    purpose: String,
    ends: Timestamp,
    certificate: String,
    key: String,
}

impl Certificate {
    /// Takes the certificate of a data folder if it is for these names and does not end soon; else makes one, and an
    /// authority if there is none. Without a folder both live in memory.
    ///
    /// # Errors
    /// A file that cannot be read or written, or a name that is none.
    pub fn own(folder: Option<&Path>, names: &[String], now: Timestamp) -> Result<Self, CertificateError> {
        let folder = folder.map(|folder| folder.join(FOLDER));
        let folder = folder.as_deref();
        let authority = kept(folder, AUTHORITY, "authority", now, || make_authority(now))?;
        if let Some(folder) = folder {
            publish(&folder.join(TRUSTED), &authority.certificate)?;
        }
        let purpose = format!("{} {}", fingerprint(&authority.certificate), names.join(" "));
        let server = kept(folder, SERVER, &purpose, now, || make_server(&authority, &purpose, names, now))?;
        Ok(Certificate { config: server.config()?, authority: authority.certificate })
    }
}

/// The bundle of a file if it is still good for its purpose; else a new one, which is written.
fn kept(
    folder: Option<&Path>,
    name: &str,
    purpose: &str,
    now: Timestamp,
    make: impl FnOnce() -> Result<Bundle, CertificateError>,
) -> Result<Bundle, CertificateError> {
    let path = folder.map(|folder| folder.join(name));
    let text = path.as_deref().map(files::read_private).transpose()?.flatten();
    let stored = text.as_deref().and_then(Bundle::parse);
    let good = |bundle: &Bundle| {
        bundle.purpose == purpose
            && bundle.ends > now.plus_seconds(RENEWAL_DAYS * DAY)
            && bundle.config().is_ok()
    };
    if let Some(bundle) = stored.filter(good) {
        return Ok(bundle);
    }
    let bundle = make()?;
    if let Some(path) = path {
        files::replace(&path, &bundle.to_text(), files::PRIVATE)?;
    }
    Ok(bundle)
}

fn publish(path: &Path, certificate: &str) -> Result<(), CertificateError> {
    let same = std::fs::read(path).is_ok_and(|found| found == certificate.as_bytes());
    if !same {
        files::replace(path, certificate, files::PUBLIC)?;
    }
    Ok(())
}

impl Bundle {
    fn parse(text: &str) -> Option<Self> {
        let line = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
        let block = |label: &str| {
            let end = format!("-----END {label}-----\n");
            let start = text.find(&format!("-----BEGIN {label}-----"))?;
            let length = text.get(start..)?.find(&end)? + end.len();
            text.get(start..start + length).map(str::to_owned)
        };
        Some(Bundle {
            purpose: line("# for: ")?.to_owned(),
            ends: Timestamp::parse(line("# ends: ")?)?,
            certificate: block("CERTIFICATE")?,
            key: block("PRIVATE KEY")?,
        })
    }

    fn to_text(&self) -> String {
        let Bundle { purpose, ends, certificate, key } = self;
        format!("# Made by Windlass.\n# for: {purpose}\n# ends: {ends}\n{certificate}{key}")
    }

    fn config(&self) -> Result<std::sync::Arc<rustls::ServerConfig>, CertificateError> {
        let make = |why: String| CertificateError::Make { why };
        let certificate = CertificateDer::from_pem_slice(self.certificate.as_bytes());
        let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes());
        let certificate = certificate.map_err(|error| make(error.to_string()))?;
        let key = key.map_err(|error| make(error.to_string()))?;
        server_config(vec![certificate], key).map_err(|error| make(error.to_string()))
    }
}

impl From<rcgen::Error> for CertificateError {
    fn from(error: rcgen::Error) -> Self {
        CertificateError::Make { why: error.to_string() }
    }
}

fn make_authority(now: Timestamp) -> Result<Bundle, CertificateError> {
    let key = KeyPair::generate()?;
    let ends = now.plus_seconds(AUTHORITY_DAYS * DAY);
    let certificate = authority_params(now, ends).self_signed(&key)?;
    Ok(Bundle {
        purpose: "authority".to_owned(),
        ends,
        certificate: certificate.pem(),
        key: key.serialize_pem(),
    })
}

/// The same name each time: an issuer needs the name and the key, nothing else of the authority.
fn authority_params(from: Timestamp, ends: Timestamp) -> CertificateParams {
    let mut params = params("windlass-ca", from, ends);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    params
}

fn make_server(
    authority: &Bundle,
    purpose: &str,
    names: &[String],
    now: Timestamp,
) -> Result<Bundle, CertificateError> {
    let issuer = Issuer::new(authority_params(now, now), KeyPair::from_pem(&authority.key)?);
    let key = KeyPair::generate()?;
    let ends = now.plus_seconds(SERVER_DAYS * DAY);
    let mut params = params("windlass", now, ends);
    for name in names {
        params.subject_alt_names.push(subject_name(name)?);
    }
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer)?;
    Ok(Bundle { purpose: purpose.to_owned(), ends, certificate: certificate.pem(), key: key.serialize_pem() })
}

fn params(common_name: &str, from: Timestamp, ends: Timestamp) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, common_name);
    let date_time = |time: Timestamp| {
        let seconds = u64::try_from(time.unix_seconds()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds)
    };
    // The clock of a client may be behind.
    params.not_before = date_time(from.plus_seconds(-DAY));
    params.not_after = date_time(ends);
    params
}

fn subject_name(name: &str) -> Result<SanType, CertificateError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let invalid = || CertificateError::Name { name: name.to_owned() };
    let plain = name.strip_prefix("*.").unwrap_or(name);
    if !windlass_model::names::is_dns1123_subdomain(&plain.to_ascii_lowercase()).is_empty() {
        return Err(invalid());
    }
    name.try_into().map(SanType::DnsName).map_err(|_| invalid())
}

fn fingerprint(certificate: &str) -> String {
    Base64::Url.encode(digest(&SHA256, certificate.as_bytes()).as_ref())
}
