//! Whether anything depends on the very numbers that versions, generations and uids have.
//!
//! States that differ in nothing but these numbers are taken for one (see [`canonical`](super)). That is right only if code
//! treats the numbers as Kubernetes means them: compared for equality, and those of one object for order. Code that
//! keeps a generation in an annotation, or hashes a uid into a name, distinguishes states that were taken for one.
//!
//! So everything that user code computes is computed a second time on other numbers: larger ones, with gaps, and
//! different for each object. What comes out must be the same but for the places where Kubernetes has such a number.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rustc_hash::FxHasher;
use serde_json::Value;
use windlass::{Answer, Ask};
use windlass_model::{Body, Cluster, History, Key, Request, Types, object};

use super::generations::visit_observed;
use super::mentions::key_of_object;
use crate::host::database::key_written;
use crate::host::service::ServiceStates;

/// Which number of an object: each kind has its own.
#[derive(Clone, Copy, Hash)]
enum Counter {
    ResourceVersion,
    Generation,
}

/// Another number for the same thing. It keeps the order of an object's numbers and no difference between them; 0 is
/// no version, and stays.
fn other_number(key: &Key, counter: Counter, number: u64) -> u64 {
    if number == 0 {
        return 0;
    }
    let mut hasher = FxHasher::default();
    (key, counter).hash(&mut hasher);
    1_009 + 2 * (hasher.finish() % 4_999) + 3 * number
}

fn other_version(key: &Key, version: &str) -> Option<String> {
    let number: u64 = version.parse().ok()?;
    Some(other_number(key, Counter::ResourceVersion, number).to_string())
}

/// Another uid for the same object: each of its digits changes.
fn other_uid(uid: &str) -> String {
    let other = |digit: char| match digit.to_digit(16) {
        Some(value) => char::from_digit((value + 5) % 16, 16).unwrap_or(digit),
        None => digit,
    };
    uid.chars().map(other).collect()
}

fn is_uid(text: &str) -> bool {
    let dashes = [8, 13, 18, 23];
    text.len() == 36
        && text.bytes().enumerate().all(|(index, byte)| match dashes.contains(&index) {
            true => byte == b'-',
            false => byte.is_ascii_hexdigit(),
        })
}

/// Changes every text that is a uid and nothing else.
fn change_uids(value: &mut Value) {
    match value {
        Value::String(text) if is_uid(text) => *text = other_uid(text),
        Value::Object(fields) => fields.values_mut().for_each(change_uids),
        Value::Array(items) => items.iter_mut().for_each(change_uids),
        _ => {}
    }
}

/// Changes the numbers of an object, or of a patch of it.
fn change_object(key: &Key, value: &mut Value) {
    change_uids(value);
    if let Some(version) = other_version(key, object::resource_version(value)) {
        object::set_meta(value, "resourceVersion", version);
    }
    let other = |number: i64| {
        let number = u64::try_from(number).unwrap_or(0);
        i64::try_from(other_number(key, Counter::Generation, number)).unwrap_or(i64::MAX)
    };
    let generation = object::generation(value);
    if generation > 0 {
        object::set_meta(value, "generation", other(generation));
    }
    visit_observed(value, &mut |number| *number = other(*number));
}

/// An object with other numbers.
pub(crate) fn with_other_numbers(key: &Key, found: &Value) -> Value {
    let mut found = found.clone();
    change_object(key, &mut found);
    found
}

/// An answer with other numbers. Refusals stay: they are for people.
pub(crate) fn other_answer(types: &Types, answer: &Answer) -> Answer {
    let mut answer = answer.clone();
    match &mut answer {
        Answer::Api(response) => match &mut response.body {
            Body::Object(found) => *found = other_object(types, found),
            Body::List(list) => {
                list.items.iter_mut().for_each(|item| *item = other_object(types, item));
            }
            Body::Status(_) => {}
        },
        Answer::Call(Ok(value)) => change_uids(value),
        Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
    }
    answer
}

fn other_object(types: &Types, found: &Value) -> Arc<Value> {
    Arc::new(match key_of_object(types, found) {
        Some(key) => with_other_numbers(&key, found),
        None => found.clone(),
    })
}

/// An ask with other numbers where Kubernetes has them, and nowhere else.
pub(crate) fn other_ask(ask: &Ask) -> Ask {
    let mut ask = ask.clone();
    match &mut ask {
        Ask::Api { request, .. } => change_request(request),
        Ask::Call { request, .. } => change_uids(request),
        Ask::Now | Ask::Random { .. } => {}
    }
    ask
}

fn change_request(request: &mut Request) {
    let Some(key) = key_written(request) else { return };
    let wanted = &mut request.options.preconditions;
    wanted.uid.iter_mut().for_each(|uid| *uid = other_uid(uid));
    if let Some(version) = wanted.resource_version.as_deref().and_then(|version| other_version(&key, version))
    {
        wanted.resource_version = Some(version);
    }
    request.body.iter_mut().for_each(|body| change_object(&key, body));
}

/// All objects with other numbers: what properties see.
pub(crate) fn other_cluster(cluster: &Cluster) -> Cluster {
    let mut store = cluster.store().clone();
    for (key, history) in cluster.store().history() {
        let Some(live) = history.object else { continue };
        let mut other = (**live).clone();
        change_object(key, &mut other);
        let other = Arc::new(other);
        store.rewrite(key, History { object: Some(&other), ..history });
    }
    cluster.with_store(store)
}

/// The states of services with other uids.
pub(crate) fn other_services(services: &ServiceStates) -> ServiceStates {
    let mut services = services.clone();
    services.values_mut().for_each(change_uids);
    services
}

/// Whether a request of a script says such a number itself: it means that very number.
pub(crate) fn says_a_number(ask: &Ask) -> bool {
    other_ask(ask) != *ask
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn other_numbers_keep_the_order_of_one_object_and_nothing_else() {
        let key = |name: &str| Key::new("", "configmaps", "default", name);
        let other = |name: &str, number| other_number(&key(name), Counter::Generation, number);
        assert!(other("a", 1) < other("a", 2));
        assert_ne!(other("a", 2) - other("a", 1), 1);
        assert_ne!(other("a", 1), other("b", 1));
        assert_eq!(other("a", 0), 0);
    }

    #[test]
    fn only_the_places_of_such_numbers_change() {
        let key = Key::new("", "configmaps", "default", "a");
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        let before = json!({
            "metadata": {
                "resourceVersion": "4", "generation": 2, "uid": uid,
                "annotations": { "applied": "2", "owner": format!("x-{uid}") },
            },
            "spec": { "replicas": 2 },
            "status": { "observedGeneration": 1, "ref": uid },
        });
        let mut after = before.clone();
        change_object(&key, &mut after);
        for pointer in ["/metadata/resourceVersion", "/metadata/generation", "/metadata/uid"] {
            assert_ne!(after.pointer(pointer), before.pointer(pointer), "{pointer}");
        }
        assert_eq!(after["metadata"]["annotations"], before["metadata"]["annotations"]);
        assert_eq!(after["spec"], before["spec"]);
        assert_ne!(after["status"]["observedGeneration"], before["status"]["observedGeneration"]);
        assert_eq!(after["status"]["ref"], after["metadata"]["uid"]);
    }
}
