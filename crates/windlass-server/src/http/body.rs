//! The body of a request: bounded in size and time, and always JSON in the end.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use serde_saphyr::options::DuplicateKeyPolicy;
use tokio::sync::{Semaphore, SemaphorePermit};
use windlass_model::http::BODY_BYTES_MAX;
use windlass_model::{Reason, Status};

use crate::http::api::too_many_requests;

/// Maximum size of a body that takes no part of the room for large ones. So clients that send large bodies slowly delay
/// only others with large bodies.
const SMALL_BYTES: usize = 64 * 1024;
/// Maximum size of what is discarded of a body that is too large, so that a client that sends everything before it reads
/// gets its answer.
const PASSED_OVER_MAX: usize = 16 * 1024 * 1024;

/// Reads a body to its end.
///
/// # Errors
/// 413 if it is too large, 408 if it does not come, 400 if the client breaks off, 429 if too many large ones are being
/// read.
pub(crate) async fn read(mut body: Incoming, timeout: Duration, room: &Semaphore) -> Result<Bytes, Status> {
    let announced = body.size_hint().lower();
    if announced > BODY_BYTES_MAX as u64 {
        leave(body, timeout);
        return Err(Status::too_large(BODY_BYTES_MAX));
    }
    let whole = async {
        let mut read = BytesMut::with_capacity(usize::try_from(announced).unwrap_or(0).min(SMALL_BYTES));
        let mut permit: Option<SemaphorePermit<'_>> = None;
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Status::bad_request(format!("cannot read the body: {error}")))?;
            if let Ok(data) = frame.into_data() {
                if read.len() + data.len() > BODY_BYTES_MAX {
                    return Ok(None);
                }
                if read.len() + data.len() > SMALL_BYTES && permit.is_none() {
                    let bytes = BODY_BYTES_MAX as u32;
                    permit = Some(room.try_acquire_many(bytes).map_err(|_| too_many_requests())?);
                }
                read.extend_from_slice(&data);
            }
        }
        Ok(Some(read.freeze()))
    };
    let whole = tokio::time::timeout(timeout, whole).await.unwrap_or_else(|_| {
        let message = format!("the body of the request did not arrive within {} s", timeout.as_secs());
        Err(Status::failure(408, Reason::Timeout, message))
    });
    whole?.ok_or_else(|| {
        leave(body, timeout);
        Status::too_large(BODY_BYTES_MAX)
    })
}

/// Answers without a body that is still to come, or the rest of it, and passes over it meanwhile.
///
/// To end the connection with data still on its way would reset it, and the client might never see the answer.
pub(crate) fn leave(body: Incoming, timeout: Duration) {
    if !body.is_end_stream() {
        tokio::spawn(pass_over(body, timeout));
    }
}

/// Reads on without keeping anything, within bounds.
async fn pass_over(mut body: Incoming, timeout: Duration) {
    let rest = async {
        let mut passed = 0;
        while let Some(Ok(frame)) = body.frame().await {
            passed += frame.data_ref().map_or(0, Bytes::len);
            if passed > PASSED_OVER_MAX {
                return;
            }
        }
    };
    // A client that has not sent the rest by now is not waiting for an answer.
    let _ = tokio::time::timeout(timeout, rest).await;
}

/// The same document as JSON, if it is YAML; else as it is. And what a strict reader would complain about.
///
/// # Errors
/// 400 with the problem and its position.
pub(crate) async fn as_json(body: Bytes, content_type: Option<&str>) -> Result<(Bytes, Vec<String>), Status> {
    if !is_yaml(&body, content_type) {
        return Ok((body, Vec::new()));
    }
    // Little YAML can take long to read, so it is not done where others are answered.
    let converted = tokio::task::spawn_blocking(move || yaml_to_json(&body)).await;
    converted
        .unwrap_or_else(|_| Err(Status::internal("the YAML could not be read; the server's log says more")))
}

fn is_yaml(body: &[u8], content_type: Option<&str>) -> bool {
    let says_so = content_type.is_some_and(|given| {
        let given = given.split(';').next().unwrap_or_default().trim();
        given.eq_ignore_ascii_case("application/yaml") || given == "application/apply-patch+yaml"
    });
    // JSON is YAML, and most clients that say YAML send JSON.
    says_so && !(body.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(body).is_ok())
}

fn yaml_to_json(body: &[u8]) -> Result<(Bytes, Vec<String>), Status> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    let mut findings = Vec::new();
    let mut value: Result<serde_json::Value, _> = serde_saphyr::from_str(text);
    if let Some(finding) = value.as_ref().err().and_then(duplicate) {
        findings.push(finding);
        let options = serde_saphyr::options! { duplicate_keys: DuplicateKeyPolicy::LastWins };
        value = serde_saphyr::from_str_with_options(text, options);
    }
    let value = value.map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    serde_json::to_vec(&value)
        .map(|json| (Bytes::from(json), findings))
        .map_err(|error| Status::bad_request(format!("error converting YAML to JSON: {error}")))
}

/// The first key that occurs twice in one map, if that is the problem.
fn duplicate(error: &serde_saphyr::Error) -> Option<String> {
    match error {
        serde_saphyr::Error::WithSnippet { error, .. } => duplicate(error),
        serde_saphyr::Error::DuplicateMappingKey { key: Some(key), location } => {
            Some(format!("line {}: key {key:?} already set in map", location.line()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(body: &'static str, content_type: &str) -> Result<String, String> {
        let body = Bytes::from_static(body.as_bytes());
        let json =
            if is_yaml(&body, Some(content_type)) { yaml_to_json(&body) } else { Ok((body, Vec::new())) };
        json.map(|(json, _)| String::from_utf8_lossy(&json).into_owned()).map_err(|status| status.message)
    }

    #[test]
    fn yaml_becomes_json() {
        let yaml = "kind: ConfigMap\ndata:\n  a: \"1\"\n  b: |\n    two\n";
        let json = r#"{"data":{"a":"1","b":"two\n"},"kind":"ConfigMap"}"#;
        assert_eq!(converted(yaml, "application/yaml"), Ok(json.to_owned()));
        assert_eq!(converted(yaml, "application/apply-patch+yaml; charset=utf-8"), Ok(json.to_owned()));
        assert_eq!(
            converted(r#"{"b": 1, "a": 2}"#, "application/yaml"),
            Ok(r#"{"b": 1, "a": 2}"#.to_owned())
        );
        assert_eq!(converted("not: json", "application/json"), Ok("not: json".to_owned()));
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_counts() {
        let body = Bytes::from_static(b"data:\n  x: 1\n  x: 2\n");
        let (json, findings) = yaml_to_json(&body).expect("it can be read");
        assert_eq!(&*json, br#"{"data":{"x":2}}"#);
        assert_eq!(findings, ["line 3: key \"x\" already set in map"]);
    }

    #[test]
    fn bad_yaml_is_refused() {
        for body in ["a: [1", "{a: b", "a: *nowhere"] {
            let why = converted(body, "application/yaml").expect_err(body);
            assert!(why.starts_with("error decoding YAML: "), "{why}");
        }
    }

    #[test]
    fn a_bomb_of_aliases_does_not_explode() {
        let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned();
        for level in 1..12 {
            let before = format!("*a{}", level - 1);
            bomb += &format!("a{level}: &a{level} [{}]\n", [before.as_str(); 9].join(","));
        }
        assert!(yaml_to_json(bomb.as_bytes()).is_err());
    }
}
