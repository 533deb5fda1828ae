//! All mutating policies, one after the other, on one request.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::status::{Cause, Reason, Status};
use crate::store::Store;
use crate::types::{TypeInfo, Types};
use windlass_cel::RUNTIME_COST_BUDGET;

use super::decision::matches_conditions;
use super::dispatch::is_exempt;
use super::matching::Matched;
use super::parameters;
use super::review::Review;
use super::scope::{Inputs, PolicyScope};
use super::view::{View, namespace_object};
use crate::policies::Mutation;
use crate::policies::{Binding, Policy};
use crate::policies::{GROUP, Hook, MUTATING_POLICIES};

/// Which policies are asked a second time, since later ones have changed the object.
#[derive(Debug, Default)]
pub(crate) struct Reinvocation {
    /// Those that have been asked and would like to be asked again.
    asked: BTreeSet<Invocation>,
    /// Those whose turn it is in the second round.
    due: BTreeSet<Invocation>,
    /// What the first round has made.
    output: Option<Value>,
}

/// The names of a policy, its binding and its parameter with the parameter's namespace.
type Invocation = [Box<str>; 4];

impl Reinvocation {
    /// The object has changed since those were asked.
    fn changed(&mut self) {
        self.due.append(&mut self.asked);
    }
}

/// What all mutating policies make of the object of a write; nothing if none of them is about it.
///
/// `settle` fills in defaults after each mutation, and says whether the object can be read; an error of it ends
/// everything. `reinvocation` goes from the first round to the second.
///
/// # Errors
/// Why the request is refused.
pub(crate) fn mutate<S: Store + ?Sized>(
    store: &S,
    types: &Types,
    review: &Review<'_>,
    reinvocation: &mut Reinvocation,
    settle: &dyn Fn(Value, bool) -> Result<Value, Status>,
) -> Result<Option<Value>, Status> {
    let served =
        || types.iter().any(|info| info.resource.group == GROUP && info.resource.plural == MUTATING_POLICIES);
    if types.policies().mutates_nothing() || is_exempt(review.resource) || !served() {
        return Ok(None);
    }
    let Some(object) = review.object else { return Ok(None) };
    let again = reinvocation.output.take();
    if again.as_ref().is_some_and(|output| output != object) {
        // The plugins between the two rounds have changed it.
        reinvocation.changed();
    }
    let mut round = Round {
        store,
        types,
        review,
        reinvocation,
        second: again.is_some(),
        settle,
        object: object.clone(),
        performed: false,
        refusals: Vec::new(),
    };
    round.run()?;
    let Round { object: made, refusals, performed, .. } = round;
    if !refusals.is_empty() {
        return Err(refusal(review, &refusals));
    }
    reinvocation.output = Some(made.clone());
    Ok(performed.then_some(made))
}

/// One request on its way through all mutating policies.
struct Round<'a, S: Store + ?Sized> {
    store: &'a S,
    types: &'a Types,
    review: &'a Review<'a>,
    reinvocation: &'a mut Reinvocation,
    /// Whether this is the second round, in which only some are asked.
    second: bool,
    settle: &'a dyn Fn(Value, bool) -> Result<Value, Status>,
    object: Value,
    /// Whether any mutation has been performed, even if it has changed nothing.
    performed: bool,
    refusals: Vec<Refusal>,
}

/// Why a request is refused.
struct Refusal {
    message: String,
    /// Empty if something is not set up.
    reason: Option<Reason>,
}

/// A policy that matches, with one parameter of one of its bindings.
struct Step<'a> {
    policy: &'a Policy,
    binding: &'a Binding,
    matched: Matched,
    params: Option<Arc<Value>>,
}

impl<S: Store + ?Sized> Round<'_, S> {
    /// All that match are found before the first of them changes anything.
    fn run(&mut self) -> Result<(), Status> {
        let types = self.types;
        let mut steps = Vec::new();
        for hook in &types.policies().mutating.hooks {
            self.collect(hook, &mut steps);
        }
        if steps.is_empty() {
            return Ok(());
        }
        let namespace = namespace_object(self.store, self.review.surrounding())?;
        for step in &steps {
            self.perform(step, &namespace)?;
        }
        if self.performed {
            self.reinvocation.changed();
        }
        Ok(())
    }

    /// Finds the bindings and parameters with which a policy is to be asked.
    fn collect<'h>(&mut self, hook: &'h Hook, steps: &mut Vec<Step<'h>>) {
        let policy = &*hook.policy;
        let matched = match policy.constraints.matches(self.review, self.store, self.types) {
            Ok(None) => return,
            Ok(Some(matched)) => matched,
            Err(why) => return self.misconfigured(policy, None, &why),
        };
        let kind = match parameters::kind_of(policy, self.types) {
            Ok(kind) => kind,
            Err(why) => return self.misconfigured(policy, None, &why),
        };
        for binding in &hook.bindings {
            match parameters::of_binding(self.review, self.store, self.types, kind, binding) {
                Ok(None) => {}
                Ok(Some(all)) => steps.extend(all.into_iter().map(|params| Step {
                    policy,
                    binding,
                    matched: matched.clone(),
                    params,
                })),
                Err(why) => self.misconfigured(policy, Some(binding), &why),
            }
        }
    }

    /// Performs the mutations of a policy with one parameter.
    fn perform(&mut self, step: &Step<'_>, namespace: &Value) -> Result<(), Status> {
        let policy = step.policy;
        match self.with_inputs(step, namespace, |round, _, conditions| {
            matches_conditions(round.review, policy, conditions)
        }) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            Err(why) => {
                self.fail(step, why);
                return Ok(());
            }
        }
        let invocation = step.invocation();
        if self.second && !self.reinvocation.due.contains(&invocation) {
            return Ok(());
        }
        let before = self.object.clone();
        for mutation in &policy.mutations {
            self.mutate(step, mutation, namespace)?;
        }
        if self.object != before {
            self.reinvocation.changed();
        }
        if policy.reinvoked {
            self.reinvocation.asked.insert(invocation);
        }
        Ok(())
    }

    /// Performs one mutation. One that fails leaves the object alone, and the next one is still performed.
    fn mutate(&mut self, step: &Step<'_>, mutation: &Mutation, namespace: &Value) -> Result<(), Status> {
        let made = self.with_inputs(step, namespace, |round, inputs, _| {
            let Some(info) = round.info(step) else {
                return Err(format!("Resource kind {} not found.", step.matched.kind.kind));
            };
            let scope = PolicyScope::new(round.review, step.policy, inputs, RUNTIME_COST_BUDGET);
            mutation.apply(&scope, inputs.object, info)
        });
        match made {
            Ok(mut made) => {
                made["apiVersion"] = self.object["apiVersion"].clone();
                let strict = matches!(mutation, Mutation::Patch(_));
                self.object = (self.settle)(made, strict)?;
                self.performed = true;
            }
            Err(why) => self.fail(step, why),
        }
        Ok(())
    }

    /// The type of the object as the policy knows it.
    fn info(&self, step: &Step<'_>) -> Option<&TypeInfo> {
        self.types.get(&step.matched.resource).map(Arc::as_ref)
    }

    /// Shows the object as it is now to the expressions of a policy.
    fn with_inputs<T>(
        &self,
        step: &Step<'_>,
        namespace: &Value,
        run: impl FnOnce(&Self, Inputs<'_>, Inputs<'_>) -> T,
    ) -> T {
        let review = self.review.with_object(&self.object);
        let view = View::of(&review, &step.matched, self.types);
        let params = step.params.as_deref().unwrap_or(&Value::Null);
        let inputs = Inputs { namespace, params, ..view.inputs() };
        let conditions = Inputs { request: &view.condition_request, namespace: &Value::Null, ..inputs };
        run(self, inputs, conditions)
    }

    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        let what = if binding.is_some() { "binding" } else { "policy" };
        self.refuse(policy, binding, &format!("failed to configure {what}: {why}"), None);
    }

    fn fail(&mut self, step: &Step<'_>, why: String) {
        self.refuse(step.policy, Some(step.binding), &why, Some(Reason::Invalid));
    }

    fn refuse(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str, reason: Option<Reason>) {
        if policy.fails_closed {
            let message = match binding {
                Some(binding) => {
                    format!("policy '{}' with binding '{}' denied request: {why}", policy.name, binding.name)
                }
                None => format!("policy {:?} denied request: {why}", policy.name),
            };
            self.refusals.push(Refusal { message, reason });
        }
    }
}

impl Step<'_> {
    fn invocation(&self) -> Invocation {
        let params = self.params.as_deref().unwrap_or(&Value::Null);
        [
            self.policy.name.clone(),
            self.binding.name.clone(),
            object::name(params).into(),
            object::namespace(params).into(),
        ]
    }
}

/// The answer with all reasons. Its code is that of a refusal, whatever the reason.
fn refusal(review: &Review<'_>, refusals: &[Refusal]) -> Status {
    let names = [review.name, review.object.map_or("", object::name), "Unknown"];
    let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
    let mut status = Status::forbidden(&review.resource.group, &review.resource.plural, name, "");
    if let Some(first) = refusals.first() {
        status.message.clone_from(&first.message);
        status.reason = first.reason.or(status.reason);
    }
    let causes =
        refusals.iter().map(|refusal| Cause { message: Some(refusal.message.clone()), ..Cause::default() });
    status.details.get_or_insert_default().causes.extend(causes);
    status
}
