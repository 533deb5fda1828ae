//! What a request does: one file per verb, and [`handle`] that picks it.

mod admission;
mod body;
mod budgets;
mod call;
mod create;
mod delete;
mod delete_collection;
mod identity;
mod mutate;
mod parameter_access;
mod patch;
mod pods;
mod policy;
mod prepare;
mod question;
mod review;
mod scale;
mod services;
mod terminate;
mod unenforced;
mod update;
mod warnings;

pub(crate) use admission::SYSTEM_CLASSES;
pub(crate) use identity::NAME_LETTERS;
mod write;

use std::cell::RefCell;

use crate::list;
use crate::request::{Request, Verb};
use crate::response::{Body, Response};
use crate::status::Status;
use crate::store::{Change, Store};
use crate::time::Timestamp;
use crate::types::Types;

use call::Call;
pub use call::Caller;
use write::{Part, Written};

pub(crate) use question::read_question;
pub(crate) use terminate::set_terminating;

/// What a request leads to: the answer, and the changes that whoever called must commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What the client gets.
    pub response: Response,
    /// What to write, in this order. Empty for reads, refusals, no-op writes and dry runs.
    pub changes: Vec<Change>,
}

/// Evaluates one request against the objects of a store, as a request of the API server itself.
///
/// Nothing is written: the caller commits [`Effect::changes`], all or none, before it answers the
/// next request. Every input gets an answer; a broken one gets a `Status` that says why.
pub fn handle<S: Store + ?Sized>(store: &S, types: &Types, now: Timestamp, request: &Request) -> Effect {
    handle_as(store, types, now, Caller::system(), request)
}

/// As [`handle`], for a request of somebody. Whether they may make it was decided before; admission policies can
/// ask who they are.
pub fn handle_as<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    now: Timestamp,
    caller: Caller<'_>,
    request: &Request,
) -> Effect {
    let binding = pods::binding_of_old(request);
    let request = binding.as_ref().unwrap_or(request);
    let Some(info) = types.get(&request.resource) else {
        return Status::no_such_resource().into();
    };
    let warnings = RefCell::default();
    let call = Call { store, info, now, request, types, caller, warnings: &warnings };
    let mut effect = route(&call).unwrap_or_else(Effect::from);
    effect.response.warnings.append(&mut warnings.borrow_mut());
    if let Some(deprecation) = &info.deprecation {
        effect.response.warnings.insert(0, deprecation.clone());
    }
    if request.options.dry_run {
        effect.changes.clear();
    }
    effect
}

fn route<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    call.check_path()?;
    if !call.info.is_stored() {
        return Err(Status::method_not_allowed());
    }
    match call.request.subresource.as_deref() {
        None => whole_object(call),
        Some("status") if call.info.has_status => part_of(call, Part::Status),
        Some("ephemeralcontainers") if call.is("", "pods") => part_of(call, Part::EphemeralContainers),
        Some("resize") if call.is("", "pods") => part_of(call, Part::Resize),
        Some("scale") if call.info.scale.is_some() => scale::scale(call),
        Some("finalize") if call.is("", "namespaces") => match call.request.verb {
            Verb::Update => update::update(call, Part::Finalize).map(Effect::from),
            _ => Err(Status::method_not_allowed()),
        },
        Some("binding" | "eviction") if call.is("", "pods") => match call.request.verb {
            Verb::Create if call.request.subresource.as_deref() == Some("binding") => pods::bind(call),
            Verb::Create => pods::evict(call),
            _ => Err(Status::method_not_allowed()),
        },
        Some(_) if call.is_custom() => Err(call.not_found(call.name())),
        Some(_) => Err(Status::no_such_resource()),
    }
}

fn whole_object<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    match call.request.verb {
        Verb::Get => get(call),
        Verb::List => {
            let list = crate::list::list(call.store, call.info, call.request)?;
            Ok(Response { code: 200, body: Body::List(list), warnings: Vec::new() }.into())
        }
        Verb::Create => create::create(call).map(Effect::from),
        Verb::Update => update::update(call, Part::Object).map(Effect::from),
        Verb::Patch(kind) => patch::patch(call, kind, Part::Object).map(Effect::from),
        Verb::Delete => delete::delete(call),
        Verb::DeleteCollection => delete_collection::delete_collection(call),
    }
}

fn part_of<S: Store + ?Sized>(call: &Call<'_, S>, part: Part) -> Result<Effect, Status> {
    match call.request.verb {
        Verb::Get => get(call),
        Verb::Update => update::update(call, part).map(Effect::from),
        Verb::Patch(kind) => patch::patch(call, kind, part).map(Effect::from),
        _ => Err(call.method_not_allowed()),
    }
}

fn get<S: Store + ?Sized>(call: &Call<'_, S>) -> Result<Effect, Status> {
    let wanted = call.request.options.resource_version.as_deref().unwrap_or_default();
    let wanted = list::parse_resource_version(wanted).map_err(Status::unclassified)?;
    if wanted > 0 {
        let current = call.store.list_version(call.info.storage_group(), &call.info.resource.plural);
        if wanted > current {
            return Err(list::too_large_version(wanted, current));
        }
    }
    let stored = call.existing()?;
    Ok(Response::object(call.view(&stored)).into())
}

impl From<Response> for Effect {
    fn from(response: Response) -> Self {
        Effect { response, changes: Vec::new() }
    }
}

impl From<Status> for Effect {
    fn from(status: Status) -> Self {
        Response::status(status).into()
    }
}

impl From<Written> for Effect {
    fn from(written: Written) -> Self {
        let mut response = Response::object(written.object);
        response.code = if written.created { 201 } else { 200 };
        response.warnings = written.warnings;
        Effect { response, changes: written.changes }
    }
}
