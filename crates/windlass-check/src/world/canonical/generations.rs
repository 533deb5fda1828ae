//! Generations in an object, as far as they are taken for such: its own, and those that its status says were observed.

use std::collections::BTreeSet;

use serde_json::Value;
use windlass_model::object;

/// The object with its generation, and those that its status says were observed, numbered by rank; `None` if they
/// are. Only what stands under these names is taken for a generation; `other_numbers` finds out if code keeps one elsewhere.
pub(super) fn ranked_generations(live: &Value) -> Option<Value> {
    let mut seen = BTreeSet::from([object::generation(live)]);
    collect_observed(live, &mut seen);
    // Nothing was ever observed as generation 0: it is what a field says that was never set, and stays.
    seen.remove(&0);
    let rank = |number: i64| match number {
        0 => 0,
        _ => seen.iter().take_while(|seen| **seen < number).count() as i64 + 1,
    };
    if object::generation(live) == 0 || seen.iter().all(|number| rank(*number) == *number) {
        return None;
    }
    let mut ranked = live.clone();
    object::set_meta(&mut ranked, "generation", rank(object::generation(live)));
    visit_observed(&mut ranked, &mut |number| *number = rank(*number));
    Some(ranked)
}

pub(super) fn visit_observed(value: &mut Value, visit: &mut impl FnMut(&mut i64)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_i64() {
                    Some(mut number) if name == "observedGeneration" => {
                        visit(&mut number);
                        *field = number.into();
                    }
                    _ => visit_observed(field, visit),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| visit_observed(item, visit)),
        _ => {}
    }
}

/// Whether a generation stands in a value, as far as it is taken for one.
pub(super) fn mentions_generation(value: &Value) -> bool {
    let mut observed = BTreeSet::new();
    collect_observed(value, &mut observed);
    !observed.is_empty()
}

/// Adds the generations that a value says were observed.
fn collect_observed(value: &Value, observed: &mut BTreeSet<i64>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field.as_i64() {
                    Some(number) if name == "observedGeneration" => drop(observed.insert(number)),
                    _ => collect_observed(field, observed),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_observed(item, observed)),
        _ => {}
    }
}
