//! A network in which every connection is TLS.

use conformance::certificates::CertificateAuthority;
use windlass_klight::peer::{Peer, PeerSettings};
use windlass_klight::wire::{Client, ClientSettings, Tls};

use crate::support::{agreed, settings};

struct Authority(CertificateAuthority);

impl Authority {
    fn new() -> Authority {
        Authority(CertificateAuthority::new().expect("it works"))
    }

    fn tls(&self) -> Tls {
        let issued = self.0.issue().expect("it works");
        let (certificate, key) = (issued.certificate.into_bytes(), issued.key.into_bytes());
        Tls { certificate, key, authority: self.pem() }
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    async fn peer(&self) -> Peer {
        Peer::start(PeerSettings { tls: Some(self.tls()), ..settings() }).await.expect("it works")
    }

    fn client(&self, peer: &Peer) -> Client {
        let settings = ClientSettings { authority: Some(self.pem()), ..ClientSettings::default() };
        Client::new(peer.address(), &settings).expect("it works")
    }
}

#[tokio::test]
async fn a_network_forms_over_tls() {
    let authority = Authority::new();
    let peers = [authority.peer().await, authority.peer().await, authority.peer().await];
    authority.client(&peers[1]).join(peers[0].address()).await.unwrap();
    authority.client(&peers[2]).join(peers[1].address()).await.unwrap();
    agreed(&[&peers[0], &peers[1], &peers[2]]).await;
    authority.client(&peers[0]).persist(b"secret".to_vec()).await.unwrap();
    assert_eq!(authority.client(&peers[2]).query().await.unwrap(), [b"secret"]);
}

#[tokio::test]
async fn peers_of_another_authority_and_without_tls_stay_out() {
    let (authority, other) = (Authority::new(), Authority::new());
    let (member, stranger) = (authority.peer().await, other.peer().await);
    let plain = Peer::start(settings()).await.unwrap();
    assert!(stranger.join(member.address()).await.is_err());
    assert!(plain.join(member.address()).await.is_err());
    assert!(other.client(&member).health().await.is_err());
    assert!(member.blocks().is_empty());
    assert!(authority.client(&member).health().await.is_ok());
}

#[tokio::test]
async fn an_authority_that_is_none_is_refused_before_anybody_is_called() {
    for (pem, problem) in [
        ("", "there is no certificate (PEM) in it"),
        (
            "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n",
            "the authority to trust cannot be used",
        ),
    ] {
        let settings = ClientSettings { authority: Some(pem.into()), ..ClientSettings::default() };
        let error = settings.check().unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(Client::new("127.0.0.1:1", &settings).is_err());
    }
    let settings = ClientSettings { authority: Some(Authority::new().pem()), ..ClientSettings::default() };
    assert!(settings.check().is_ok());
}

#[tokio::test]
async fn a_certificate_that_is_none_is_refused_at_the_start() {
    let tls = Tls { certificate: b"x".to_vec(), key: b"y".to_vec(), authority: b"z".to_vec() };
    let error = Peer::start(PeerSettings { tls: Some(tls), ..settings() }).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}
