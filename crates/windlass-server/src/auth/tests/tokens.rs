//! Which tokens are taken, and as whom.

use std::fs;

use serde_json::{Value, json};
use windlass_model::authentication::{User, missing_tokens};
use windlass_model::base64::Base64;
use windlass_model::{Cluster, Request, ResourceId, Response, Timestamp, Verb};

use crate::auth::{Auth, AuthError, DEFAULT_ISSUER};

use super::Folder;

fn auth() -> Auth {
    Auth::open(None, None).expect("keys in memory")
}

/// A cluster with the service account `builder` in `default`, and the pod `p` that runs as it.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    cluster.set_now(Timestamp::parse("2026-01-01T00:00:00Z").expect("a time"));
    create(&mut cluster, "serviceaccounts", json!({ "metadata": { "name": "builder" } }));
    let pod = json!({
        "metadata": { "name": "p" },
        "spec": { "serviceAccountName": "builder", "nodeName": "n", "containers": [{ "name": "c", "image": "i" }] },
    });
    create(&mut cluster, "pods", pod);
    cluster
}

fn to(verb: Verb, plural: &str) -> Request {
    Request::new(verb, ResourceId::new("", "v1", plural)).in_namespace("default")
}

fn create(cluster: &mut Cluster, plural: &str, body: Value) -> Response {
    let response = cluster.request(&to(Verb::Create, plural).with_body(body));
    assert_eq!(response.code, 201, "{response:?}");
    response
}

fn ask(auth: &Auth, cluster: &Cluster, spec: Value) -> Response {
    let request = to(Verb::Create, "serviceaccounts").named("builder").on("token");
    let request = request.with_body(json!({ "spec": spec }));
    auth.token_request(cluster.store(), cluster.now(), &request).expect("a request for a token")
}

fn token(auth: &Auth, cluster: &Cluster, spec: Value) -> String {
    let response = ask(auth, cluster, spec);
    assert_eq!(response.code, 201, "{response:?}");
    response.to_value()["status"]["token"].as_str().expect("a token").to_owned()
}

fn who(auth: &Auth, cluster: &Cluster, token: &str) -> Option<User> {
    let header = format!("Bearer {token}");
    match auth.authenticate(Some(&header), cluster.store(), cluster.now()) {
        Ok(user) => Some(user),
        Err(status) => {
            assert_eq!((status.code, status.message.as_str()), (401, "Unauthorized"));
            None
        }
    }
}

fn claims(token: &str) -> Value {
    let part = token.split('.').nth(1).expect("three parts");
    serde_json::from_slice(&Base64::Url.decode(part).expect("base64")).expect("JSON")
}

#[test]
fn a_token_says_who_for_whom_and_until_when() {
    let (auth, cluster) = (auth(), cluster());
    let response =
        ask(&auth, &cluster, json!({ "audiences": ["vault"], "expirationSeconds": 1000 })).to_value();
    assert_eq!(
        (&response["kind"], &response["apiVersion"]),
        (&json!("TokenRequest"), &json!("authentication.k8s.io/v1"))
    );
    assert_eq!(response["metadata"]["name"], "builder");
    assert_eq!(response["spec"]["expirationSeconds"], 1000);
    assert_eq!(response["status"]["expirationTimestamp"], "2026-01-01T00:16:40Z");
    let claims = claims(response["status"]["token"].as_str().unwrap());
    let now = cluster.now().unix_seconds();
    assert_eq!(claims["iss"], DEFAULT_ISSUER);
    assert_eq!(claims["aud"], json!(["vault"]));
    assert_eq!(claims["sub"], "system:serviceaccount:default:builder");
    assert_eq!(
        (&claims["iat"], &claims["nbf"], &claims["exp"]),
        (&json!(now), &json!(now), &json!(now + 1000))
    );
    let account = &response["metadata"]["uid"];
    assert_eq!(
        claims["kubernetes.io"],
        json!({ "namespace": "default", "serviceaccount": { "name": "builder", "uid": account } })
    );
    assert_eq!(claims["jti"].as_str().map(str::len), Some(36));
}

#[test]
fn an_empty_request_is_filled_in() {
    let (auth, cluster) = (auth(), cluster());
    let mut response = ask(&auth, &cluster, json!({})).to_value();
    let managed = response["metadata"]["managedFields"][0].clone();
    assert_eq!(managed["fieldsV1"], json!({ "f:spec": { "f:expirationSeconds": {} } }));
    assert_eq!(managed["subresource"], "token");
    assert_eq!(response["status"]["expirationTimestamp"], "2026-01-01T01:00:00Z");
    assert_eq!(
        response["spec"].take(),
        json!({ "audiences": [DEFAULT_ISSUER], "expirationSeconds": 3600, "boundObjectRef": null })
    );
    let nowhere = Request::new(Verb::Create, ResourceId::new("", "v1", "serviceaccounts"));
    let nowhere = nowhere.in_namespace("none").named("builder").on("token").with_body(json!({}));
    let response =
        auth.token_request(cluster.store(), cluster.now(), &nowhere).expect("a request for a token");
    let status = response.failure().expect("refused");
    assert_eq!((status.code, status.message.as_str()), (404, "namespaces \"none\" not found"));
}

#[test]
fn a_token_is_taken_until_it_ends_or_what_it_is_bound_to_goes() {
    let (auth, mut cluster) = (auth(), cluster());
    let plain = token(&auth, &cluster, json!({}));
    let user = who(&auth, &cluster, &plain).expect("taken");
    assert_eq!(user.name, "system:serviceaccount:default:builder");
    assert_eq!(
        user.groups,
        ["system:serviceaccounts", "system:serviceaccounts:default", "system:authenticated"]
    );
    let id = claims(&plain)["jti"].as_str().map(|id| vec![format!("JTI={id}")]);
    assert_eq!(user.extra.get("authentication.kubernetes.io/credential-id").cloned(), id);

    let pod = json!({ "kind": "Pod", "apiVersion": "v1", "name": "p" });
    let bound = token(&auth, &cluster, json!({ "boundObjectRef": pod }));
    let user = who(&auth, &cluster, &bound).expect("taken");
    assert_eq!(user.extra["authentication.kubernetes.io/pod-name"], ["p"]);
    assert_eq!(user.extra["authentication.kubernetes.io/node-name"], ["n"]);
    let mut gone = cluster.clone();
    let mut delete = to(Verb::Delete, "pods").named("p");
    delete.options.grace_period_seconds = Some(0);
    gone.request(&delete);
    assert!(who(&auth, &gone, &bound).is_none() && who(&auth, &gone, &plain).is_some());

    // The same name again is another account.
    let mut again = cluster.clone();
    again.request(&to(Verb::Delete, "serviceaccounts").named("builder"));
    assert!(who(&auth, &again, &plain).is_none());
    create(&mut again, "serviceaccounts", json!({ "metadata": { "name": "builder" } }));
    assert!(who(&auth, &again, &plain).is_none());

    cluster.set_now(cluster.now().plus_seconds(3600 + 59));
    assert!(who(&auth, &cluster, &plain).is_some(), "clocks may differ by a minute");
    cluster.set_now(cluster.now().plus_seconds(2));
    assert!(who(&auth, &cluster, &plain).is_none());
    cluster.set_now(Timestamp::parse("2025-12-31T00:00:00Z").unwrap());
    assert!(who(&auth, &cluster, &plain).is_none(), "not yet");
}

#[test]
fn forged_tokens_are_refused() {
    let (auth, cluster) = (auth(), cluster());
    let good = token(&auth, &cluster, json!({}));
    let parts: Vec<&str> = good.split('.').collect();
    let (header, body, signature) = (parts[0], parts[1], parts[2]);
    let encode = |value: Value| Base64::Url.encode(value.to_string().as_bytes());
    let mut other_claims = claims(&good);
    other_claims["sub"] = "system:serviceaccount:kube-system:root".into();
    let kid = {
        let header: Value = serde_json::from_slice(&Base64::Url.decode(header).unwrap()).unwrap();
        header["kid"].clone()
    };
    let flipped: String = {
        let mut letters: Vec<char> = signature.chars().collect();
        letters[10] = if letters[10] == 'A' { 'B' } else { 'A' };
        letters.into_iter().collect()
    };
    let stranger = token(&self::auth(), &cluster, json!({}));
    for (what, forged) in [
        ("other claims", format!("{header}.{}.{signature}", encode(other_claims.clone()))),
        ("other signature", format!("{header}.{body}.{flipped}")),
        ("no signature", format!("{header}.{body}.")),
        ("no algorithm", format!("{}.{body}.", encode(json!({ "alg": "none" })))),
        (
            "no algorithm, signed",
            format!("{}.{body}.{signature}", encode(json!({ "alg": "none", "kid": kid }))),
        ),
        (
            "another algorithm",
            format!("{}.{body}.{signature}", encode(json!({ "alg": "HS256", "kid": kid }))),
        ),
        (
            "a critical field",
            format!("{}.{body}.{signature}", encode(json!({ "alg": "ES256", "crit": ["x"] }))),
        ),
        ("two parts", format!("{header}.{body}")),
        ("four parts", format!("{good}.{signature}")),
        ("garbage", "garbage".to_owned()),
        ("dots", "..".to_owned()),
        ("another key", stranger),
        ("the admin's token with something before it", format!("x{}", auth.admin_token())),
        ("the admin's token without its end", auth.admin_token()[..42].to_owned()),
    ] {
        assert!(who(&auth, &cluster, &forged).is_none(), "{what}");
    }
    assert!(
        who(&auth, &cluster, &good).is_some() && who(&auth, &cluster, &good).is_some(),
        "also when remembered"
    );
}

#[test]
fn what_a_key_has_signed_must_still_be_a_token_for_us() {
    let (auth, cluster) = (auth(), cluster());
    let good = claims(&token(&auth, &cluster, json!({})));
    assert!(who(&auth, &cluster, &auth.signer.sign(&good)).is_some());
    for (claim, value) in [
        ("iss", json!("https://elsewhere")),
        ("iss", Value::Null),
        ("aud", json!(["vault"])),
        ("exp", Value::Null),
        ("exp", json!("soon")),
        ("kubernetes.io", json!({})),
        ("kubernetes.io", json!({ "namespace": "default", "serviceaccount": { "name": "builder" } })),
    ] {
        let mut changed = good.clone();
        changed[claim] = value.clone();
        assert!(who(&auth, &cluster, &auth.signer.sign(&changed)).is_none(), "{claim}: {value}");
    }
}

#[test]
fn a_token_header_does_not_choose_its_verification() {
    let (auth, cluster) = (auth(), cluster());
    let good = claims(&token(&auth, &cluster, json!({})));
    let kid = auth.key_set()["keys"][0]["kid"].clone();
    for (header, taken) in [
        (json!({ "alg": "ES256", "kid": kid }), true),
        (json!({ "alg": "ES256", "kid": kid, "typ": "JWT" }), true),
        (json!({ "alg": "ES256" }), true),
        (json!({ "alg": "ES256", "kid": "other" }), false),
        (json!({ "alg": "ES384", "kid": kid }), false),
        (json!({ "alg": "none", "kid": kid }), false),
        (json!({ "kid": kid }), false),
        (json!({ "alg": "ES256", "kid": kid, "crit": ["b64"], "b64": false }), false),
        (json!([]), false),
    ] {
        let token = auth.signer.sign_under(&header, &good);
        assert_eq!(who(&auth, &cluster, &token).is_some(), taken, "{header}");
    }
}

#[test]
fn a_token_for_others_is_reviewed_for_them() {
    let (auth, cluster) = (auth(), cluster());
    let vault = token(&auth, &cluster, json!({ "audiences": ["vault", "other"] }));
    assert!(who(&auth, &cluster, &vault).is_none());
    let verify = |audiences: &[&str]| {
        let audiences: Vec<String> = audiences.iter().map(|one| (*one).to_owned()).collect();
        auth.verify(&vault, &audiences, cluster.store(), cluster.now()).map(|(_, audiences)| audiences)
    };
    assert_eq!(verify(&["x", "vault"]), Ok(vec!["vault".to_owned()]));
    assert_eq!(
        verify(&["x"]),
        Err("[invalid bearer token, token audiences [\"vault\" \"other\"] is invalid for the target audiences [\"x\"]]"
            .to_owned())
    );
    let unknown = auth.verify("x", &[], cluster.store(), cluster.now());
    assert_eq!(unknown, Err("invalid bearer token".to_owned()));
}

#[test]
fn token_requests_are_validated() {
    let (auth, cluster) = (auth(), cluster());
    let too_short =
        "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 10 minutes";
    let pod = |name: &str, uid: &str| json!({ "boundObjectRef": { "kind": "Pod", "apiVersion": "v1", "name": name, "uid": uid } });
    let other = json!({ "boundObjectRef": { "kind": "ConfigMap", "apiVersion": "v1", "name": "x" } });
    for (spec, code, message) in [
        (json!({ "expirationSeconds": 599 }), 422, too_short),
        (json!({ "expirationSeconds": (1_i64 << 32) + 1 }), 422, "larger than 2^32 seconds"),
        (json!({ "expirationSeconds": 1_i64 << 32 }), 201, ""),
        (json!({ "expirationSeconds": "x" }), 400, "cannot be handled as a TokenRequest"),
        (pod("none", ""), 404, "pods \"none\" not found"),
        (pod("p", "other"), 409, "does not match the UID in record"),
        (pod("p", ""), 201, ""),
        (other, 400, "cannot bind token to object of type"),
    ] {
        let response = ask(&auth, &cluster, spec.clone());
        assert_eq!(response.code, code, "{spec}: {response:?}");
        let message_given = response.failure().map(|status| status.message.clone()).unwrap_or_default();
        assert!(message_given.contains(message), "{spec}: {message_given}");
    }
    let answer = |request: &Request| auth.token_request(cluster.store(), cluster.now(), request);
    let none = to(Verb::Create, "serviceaccounts").named("none").on("token").with_body(json!({}));
    assert_eq!(answer(&none).map(|response| response.code), Some(404));
    let get = to(Verb::Get, "serviceaccounts").named("builder").on("token");
    assert_eq!(answer(&get).map(|response| response.code), Some(405));
    assert_eq!(answer(&to(Verb::Get, "serviceaccounts").named("builder")), None);
}

#[test]
fn headers_say_who_asks() {
    let cluster = cluster();
    let open = |anonymous| Auth::open(None, anonymous).expect("keys in memory");
    let (closed, admitting) = (open(None), open(Some(User::anonymous())));
    let token = closed.admin_token().to_owned();
    let name = |auth: &Auth, header: Option<&str>| {
        let user = auth.authenticate(header, cluster.store(), cluster.now());
        user.map(|user| user.name).map_err(|status| status.code)
    };
    assert_eq!(name(&closed, Some(&format!("Bearer {token}"))).as_deref(), Ok("admin"));
    assert_eq!(name(&closed, Some(&format!("  bearer {token} "))).as_deref(), Ok("admin"));
    for header in [None, Some(""), Some("Basic YTpi"), Some("Bearer"), Some("Bearer  x"), Some("token")] {
        assert_eq!(name(&closed, header), Err(401), "{header:?}");
        assert_eq!(name(&admitting, header).as_deref(), Ok("system:anonymous"), "{header:?}");
    }
    assert_eq!(name(&admitting, Some("Bearer wrong")), Err(401));
    assert_eq!(name(&admitting, Some(&format!("Bearer {token}"))), Err(401), "a token of another server");
}

#[test]
fn keys_live_in_the_folder() {
    let folder = Folder::new("keys");
    let cluster = cluster();
    let first = Auth::open(Some(&folder), None).unwrap();
    let token = token(&first, &cluster, json!({}));
    assert_eq!(folder.names(), ["admin.token", "service-accounts.key"]);
    assert_eq!((folder.mode("admin.token"), folder.mode("service-accounts.key")), (0o600, 0o600));
    let second = Auth::open(Some(&folder), None).unwrap();
    assert_eq!(first.admin_token(), second.admin_token());
    assert_eq!(first.key_set(), second.key_set());
    assert!(who(&second, &cluster, &token).is_some());
    assert_ne!(first.admin_token(), auth().admin_token());
    assert_eq!(first.admin_token().len(), 43);
}

#[test]
fn broken_keys_are_refused_with_what_to_do() {
    let folder = Folder::new("broken");
    for (file, text, hint) in [
        ("admin.token", "short\n", "remove the file to get a new one"),
        ("admin.token", "", "remove the file"),
        ("service-accounts.key", "no key", "remove the file to get a new key"),
        (
            "service-accounts.key",
            "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
            "ECDSA P-256",
        ),
    ] {
        fs::write(folder.join(file), text).unwrap();
        let Err(error) = Auth::open(Some(&folder), None) else { panic!("{file} {text:?} was taken") };
        assert!(error.to_string().contains(hint) && error.to_string().contains(file), "{error}");
        fs::remove_file(folder.join(file)).unwrap();
    }
    fs::write(folder.join("file"), "").unwrap();
    let below_a_file = Auth::open(Some(&folder.join("file")), None);
    assert!(matches!(below_a_file, Err(AuthError::File(_))));
}

#[test]
fn the_public_key_verifies_what_was_signed() {
    let auth = auth();
    let key = auth.key_set()["keys"][0].clone();
    assert_eq!(
        (&key["kty"], &key["crv"], &key["alg"], &key["use"]),
        (&json!("EC"), &json!("P-256"), &json!("ES256"), &json!("sig"))
    );
    let half = |name: &str| Base64::Url.decode(key[name].as_str().unwrap()).unwrap();
    let point = [vec![4], half("x"), half("y")].concat();
    let token = auth.signer.sign(&json!({ "sub": "x" }));
    let (text, signature) = token.rsplit_once('.').unwrap();
    let public = ring::signature::UnparsedPublicKey::new(&ring::signature::ECDSA_P256_SHA256_FIXED, point);
    public.verify(text.as_bytes(), &Base64::Url.decode(signature).unwrap()).unwrap();
    let configuration = auth.openid_configuration("https://127.0.0.1:1/");
    assert_eq!(configuration["jwks_uri"], "https://127.0.0.1:1/openid/v1/jwks");
    assert_eq!(configuration["issuer"], DEFAULT_ISSUER);
}

#[test]
fn secrets_are_filled_with_tokens_that_live_as_long_as_they() {
    let (auth, mut cluster) = (auth(), cluster());
    let secret = |name: &str, account: &str| {
        json!({
            "metadata": { "name": name, "annotations": { "kubernetes.io/service-account.name": account } },
            "type": "kubernetes.io/service-account-token",
        })
    };
    create(&mut cluster, "secrets", secret("good", "builder"));
    create(&mut cluster, "secrets", secret("lost", "unknown"));
    create(&mut cluster, "secrets", json!({ "metadata": { "name": "plain" } }));
    let waiting = missing_tokens(cluster.store());
    assert_eq!(waiting.len(), 2);
    for secret in &waiting {
        let response = cluster.request(&auth.fill(secret, Some("PEM")));
        assert_eq!(response.code, 200, "{response:?}");
    }
    assert!(missing_tokens(cluster.store()).is_empty());
    assert_eq!(cluster.request(&to(Verb::Get, "secrets").named("lost")).code, 404);
    let good = cluster.request(&to(Verb::Get, "secrets").named("good")).to_value();
    let field = |name: &str| {
        let bytes = Base64::Standard.decode(good["data"][name].as_str().expect("filled")).expect("base64");
        String::from_utf8(bytes).expect("text")
    };
    assert_eq!((field("namespace").as_str(), field("ca.crt").as_str()), ("default", "PEM"));
    let user = who(&auth, &cluster, &field("token")).expect("taken");
    assert_eq!(user.name, "system:serviceaccount:default:builder");
    assert!(user.extra.is_empty());
    cluster.request(&to(Verb::Delete, "secrets").named("good"));
    assert!(who(&auth, &cluster, &field("token")).is_none());
}
