//! Answers and events in the form that the client asked for.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::http::{Include, Output};
use crate::object;
use crate::response::{Body, List, Response};
use crate::table::{IncludeObject, partial_metadata, scale_table, to_table};
use crate::time::Timestamp;
use crate::types::TypeInfo;
use crate::watch::{Event, EventKind};

/// The JSON of an answer about objects of a type. A `Status` looks the same in every form.
pub fn present<'a>(
    response: &'a Response,
    output: Output,
    info: &TypeInfo,
    now: Timestamp,
) -> Cow<'a, Value> {
    Cow::Owned(match (&response.body, output) {
        (Body::Object(object), Output::Object) => return Cow::Borrowed(object),
        (Body::Object(object), output) => present_object(object, output, info, now),
        (Body::List(list), Output::Table(include)) => {
            let mut table = to_table(info, &list.items, &list.resource_version, now, include.into());
            table["metadata"] = typed_metadata(list);
            table
        }
        (Body::List(list), Output::PartialMetadata) => partial_list(list),
        _ => response.to_value(),
    })
}

/// Writes the events of one watch, in order.
#[derive(Clone, Debug)]
pub struct EventWriter {
    output: Output,
    /// Only the first event of a watch carries the columns of its table.
    columns_sent: bool,
}

impl EventWriter {
    /// For a watch that has this form.
    pub fn new(output: Output) -> Self {
        EventWriter { output, columns_sent: false }
    }

    /// The JSON of the next event.
    pub fn next(&mut self, event: &Event, info: &TypeInfo, now: Timestamp) -> Value {
        if event.kind == EventKind::Error || self.output == Output::Object {
            return event.to_value();
        }
        let mut object = present_object(&event.object, self.output, info, now);
        if self.columns_sent && object.get("columnDefinitions").is_some() {
            object["columnDefinitions"] = Value::Null;
        }
        self.columns_sent = true;
        json!({ "type": event.kind.as_str(), "object": object })
    }
}

fn present_object(object: &Arc<Value>, output: Output, info: &TypeInfo, now: Timestamp) -> Value {
    match output {
        Output::Object => (**object).clone(),
        Output::PartialMetadata => partial_metadata(object),
        Output::Table(include) if object["kind"] == "Scale" && info.scale.is_some() => {
            scale_table(info, object, now, include.into())
        }
        Output::Table(include) => {
            let version = object::resource_version(object);
            to_table(info, std::slice::from_ref(object), version, now, include.into())
        }
    }
}

fn partial_list(list: &List) -> Value {
    let items: Vec<Value> = list.items.iter().map(|item| partial_metadata(item)).collect();
    json!({
        "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1",
        "metadata": typed_metadata(list), "items": items,
    })
}

/// The metadata of a list that has a Go type: only lists of custom resources say that there is no further page.
fn typed_metadata(list: &List) -> Value {
    let mut metadata = list.metadata();
    if let (None, Some(fields)) = (&list.continue_token, metadata.as_object_mut()) {
        fields.remove("continue");
    }
    metadata
}

impl From<Include> for IncludeObject {
    fn from(include: Include) -> Self {
        match include {
            Include::None => IncludeObject::None,
            Include::Metadata => IncludeObject::Metadata,
            Include::Object => IncludeObject::Object,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::ResourceId;
    use crate::status::Status;
    use crate::types::Types;

    fn config_maps() -> Arc<TypeInfo> {
        Arc::clone(Types::built_in().get(&ResourceId::new("", "v1", "configmaps")).unwrap())
    }

    fn config_map() -> Arc<Value> {
        Arc::new(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
            "metadata": {"name": "a", "resourceVersion": "7"},
        }))
    }

    fn list() -> Response {
        let list = List {
            api_version: "v1".to_owned(),
            kind: "ConfigMapList".to_owned(),
            origin: crate::types::Origin::BuiltIn,
            resource_version: "9".to_owned(),
            continue_token: Some("more".to_owned()),
            remaining_items: Some(2),
            items: vec![config_map()],
        };
        Response { code: 200, body: Body::List(list), warnings: Vec::new() }
    }

    #[test]
    fn lists_in_each_form_say_how_they_go_on() {
        let metadata = json!({"resourceVersion": "9", "continue": "more", "remainingItemCount": 2});
        for (output, kind, part) in [
            (Output::Object, "ConfigMapList", "items"),
            (Output::PartialMetadata, "PartialObjectMetadataList", "items"),
            (Output::Table(Include::None), "Table", "rows"),
        ] {
            let list = list();
            let shown = present(&list, output, &config_maps(), Timestamp::default());
            assert_eq!((&shown["kind"], &shown["metadata"]), (&kind.into(), &metadata));
            assert_eq!(shown[part].as_array().unwrap().len(), 1, "{output:?}");
        }
    }

    #[test]
    fn a_scale_has_columns_of_its_own() {
        let types = Types::built_in();
        let deployments = types.get(&ResourceId::new("apps", "v1", "deployments")).unwrap();
        let scale = Response::object(json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale",
            "metadata": {"name": "web", "creationTimestamp": "1970-01-01T00:00:00Z"},
            "spec": {"replicas": 2}, "status": {"replicas": 1},
        }));
        let shown = present(&scale, Output::Table(Include::None), deployments, Timestamp::default());
        assert_eq!(shown["columnDefinitions"][1]["name"], "Desired");
        assert_eq!(shown["rows"][0]["cells"], json!(["web", 2, 1, "0s"]));
    }

    #[test]
    fn a_status_has_one_form() {
        let refusal = Response::status(Status::bad_request("no"));
        let shown = present(&refusal, Output::Table(Include::Metadata), &config_maps(), Timestamp::default());
        assert_eq!(shown["kind"], "Status");
    }

    #[test]
    fn only_the_first_event_has_columns() {
        let mut writer = EventWriter::new(Output::Table(Include::Metadata));
        let event = Event { kind: EventKind::Added, object: config_map() };
        let mut write = |event: &Event| writer.next(event, &config_maps(), Timestamp::default());
        let (first, second) = (write(&event), write(&event));
        assert_eq!(first["object"]["metadata"]["resourceVersion"], "7");
        assert_eq!(first["object"]["columnDefinitions"][0]["name"], "Name");
        assert_eq!(second["object"]["columnDefinitions"], Value::Null);
        assert_eq!(second["object"]["rows"][0]["cells"][0], "a");
        let over = write(&Event::error(&Status::expired("over")));
        assert_eq!((&over["type"], &over["object"]["kind"]), (&"ERROR".into(), &"Status".into()));
    }
}
