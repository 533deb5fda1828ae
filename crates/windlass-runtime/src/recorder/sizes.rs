//! About how many bytes what is kept takes.

use serde_json::Value;
use windlass::model::Body;
use windlass::{Answer, Ask};

use crate::driver::Exchange;

/// A JSON value, and its place in a map or list.
const NODE: usize = 48;
/// An ask or an answer without what is in it.
const FRAME: usize = 256;

/// The size of what was asked and answered. Objects that others hold too are counted all the same.
pub(super) fn of(exchanges: &[Exchange]) -> usize {
    let asks = exchanges.iter().flat_map(|exchange| &exchange.asks).map(|ask| match ask {
        Ask::Api { request, .. } => FRAME + request.body.as_ref().map_or(0, value),
        Ask::Call { request, .. } => FRAME + value(request),
        Ask::Now => FRAME,
    });
    let answers = exchanges.iter().flat_map(|exchange| &exchange.answers).map(|answer| match answer {
        Answer::Api(response) => match &response.body {
            Body::Object(object) => FRAME + value(object),
            Body::List(list) => FRAME + list.items.iter().map(|item| value(item)).sum::<usize>(),
            Body::Status(status) => FRAME + status.message.len(),
        },
        Answer::Call(Ok(response)) => FRAME + value(response),
        Answer::Call(Err(_)) | Answer::Now(_) => FRAME,
    });
    asks.sum::<usize>() + answers.sum::<usize>()
}

fn value(json: &Value) -> usize {
    NODE + match json {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value).sum(),
        Value::Object(fields) => fields.iter().map(|(name, member)| NODE + name.len() + value(member)).sum(),
        _ => 0,
    }
}
