//! The token with which a client asks for the next page of a list.

use serde_json::{Value, json};

use crate::json_syntax;
use crate::status::Status;
use windlass_cel::formats::base64::Base64;

const VERSION: &str = "meta.k8s.io/v1";

/// Where a list goes on, and at which version it began.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContinueToken {
    /// The version that the first page showed; `None` to go on with whatever is current.
    pub version: Option<u64>,
    /// Namespace and name of the last object of the page before, or only the name in a list of one scope.
    pub(crate) after: String,
    /// How many objects come after, if that is known. If each page counted again, a list would take time
    /// quadratic in its length.
    pub(crate) remaining: Option<u64>,
}

impl ContinueToken {
    /// The text that clients see; they must not look into it.
    pub(crate) fn encode(&self) -> String {
        let version = self.version.map_or(json!(-1), Value::from);
        let mut text = json!({ "v": VERSION, "rv": version, "start": format!("{}\0", self.after) });
        if let Some(remaining) = self.remaining {
            text["remaining"] = remaining.into();
        }
        Base64::Url.encode(text.to_string().as_bytes())
    }

    /// How many objects come after, if it was counted at this version.
    pub(super) fn remaining_at(&self, version: u64) -> Option<u64> {
        self.remaining.filter(|_| self.version == Some(version))
    }

    /// Reads a token back. 400 for anything that is none.
    pub fn decode(text: &str) -> Result<Self, Status> {
        let refused = |why: String| Status::bad_request(format!("invalid continue token: {why}"));
        let invalid = |why: &str| refused(format!("continue key is not valid: {why}"));
        let bytes = Base64::Url
            .decode(text)
            .map_err(|position| invalid(&format!("illegal base64 data at input byte {position}")))?;
        let token: Value = serde_json::from_slice(&bytes)
            .map_err(|error| invalid(&json_syntax::fault(&bytes).unwrap_or_else(|| error.to_string())))?;
        match token["v"].as_str() {
            Some(VERSION) => {}
            other => {
                let shown = other.unwrap_or_default();
                return Err(invalid(&format!("server does not recognize this encoded version {shown}")));
            }
        }
        let version = match (token["rv"].as_u64(), token["rv"].as_i64()) {
            (Some(version @ 1..), _) => Some(version),
            (None, Some(_)) => None,
            _ => {
                return Err(invalid("incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
            }
        };
        let start = token["start"].as_str().unwrap_or_default();
        if start.is_empty() {
            return Err(invalid("encoded start key empty (version meta.k8s.io/v1)"));
        }
        let after = start.strip_suffix('\0').unwrap_or(start);
        // A forged token must not lead out of the resource.
        if after.trim_start_matches('/').split('/').any(|step| matches!(step, "" | "." | "..")) {
            return Err(invalid(start));
        }
        let remaining = token["remaining"].as_u64();
        Ok(ContinueToken { version, after: after.trim_start_matches('/').to_owned(), remaining })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn looks_like_the_token_of_kubernetes() {
        let token = ContinueToken { version: Some(5), after: "ns/a".to_owned(), remaining: None };
        let text = String::from_utf8(Base64::Url.decode(&token.encode()).unwrap()).unwrap();
        assert_eq!(text, "{\"rv\":5,\"start\":\"ns/a\\u0000\",\"v\":\"meta.k8s.io/v1\"}");
    }

    #[test]
    fn refuses_what_is_no_token() {
        let token = |json: &str| Base64::Url.encode(json.as_bytes());
        for (text, message) in [
            ("$".to_owned(), "illegal base64 data at input byte 0"),
            ("abc=".to_owned(), "illegal base64 data at input byte 3"),
            ("a".to_owned(), "illegal base64 data at input byte 0"),
            (token("{}"), "server does not recognize this encoded version "),
            (token(r#"{"v":"v2"}"#), "server does not recognize this encoded version v2"),
            (
                token(r#"{"v":"meta.k8s.io/v1","start":"a"}"#),
                "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
            ),
            (token(r#"{"v":"meta.k8s.io/v1","rv":1}"#), "encoded start key empty (version meta.k8s.io/v1)"),
            (token(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../a"}"#), "../a"),
        ] {
            let status = ContinueToken::decode(&text).unwrap_err();
            assert_eq!(status.code, 400);
            assert_eq!(
                status.message,
                format!("invalid continue token: continue key is not valid: {message}")
            );
        }
        assert_eq!(ContinueToken::decode(&token("x")).unwrap_err().code, 400);
        let latest = ContinueToken::decode(&token(r#"{"v":"meta.k8s.io/v1","rv":-1,"start":"a\u0000"}"#));
        assert_eq!(latest, Ok(ContinueToken { version: None, after: "a".to_owned(), remaining: None }));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,20}|[A-Za-z0-9_-]{0,30}") {
            if let Ok(token) = ContinueToken::decode(&text) {
                prop_assert_eq!(ContinueToken::decode(&token.encode()), Ok(token));
            }
        }
    }
}
