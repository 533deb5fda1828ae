//! Whatever goes wrong with a request, as a `Status`.

use std::error::Error;
use std::time::Duration;

use serde_json::Value;
use windlass::model::status::{Details, Outcome};
use windlass::model::{Reason, Request, Status};

use super::Answered;

/// How much of an answer that is no `Status` a message shows.
const SHOWN_CHARACTERS: usize = 200;

/// The failure that a server reported.
pub(crate) fn of_answer(answered: &Answered) -> Status {
    let value: Value = serde_json::from_slice(&answered.body).unwrap_or_default();
    let mut status = if value["kind"] == "Status" {
        read_status(&value, answered.code)
    } else {
        // A proxy, or a page of plain text.
        let text: String = String::from_utf8_lossy(&answered.body).chars().take(SHOWN_CHARACTERS).collect();
        let message = format!("the server answered {}: {}", answered.code, text.trim());
        let reason = reason_of(answered.code);
        Status { reason, code: answered.code, ..Status::unclassified(message) }
    };
    if let Some(seconds) = answered.retry_after_seconds {
        status.details.get_or_insert_default().retry_after_seconds.get_or_insert(seconds);
    }
    status
}

/// A `Status` from its JSON. Reasons that are not known are guessed from the code, as clients do.
pub(crate) fn read_status(value: &Value, code: u16) -> Status {
    let reason: Option<Reason> = serde_json::from_value(value["reason"].clone()).ok();
    let details: Option<Details> = serde_json::from_value(value["details"].clone()).ok().flatten();
    let success = value["status"] == "Success";
    Status {
        status: if success { Outcome::Success } else { Outcome::Failure },
        message: value["message"].as_str().unwrap_or_default().to_owned(),
        reason: if success { None } else { reason.or_else(|| reason_of(code)) },
        details,
        code,
    }
}

fn reason_of(code: u16) -> Option<Reason> {
    Some(match code {
        400 => Reason::BadRequest,
        401 => Reason::Unauthorized,
        403 => Reason::Forbidden,
        404 => Reason::NotFound,
        405 => Reason::MethodNotAllowed,
        406 => Reason::NotAcceptable,
        409 => Reason::Conflict,
        410 => Reason::Gone,
        413 => Reason::RequestEntityTooLarge,
        415 => Reason::UnsupportedMediaType,
        422 => Reason::Invalid,
        429 => Reason::TooManyRequests,
        500 => Reason::InternalError,
        503 => Reason::ServiceUnavailable,
        504 => Reason::Timeout,
        _ => return None,
    })
}

/// A request that could not be sent, or whose answer did not arrive. Whether it had an effect is not known.
pub(super) fn of_client(error: &(dyn Error + 'static)) -> Status {
    let message = format!("the API server cannot be reached: {}", with_sources(error));
    Status::failure(503, Reason::ServiceUnavailable, message)
}

/// A request that HTTP cannot express.
pub(super) fn of_request(error: &http::Error) -> Status {
    Status::bad_request(format!("the request cannot be written: {error}"))
}

/// An error with what caused it: each says only its own part.
pub(crate) fn with_sources(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

/// A request that was not answered in time. It may have had its effect.
pub(super) fn of_timeout(request: &Request, timeout: Duration) -> Status {
    let (verb, plural) = (request.verb.name(), &request.resource.plural);
    Status::failure(504, Reason::Timeout, format!("{verb} {plural} was not answered within {timeout:?}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reasons_that_are_not_known_are_guessed_from_the_code() {
        let status = read_status(&json!({"status": "Failure", "reason": "Novel", "message": "no"}), 409);
        assert_eq!((status.reason, status.message.as_str()), (Some(Reason::Conflict), "no"));
        let status = read_status(&json!({"status": "Failure", "reason": "AlreadyExists"}), 409);
        assert_eq!(status.reason, Some(Reason::AlreadyExists));
        let status = read_status(&json!({"status": "Success"}), 200);
        assert!(status.is_success() && status.reason.is_none());
    }
}
