//! What one controller may do, and whether a request is within it.

use std::collections::BTreeSet;
use std::fmt;

use windlass_model::Types;
use windlass_model::{PatchKind, Request, ResourceId, Verb as RequestVerb, object};

use super::Verb;
use crate::bug::Bug;
use crate::kind::KindInfo;
use crate::machine::Controller;

const READ: [Verb; 3] = [Verb::Get, Verb::List, Verb::Watch];

/// Something that a controller may do to the objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Right {
    /// The kind.
    pub kind: KindInfo,
    /// `status`; empty for the object itself.
    pub subresource: String,
    /// In this namespace only; `None` for wherever the process works.
    pub namespace: Option<String>,
    /// What may be done.
    pub verb: Verb,
}

impl Right {
    fn allows(&self, needed: &Missing) -> bool {
        // Roles know groups, not versions.
        let same_resource = self.kind.resource.group == needed.resource.group
            && self.kind.resource.plural == needed.resource.plural
            && self.subresource == needed.subresource;
        let in_namespace = self.namespace.is_none() || self.namespace == needed.namespace;
        same_resource && in_namespace && self.verb == needed.verb
    }
}

/// A right that a request needs and its controller does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What the request does.
    pub verb: Verb,
    /// To which resource.
    pub resource: ResourceId,
    /// `status`; empty for the object itself.
    pub subresource: String,
    /// In which namespace; `None` for all, and for what has none.
    pub namespace: Option<String>,
    /// The name of the Rust type of the kind, as far as it is known.
    kind: Option<String>,
}

/// `update deployments/scale (apps)`
impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource.plural)?;
        if !self.subresource.is_empty() {
            write!(f, "/{}", self.subresource)?;
        }
        if !self.resource.group.is_empty() {
            write!(f, " ({})", self.resource.group)?;
        }
        Ok(())
    }
}

impl Missing {
    /// What to add to the declaration: `may::<Secret>([Verb::Get])`.
    pub fn remedy(&self) -> String {
        let kind = match &self.kind {
            Some(kind) => kind.clone(),
            None => format!("/* the type of {} */", self.resource.plural),
        };
        match self.subresource.as_str() {
            "" => format!("may::<{kind}>([Verb::{:?}])", self.verb),
            subresource => format!("may_on::<{kind}>({subresource:?}, [Verb::{:?}])", self.verb),
        }
    }

    /// The rights that a request needs.
    fn all_of(request: &Request) -> Vec<Missing> {
        let verbs = match request.verb {
            RequestVerb::Get => vec![Verb::Get],
            RequestVerb::List => vec![Verb::List],
            RequestVerb::Create => vec![Verb::Create],
            RequestVerb::Update => vec![Verb::Update],
            RequestVerb::Patch(PatchKind::Apply) if may_create(request) => vec![Verb::Patch, Verb::Create],
            RequestVerb::Patch(_) => vec![Verb::Patch],
            RequestVerb::Delete => vec![Verb::Delete],
            RequestVerb::DeleteCollection => vec![Verb::DeleteCollection],
        };
        let needed = |verb| Missing {
            verb,
            resource: request.resource.clone(),
            subresource: request.subresource.clone().unwrap_or_default(),
            namespace: request.namespace.clone(),
            kind: None,
        };
        verbs.into_iter().map(needed).collect()
    }
}

/// Whether an apply makes the object if there is none: with a uid it changes that object or fails.
fn may_create(apply: &Request) -> bool {
    apply.subresource.is_none() && apply.body.as_ref().is_none_or(|body| object::uid(body).is_empty())
}

impl Controller {
    /// All that the controller may do: what follows from its parents, outputs and watches, and what it declares beyond
    /// these with [`Declaration::may`](crate::Declaration::may). The roles of its manifests contain just this.
    pub fn rights(&self) -> &BTreeSet<Right> {
        &self.rights
    }

    /// Whether a request is within the controller's rights, in a process that works in all namespaces.
    ///
    /// # Errors
    /// When the roles of its manifests would not allow it.
    pub fn permits(&self, request: &Request) -> Result<(), Missing> {
        for needed in Missing::all_of(request) {
            if !self.rights.iter().any(|right| right.allows(&needed)) {
                return Err(Missing { kind: self.kind_of(request), ..needed });
            }
        }
        Ok(())
    }

    /// The same, as a mistake of the state that sends the request.
    ///
    /// # Errors
    /// When the roles of its manifests would not allow it.
    pub fn check_permitted(&self, state: &str, request: &Request) -> Result<(), Bug> {
        self.permits(request).map_err(|missing| Bug::NotPermitted {
            controller: self.name().to_owned(),
            state: state.to_owned(),
            request: missing.to_string(),
            remedy: missing.remedy(),
        })
    }

    /// The name of a type that a request is about, if anything says it.
    fn kind_of(&self, request: &Request) -> Option<String> {
        let resource = &request.resource;
        let known = self.rights.iter().find(|right| right.kind.resource == *resource);
        let known = known.map(|right| right.kind.kind.clone());
        let built_in = || Some(Types::built_in().get(resource)?.kind.to_string());
        let in_body = || Some(request.body.as_ref()?["kind"].as_str()?.to_owned());
        known.or_else(built_in).or_else(in_body)
    }

    /// Computes [`Controller::rights`].
    pub(crate) fn all_rights(&self) -> BTreeSet<Right> {
        let declaration = self.declaration();
        let parent = declaration.parent();
        let mut rights = Rights(BTreeSet::from_iter(declaration.declared_rights().iter().cloned()));
        rights.add(parent, "", &READ);
        if declaration.keeps_status() {
            rights.add(parent, "status", &[Verb::Patch]);
        }
        if self.finalizer_graph().is_some() || declaration.needs_cleanup() {
            rights.add(parent, "", &[Verb::Patch]);
        }
        if declaration.creates_missing() {
            rights.add(parent, "", &[Verb::Create]);
        }
        if !declaration.outputs().is_empty() {
            // Owner references that block the owner's deletion need this, where a cluster enforces it.
            rights.add(parent, "finalizers", &[Verb::Update]);
        }
        for output in declaration.outputs() {
            rights.add(&output.kind, "", &READ);
            // An apply is a patch, and a create where there is nothing to patch yet.
            rights.add(&output.kind, "", &[Verb::Create, Verb::Patch, Verb::Delete]);
        }
        for watch in declaration.watched() {
            rights.add(&watch.kind, "", &READ);
        }
        rights.add_events(parent);
        rights.0
    }
}

struct Rights(BTreeSet<Right>);

impl Rights {
    fn add(&mut self, kind: &KindInfo, subresource: &str, verbs: &[Verb]) {
        self.0.extend(verbs.iter().map(|verb| Right {
            kind: kind.clone(),
            subresource: subresource.to_owned(),
            namespace: None,
            verb: *verb,
        }));
    }

    fn add_events(&mut self, parent: &KindInfo) {
        let resource = ResourceId::new("events.k8s.io", "v1", "events");
        let kind = KindInfo { resource, kind: "Event".to_owned(), namespaced: true };
        // Those about objects without a namespace are kept in this one.
        let namespace = (!parent.namespaced).then(|| "default".to_owned());
        self.0.extend([Verb::Create, Verb::Patch].map(|verb| Right {
            kind: kind.clone(),
            subresource: String::new(),
            namespace: namespace.clone(),
            verb,
        }));
    }
}
