//! A write that is to be admitted, with all that a policy may look at.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_cel::ResourcePermission;

use crate::authentication::User;
use crate::authorization::Authorizer;
use crate::request::ResourceId;
use crate::types::TypeInfo;

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// A kind in a version of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
}

/// A write that is to be admitted.
pub(crate) struct Review<'a> {
    pub(crate) operation: Operation,
    pub(crate) resource: &'a ResourceId,
    /// Of the object that is written, which a subresource may have of its own.
    pub(crate) kind: Kind,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Empty outside namespaces; a namespace lies in itself.
    pub(crate) namespace: &'a str,
    /// Empty if a collection is deleted.
    pub(crate) name: &'a str,
    /// The object as it would be stored; nothing if it is deleted.
    pub(crate) object: Option<&'a Value>,
    /// The object as it is; nothing if it is new.
    pub(crate) old_object: Option<&'a Value>,
    /// `CreateOptions`, `UpdateOptions` or `DeleteOptions`.
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
    /// Who asks.
    pub(crate) user: &'a Arc<User>,
    /// Who decides about permissions.
    pub(crate) authorizer: Authorizer<'a>,
}

impl Operation {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete => "DELETE",
        }
    }
}

impl Kind {
    /// The kind of a type.
    pub(crate) fn of(info: &TypeInfo) -> Self {
        Kind::new(&info.resource.group, &info.resource.version, &info.kind)
    }

    pub(crate) fn new(group: &str, version: &str, kind: &str) -> Self {
        Kind { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    fn to_value(&self) -> Value {
        json!({ "group": self.group, "version": self.version, "kind": self.kind })
    }
}

impl<'a> Review<'a> {
    /// The same write, of another object.
    pub(super) fn with_object<'b>(&self, object: &'b Value) -> Review<'b>
    where
        'a: 'b,
    {
        Review {
            operation: self.operation,
            resource: self.resource,
            kind: self.kind.clone(),
            subresource: self.subresource,
            namespace: self.namespace,
            name: self.name,
            object: Some(object),
            old_object: self.old_object,
            options: self.options.clone(),
            dry_run: self.dry_run,
            user: self.user,
            authorizer: self.authorizer,
        }
    }
}

impl Review<'_> {
    /// The variable `request`, as a policy sees it that knows the objects by this resource and kind.
    pub(super) fn request(&self, resource: &ResourceId, kind: &Kind) -> Value {
        let shown = |resource: &ResourceId| json!({ "group": resource.group, "version": resource.version, "resource": resource.plural });
        let mut request = json!({
            "uid": "",
            "kind": kind.to_value(), "resource": shown(resource),
            "requestKind": self.kind.to_value(), "requestResource": shown(self.resource),
            "operation": self.operation.name(),
            "userInfo": user_info(self.user),
            "object": null, "oldObject": null,
            "dryRun": self.dry_run,
            "options": self.options,
        });
        for (field, text) in [
            ("subResource", self.subresource),
            ("requestSubResource", self.subresource),
            ("name", self.name),
            ("namespace", self.namespace),
        ] {
            if !text.is_empty() {
                request[field] = text.into();
            }
        }
        request
    }

    /// What `authorizer.requestResource` asks about.
    pub(super) fn resource_permission(&self) -> ResourcePermission {
        ResourcePermission {
            group: self.resource.group.clone(),
            resource: self.resource.plural.clone(),
            subresource: self.subresource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: self.name.to_owned(),
        }
    }

    /// The namespace that `namespaceObject` shows; empty for none, as for a namespace itself.
    pub(super) fn surrounding(&self) -> &str {
        let is_namespace = self.kind == Kind::new("", "v1", "Namespace");
        if is_namespace { "" } else { self.namespace }
    }
}

fn user_info(user: &User) -> Value {
    let mut shown = json!({ "username": user.name });
    if !user.uid.is_empty() {
        shown["uid"] = user.uid.as_str().into();
    }
    if !user.groups.is_empty() {
        shown["groups"] = user.groups.clone().into();
    }
    if !user.extra.is_empty() {
        shown["extra"] = json!(user.extra);
    }
    shown
}
