//! Who performs requests for the parts that watch over a process, so that each can be tried without a cluster.

use futures::future::BoxFuture;
use serde_json::Value;
use windlass::model::{Request, Response, Status};

use crate::Api;

/// Performs requests to the API.
pub trait Perform: Send + Sync + 'static {
    /// Sends a request. A failure, of whatever kind, is a `Status` in the response.
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response>;

    /// Reads the JSON behind a path that is no resource, such as `/apis/apps/v1`; or says why there is none.
    fn document<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Value, Status>>;
}

impl Perform for Api {
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(Api::perform(self, request))
    }

    fn document<'a>(&'a self, path: &'a str) -> BoxFuture<'a, Result<Value, Status>> {
        Box::pin(Api::document(self, path))
    }
}
