//! A request to the API, as data.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One request. Everything that the HTTP API can say about an object fits in here.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Request {
    /// What to do.
    pub verb: Verb,
    /// To which resource.
    pub resource: ResourceId,
    /// In which namespace; `None` for cluster-scoped resources and for lists over all namespaces.
    pub namespace: Option<String>,
    /// To which object; `None` for create, list and delete-collection.
    pub name: Option<String>,
    /// To which part of it; `None` for the object itself.
    pub subresource: Option<String>,
    /// The object or patch, for the verbs that carry one.
    pub body: Option<Value>,
    /// The query parameters and delete options.
    pub options: Options,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[expect(missing_docs, reason = "each variant is a verb of the API")]
pub enum Verb {
    Get,
    List,
    Create,
    Update,
    Patch(PatchKind),
    Delete,
    DeleteCollection,
}

impl Verb {
    /// As authorisation and messages name it.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch(_) => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }

    /// Whether the verb can change anything.
    pub fn is_write(self) -> bool {
        !matches!(self, Verb::Get | Verb::List)
    }
}

/// The four kinds of patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PatchKind {
    /// `application/json-patch+json` (RFC 6902).
    Json,
    /// `application/merge-patch+json` (RFC 7386).
    Merge,
    /// `application/strategic-merge-patch+json`, for built-in types.
    Strategic,
    /// `application/apply-patch+yaml`: server-side apply.
    Apply,
}

/// A resource of one version of one group, by its plural: `apps/v1 deployments`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ResourceId {
    /// Empty for the core group.
    pub group: String,
    /// `v1`.
    pub version: String,
    /// `deployments`.
    pub plural: String,
}

impl ResourceId {
    /// A resource from its three parts.
    pub fn new(group: &str, version: &str, plural: &str) -> Self {
        ResourceId { group: group.to_owned(), version: version.to_owned(), plural: plural.to_owned() }
    }
}

/// Query parameters and delete options. The default asks for nothing special.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Options {
    /// `dryRun=All`: do everything but commit.
    pub dry_run: bool,
    /// `fieldManager`: who owns what this writes.
    pub field_manager: Option<String>,
    /// `force`: take fields over from other managers (apply only).
    pub force: bool,
    /// `fieldValidation`: what to do about unknown and duplicate fields.
    pub field_validation: FieldValidation,
    /// `labelSelector`, as written.
    pub label_selector: Option<String>,
    /// `fieldSelector`, as written.
    pub field_selector: Option<String>,
    /// `shardSelector`, as written.
    pub shard_selector: Option<String>,
    /// `limit`: maximum number of items; 0 for all.
    pub limit: u64,
    /// `continue`: the token of an earlier page.
    pub continue_token: Option<String>,
    /// `resourceVersion`, as written.
    pub resource_version: Option<String>,
    /// `resourceVersionMatch`: `Exact` or `NotOlderThan`.
    pub resource_version_match: Option<String>,
    /// Delete only if uid and resource version are these.
    pub preconditions: Preconditions,
    /// Delete: seconds until the object is really gone.
    pub grace_period_seconds: Option<i64>,
    /// Delete: what becomes of dependents.
    pub propagation: Option<Propagation>,
}

/// What to do about unknown and duplicate fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so in a warning.
    #[default]
    Warn,
    /// Refuse the request.
    Strict,
}

/// What must hold for a delete to go through.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Preconditions {
    /// The object must have this uid.
    pub uid: Option<String>,
    /// The object must have this resource version.
    pub resource_version: Option<String>,
}

/// What becomes of the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Propagation {
    /// The object goes at once, dependents later.
    Background,
    /// The object waits for the dependents that block it.
    Foreground,
    /// Dependents stay and lose their owner reference.
    Orphan,
}

impl Request {
    /// A request for a resource with nothing else set.
    pub fn new(verb: Verb, resource: ResourceId) -> Self {
        Request {
            verb,
            resource,
            namespace: None,
            name: None,
            subresource: None,
            body: None,
            options: Options::default(),
        }
    }

    /// Names the namespace; the empty string means none.
    #[must_use]
    pub fn in_namespace(mut self, namespace: &str) -> Self {
        self.namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
        self
    }

    /// Names the object.
    #[must_use]
    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Goes to a subresource.
    #[must_use]
    pub fn on(mut self, subresource: &str) -> Self {
        self.subresource = Some(subresource.to_owned());
        self
    }

    /// Carries a body.
    #[must_use]
    pub fn with_body(mut self, body: Value) -> Self {
        self.body = Some(body);
        self
    }

    /// Sets the field manager.
    #[must_use]
    pub fn as_manager(mut self, manager: &str) -> Self {
        self.options.field_manager = Some(manager.to_owned());
        self
    }
}
