//! Answers and events as bytes, in the format that was agreed on.

use serde_json::Value;

use crate::http::Format;
use crate::protobuf;
use crate::status::{Reason, Status};

/// The bytes of an answer. YAML is written as JSON, which is YAML: whoever has a nicer way uses that.
///
/// # Errors
/// 406 if there is no message for this kind of object.
pub fn encode(value: &Value, format: Format) -> Result<Vec<u8>, Status> {
    match format {
        Format::Json | Format::Yaml => Ok(value.to_string().into_bytes()),
        Format::Protobuf => protobuf::encode(value).ok_or_else(|| no_message(value)),
    }
}

/// The bytes of one event of a watch: a line of JSON, or a message behind its length.
///
/// # Errors
/// 406 if there is no message for this kind of object.
pub fn encode_event(event: &Value, format: Format) -> Result<Vec<u8>, Status> {
    match format {
        Format::Json | Format::Yaml => Ok(format!("{event}\n").into_bytes()),
        Format::Protobuf => protobuf::encode_event(event).ok_or_else(|| no_message(&event["object"])),
    }
}

fn no_message(value: &Value) -> Status {
    let kind = value["kind"].as_str().unwrap_or("object");
    let message = format!(
        "object *v1.{kind} does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
    );
    Status::failure(406, Reason::NotAcceptable, message)
}
