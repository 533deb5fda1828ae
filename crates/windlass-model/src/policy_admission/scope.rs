//! The variables of a policy while it is evaluated for one request and one parameter.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value as Json;

use windlass_cel::{
    Budget, Decision, EvalError, Opaque, PER_CALL_LIMIT, Permission, Program, ResourcePermission, Scope,
    Subject, Value,
};

use crate::authentication::User;
use crate::authorization::{Attributes, ResourceAttributes};

use super::review::Review;
use crate::policies::Expression;
use crate::policies::Policy;

/// How deep expressions may be that wait for each other's values, all together: as deep as one alone may be.
const MAX_HEIGHT: usize = 250;
/// What waiting for a variable adds to that.
const HEIGHT_OF_WAITING: usize = 8;

/// The JSON that the variables show.
#[derive(Clone, Copy)]
pub(super) struct Inputs<'a> {
    pub(super) object: &'a Json,
    pub(super) old_object: &'a Json,
    pub(super) request: &'a Json,
    pub(super) params: &'a Json,
    pub(super) namespace: &'a Json,
}

/// One evaluation of some expressions of a policy. Its variables are computed once, when they are first needed.
pub(super) struct PolicyScope<'p, 'a> {
    review: &'p Review<'p>,
    policy: &'p Policy,
    inputs: Inputs<'a>,
    known: RefCell<BTreeMap<&'p str, Result<Value<'a>, EvalError>>>,
    /// What computing variables has cost since it was last counted.
    cost: Cell<u64>,
    height: Cell<usize>,
    remaining: Cell<u64>,
}

/// The budget of all expressions together is used up.
pub(super) const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

impl<'p, 'a> PolicyScope<'p, 'a> {
    pub(super) fn new(review: &'p Review<'p>, policy: &'p Policy, inputs: Inputs<'a>, budget: u64) -> Self {
        PolicyScope {
            review,
            policy,
            inputs,
            known: RefCell::default(),
            cost: Cell::new(0),
            height: Cell::new(0),
            remaining: Cell::new(budget),
        }
    }

    /// What the budget has left.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining.get()
    }

    /// Evaluates an expression: its value, or why it has none. `None` if the budget of all of them is used up.
    pub(super) fn evaluate(&self, expression: &Expression) -> Option<Result<Value<'a>, String>> {
        match &expression.program {
            Err(error) => Some(Err(format!("compilation error: {error}"))),
            Ok(program) => self.run(program).map(|value| {
                value
                    .map_err(|error| format!("expression '{}' resulted in error: {error}", expression.source))
            }),
        }
    }

    /// Runs a program within its own limit and what is left of the budget.
    pub(super) fn run(&self, program: &Program) -> Option<Result<Value<'a>, EvalError>> {
        let mut budget = Budget::new(PER_CALL_LIMIT);
        self.height.set(program.height());
        let value = program.evaluate_in(self, &mut budget);
        let spent = self.cost.take().saturating_add(budget.spent());
        self.remaining.set(self.remaining.get().checked_sub(spent)?);
        Some(value)
    }

    /// The value of one of the policy's own variables.
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let (at, expression) = self.policy.variables.get_key_value(name)?;
        if let Some(known) = self.known.borrow().get(&**at) {
            return Some(known.clone());
        }
        let value = self.compute(expression).map_err(|error| {
            let short = name.strip_prefix("variables.").unwrap_or(name);
            EvalError::failed(format!("composited variable {short:?} fails to {error}"))
        });
        self.known.borrow_mut().insert(at, value.clone());
        Some(value)
    }

    fn compute(&self, expression: &Expression) -> Result<Value<'a>, String> {
        let program = expression.program.as_ref().map_err(|error| format!("compile: {error}"))?;
        // A variable may use those before it. Each use is a recursion, which the stack must have room for.
        let (before, needed) = (self.height.get(), program.height() + HEIGHT_OF_WAITING);
        if before + needed > MAX_HEIGHT {
            return Err(format!("evaluate: variables depend on each other more deeply than {MAX_HEIGHT}"));
        }
        self.height.set(before + needed);
        let mut budget = Budget::new(PER_CALL_LIMIT);
        let value = program.evaluate_in(self, &mut budget);
        self.height.set(before);
        self.cost.set(self.cost.get().saturating_add(budget.spent()));
        value.map_err(|error| format!("evaluate: {error}"))
    }
}

impl<'a> Scope<'a> for PolicyScope<'_, 'a> {
    fn value(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let json = match name {
            "object" => self.inputs.object,
            "oldObject" => self.inputs.old_object,
            "request" => self.inputs.request,
            "params" => self.inputs.params,
            "namespaceObject" => self.inputs.namespace,
            "authorizer" => {
                return Some(Ok(Value::Opaque(Arc::new(Opaque::authorizer()))));
            }
            "authorizer.requestResource" => {
                let asked = Opaque::request_resource(self.review.resource_permission());
                return Some(Ok(Value::Opaque(Arc::new(asked))));
            }
            name => return self.variable(name),
        };
        Some(Ok(Value::from_json(json, None)))
    }

    fn authorize(&self, subject: &Subject, wanted: &Permission) -> Decision {
        let wanted = attributes(wanted);
        let decision = match subject {
            Subject::Requester => self.review.authorizer.authorize(self.review.user, &wanted),
            Subject::ServiceAccount { namespace, name } => {
                self.review.authorizer.authorize(&User::service_account(namespace, name, ""), &wanted)
            }
        };
        Decision { allowed: decision.allowed, reason: decision.reason }
    }
}

fn attributes(wanted: &Permission) -> Attributes {
    match wanted {
        Permission::Path { verb, path } => Attributes::NonResource { verb: verb.clone(), path: path.clone() },
        Permission::Resource { verb, resource } => {
            let ResourcePermission { group, resource, subresource, namespace, name } = resource.clone();
            // Roles do not look at versions.
            let (verb, version) = (verb.clone(), "*".to_owned());
            ResourceAttributes { verb, group, version, resource, subresource, namespace, name }.into()
        }
    }
}
