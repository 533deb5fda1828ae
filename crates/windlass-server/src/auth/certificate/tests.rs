//! A client that trusts the authority talks to the server under each of its names.

use std::fs;
use std::io::Read;
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::time_provider::TimeProvider;
use rustls::{ClientConfig, ClientConnection, RootCertStore, ServerConnection};
use windlass_model::Timestamp;

use super::*;
use crate::auth::tests::Folder;

#[derive(Debug)]
struct Clock(Timestamp);

impl TimeProvider for Clock {
    fn current_time(&self) -> Option<UnixTime> {
        let seconds = u64::try_from(self.0.unix_seconds()).ok()?;
        Some(UnixTime::since_unix_epoch(std::time::Duration::from_secs(seconds)))
    }
}

fn now() -> Timestamp {
    Timestamp::parse("2026-01-01T00:00:00Z").expect("a time")
}

fn all_names() -> Vec<String> {
    names("192.0.2.7:6443".parse().expect("an address"), &["api.example.com".to_owned()])
}

/// Shakes hands in memory, as a client that trusts `authority` and asks for `name` at a time.
fn talk(
    certificate: &Certificate,
    authority: &str,
    name: &str,
    at: Timestamp,
) -> Result<Vec<u8>, rustls::Error> {
    let mut roots = RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(authority.as_bytes()) {
        roots.add(root.expect("PEM"))?;
    }
    let builder = ClientConfig::builder_with_details(Arc::new(default_provider()), Arc::new(Clock(at)));
    let builder = builder.with_safe_default_protocol_versions()?;
    let mut config = builder.with_root_certificates(roots).with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    let name = ServerName::try_from(name.to_owned()).expect("a name");
    let mut client = ClientConnection::new(Arc::new(config), name)?;
    let mut server = ServerConnection::new(certificate.config.clone())?;
    while client.is_handshaking() || server.is_handshaking() {
        let (mut there, mut back) = (Vec::new(), Vec::new());
        client.write_tls(&mut there).expect("memory");
        server.read_tls(&mut there.as_slice()).expect("memory");
        server.process_new_packets()?;
        server.write_tls(&mut back).expect("memory");
        let mut back = back.as_slice();
        while !back.is_empty() {
            client.read_tls(&mut back).expect("memory");
            client.process_new_packets()?;
        }
    }
    let mut nothing = [0; 1];
    assert!(client.reader().read(&mut nothing).is_err(), "nothing was said yet");
    Ok(client.alpn_protocol().unwrap_or_default().to_vec())
}

#[test]
fn clients_trust_the_server_under_each_name() {
    let certificate = Certificate::own(None, &all_names(), now()).unwrap();
    for name in ["127.0.0.1", "::1", "localhost", "192.0.2.7", "kubernetes.default.svc", "api.example.com"] {
        assert_eq!(talk(&certificate, &certificate.authority, name, now()).unwrap(), b"h2", "{name}");
    }
    assert!(talk(&certificate, &certificate.authority, "example.com", now()).is_err());
    assert!(
        talk(&certificate, &certificate.authority, "localhost", now().plus_seconds(366 * 86_400)).is_err()
    );
    let stranger = Certificate::own(None, &all_names(), now()).unwrap();
    assert!(talk(&certificate, &stranger.authority, "localhost", now()).is_err());
}

#[test]
fn it_is_kept_and_renewed() {
    let folder = Folder::new("tls");
    let bundle = || fs::read_to_string(folder.join("tls/server.pem")).unwrap();
    let open = |names: &[String], now| Certificate::own(Some(&folder), names, now).unwrap();
    let first = open(&all_names(), now());
    for (file, mode) in
        [("tls", 0o700), ("tls/server.pem", 0o600), ("tls/authority.pem", 0o600), ("tls/ca.crt", 0o644)]
    {
        assert_eq!(folder.mode(file), mode, "{file}");
    }
    assert_eq!(fs::read_to_string(folder.join("tls/ca.crt")).unwrap(), first.authority);
    let kept = bundle();
    open(&all_names(), now().plus_seconds(300 * 86_400));
    assert_eq!(bundle(), kept);

    let later = now().plus_seconds(340 * 86_400);
    let renewed = open(&all_names(), later);
    assert_ne!(bundle(), kept);
    assert_eq!(renewed.authority, first.authority, "clients need not learn anything new");
    talk(&renewed, &first.authority, "localhost", later.plus_seconds(300 * 86_400)).unwrap();

    let kept = bundle();
    let mut more = all_names();
    more.push("new.example.com".to_owned());
    let named = open(&more, later);
    assert_ne!(bundle(), kept);
    talk(&named, &first.authority, "new.example.com", later).unwrap();

    fs::write(folder.join("tls/server.pem"), "damaged").unwrap();
    talk(&open(&more, later), &first.authority, "localhost", later).unwrap();
    fs::remove_file(folder.join("tls/authority.pem")).unwrap();
    let renewed = open(&more, later);
    assert_ne!(renewed.authority, first.authority);
    talk(&renewed, &renewed.authority, "localhost", later).unwrap();
}

#[test]
fn a_given_certificate_is_used() {
    let folder = Folder::new("given");
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    fs::write(&certificate, made.cert.pem()).unwrap();
    fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let given = Certificate::given(&certificate, &key).unwrap();
    assert_eq!(given.authority, made.cert.pem());
    talk(&given, &given.authority, "localhost", now()).unwrap();
}

#[test]
fn what_is_wrong_with_given_files_is_said() {
    let folder = Folder::new("wrong");
    let made = || rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (one, other) = (made(), made());
    let (certificate, key) = (folder.join("tls.crt"), folder.join("tls.key"));
    let (cert_pem, key_pem) = (one.cert.pem(), one.signing_key.serialize_pem());
    let broken = cert_pem.replace("-----END", "!\n-----END");
    for (certificate_text, key_text, expected) in [
        (
            cert_pem.as_str(),
            other.signing_key.serialize_pem(),
            "tls.key cannot be used: the key is not that of the certificate",
        ),
        ("", key_pem.clone(), "tls.crt has no CERTIFICATE; it must be PEM"),
        (&key_pem, key_pem.clone(), "tls.crt has no CERTIFICATE"),
        (&cert_pem, cert_pem.clone(), "tls.key has no PRIVATE KEY"),
        (&broken, key_pem.clone(), "tls.crt is not well-formed PEM"),
    ] {
        fs::write(&certificate, certificate_text).unwrap();
        fs::write(&key, key_text).unwrap();
        let error = Certificate::given(&certificate, &key).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let error = Certificate::given(&folder.join("none"), &key).unwrap_err().to_string();
    assert!(error.contains("cannot read") && error.contains("none"), "{error}");
    let error = Certificate::own(None, &["not a name".to_owned()], now()).unwrap_err().to_string();
    assert!(error.contains("\"not a name\""), "{error}");
}

#[test]
fn names_are_those_of_the_machine_and_the_address() {
    let of = |listen: &str| names(listen.parse().unwrap(), &[]);
    assert!(!of("0.0.0.0:1").contains(&"0.0.0.0".to_owned()));
    assert!(!of("[::]:1").contains(&"::".to_owned()));
    assert_eq!(of("127.0.0.1:1").iter().filter(|name| *name == "127.0.0.1").count(), 1);
    assert!(of("192.0.2.1:1").contains(&"192.0.2.1".to_owned()));
}
