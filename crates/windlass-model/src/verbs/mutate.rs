//! Lets the mutating admission policies change what is written, after the admission plugins and before anything else.
//!
//! Who owns which field is settled by then, so that no field manager owns what a policy sets.

use serde_json::Value;

use crate::object;
use crate::policy_admission::{self, Kind, Operation, Reinvocation};
use crate::status::Status;
use crate::store::Store;

use super::call::Call;
use super::write::Part;
use super::{admission, body, review};

/// Changes a new object.
pub(super) fn created<S: Store + ?Sized>(call: &Call<'_, S>, new: &mut Value) -> Result<(), Status> {
    if call.types.policies().mutates_nothing() {
        return Ok(());
    }
    run(call, Operation::Create, new, None, |new| admission::admit_new(call, new))
}

/// Changes an object that replaces another, or one of its parts.
pub(super) fn updated<S: Store + ?Sized>(
    call: &Call<'_, S>,
    live: &Value,
    new: &mut Value,
    part: Part,
) -> Result<(), Status> {
    // A Scale is no object of its own here, so there is nothing to change.
    if call.types.policies().mutates_nothing() || part == Part::Scale {
        return Ok(());
    }
    run(call, Operation::Update, new, Some(live), |new| admission::admit_update(call, live, new))
}

/// Once, and if any policy is about the object once more: `plugins` then see what policies have made, and policies what those
/// and later policies have made.
fn run<S: Store + ?Sized>(
    call: &Call<'_, S>,
    operation: Operation,
    new: &mut Value,
    live: Option<&Value>,
    plugins: impl Fn(&mut Value) -> Result<(), Status>,
) -> Result<(), Status> {
    let mut reinvocation = Reinvocation::default();
    let settle = |object: Value, strict: bool| body::settle_mutated(call, object, strict);
    for second in [false, true] {
        if second {
            plugins(new)?;
        }
        let name = if live.is_some() { call.name() } else { object::name(new) };
        let review = review::describe(call, operation, Kind::of(call.info), name, Some(&*new), live);
        let made = policy_admission::mutate(call.store, call.types, &review, &mut reinvocation, &settle)?;
        match made {
            Some(object) => *new = object,
            None => break,
        }
    }
    Ok(())
}
