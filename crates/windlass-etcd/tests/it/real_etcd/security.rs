//! TLS, and users with passwords.

use conformance::etcd::Etcd;
use windlass_etcd::{EtcdIdentity, EtcdOptions, EtcdTls, EtcdUser};
use windlass_shard::{Answer, Request};

use crate::support::{connection, etcd, lease, options, registry_of, ring_in, swap_lease, written};

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

#[tokio::test]
async fn a_user_is_authenticated_again_when_the_token_is_gone() {
    let mut etcd = with_users();
    let registry = registry_of(&connection(&as_user(&etcd, "root", "hush")));
    let first = written(registry.perform(&swap_lease("a", None, lease(1, true))).await);
    // A new user makes the tokens that were given before too old.
    let other = registry_of(&connection(&as_user(&etcd, "root", "hush")));
    assert_eq!(ring_in(other.perform(&Request::ReadRing).await), None);
    let token = etcd.call("/v3/auth/authenticate", r#"{"name": "root", "password": "hush"}"#).unwrap();
    etcd.call_as(token["token"].as_str().unwrap(), "/v3/auth/user/add", r#"{"name": "x", "password": "y"}"#)
        .unwrap();
    let second = written(registry.perform(&swap_lease("a", Some(first), lease(1, true))).await);
    // Tokens do not survive a restart.
    etcd.kill().unwrap();
    etcd.restart().unwrap();
    assert_eq!(ring_in(registry.perform(&Request::ReadRing).await), None);
    written(registry.perform(&swap_lease("a", Some(second), lease(1, true))).await);
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
