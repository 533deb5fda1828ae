//! What controllers without outputs do by hand, again and again.

use serde_json::Value;
use windlass::model::{PatchKind, Reason, Request, Verb};
use windlass::{Cx, Error, Kind};

/// Creates an object, and is content if one of its name is there already.
pub(crate) async fn create_once<P: Kind, K: Kind>(cx: &Cx<P>, object: &K) -> Result<(), Error> {
    match cx.create(object).await {
        Err(Error::Api(status)) if status.reason == Some(Reason::AlreadyExists) => Ok(()),
        created => created.map(drop),
    }
}

/// Merges a patch into an object, whatever version it has.
pub(crate) async fn patch<P: Kind, K: Kind>(cx: &Cx<P>, name: &str, patch: Value) -> Result<(), Error> {
    let request = Request::new(Verb::Patch(PatchKind::Merge), K::kind_info().resource);
    let response = cx.request(request.in_namespace(cx.namespace()).named(name).with_body(patch)).await;
    response.failure().map_or(Ok(()), |status| Err(status.clone().into()))
}
