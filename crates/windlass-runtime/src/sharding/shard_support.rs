//! Whether the API server can select the parents of a controller by their slots.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::timeout;
use windlass::Controller;
use windlass::model::ResourceId;

use crate::api::Api;
use crate::informer::Selection;

/// For how long the server is asked. One that does not answer cannot, as far as this matters.
const LIMIT: Duration = Duration::from_secs(5);

/// The kinds of parents that are watched by slots: all that the server can select, and that nothing else of this process
/// watches. Another watch would answer reads of parents, and need not be as new as what was loaded for a slot.
pub(super) async fn selectable(
    controllers: &[Controller],
    namespaces: &[String],
    api: &Api,
) -> BTreeSet<ResourceId> {
    let watches = controllers.iter().flat_map(|controller| controller.declaration().all_watches());
    let watched: Vec<&ResourceId> = watches.map(|watch| &watch.kind.resource).collect();
    let mut selectable = BTreeSet::new();
    for declared in controllers.iter().map(|controller| &controller.declaration().all_watches()[0]) {
        let resource = &declared.kind.resource;
        let is_watched_once = watched.iter().filter(|one| **one == resource).count() == 1;
        let selection = Selection::all_of(declared, namespaces).next();
        if let Some(selection) = selection.filter(|_| is_watched_once)
            && knows_shards(api, selection).await
        {
            selectable.insert(resource.clone());
        }
    }
    selectable
}

/// A server that knows shard selectors refuses one that makes no sense; others do not look at it. The lists themselves
/// do not always say whether they are of a shard.
async fn knows_shards(api: &Api, selection: Selection) -> bool {
    let mut request = selection.request();
    request.options.limit = 1;
    request.options.shard_selector = Some("none".to_owned());
    let response = timeout(LIMIT, api.perform(&request)).await;
    response.is_ok_and(|response| response.failure().is_some_and(|status| status.code == 400))
}
