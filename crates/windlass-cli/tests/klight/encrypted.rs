//! Lightpeers that use TLS, and a controller that is configured with their authority.

use std::process::Command;

use conformance::certificates::CertificateAuthority;
use windlass_klight::peer::{Peer, PeerSettings};
use windlass_klight::wire::{KeyPair, Tls};

use crate::controller::Controller;
use crate::namespace::{Namespace, eventually, port_of};

/// A pod whose lightpeer shows a certificate of this authority.
async fn pod_with_peer(authority: &CertificateAuthority, namespace: &Namespace, name: &str) -> Peer {
    let issued = authority.issue().expect("a certificate");
    let own = KeyPair { certificate: issued.certificate.into_bytes(), key: issued.key.into_bytes() };
    let tls = Tls { own, authority: authority.pem().into_bytes() };
    let settings = PeerSettings { tls: Some(tls), ..PeerSettings::default() };
    let peer = Peer::start(settings).await.expect("a free port");
    namespace.pod(name, "secret", port_of(peer.address())).await;
    peer
}

pub(crate) async fn only_peers_of_the_trusted_authority_join(namespace: &Namespace) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let new_authority = || CertificateAuthority::new().expect("an authority");
    let (authority, other) = (new_authority(), new_authority());
    let trusted = folder.path().join("ca.pem");
    std::fs::write(&trusted, authority.pem()).expect("a file");
    let issued = authority.issue().expect("a certificate");
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    std::fs::write(&certificate, issued.certificate).expect("a file");
    std::fs::write(&key, issued.key).expect("a file");
    let _controller = Controller::start_with_certificate(namespace, &trusted, &certificate, &key);
    let first = pod_with_peer(&authority, namespace, "a").await;
    let second = pod_with_peer(&authority, namespace, "b").await;
    let _stranger = pod_with_peer(&other, namespace, "stranger").await;
    let _plain = namespace.pod_with_peer("plain", "secret").await;
    eventually("the two of the authority are a network, and the others are named", async || {
        let mut members = namespace.members("secret").await;
        members.sort();
        let (_, message) = namespace.condition("secret", "Joined").await;
        members == ["a", "b"]
            && message.starts_with("2 of 4 pods are members")
            && ["plain", "stranger"].iter().all(|pod| message.contains(&format!("pod {pod}: ")))
    })
    .await;
    eventually("the peers say so themselves", async || {
        first.members().len() == 2 && second.members().len() == 2
    })
    .await;
}

#[test]
fn a_file_without_certificates_is_refused_at_the_start() {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let run = Command::new(env!("CARGO_BIN_EXE_windlass"))
        .args(["run", "klight", "--lightpeer-authority"])
        .arg(file.path())
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&run.stderr);
    assert!(!run.status.success());
    assert!(said.contains("--lightpeer-authority") && said.contains("no certificate (PEM) in it"), "{said}");
}
