//! Reading a parent that was reassigned while it waited in the queue, or that is not known.

use std::sync::Arc;

use serde_json::Value;
use windlass::ObjectRef;
use windlass::model::{Reason, Request, Verb, object};

use crate::controller_context::ControllerContext;
use crate::driver::Driver;

use super::parents::observed;
use super::shard::{Admission, Shard};

/// The API server gave no answer, or a failure that says nothing about the parent.
pub(crate) struct NotRead;

/// Reads a parent, uncached. Returns whether it is there.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn read_again(
    shard: &Arc<Shard>,
    context: &ControllerContext,
    driver: &Driver,
    parent: &ObjectRef,
) -> Result<bool, NotRead> {
    let declaration = context.controller.declaration();
    let Some(object) = read(context, driver, parent).await? else { return Ok(false) };
    shard.read(&observed(shard, declaration, parent.clone(), &object));
    Ok(true)
}

/// Decides about a parent that is not known to this instance. It may be another instance's, or may not exist: then it
/// has the slot of its name, and somebody has to make it.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn admit_unknown(
    shard: &Arc<Shard>,
    context: &ControllerContext,
    driver: &Driver,
    parent: &ObjectRef,
) -> Result<Admission, NotRead> {
    Ok(match read(context, driver, parent).await? {
        None => shard.admit_as_read(parent, None),
        Some(object) => {
            // Whoever was remembered under this name is not this one, which may be another's.
            shard.forget_gone(parent);
            if context.controller.declaration().is_completed(&object) {
                return Ok(Admission::Refused);
            }
            shard.admit_as_read(parent, Some(object::uid(&object)))
        }
    })
}

/// Reads a parent, uncached; none if it does not exist.
async fn read(
    context: &ControllerContext,
    driver: &Driver,
    parent: &ObjectRef,
) -> Result<Option<Arc<Value>>, NotRead> {
    let declaration = context.controller.declaration();
    let request = Request::new(Verb::Get, declaration.parent().resource.clone())
        .in_namespace(&parent.namespace)
        .named(&parent.name);
    let response = driver.api().perform(&request).await;
    if let Some(object) = response.as_object() {
        return Ok(Some(Arc::clone(object)));
    }
    if response.failure().is_some_and(|status| status.reason == Some(Reason::NotFound)) {
        return Ok(None);
    }
    let message = response.failure().map_or("no answer", |status| &status.message);
    tracing::warn!("the parent cannot be read, and is read again after a backoff: {message}");
    Err(NotRead)
}
