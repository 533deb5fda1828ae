//! Delete-collection: delete everything that a list would show.

use crate::object;
use crate::response::{Body, Response};
use crate::status::Status;
use crate::store::Store;

use super::Effect;
use super::call::{Call, Earlier};
use super::delete::{Review, delete_stored};

/// Deletes each object that the selectors match. As in Kubernetes this is not atomic: a failure
/// leaves what has been deleted before it deleted.
pub(super) fn delete_collection<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    if call.is("", "namespaces") {
        return Err(Status::method_not_allowed());
    }
    let list = crate::list::list(call.store, call.info, call.request)?;
    let mut changes = Vec::new();
    for item in &list.items {
        let Some(stored) = call.store.get(&call.key(object::name(item))) else { continue };
        let earlier = Earlier { writes: changes.len() as u64, version: 0 };
        match delete_stored(call, stored, earlier, Review::Needed) {
            Ok(effect) => changes.extend(effect.changes),
            Err(status) => return Ok(Effect { response: status.into(), changes }),
        }
    }
    let response = Response { code: 200, body: Body::List(list), warnings: Vec::new() };
    Ok(Effect { response, changes })
}
