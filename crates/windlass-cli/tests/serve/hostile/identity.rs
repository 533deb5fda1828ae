//! Headers that say who asks, and whom: read in any alphabet, or refused, and never passed over.

use super::plain;
use super::raw::Raw;

const PATH: &str = "/api/v1/namespaces/default/configmaps";

#[tokio::test]
async fn users_in_any_alphabet_have_their_own_rights() {
    let served = plain(&["--authorization", "rbac"]);
    let mut raw = Raw::connect(&served).await;
    raw.send(raw.head("GET", PATH, "Impersonate-User: jürgen\r\n")).await;
    let (code, body) = raw.answer().await;
    assert_eq!(code, 403);
    assert!(body.contains("User \\\"jürgen\\\" cannot list resource"), "{body}");
}

#[tokio::test]
async fn users_that_are_no_text_are_refused() {
    let served = plain(&["--authorization", "rbac"]);
    let mut raw = Raw::connect(&served).await;
    let mut head = raw.head("GET", PATH, "Impersonate-User: j?rgen\r\n").into_bytes();
    let unreadable = head.iter().position(|byte| *byte == b'?').expect("it is there");
    head[unreadable] = 0xfc;
    raw.send(&head).await;
    let (code, body) = raw.answer().await;
    assert_eq!(code, 400);
    assert!(body.contains("impersonate-user is not UTF-8 text"), "{body}");
}

#[tokio::test]
async fn a_request_has_one_host() {
    let served = plain(&[]);
    for (headers, expected) in
        [("", "missing required Host header"), ("Host: here\r\nHost: there\r\n", "too many Host headers")]
    {
        let mut raw = Raw::connect(&served).await;
        raw.send(format!("GET /livez HTTP/1.1\r\n{headers}\r\n")).await;
        let (code, body) = raw.answer().await;
        assert_eq!(code, 400);
        assert!(body.contains(expected), "{body}");
    }
}

#[tokio::test]
async fn credentials_that_are_no_text_are_not_anonymous() {
    let served = plain(&["--authorization", "rbac"]);
    let mut raw = Raw::connect(&served).await;
    let head = b"GET /version HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer \xfc\r\n\r\n";
    raw.send(&head[..]).await;
    assert_eq!(raw.answer().await.0, 401);
}
