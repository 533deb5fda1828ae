//! One request, with everything that is needed to evaluate it.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use serde_json::Value;

use crate::authentication::User;
use crate::authorization::{Attributes, Authorizer, ResourceAttributes, forbidden};
use crate::field::FieldError;
use crate::request::{Request, Verb};
use crate::status::Status;
use crate::store::{Key, Store};
use crate::time::Timestamp;
use crate::types::{Origin, TypeInfo, Types};

/// Who makes a request, and who decides what they may do. Admission policies can look at both.
#[derive(Clone, Copy)]
pub struct Caller<'a> {
    /// Who asks.
    pub user: &'a Arc<User>,
    /// Who decides about permissions.
    pub authorizer: Authorizer<'a>,
}

impl Caller<'static> {
    /// The API server itself, which may do everything.
    pub(crate) fn system() -> Self {
        static SYSTEM: LazyLock<Arc<User>> = LazyLock::new(|| Arc::new(User::admin("system:apiserver")));
        Caller { user: &SYSTEM, authorizer: Authorizer::AlwaysAllow }
    }
}

/// A request on its way through the rules.
pub(super) struct Call<'a, S: Store + ?Sized> {
    /// What there is.
    pub(super) store: &'a S,
    /// The type that the request is for, in the version that it names.
    pub(super) info: &'a TypeInfo,
    /// The time of the request.
    pub(super) now: Timestamp,
    /// The request.
    pub(super) request: &'a Request,
    /// All types, and the policies that writes must keep.
    pub(super) types: &'a Types,
    /// Who asks.
    pub(super) caller: Caller<'a>,
    /// What the client is warned of, whether or not the request is refused.
    pub(super) warnings: &'a RefCell<Vec<String>>,
}

/// What a request has written before, since one request may write several times, also to one object.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Earlier {
    /// How many writes there were.
    pub(super) writes: u64,
    /// The version of the last one to the same object; 0 if there was none.
    pub(super) version: u64,
}

impl<S: Store + ?Sized> Call<'_, S> {
    /// Whether the request is for this resource.
    pub(super) fn is(&self, group: &str, plural: &str) -> bool {
        self.info.resource.group == group && self.info.resource.plural == plural
    }

    /// The namespace of the object; empty for cluster-scoped types.
    pub(super) fn namespace(&self) -> &str {
        match &self.request.namespace {
            Some(namespace) if self.info.namespaced => namespace,
            _ => "",
        }
    }

    /// The name that the request goes to.
    pub(super) fn name(&self) -> &str {
        self.request.name.as_deref().unwrap_or("")
    }

    /// The key of an object of this type in the namespace of the request.
    pub(super) fn key(&self, name: &str) -> Key {
        let resource = &self.info.resource;
        Key::new(self.info.storage_group(), &resource.plural, self.namespace(), name)
    }

    /// Who owns what this request writes.
    pub(super) fn manager(&self) -> &str {
        self.request.options.field_manager.as_deref().filter(|name| !name.is_empty()).unwrap_or("unknown")
    }

    /// The object that the request goes to, as it is stored.
    pub(super) fn existing(&self) -> Result<Arc<Value>, Status> {
        self.store.get(&self.key(self.name())).ok_or_else(|| self.not_found(self.name()))
    }

    /// A stored object in the version that the request names.
    pub(super) fn view(&self, stored: &Arc<Value>) -> Arc<Value> {
        self.info.show(stored)
    }

    /// An object in the version that it is stored in.
    pub(super) fn to_storage(&self, object: &Arc<Value>) -> Arc<Value> {
        self.info.keep(object)
    }

    /// Refuses an update or a patch that creates an object if the caller may only update or patch.
    pub(super) fn check_may_create(&self, name: &str) -> Result<(), Status> {
        let resource = &self.info.resource;
        let wanted = Attributes::from(ResourceAttributes {
            verb: "create".to_owned(),
            group: resource.group.clone(),
            version: resource.version.clone(),
            resource: resource.plural.clone(),
            namespace: self.namespace().to_owned(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        });
        let decision = self.caller.authorizer.authorize(self.caller.user, &wanted);
        if decision.allowed { Ok(()) } else { Err(forbidden(self.caller.user, &wanted, &decision.reason)) }
    }

    /// The version of the next write of this request, if it is to this key.
    pub(super) fn version(&self, key: &Key, earlier: Earlier) -> u64 {
        self.store.next_version(key, earlier.writes).max(earlier.version + 1)
    }

    /// Refuses paths that no Kubernetes route has.
    pub(super) fn check_path(&self) -> Result<(), Status> {
        let (request, verb) = (self.request, self.request.verb);
        let collection = matches!(verb, Verb::List | Verb::Create | Verb::DeleteCollection);
        let whole = request.subresource.is_none();
        if !self.info.namespaced && request.namespace.is_some() && !self.is("", "namespaces") {
            return Err(Status::no_such_resource());
        }
        if (whole && collection) != (request.name.is_none()) && !(whole && verb == Verb::Create) {
            return Err(Status::method_not_allowed());
        }
        if self.info.namespaced && verb != Verb::List && self.namespace().is_empty() {
            let named = request.name.is_some();
            return Err(if named { Status::no_such_resource() } else { Status::method_not_allowed() });
        }
        Ok(())
    }

    /// 405 for a subresource that does not know the verb.
    pub(super) fn method_not_allowed(&self) -> Status {
        let resource = &self.info.resource;
        match self.info.origin {
            Origin::BuiltIn => Status::method_not_allowed(),
            Origin::Custom => {
                Status::method_not_supported(&resource.group, &resource.plural, self.request.verb.name())
            }
        }
    }

    /// 404 for an object of this type.
    pub(super) fn not_found(&self, name: &str) -> Status {
        Status::not_found(self.info.storage_group(), &self.info.resource.plural, name)
    }

    /// 409 for an object of this type.
    pub(super) fn conflict(&self, name: &str, why: &str) -> Status {
        Status::conflict(self.info.storage_group(), &self.info.resource.plural, name, why)
    }

    /// 422 for an object of this type.
    pub(super) fn invalid(&self, name: &str, errors: &[FieldError]) -> Status {
        Status::invalid(self.info.storage_group(), &self.info.kind, name, errors)
    }

    /// Whether the type is made by a CRD.
    pub(super) fn is_custom(&self) -> bool {
        self.info.origin == Origin::Custom
    }
}
