//! The verbs of roles.

use std::fmt;

/// A verb of a role: what may be done to objects of a kind.
///
/// This is what [RBAC](https://kubernetes.io/docs/reference/access-authn-authz/rbac/) calls a verb. The verb of a
/// request, [`model::Verb`](crate::model::Verb), says more: all kinds of patches are one verb here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verb {
    /// Read one object.
    Get,
    /// Read all objects that a selector matches.
    List,
    /// Follow changes.
    Watch,
    /// Make an object.
    Create,
    /// Replace an object.
    Update,
    /// Change parts of an object. A server-side apply is a patch, and needs [`Verb::Create`] where there is nothing yet.
    Patch,
    /// Delete one object.
    Delete,
    /// Delete all objects that a selector matches.
    DeleteCollection,
}

impl Verb {
    /// As a role names it: `deletecollection`.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
        }
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
