//! What goes back over the wire: a whole body, a long list in pieces, or a stream without an end.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::sync::mpsc;
use windlass_model::Status;
use windlass_model::http::{Format, encode};

/// The media type of JSON.
pub(crate) const JSON: &str = "application/json";
/// The media type of YAML.
const YAML: &str = "application/yaml";

/// An answer on its way out.
pub(crate) type Answer = Response<AnswerBody>;

/// The body of an answer.
pub(crate) enum AnswerBody {
    /// All of it; `None` once it is sent.
    Whole(Option<Bytes>),
    /// One piece after the other, each made when the last is on its way.
    Pieces(Box<dyn Iterator<Item = Bytes> + Send>),
    /// Pieces as they come from the other end of the channel.
    Stream(PieceStream),
}

/// Pieces as they come.
pub(crate) struct PieceStream {
    pub(crate) pieces: mpsc::Receiver<Bytes>,
    /// Whether the other end has given up, since the client took nothing.
    pub(crate) given_up: Arc<AtomicBool>,
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.get_mut() {
            AnswerBody::Whole(whole) => Poll::Ready(whole.take()),
            AnswerBody::Pieces(pieces) => Poll::Ready(pieces.next()),
            AnswerBody::Stream(stream) => stream.pieces.poll_recv(context),
        };
        next.map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            AnswerBody::Whole(whole) => SizeHint::with_exact(whole.as_ref().map_or(0, Bytes::len) as u64),
            AnswerBody::Pieces(_) | AnswerBody::Stream(_) => SizeHint::default(),
        }
    }
}

/// An answer of any media type.
pub(crate) fn of_bytes(code: u16, content_type: &str, bytes: impl Into<Bytes>) -> Answer {
    with_body(code, content_type, AnswerBody::Whole(Some(bytes.into())))
}

/// An answer with a body of any kind.
pub(crate) fn with_body(code: u16, content_type: &str, body: AnswerBody) -> Answer {
    let mut answer = Response::new(body);
    *answer.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = answer.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
    if let Ok(content_type) = HeaderValue::from_str(content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    answer
}

/// A document as JSON, YAML or protobuf.
pub(crate) fn of_value(code: u16, format: Format, value: &Value) -> Answer {
    match format {
        Format::Json => of_text(code, &serde_json::to_vec(value).unwrap_or_default()),
        Format::Yaml => of_bytes(code, YAML, serde_saphyr::to_string(value).unwrap_or_default()),
        Format::Protobuf => match encode(value, format) {
            Ok(message) => of_bytes(code, format.media_type(), message),
            Err(status) => of_value(status.code, Format::Json, &status.to_value()),
        },
    }
}

/// A document that is JSON text already. Like Kubernetes, with an end of line.
pub(crate) fn of_text(code: u16, text: &[u8]) -> Answer {
    of_bytes(code, JSON, [text, b"\n"].concat())
}

/// A refusal.
pub(crate) fn of_status(status: &Status, format: Format) -> Answer {
    let mut answer = of_value(status.code, format, &status.to_value());
    let retry = status.details.as_ref().and_then(|details| details.retry_after_seconds);
    if let Some(seconds) = retry {
        answer.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

/// Adds what the client should know, as headers that clients print.
pub(crate) fn add_warnings(answer: &mut Answer, warnings: &[String]) {
    for warning in warnings {
        // A header has one line; what cannot stand in one is shown escaped.
        let quoted = format!("299 - {}", quoted(warning));
        if let Ok(value) = HeaderValue::from_bytes(quoted.as_bytes()) {
            answer.headers_mut().append(WARNING, value);
        }
    }
}

/// A quoted string of RFC 7230.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            character if character.is_control() => quoted.extend(character.escape_default()),
            character => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_fit_in_a_header() {
        let mut answer = of_bytes(200, JSON, "");
        add_warnings(&mut answer, &["unknown field \"a\\b\"".to_owned(), "two\nlines, ümlaut".to_owned()]);
        let all: Vec<&[u8]> = answer.headers().get_all(WARNING).iter().map(HeaderValue::as_bytes).collect();
        assert_eq!(all[0], br#"299 - "unknown field \"a\\b\"""#);
        assert_eq!(all[1], "299 - \"two\\nlines, ümlaut\"".as_bytes());
    }

    #[test]
    fn a_refusal_says_when_to_come_back() {
        let status = windlass_model::list::too_large_version(5, 3);
        let answer = of_status(&status, Format::Json);
        assert_eq!((answer.status().as_u16(), &answer.headers()[RETRY_AFTER]), (504, &HeaderValue::from(1)));
    }
}
