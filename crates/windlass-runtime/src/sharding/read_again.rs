//! Reading a parent again that was reassigned while it waited in the queue.

use std::sync::Arc;

use windlass::ObjectRef;
use windlass::model::{Reason, Request, Verb};

use crate::controller_context::ControllerContext;
use crate::driver::Driver;

use super::parents::observed;
use super::shard::Shard;

/// Reads a parent, uncached. Returns whether it is there.
pub(crate) async fn read_again(
    shard: &Arc<Shard>,
    context: &ControllerContext,
    driver: &Driver,
    parent: &ObjectRef,
) -> bool {
    let declaration = context.controller.declaration();
    let request = Request::new(Verb::Get, declaration.parent().resource.clone())
        .in_namespace(&parent.namespace)
        .named(&parent.name);
    let response = driver.api().perform(&request).await;
    if let Some(object) = response.as_object() {
        shard.read(&observed(shard, declaration, parent.clone(), object));
        return true;
    }
    if response.failure().is_none_or(|status| status.reason != Some(Reason::NotFound)) {
        tracing::warn!("the parent cannot be read; it is read again when something changes");
    }
    false
}
