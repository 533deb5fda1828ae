//! Bodies in protobuf, and what is said about those that cannot be read.

use serde_json::{Map, Value};

use crate::field::quoted;
use crate::http::{Format, Wanted, summary};
use crate::object;
use crate::protobuf::{self, DecodeError};
use crate::status::Status;

/// The object in a body. It is what is wanted if it does not say what it is.
pub(super) fn object(body: &[u8], wanted: &Wanted<'_>) -> Result<Value, Status> {
    if wanted.custom {
        // Kubernetes breaks the connection off here; this says what custom resources may come in.
        return Err(Status::unsupported_media_type(&[Format::Json, Format::Yaml].map(Format::media_type)));
    }
    let (api_version, wanted) = (object::api_version(wanted.group, wanted.version), wanted.kind);
    protobuf::decode_or(body, &api_version, wanted).map_err(|error| {
        let why = shown(&error);
        Status::bad_request(match protobuf::kind_of(body) {
            Some((api_version, kind)) => {
                let version = quoted(object::split_api_version(&api_version).1);
                format!("{kind} in version {version} cannot be handled as a {wanted}: {why}")
            }
            None => {
                let start = summary(body);
                format!("the object provided is unrecognized (must be of type {wanted}): {why} ({start})")
            }
        })
    })
}

/// The options in the body of a delete; whether they are such is for whoever reads them to say.
pub(super) fn delete_options(body: &[u8]) -> Result<Map<String, Value>, Status> {
    match protobuf::decode_or(body, "meta.k8s.io/v1", "DeleteOptions") {
        Ok(Value::Object(options)) => Ok(options),
        Ok(_) => Ok(Map::new()),
        Err(error) => Err(Status::bad_request(shown(&error))),
    }
}

fn shown(error: &DecodeError) -> String {
    match error {
        DecodeError::UnknownKind { .. } => format!("{error} in scheme \"pkg/runtime/scheme.go:111\""),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const CONFIG_MAP: Wanted<'_> =
        Wanted { kind: "ConfigMap", group: "", version: "v1", custom: false, schema: None };
    const PAIR: &[u8] = b"k8s\0\x0a\x0c\x0a\x04g/v1\x12\x04Pair";

    fn read(body: &[u8]) -> Result<Value, String> {
        object(body, &CONFIG_MAP).map_err(|status| status.message)
    }

    #[test]
    fn objects_are_read() {
        let config_map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"x": "y"}});
        assert_eq!(read(&protobuf::encode(&config_map).unwrap()), Ok(config_map));
        // What does not say what it is, is what it should be.
        let unnamed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}});
        assert_eq!(read(b"k8s\0\x12\x00"), Ok(unnamed));
    }

    #[test]
    fn refusals_are_those_of_kubernetes() {
        for (body, expected) in [
            (
                &b""[..],
                "the object provided is unrecognized (must be of type ConfigMap): empty data (<empty>)",
            ),
            (
                b"k8s",
                "the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6b3873)",
            ),
            (
                b"k8s\0\x0a\x05",
                "the object provided is unrecognized (must be of type ConfigMap): unexpected EOF (6b3873000a05)",
            ),
            (
                b"k8s\0\x0a\x0f\x0a\x02v1\x12\x09ConfigMap\x12\x01\x0a",
                "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: unexpected EOF",
            ),
            (
                PAIR,
                "Pair in version \"v1\" cannot be handled as a ConfigMap: no kind \"Pair\" is registered for version \"g/v1\" in scheme \"pkg/runtime/scheme.go:111\"",
            ),
        ] {
            assert_eq!(read(body), Err(expected.to_owned()), "{body:?}");
        }
    }

    #[test]
    fn custom_resources_have_no_messages() {
        let status = object(PAIR, &Wanted { custom: true, ..CONFIG_MAP }).unwrap_err();
        assert_eq!(status.code, 415);
        assert!(
            status.message.ends_with("include: application/json, application/yaml"),
            "{}",
            status.message
        );
    }

    #[test]
    fn options_are_read_or_refused() {
        let options = json!({"apiVersion": "apps/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5});
        let read = delete_options(&protobuf::encode(&options).unwrap()).map(Value::Object);
        assert_eq!(read, Ok(options));
        assert_eq!(delete_options(b"k8s").unwrap_err().code, 400);
    }
}
