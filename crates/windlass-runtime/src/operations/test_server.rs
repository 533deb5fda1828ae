//! An embedded API server for tests, and clients that it knows by different names.

use std::sync::Arc;

use serde_json::Value;
use windlass::model::{Request, ResourceId, Response, Verb};
use windlass_server::{AuthorizationMode, Server, ServerOptions, TlsSource};

use super::perform::Perform;
use crate::Api;

/// A server on loopback, over plain HTTP.
pub(crate) struct TestServer {
    server: Server,
    pub(crate) admin: Arc<Api>,
}

impl TestServer {
    /// A server on which whoever has a token may do everything.
    pub(crate) async fn start() -> Self {
        TestServer::with(AuthorizationMode::AlwaysAllow).await
    }

    /// A server on which roles say who may do what.
    pub(crate) async fn with_roles() -> Self {
        TestServer::with(AuthorizationMode::Rbac).await
    }

    async fn with(authorization: AuthorizationMode) -> Self {
        let options = ServerOptions { tls: TlsSource::Off, authorization, ..ServerOptions::default() };
        let server = Server::start(options).await.expect("a server on a free port");
        let admin = Arc::new(Api::new(client(&server, None)));
        TestServer { server, admin }
    }

    /// A client with all rights.
    #[cfg(feature = "otel")]
    pub(crate) fn client(&self) -> kube::Client {
        client(&self.server, None)
    }

    /// A client that acts as this user.
    pub(crate) fn user(&self, name: &str) -> Arc<Api> {
        Arc::new(Api::new(client(&self.server, Some(name))))
    }

    /// Performs a request with all rights, which must succeed.
    pub(crate) async fn perform(&self, request: Request) -> Response {
        let response = Perform::perform(&*self.admin, &request).await;
        assert!(response.failure().is_none(), "{request:?}: {response:?}");
        response
    }

    /// Creates an object of a resource.
    pub(crate) async fn create(&self, resource: ResourceId, namespace: &str, body: Value) -> Value {
        let request = Request::new(Verb::Create, resource).in_namespace(namespace).with_body(body);
        self.perform(request).await.to_value()
    }

    /// Reads the objects of a resource, in all namespaces.
    pub(crate) async fn list(&self, resource: ResourceId) -> Vec<Value> {
        let list = self.perform(Request::new(Verb::List, resource)).await.to_value();
        list["items"].as_array().cloned().unwrap_or_default()
    }

    pub(crate) async fn shutdown(self) {
        drop(self.admin);
        self.server.shutdown().await;
    }
}

fn client(server: &Server, user: Option<&str>) -> kube::Client {
    let mut config = kube::Config::new(server.url().parse().expect("an address"));
    config.auth_info.token = server.kubeconfig().token.clone().map(Into::into);
    config.auth_info.impersonate = user.map(str::to_owned);
    kube::Client::try_from(config).expect("a client for plain HTTP")
}
