//! What a state may write beside its outputs: each method is one request, sent at once.
//!
//! Prefer [`Cx::ensure`]. What is written here is not watched, found again or pruned, and a crash after it repeats it.
//! The controller's role must allow it: see [`Declaration`](crate::Declaration).

use serde_json::Value;
use windlass_model::{PatchKind, Request, Response, Verb, object};

use crate::ask::Shortcut;
use crate::cx::Cx;
use crate::io::{names_a_missing_object, object_of};
use crate::kind::{Kind, KindInfo, from_value, to_value};
use crate::outcome::Error;

impl<P: Kind> Cx<P> {
    /// Creates an object now, outside the outputs: it is neither watched nor pruned.
    ///
    /// Prefer [`Cx::ensure`]: a crash after this call repeats it. To ensure the same object later is fine.
    ///
    /// # Errors
    /// When the API refuses; a name that is taken is an `AlreadyExists`.
    pub async fn create<K: Kind>(&self, object: &K) -> Result<K, Error> {
        let body = to_value(object)?;
        let request = Request::new(Verb::Create, K::kind_info().resource)
            .in_namespace(&self.namespace_of(&body, &K::kind_info()));
        self.write_typed(request.with_body(body)).await
    }

    /// Writes a whole object now. Its resource version, if it has one, must be the current one.
    ///
    /// # Errors
    /// When the API refuses; a resource version that is not current is a conflict.
    pub async fn update<K: Kind>(&self, object: &K) -> Result<K, Error> {
        self.update_part(object, None).await
    }

    /// Writes the status of any object now, as its own controller would. Its resource version, if it has one, must be
    /// the current one.
    ///
    /// For fields of the parent's own status use [`Cx::report`], which costs no request of its own.
    ///
    /// # Errors
    /// When the API refuses; a resource version that is not current is a conflict.
    pub async fn update_status<K: Kind>(&self, object: &K) -> Result<K, Error> {
        self.update_part(object, Some("status")).await
    }

    /// Merges a patch into an object of the parent's namespace (or a cluster-scoped one) now: fields that are given
    /// are set, those that are null go, all others stay.
    ///
    /// With `metadata.resourceVersion` in the patch it takes effect only if the object is of that version; with
    /// `metadata.uid`, only if it is that very object. Without either, a patch that arrives late hits whatever has the
    /// name by then, which the checker reports.
    ///
    /// ```
    /// # use k8s_openapi::api::apps::v1::Deployment;
    /// # use windlass::{Cx, Kind, Outcome, done};
    /// # async fn state<P: Kind>(cx: &Cx<P>) -> Outcome<()> {
    /// if let Some(web) = cx.get::<Deployment>("web").await? {
    ///     let patch = serde_json::json!({
    ///         "metadata": { "uid": web.metadata.uid, "resourceVersion": web.metadata.resource_version },
    ///         "spec": { "paused": true },
    ///     });
    ///     cx.patch::<Deployment>("web", patch).await?;
    /// }
    /// done()
    /// # }
    /// ```
    ///
    /// # Errors
    /// When the API refuses, or there is no such object.
    pub async fn patch<K: Kind>(&self, name: &str, patch: Value) -> Result<K, Error> {
        self.patch_in(&self.target().namespace, name, patch).await
    }

    /// [`Cx::patch`] of an object in any namespace.
    ///
    /// # Errors
    /// When the API refuses, or there is no such object.
    pub async fn patch_in<K: Kind>(&self, namespace: &str, name: &str, patch: Value) -> Result<K, Error> {
        self.write_typed(merge_patch::<K>(namespace, name, patch)).await
    }

    /// Merges a patch of the form `{ "status": .. }` into the status of an object of the parent's namespace (or a
    /// cluster-scoped one) now. As [`Cx::patch`] otherwise.
    ///
    /// # Errors
    /// When the API refuses, or there is no such object.
    pub async fn patch_status<K: Kind>(&self, name: &str, patch: Value) -> Result<K, Error> {
        let mut request = merge_patch::<K>(&self.target().namespace, name, patch);
        request.subresource = Some("status".to_owned());
        self.write_typed(request).await
    }

    /// Deletes exactly this object: one of the same name with another uid is left alone. Gone is fine.
    ///
    /// # Errors
    /// When the API refuses, or another object has the name by now (a conflict).
    pub async fn delete<K: Kind>(&self, object: &K) -> Result<(), Error> {
        let body = to_value(object)?;
        let request = Request::new(Verb::Delete, K::kind_info().resource)
            .in_namespace(&self.namespace_of(&body, &K::kind_info()))
            .named(object::name(&body));
        self.delete_if_uid(request, object::uid(&body)).await
    }

    /// Deletes the object of this name and uid, in the parent's namespace or cluster-scoped: for an object of which
    /// only a reference is known. One of the same name with another uid is left alone. Gone is fine.
    ///
    /// # Errors
    /// When the API refuses, or another object has the name by now (a conflict).
    pub async fn delete_by_uid<K: Kind>(&self, name: &str, uid: &str) -> Result<(), Error> {
        let kind = K::kind_info();
        let namespace = if kind.namespaced { self.target().namespace.as_str() } else { "" };
        let request = Request::new(Verb::Delete, kind.resource).in_namespace(namespace).named(name);
        self.delete_if_uid(request, uid).await
    }

    /// Sends any request: the way out for what the other methods do not cover.
    pub async fn request(&self, request: Request) -> Response {
        self.io().send(request, Shortcut::None).await
    }

    async fn update_part<K: Kind>(&self, object: &K, subresource: Option<&str>) -> Result<K, Error> {
        let body = to_value(object)?;
        let mut request = Request::new(Verb::Update, K::kind_info().resource)
            .in_namespace(&self.namespace_of(&body, &K::kind_info()))
            .named(object::name(&body));
        request.subresource = subresource.map(str::to_owned);
        self.write_typed(request.with_body(body)).await
    }

    async fn delete_if_uid(&self, mut request: Request, uid: &str) -> Result<(), Error> {
        request.options.preconditions.uid = (!uid.is_empty()).then(|| uid.to_owned());
        match self.request(request).await.failure() {
            Some(status) if !names_a_missing_object(status) => Err(status.clone().into()),
            _ => Ok(()),
        }
    }

    async fn write_typed<K: Kind>(&self, request: Request) -> Result<K, Error> {
        let response = self.io().send(request.as_manager(&self.io().manager), Shortcut::None).await;
        from_value(&*object_of(response)?)
    }

    /// The namespace that an object names, or else the parent's.
    fn namespace_of(&self, body: &Value, kind: &KindInfo) -> String {
        match object::namespace(body) {
            _ if !kind.namespaced => String::new(),
            "" => self.target().namespace.clone(),
            given => given.to_owned(),
        }
    }
}

fn merge_patch<K: Kind>(namespace: &str, name: &str, patch: Value) -> Request {
    let kind = K::kind_info();
    let namespace = if kind.namespaced { namespace } else { "" };
    Request::new(Verb::Patch(PatchKind::Merge), kind.resource)
        .in_namespace(namespace)
        .named(name)
        .with_body(patch)
}
