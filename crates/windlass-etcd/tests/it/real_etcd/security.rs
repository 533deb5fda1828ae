//! TLS, and users with passwords.

use conformance::etcd::Etcd;
use futures::StreamExt;
use windlass_etcd::{EtcdIdentity, EtcdOptions, EtcdTls, EtcdUser};
use windlass_shard::{Answer, Request};

use crate::support::{
    connection, etcd, lease, options, registry_of, ring, ring_in, soon, swap_lease, swap_ring, written,
};

#[tokio::test]
async fn tls_with_a_certificate_of_the_client() {
    let etcd = Etcd::start_with_tls().expect("an etcd");
    let (address, certificates) = etcd.tls_address().expect("an address with TLS");
    let mut options: EtcdOptions = format!("etcds://{address}").parse().unwrap();
    let (certificate, key) =
        (certificates.client.certificate.into_bytes(), certificates.client.key.into_bytes());
    let authority = certificates.authority.into_bytes();
    let identity = Some(EtcdIdentity { certificate, key });
    options.tls = Some(EtcdTls { authority: authority.clone(), identity, server_name: None });
    let registry = registry_of(&connection(&options));
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);

    // Without the certificate, etcd does not talk.
    options.tls = Some(EtcdTls { authority, ..EtcdTls::default() });
    let registry = registry_of(&connection(&options));
    assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
    let error = registry.last_error().expect("an error");
    assert!(error.contains("cannot reach etcd"), "{error}");

    // An etcd of another authority is not trusted.
    let other = conformance::certificates::CertificateAuthority::new().unwrap().pem().into_bytes();
    options.tls = Some(EtcdTls { authority: other, ..EtcdTls::default() });
    let registry = registry_of(&connection(&options));
    assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
    let error = registry.last_error().expect("an error");
    assert!(error.contains("certificate"), "{error}");
}

fn with_users() -> Etcd {
    let etcd = etcd();
    for (path, body) in [
        ("user/add", r#"{"name": "root", "password": "hush"}"#),
        ("role/add", r#"{"name": "root"}"#),
        ("user/grant", r#"{"user": "root", "role": "root"}"#),
        ("enable", "{}"),
    ] {
        etcd.call(&format!("/v3/auth/{path}"), body).expect("it is done");
    }
    etcd
}

fn as_user(etcd: &Etcd, name: &str, password: &str) -> EtcdOptions {
    let mut options = options(&[etcd.address()]);
    options.user = Some(EtcdUser { name: name.to_owned(), password: password.to_owned() });
    options
}

/// Makes all tokens of the user invalid.
fn end_tokens(etcd: &Etcd) {
    let user = r#"{"name": "root", "password": "hush"}"#;
    let token = etcd.call("/v3/auth/authenticate", user).expect("a token");
    let token = token["token"].as_str().expect("a token").to_owned();
    etcd.call_as(&token, "/v3/auth/user/changepw", user).expect("the password is set");
}

#[tokio::test]
async fn a_user_is_authenticated_again_when_the_token_is_gone() {
    let mut etcd = with_users();
    let registry = registry_of(&connection(&as_user(&etcd, "root", "hush")));
    let first = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    end_tokens(&etcd);
    let second = written(registry.perform(&swap_lease("a", Some(first), lease(1, true))).await);
    // Tokens do not survive a restart either.
    etcd.kill().unwrap();
    etcd.restart().unwrap();
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
    written(registry.perform(&swap_lease("a", Some(second), lease(1, true))).await);
}

#[tokio::test]
async fn a_watch_is_authenticated_again_when_the_token_is_gone() {
    let etcd = with_users();
    let user = as_user(&etcd, "root", "hush");
    let (writer, reader) = (registry_of(&connection(&user)), registry_of(&connection(&user)));
    let first = written(writer.perform(&swap_ring(None, &ring(1))).await);
    let mut rings = reader.watch_ring();
    assert_eq!(soon(rings.next()).await.map(|ring| ring.version), Some(first));
    // The watch is not open yet: it is opened with a token that is gone.
    end_tokens(&etcd);
    let second = written(writer.perform(&swap_ring(Some(first), &ring(2))).await);
    assert_eq!(soon(rings.next()).await.map(|ring| ring.version), Some(second));
}

#[tokio::test]
async fn a_wrong_password_and_none_are_explained() {
    let etcd = with_users();
    for options in [as_user(&etcd, "root", "wrong"), options(&[etcd.address()])] {
        let registry = registry_of(&connection(&options));
        assert_eq!(registry.perform(&Request::ReadRing).await, Answer::Unknown);
        let error = registry.last_error().expect("an error");
        assert!(error.contains("denies access"), "{error}");
    }
}

#[tokio::test]
async fn a_user_is_of_no_harm_where_there_are_none() {
    let etcd = etcd();
    let registry = registry_of(&connection(&as_user(&etcd, "root", "hush")));
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
}
