//! The body of a request: bounded in size and time, and always JSON in the end.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use windlass_model::http::BODY_BYTES_MAX;
use windlass_model::{Reason, Status};

/// Reads a body to its end.
///
/// # Errors
/// 413 if it is too large, 408 if it does not come, 400 if the client breaks off.
pub(crate) async fn read(mut body: Incoming, patience: Duration) -> Result<Bytes, Status> {
    let announced = body.size_hint().lower();
    if announced > BODY_BYTES_MAX as u64 {
        return Err(Status::too_large(BODY_BYTES_MAX));
    }
    let whole = async {
        let mut read = BytesMut::with_capacity(usize::try_from(announced).unwrap_or(0));
        while let Some(frame) = body.frame().await {
            let frame =
                frame.map_err(|error| Status::bad_request(format!("cannot read the body: {error}")))?;
            if let Ok(data) = frame.into_data() {
                if read.len() + data.len() > BODY_BYTES_MAX {
                    return Err(Status::too_large(BODY_BYTES_MAX));
                }
                read.extend_from_slice(&data);
            }
        }
        Ok(read.freeze())
    };
    tokio::time::timeout(patience, whole).await.unwrap_or_else(|_| {
        let message = format!("the body of the request did not arrive within {} s", patience.as_secs());
        Err(Status::failure(408, Reason::Timeout, message))
    })
}

/// The same document as JSON, if it is YAML; else as it is.
///
/// # Errors
/// 400 with what is wrong in it, and where.
pub(crate) fn as_json(body: Bytes, content_type: Option<&str>) -> Result<Bytes, Status> {
    let is_yaml = content_type.is_some_and(|given| {
        let given = given.split(';').next().unwrap_or_default().trim();
        given.eq_ignore_ascii_case("application/yaml") || given == "application/apply-patch+yaml"
    });
    // JSON is YAML, and most clients that say YAML send JSON.
    if !is_yaml
        || body.first() == Some(&b'{') && serde_json::from_slice::<serde::de::IgnoredAny>(&body).is_ok()
    {
        return Ok(body);
    }
    let text = std::str::from_utf8(&body)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    let value: serde_json::Value = serde_saphyr::from_str(text)
        .map_err(|error| Status::bad_request(format!("error decoding YAML: {error}")))?;
    serde_json::to_vec(&value)
        .map(Bytes::from)
        .map_err(|error| Status::bad_request(format!("error converting YAML to JSON: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(body: &'static str, content_type: &str) -> Result<String, String> {
        let json = as_json(Bytes::from_static(body.as_bytes()), Some(content_type));
        json.map(|json| String::from_utf8_lossy(&json).into_owned()).map_err(|status| status.message)
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
        assert!(as_json(Bytes::from(bomb), Some("application/yaml")).is_err());
    }
}
