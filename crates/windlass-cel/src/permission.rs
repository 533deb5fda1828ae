//! The permissions that an expression can ask for. Whoever evaluates the expression decides, through
//! [`Scope::authorize`](crate::Scope::authorize): this crate knows neither users nor roles.

/// Whose permission is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Whoever made the request that is being admitted.
    Requester,
    /// A service account that the expression names.
    ServiceAccount {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Permission {
    /// To do something with objects.
    Resource {
        /// `create`
        verb: String,
        /// With which objects.
        resource: ResourcePermission,
    },
    /// To use a path that is not about objects: `/healthz`.
    Path {
        /// `get`
        verb: String,
        /// The path.
        path: String,
    },
}

/// The objects that a permission is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePermission {
    /// Empty for the core group.
    pub group: String,
    /// `pods`
    pub resource: String,
    /// `log`; empty for the object itself.
    pub subresource: String,
    /// Empty for cluster-scoped objects and for all namespaces.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
}

/// The decision about a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether the subject has the permission.
    pub allowed: bool,
    /// Why; often empty.
    pub reason: String,
}
