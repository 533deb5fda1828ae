//! Reads that a watch answers.

use std::sync::Arc;

use serde_json::Value;
use windlass::OWNER_LABEL;
use windlass::model::selector::{FieldSelector, LabelSelector, Operator};
use windlass::model::types::Origin;
use windlass::model::{Body, List, Options, Request, Response, Status, Verb};

use crate::watch::{Watch, Watches};

use super::memo::Memo;

/// The answer to a read, if a watch knows all that it is about.
pub(super) fn answer(watches: &Watches, request: &Request, memo: &Memo) -> Option<Response> {
    let selectors = Options {
        label_selector: request.options.label_selector.clone(),
        field_selector: request.options.field_selector.clone(),
        ..Options::default()
    };
    // Versions and pages are the API server's.
    if request.options != selectors || request.subresource.is_some() {
        return None;
    }
    let watch = watches.covering(&request.resource, request.namespace.as_deref())?;
    match (request.verb, &request.name) {
        (Verb::Get, Some(name)) => Some(get(&watch, request, name, memo)),
        (Verb::List, None) => list(&watch, request, memo),
        _ => None,
    }
}

fn get(watch: &Watch, request: &Request, name: &str, memo: &Memo) -> Response {
    let place = windlass::ObjectRef::new(request.namespace.as_deref().unwrap_or_default(), name);
    match watch.cache.get(&place) {
        Some(found) => Response::object(memo.read(&found.text)),
        None => Status::not_found(&request.resource.group, &request.resource.plural, name).into(),
    }
}

fn list(watch: &Watch, request: &Request, memo: &Memo) -> Option<Response> {
    // What cannot be read is for the API server to refuse.
    let labels = LabelSelector::parse(request.options.label_selector.as_deref().unwrap_or_default()).ok()?;
    let fields = FieldSelector::parse(request.options.field_selector.as_deref().unwrap_or_default()).ok()?;
    // Read before the objects: the list is then at least of this version.
    let version = watch.cache.reached();
    let found = watch.cache.list(request.namespace.as_deref(), owner(&labels));
    let selected =
        |object: &Arc<Value>| labels.matches(&object["metadata"]["labels"]) && fields.matches(object);
    let list = List {
        api_version: watch.kind.api_version(),
        kind: format!("{}List", watch.kind.kind),
        origin: Origin::BuiltIn,
        resource_version: version.to_string(),
        continue_token: None,
        remaining_items: None,
        items: found.iter().map(|found| memo.read(&found.text)).filter(selected).collect(),
    };
    Some(Response { code: 200, body: Body::List(list), warnings: Vec::new() })
}

/// The owner that a selector demands: the cache has an index of these.
fn owner(labels: &LabelSelector) -> Option<&str> {
    let LabelSelector::All(requirements) = labels else { return None };
    let by_owner = requirements.iter().find(|requirement| {
        let by_value =
            matches!(requirement.operator, Operator::Equals | Operator::DoubleEquals | Operator::In);
        requirement.key == OWNER_LABEL && by_value && requirement.values.len() == 1
    })?;
    by_owner.values.first().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_used_where_one_owner_is_wanted() {
        for (selector, expected) in [
            ("windlass.dev/controller=c,windlass.dev/owner=ns.p", Some("ns.p")),
            ("windlass.dev/owner==ns.p", Some("ns.p")),
            ("windlass.dev/owner in (ns.p)", Some("ns.p")),
            ("windlass.dev/owner in (ns.p,ns.q)", None),
            ("windlass.dev/owner!=ns.p", None),
            ("windlass.dev/owner", None),
            ("other=ns.p", None),
            ("", None),
        ] {
            let labels = LabelSelector::parse(selector).expect("a selector");
            assert_eq!(owner(&labels), expected, "{selector}");
        }
    }
}
