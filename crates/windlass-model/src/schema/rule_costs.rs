//! What the rules of a definition may cost: each one, and all of them together.

use serde_json::Value;

use super::Schema;
use super::keywords::{given, text};
use crate::field::{FieldError, FieldPath};
use windlass_cel::max_cardinality;

/// The highest estimated cost of one expression.
const EXPRESSION_LIMIT: u64 = 10_000_000;
/// That of all expressions of a schema.
const SCHEMA_LIMIT: u64 = 100_000_000;
/// Maximum number of expensive expressions that are named. Only those that cost at least a hundredth of the limit are.
const NAMED: usize = 4;

/// Adds up the costs of a schema.
#[derive(Default)]
pub(super) struct RuleCosts {
    total: u64,
    most_expensive: Vec<(u64, FieldPath)>,
    /// The schema was accepted before: a single expression is accepted again.
    pub(super) is_unchanged: bool,
}

impl RuleCosts {
    /// Adds an expression, and refuses it if it is too expensive by itself.
    pub(super) fn add(&mut self, what: &str, path: &FieldPath, cost: u64) -> Option<FieldError> {
        self.total = self.total.saturating_add(cost);
        if cost >= SCHEMA_LIMIT / 100 {
            self.most_expensive.push((cost, path.clone()));
        }
        let too_much = cost > EXPRESSION_LIMIT && !self.is_unchanged;
        too_much.then(|| FieldError::forbidden(path, message(what, cost, EXPRESSION_LIMIT)))
    }

    /// Errors about the total cost of a schema at a path.
    pub(super) fn errors(mut self, path: &FieldPath) -> Vec<FieldError> {
        if self.total <= SCHEMA_LIMIT {
            return Vec::new();
        }
        self.most_expensive.sort_by(|(one, _), (other, _)| other.cmp(one));
        let named =
            "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let parts = self.most_expensive.iter().take(NAMED);
        let mut errors: Vec<FieldError> = parts.map(|(_, path)| FieldError::forbidden(path, named)).collect();
        errors.push(FieldError::forbidden(path, message(what, self.total, SCHEMA_LIMIT)));
        errors
    }
}

fn message(what: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "only the first digits are shown")]
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        _ if factor > 100.0 => "more than 100x".to_owned(),
        // One digit would show a factor of 1.
        _ if factor < 1.5 => format!("{factor:.6}x"),
        _ => format!("{factor:.1}x"),
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

/// How many values a request can have at a node below one with `above` values; `None` if nothing bounds them but the
/// size of the request.
pub(super) fn cardinality_below(node: &Value, above: Option<u64>) -> Option<u64> {
    let bound = |keyword: &str| given(node, keyword).and_then(Value::as_i64);
    let elements = match text(node, "type") {
        "object" if given(node, "additionalProperties").is_some() => bound("maxProperties")?,
        "array" => bound("maxItems")?,
        _ => 1,
    };
    Some(above?.saturating_mul(u64::try_from(elements).unwrap_or(0)))
}

/// The cost of a rule for all values that a request can have at its node.
pub(super) fn for_all(cost: u64, cardinality: Option<u64>, schema: &Schema) -> u64 {
    cost.saturating_mul(cardinality.unwrap_or_else(|| max_cardinality(schema)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::{parse, parse_unchanged};

    /// Errors in a schema of lists of three numbers, each of which a rule looks at.
    fn errors(max_items: u64, is_unchanged: bool) -> Vec<String> {
        let rule = json!({ "rule": "self.all(x, x > 0 && x < 5)" });
        let list = json!({ "type": "array", "maxItems": 3, "items": { "type": "integer" },
            "x-kubernetes-validations": [rule] });
        let node = json!({ "type": "object", "properties": {
            "a": { "type": "array", "maxItems": max_items, "items": list } } });
        let path = FieldPath::of("s");
        let parsed = if is_unchanged { parse_unchanged(&node, &path) } else { parse(&node, &path) };
        parsed.err().unwrap_or_default().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn expensive_rules_are_refused_unless_they_were_there_before() {
        // 2 for the list and the result, and for each item two comparisons of 2 and 3 for the loop. The limit is no
        // multiple of it.
        let cost = 2 + 3 * (2 * 2 + 3);
        let most = EXPRESSION_LIMIT / cost;
        assert_eq!(errors(most, false), [""; 0]);
        let rule = "s.properties[a].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds \
                    budget by factor of 1.000001x (try simplifying the rule, or adding maxItems, maxProperties, and \
                    maxLength where arrays, maps, and strings are declared)";
        assert_eq!(errors(most + 1, false), [rule]);
        assert_eq!(errors(most + 1, true), [""; 0]);
        let all = errors(20 * most, true);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(all[0].contains("Forbidden: contributed to estimated rule cost total"), "{}", all[0]);
        assert!(
            all[1].starts_with("s: Forbidden: x-kubernetes-validations estimated rule cost total"),
            "{}",
            all[1]
        );
    }

    #[test]
    fn cardinalities_multiply_until_one_is_unbounded() {
        let list = |max: Value| json!({ "type": "array", "maxItems": max });
        assert_eq!(cardinality_below(&json!({ "type": "object" }), Some(7)), Some(7));
        assert_eq!(cardinality_below(&list(json!(5)), Some(7)), Some(35));
        assert_eq!(cardinality_below(&list(Value::Null), Some(7)), None);
        assert_eq!(cardinality_below(&list(json!(5)), None), None);
        let map = json!({ "type": "object", "additionalProperties": true });
        assert_eq!(cardinality_below(&map, Some(7)), None);
    }
}
