//! Volumes: available, bound, or released and deleted when their claim is gone.

use serde_json::Value;

use super::writes::{CLAIMS, VOLUMES, status_update};
use crate::object;
use crate::request::Request;
use crate::store::{Key, Store};

/// Writes the phase of a volume; deletes one that is released and not to be retained.
pub(super) fn next<S: Store + ?Sized>(store: &S, volume: &Value) -> Option<Request> {
    let phase = phase(store, volume);
    let update = status_update(VOLUMES, volume, |status| {
        status.insert("phase".to_owned(), phase.into());
    });
    let is_over = phase == "Released" && volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
    update.or_else(|| (is_over && !object::is_deleting(volume)).then(|| VOLUMES.delete(volume)))
}

fn phase<S: Store + ?Sized>(store: &S, volume: &Value) -> &'static str {
    let claim = &volume["spec"]["claimRef"];
    let text = |field: &str| claim[field].as_str().unwrap_or("");
    if text("uid").is_empty() {
        return "Available";
    }
    let key = Key::new("", CLAIMS.plural, text("namespace"), text("name"));
    let found = store.get(&key).is_some_and(|found| object::uid(&found) == text("uid"));
    if found { "Bound" } else { "Released" }
}
