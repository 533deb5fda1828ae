//! The external services that states call, with the clients that answer for them.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use windlass::{CallError, Service};

/// A client of an external service: what answers `cx.call` in production, where a small model answers in the checker.
///
/// A call may come twice: a reconcile that was interrupted starts again.
pub trait ServiceClient<Called: Service>: Send + Sync + 'static {
    /// Calls the service. It is dropped when the time of its reconcile is over.
    fn call(
        &self,
        request: Called::Request,
    ) -> impl Future<Output = Result<Called::Response, CallError>> + Send;
}

type Erased = Arc<dyn Fn(Value) -> BoxFuture<'static, Result<Value, CallError>> + Send + Sync>;

/// All services that a process can call.
#[derive(Clone, Default)]
pub(crate) struct Services {
    by_name: BTreeMap<&'static str, Erased>,
}

impl Services {
    /// The same services, and this one.
    pub(crate) fn with<Called, Client>(&self, client: Client) -> Self
    where
        Called: Service + 'static,
        Called::Request: DeserializeOwned,
        Called::Response: Serialize + Send,
        Client: ServiceClient<Called>,
    {
        let client = Arc::new(client);
        let call: Erased = Arc::new(move |request| {
            let client = Arc::clone(&client);
            async move {
                let refused =
                    |message: String| CallError::Refused { service: Called::NAME.to_owned(), message };
                let request = serde_json::from_value(request)
                    .map_err(|error| refused(format!("the request cannot be read: {error}")))?;
                let response = client.call(request).await?;
                serde_json::to_value(&response)
                    .map_err(|error| refused(format!("the answer cannot be written: {error}")))
            }
            .boxed()
        });
        let mut services = self.clone();
        services.by_name.insert(Called::NAME, call);
        services
    }

    pub(crate) async fn call(&self, service: &str, request: Value) -> Result<Value, CallError> {
        match self.by_name.get(service) {
            Some(call) => call(request).await,
            None => Err(CallError::Unavailable {
                service: service.to_owned(),
                message: "no client answers for it; give Manager::service one".to_owned(),
            }),
        }
    }
}
