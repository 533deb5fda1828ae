//! Reads that an informer answers.

use std::sync::Arc;

use serde_json::Value;
use windlass::model::Origin;
use windlass::model::selector::{Excerpt, FieldSelector, LabelSelector};
use windlass::model::{Body, List, Options, Request, Response, Status, Verb};
use windlass::{OWNER_LABEL, ObjectRef};

use crate::cache::Found;
use crate::informer::{Informer, Informers};
use crate::sharding::Grant;

use super::memo::Memo;

/// The answer to a read, if an informer knows all that it is about.
pub(super) fn answer(
    informers: &Informers,
    grant: Option<&Grant>,
    request: &Request,
    memo: &Memo,
) -> Option<Response> {
    let selectors = Options {
        label_selector: request.options.label_selector.clone(),
        field_selector: request.options.field_selector.clone(),
        ..Options::default()
    };
    // Versions and pages are the API server's.
    if request.options != selectors || request.subresource.is_some() {
        return None;
    }
    match (request.verb, &request.name) {
        (Verb::Get, Some(name)) => get(informers, request, name, memo),
        (Verb::List, None) => list(informers, grant, request, memo),
        _ => None,
    }
}

fn get(informers: &Informers, request: &Request, name: &str, memo: &Memo) -> Option<Response> {
    let Request { resource, namespace, .. } = request;
    let key = ObjectRef::new(namespace.as_deref().unwrap_or_default(), name);
    let read =
        |informer: &Informer| informer.cache.get(&key).map(|found| Response::object(memo.read(&found.text)));
    match informers.covering(resource, namespace.as_deref()) {
        Some(whole) => {
            let missing = || Status::not_found(&resource.group, &resource.plural, name).into();
            Some(read(&whole).unwrap_or_else(missing))
        }
        // One that is not selected may be there all the same.
        None => informers.knowing(resource, &key).and_then(|informer| read(&informer)),
    }
}

fn list(informers: &Informers, grant: Option<&Grant>, request: &Request, memo: &Memo) -> Option<Response> {
    // What cannot be read is for the API server to refuse.
    let labels = LabelSelector::parse(request.options.label_selector.as_deref().unwrap_or_default()).ok()?;
    let fields = FieldSelector::parse(request.options.field_selector.as_deref().unwrap_or_default()).ok()?;
    let namespace = request.namespace.as_deref();
    let covering = informers.covering_selection(&request.resource, namespace, &labels, &fields);
    let of_outputs = || own_outputs(grant?, request, &labels);
    let covering = covering.map(|informer| vec![informer]).or_else(of_outputs)?;
    let informer = covering.first()?;
    // Read before the objects: the list is then at least of this version.
    let version = covering.iter().map(|informer| informer.cache.reached()).min()?;
    let found: Vec<Found> =
        covering.iter().flat_map(|informer| informer.cache.list(namespace, &labels)).collect();
    let matches = |object: &Value| labels.matches(&object["metadata"]["labels"]) && fields.matches(object);
    let excerpt = (!fields.is_everything() || !labels.is_everything()).then(|| Excerpt::of(&fields));
    // Most of what is known is not selected, and is not read whole for that.
    let selected = |found: &&Found| match (&excerpt, memo.known(&found.text)) {
        (None, _) => true,
        (Some(_), Some(known)) => matches(&known),
        (Some(excerpt), None) => excerpt.read(found.text.as_bytes()).is_ok_and(|object| matches(&object)),
    };
    let list = List {
        api_version: informer.kind.api_version(),
        kind: format!("{}List", informer.kind.kind),
        origin: Origin::BuiltIn,
        resource_version: version.to_string(),
        continue_token: None,
        remaining_items: None,
        items: found.iter().filter(selected).map(|found| memo.read(&found.text)).collect(),
    };
    Some(Response { code: 200, body: Body::List(list), warnings: Vec::new() })
}

/// The informers that know all outputs of one parent: those of its slot, and those that have no slot yet. A list that does
/// not ask for the outputs of one parent may be about objects of other slots.
fn own_outputs(grant: &Grant, request: &Request, labels: &LabelSelector) -> Option<Vec<Arc<Informer>>> {
    labels.demanded().find(|(label, _)| *label == OWNER_LABEL)?;
    let (resource, namespace) = (&request.resource, request.namespace.as_deref());
    let outputs = grant.outputs();
    Some(vec![
        outputs.of_slot(resource, namespace, grant.slot())?,
        outputs.without_slot(resource, namespace)?,
    ])
}
