//! All validating policies, asked about one request.

use std::sync::Arc;

use serde_json::Value;

use crate::object;
use crate::request::ResourceId;
use crate::status::{Cause, Reason, Status};
use crate::store::Store;
use crate::types::Types;

use super::decision::{Decision, Objection, decide};
use super::parameters;
use super::review::Review;
use super::scope::Inputs;
use super::view::{View, namespace_object};
use crate::policies::{ALL, GROUP, Hook};
use crate::policies::{Binding, Policy};

/// What all policies together say.
#[derive(Debug, Default)]
pub(crate) struct Admission {
    /// Why the request is refused; absent if it is not.
    pub(crate) refusal: Option<Status>,
    /// For the client, whether or not the request is refused.
    pub(crate) warnings: Vec<String>,
}

/// Asks all policies about a write. Those about policies themselves are never asked for, so that a bad policy can be
/// repaired.
pub(crate) fn admit<S: Store + ?Sized>(store: &S, types: &Types, review: &Review<'_>) -> Admission {
    if types.policies().is_idle() || is_exempt(review.resource) {
        return Admission::default();
    }
    let mut round = Round { store, types, review, refusals: Vec::new(), warnings: Vec::new() };
    for hook in &types.policies().validating.hooks {
        if let Err(status) = round.ask(hook) {
            return Admission { refusal: Some(status), warnings: round.warnings };
        }
    }
    let refusal = round.refusals.first().map(|refusal| refusal.status(review));
    Admission { refusal, warnings: round.warnings }
}

/// Whether a resource is that of policies or bindings.
pub(super) fn is_exempt(resource: &ResourceId) -> bool {
    resource.group == GROUP && ALL.contains(&resource.plural.as_str())
}

/// One request on its way through all policies.
struct Round<'a, S: Store + ?Sized> {
    store: &'a S,
    types: &'a Types,
    review: &'a Review<'a>,
    refusals: Vec<Refusal>,
    warnings: Vec<String>,
}

/// An objection, with those who raise it.
struct Refusal {
    policy: Box<str>,
    /// Absent if the policy itself is at fault.
    binding: Option<Box<str>>,
    objection: Objection,
}

impl<S: Store + ?Sized> Round<'_, S> {
    /// Asks one policy.
    ///
    /// # Errors
    /// Nothing can be asked, since the namespace is gone.
    fn ask(&mut self, hook: &Hook) -> Result<(), Status> {
        let policy = &*hook.policy;
        let matched = match policy.constraints.matches(self.review, self.store, self.types) {
            Ok(None) => return Ok(()),
            Ok(Some(matched)) => matched,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let params = match parameters::kind_of(policy, self.types) {
            Ok(params) => params,
            Err(why) => {
                self.misconfigured(policy, None, &why);
                return Ok(());
            }
        };
        let view = View::of(self.review, &matched, self.types);
        for binding in &hook.bindings {
            match parameters::of_binding(self.review, self.store, self.types, params, binding) {
                Ok(None) => {}
                Ok(Some(all)) => self.evaluate(policy, binding, &view, &all)?,
                Err(why) => self.misconfigured(policy, Some(binding), &why),
            }
        }
        Ok(())
    }

    /// Evaluates a policy with each parameter of a binding.
    fn evaluate(
        &mut self,
        policy: &Policy,
        binding: &Binding,
        view: &View<'_>,
        all: &[Option<Arc<Value>>],
    ) -> Result<(), Status> {
        let namespace = namespace_object(self.store, self.review.surrounding())?;
        for params in all {
            let params = params.as_deref().unwrap_or(&Value::Null);
            let inputs = Inputs { request: &view.request, namespace: &namespace, params, ..view.inputs() };
            let conditions = Inputs { request: &view.condition_request, namespace: &Value::Null, ..inputs };
            let decision = decide(self.review, policy, inputs, conditions);
            self.enforce(policy, binding, decision);
        }
        Ok(())
    }

    /// Does what a binding says to objections.
    fn enforce(&mut self, policy: &Policy, binding: &Binding, decision: Decision) {
        for objection in decision.objections {
            if binding.warns {
                let (policy, binding) = (&policy.name, &binding.name);
                let warning = format!(
                    "Validation failed for ValidatingAdmissionPolicy '{policy}' with binding '{binding}': {}",
                    objection.message
                );
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
            }
            if binding.denies {
                self.refuse(policy, Some(binding), objection);
            }
        }
        if let Some(objection) = decision.failed_annotation {
            self.refuse(policy, Some(binding), objection);
        }
    }

    fn misconfigured(&mut self, policy: &Policy, binding: Option<&Binding>, why: &str) {
        if policy.fails_closed {
            let what = if binding.is_some() { "binding" } else { "policy" };
            let objection = Objection::failure(format!("failed to configure {what}: {why}"));
            self.refuse(policy, binding, objection);
        }
    }

    fn refuse(&mut self, policy: &Policy, binding: Option<&Binding>, objection: Objection) {
        let binding = binding.map(|binding| binding.name.clone());
        self.refusals.push(Refusal { policy: policy.name.clone(), binding, objection });
    }
}

impl Refusal {
    fn status(&self, review: &Review<'_>) -> Status {
        let Refusal { policy, binding, objection } = self;
        let with = binding.as_ref().map(|name| format!(" with binding '{name}'")).unwrap_or_default();
        let message =
            format!("ValidatingAdmissionPolicy '{policy}'{with} denied request: {}", objection.message);
        let names = [review.name, review.object.map_or("", object::name), "Unknown"];
        let name = names.into_iter().find(|name| !name.is_empty()).unwrap_or_default();
        let mut status = Status::forbidden(&review.resource.group, &review.resource.plural, name, &message);
        status.reason = Some(objection.reason);
        status.code = match objection.reason {
            Reason::Forbidden => 403,
            Reason::Unauthorized => 401,
            Reason::RequestEntityTooLarge => 413,
            _ => 422,
        };
        let cause = Cause { message: Some(message), ..Cause::default() };
        status.details.get_or_insert_default().causes.push(cause);
        status
    }
}
