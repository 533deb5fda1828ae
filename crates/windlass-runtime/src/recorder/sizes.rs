//! About how many bytes what is kept takes.
//!
//! Objects are not inspected: the length of the text that each was read from is a good estimate and costs nothing.

use serde_json::Value;
use windlass::{Answer, Ask};

use crate::driver::Transcript;

/// A JSON value, and its entry in a map or list.
const NODE: usize = 48;
/// An ask or an answer without what is in it.
const FRAME: usize = 256;
/// Ratio of the size of an object in memory to that of its text.
const EXPANSION: usize = 7;

/// The size of what was asked and answered. Objects that others hold too are counted all the same.
pub(super) fn of(transcript: &Transcript) -> usize {
    let asks = transcript.exchanges.iter().flat_map(|exchange| &exchange.asks).map(|ask| match ask {
        Ask::Api { request, .. } => FRAME + request.body.as_ref().map_or(0, value),
        Ask::Call { request, .. } => FRAME + value(request),
        Ask::Now | Ask::Random { .. } => FRAME,
    });
    let answers =
        transcript.exchanges.iter().flat_map(|exchange| &exchange.answers).map(|answer| match answer {
            Answer::Call(Ok(response)) => FRAME + value(response),
            Answer::Api(_) | Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => FRAME,
        });
    EXPANSION * transcript.read_length + asks.sum::<usize>() + answers.sum::<usize>()
}

fn value(json: &Value) -> usize {
    NODE + match json {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value).sum(),
        Value::Object(fields) => fields.iter().map(|(name, member)| NODE + name.len() + value(member)).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_text_of_an_object_estimates_its_size() {
        let object = json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-1", "namespace": "default", "uid": "2b6d0f8e-5b1c-4a57-9a60-0d3c8d0d3a1f",
                "resourceVersion": "12345", "creationTimestamp": "2026-01-02T03:04:05Z", "labels": {"app": "web"},
                "managedFields": [{
                    "manager": "kubectl", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1",
                    "fieldsV1": {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:nodeName": {}}},
                }],
            },
            "spec": {"nodeName": "n", "containers": [{"name": "web", "image": "web:1", "ports": [{"containerPort": 80}]}]},
            "status": {"phase": "Running", "podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]},
        });
        let (inspected, estimated) = (value(&object), EXPANSION * object.to_string().len());
        assert!(inspected <= estimated && estimated <= 2 * inspected, "{inspected} and {estimated}");
    }
}
