//! Asking whether somebody may do something: `authorizer.group('').resource('pods').check('create').allowed()`.

use std::sync::Arc;

use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::formats::names;
use crate::permission::{Decision, Permission, ResourcePermission, Subject};
use crate::value::Value;

/// Kubernetes prices a check so that an expression has room for two.
const CHECK_COST: u64 = 350_000;

pub(super) const FUNCTIONS: Table = &[
    ("path", path),
    ("group", group),
    ("serviceAccount", service_account),
    ("resource", resource),
    ("subresource", |arguments| refine(arguments, |wanted, text| wanted.subresource = text)),
    ("namespace", |arguments| refine(arguments, |wanted, text| wanted.namespace = text)),
    ("name", |arguments| refine(arguments, |wanted, text| wanted.name = text)),
    // Roles do not look at selectors, so these change no decision.
    ("fieldSelector", |arguments| refine(arguments, |_, _| {})),
    ("labelSelector", |arguments| refine(arguments, |_, _| {})),
    ("check", check),
    ("errored", |arguments| decided(arguments, |_| Value::Bool(false))),
    ("error", |arguments| decided(arguments, |_| Value::text(""))),
    ("allowed", |arguments| decided(arguments, |decision| Value::Bool(decision.allowed))),
    ("reason", |arguments| decided(arguments, |decision| Value::text(decision.reason.as_str()))),
];

/// How far a question for a permission has come.
#[derive(Clone, Debug)]
pub struct Inquiry {
    subject: Arc<Subject>,
    step: Step,
}

#[derive(Clone, Debug)]
enum Step {
    Authorizer,
    Path(String),
    Group(String),
    Resource(ResourcePermission),
    Decision(Decision),
}

impl Inquiry {
    /// About whatever this subject may do.
    pub(super) fn of(subject: Subject) -> Self {
        Inquiry { subject: Arc::new(subject), step: Step::Authorizer }
    }

    /// About what this subject may do to a resource.
    pub(super) fn about(subject: Subject, wanted: ResourcePermission) -> Self {
        Inquiry { subject: Arc::new(subject), step: Step::Resource(wanted) }
    }

    pub(super) fn type_name(&self) -> &'static str {
        match self.step {
            Step::Authorizer => "kubernetes.authorization.Authorizer",
            Step::Path(_) => "kubernetes.authorization.PathCheck",
            Step::Group(_) => "kubernetes.authorization.GroupCheck",
            Step::Resource(_) => "kubernetes.authorization.ResourceCheck",
            Step::Decision(_) => "kubernetes.authorization.Decision",
        }
    }

    fn next<'a>(&self, step: Step) -> Value<'a> {
        Value::opaque(Opaque::Authorization(Inquiry { subject: Arc::clone(&self.subject), step }))
    }
}

/// The receiver, which each of these functions has.
fn receiver(arguments: &mut Arguments<'_, '_>) -> Result<Inquiry, EvalError> {
    arguments.budget.charge(1)?;
    match &*arguments.opaque(0)? {
        Opaque::Authorization(inquiry) => Ok(inquiry.clone()),
        _ => Err(EvalError::no_overload()),
    }
}

fn path<'a>(arguments: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (inquiry, path) = (receiver(arguments)?, arguments.text(1)?);
    match inquiry.step {
        Step::Authorizer if path.trim().is_empty() => Err(EvalError::failed("path must not be empty")),
        Step::Authorizer => Ok(inquiry.next(Step::Path(path.to_string()))),
        _ => Err(EvalError::no_overload()),
    }
}

fn group<'a>(arguments: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (inquiry, group) = (receiver(arguments)?, arguments.text(1)?);
    match inquiry.step {
        Step::Authorizer => Ok(inquiry.next(Step::Group(group.to_string()))),
        _ => Err(EvalError::no_overload()),
    }
}

fn service_account<'a>(arguments: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let inquiry = receiver(arguments)?;
    let (namespace, name) = (arguments.text(1)?, arguments.text(2)?);
    if !matches!(inquiry.step, Step::Authorizer) {
        return Err(EvalError::no_overload());
    }
    if !names::is_dns1123_subdomain(&name).is_empty() {
        return Err(EvalError::failed("Invalid service account name"));
    }
    if !names::is_dns1123_label(&namespace).is_empty() {
        return Err(EvalError::failed("Invalid service account namespace"));
    }
    let subject = Subject::ServiceAccount { namespace: namespace.to_string(), name: name.to_string() };
    Ok(Value::opaque(Opaque::Authorization(Inquiry::of(subject))))
}

fn resource<'a>(arguments: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (inquiry, resource) = (receiver(arguments)?, arguments.text(1)?);
    match &inquiry.step {
        Step::Group(_) if resource.trim().is_empty() => Err(EvalError::failed("resource must not be empty")),
        Step::Group(group) => {
            let (group, resource) = (group.clone(), resource.to_string());
            let wanted = ResourcePermission { group, resource, ..ResourcePermission::default() };
            Ok(inquiry.next(Step::Resource(wanted)))
        }
        _ => Err(EvalError::no_overload()),
    }
}

/// Says more about the resource that is asked for.
fn refine<'a>(
    arguments: &mut Arguments<'_, 'a>,
    set: impl FnOnce(&mut ResourcePermission, String),
) -> Outcome<'a> {
    let (inquiry, text) = (receiver(arguments)?, arguments.text(1)?);
    let Step::Resource(mut wanted) = inquiry.step.clone() else { return Err(EvalError::no_overload()) };
    set(&mut wanted, text.to_string());
    Ok(inquiry.next(Step::Resource(wanted)))
}

fn check<'a>(arguments: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (inquiry, verb) = (receiver(arguments)?, arguments.text(1)?);
    arguments.budget.charge(CHECK_COST - 1)?;
    let wanted = match &inquiry.step {
        Step::Path(path) => Permission::Path { verb: verb.to_string(), path: path.clone() },
        Step::Resource(wanted) => Permission::Resource { verb: verb.to_string(), resource: wanted.clone() },
        _ => return Err(EvalError::no_overload()),
    };
    let scope = arguments.scope.ok_or_else(|| EvalError::failed("permissions cannot be checked here"))?;
    Ok(inquiry.next(Step::Decision(scope.authorize(&inquiry.subject, &wanted))))
}

fn decided<'a>(arguments: &mut Arguments<'_, 'a>, read: impl FnOnce(&Decision) -> Value<'a>) -> Outcome<'a> {
    match &receiver(arguments)?.step {
        Step::Decision(decision) => Ok(read(decision)),
        _ => Err(EvalError::no_overload()),
    }
}
