//! Who performs requests for the parts that watch over a process, so that each can be tried without a cluster.

use futures::future::BoxFuture;
use windlass::model::{Request, Response};

use crate::Api;

/// Performs requests to the API.
pub trait Perform: Send + Sync + 'static {
    /// Sends a request. A failure, of whatever kind, is a `Status` in the response.
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response>;
}

impl Perform for Api {
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(Api::perform(self, request))
    }
}
