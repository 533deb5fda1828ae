//! A network in which every connection is TLS.

use conformance::certificates::CertificateAuthority;
use windlass_klight::peer::{Peer, PeerSettings};
use windlass_klight::wire::{Client, ClientSettings, ClientTls, KeyPair, Tls};

use crate::support::{agreed, settings};

struct Authority(CertificateAuthority);

impl Authority {
    fn new() -> Authority {
        Authority(CertificateAuthority::new().expect("it works"))
    }

    fn key_pair(&self) -> KeyPair {
        let issued = self.0.issue().expect("it works");
        KeyPair { certificate: issued.certificate.into_bytes(), key: issued.key.into_bytes() }
    }

    fn tls(&self) -> Tls {
        Tls { own: self.key_pair(), authority: self.pem() }
    }

    fn pem(&self) -> Vec<u8> {
        self.0.pem().into_bytes()
    }

    async fn peer(&self) -> Peer {
        Peer::start(PeerSettings { tls: Some(self.tls()), ..settings() }).await.expect("it works")
    }

    fn client(&self, peer: &Peer) -> Client {
        self.client_that_shows(Some(self.key_pair()), peer)
    }

    /// A client that trusts this authority.
    fn client_that_shows(&self, own: Option<KeyPair>, peer: &Peer) -> Client {
        let tls = Some(ClientTls { authority: self.pem(), own });
        Client::new(peer.address(), &ClientSettings { tls, ..ClientSettings::default() }).expect("it works")
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

/// What somebody without a certificate of the authority asks of a peer, each of which the peer must refuse.
async fn nothing_is_done_for(stranger: &Client, contact: &str) {
    assert!(stranger.health().await.is_err());
    assert!(stranger.query().await.is_err());
    assert!(stranger.persist(b"forged".to_vec()).await.is_err());
    assert!(stranger.join(contact).await.is_err());
    assert!(stranger.enter_network("default/theirs").await.is_err());
}

#[tokio::test]
async fn strangers_cannot_do_anything() {
    let (authority, other) = (Authority::new(), Authority::new());
    let member = authority.peer().await;
    let contact = authority.peer().await;
    authority.client(&member).persist(b"ours".to_vec()).await.unwrap();
    for own in [None, Some(other.key_pair())] {
        nothing_is_done_for(&authority.client_that_shows(own, &member), contact.address()).await;
    }
    assert_eq!(authority.client(&member).query().await.unwrap(), [b"ours"]);
    assert_eq!((member.network(), member.counters().joins_asked), (None, 0));
}

#[tokio::test]
async fn clients_without_a_certificate_are_served_where_that_is_allowed() {
    let authority = Authority::new();
    let open = PeerSettings { tls: Some(authority.tls()), allow_unauthenticated: true, ..settings() };
    let peer = Peer::start(open).await.expect("it works");
    let anyone = authority.client_that_shows(None, &peer);
    anyone.persist(b"anybody's".to_vec()).await.unwrap();
    assert_eq!(anyone.query().await.unwrap(), [b"anybody's"]);
}

#[tokio::test]
async fn peers_that_others_can_reach_are_not_plain_by_accident() {
    let anywhere = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
    let advertise = Some("127.0.0.1:9081".to_owned());
    let plain = PeerSettings { listen: anywhere, advertise, ..settings() };
    let error = Peer::start(plain.clone()).await.unwrap_err().to_string();
    assert!(error.contains("would obey whoever can reach it"), "{error}");
    let authority = Authority::new();
    assert!(Peer::start(PeerSettings { tls: Some(authority.tls()), ..plain.clone() }).await.is_ok());
    assert!(Peer::start(PeerSettings { allow_unauthenticated: true, ..plain }).await.is_ok());
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
        let tls = Some(ClientTls { authority: pem.into(), own: None });
        let settings = ClientSettings { tls, ..ClientSettings::default() };
        let error = settings.check().unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
        assert!(Client::new("127.0.0.1:1", &settings).is_err());
    }
    let tls = Some(ClientTls { authority: Authority::new().pem(), own: None });
    let settings = ClientSettings { tls, ..ClientSettings::default() };
    assert!(settings.check().is_ok());
}

#[tokio::test]
async fn a_certificate_that_is_none_is_refused_at_the_start() {
    let own = KeyPair { certificate: b"x".to_vec(), key: b"y".to_vec() };
    let tls = Tls { own, authority: b"z".to_vec() };
    let error = Peer::start(PeerSettings { tls: Some(tls), ..settings() }).await.unwrap_err();
    assert!(error.to_string().contains("certificate"), "{error}");
}
