//! `anyOf`, `oneOf`, `allOf` and `not`.

use serde_json::Value;

use super::checker::{Checker, Findings};
use crate::field::{FieldError, quoted};
use crate::schema::{Constraints, Schema};

/// Checks all combinators of a schema.
pub(super) fn check(
    checker: &Checker<'_>,
    limits: &Constraints,
    value: &Value,
    name: &str,
    findings: &mut Findings,
) {
    // An unchanged part is tolerated only where the structure makes it invalid, not where logic does.
    let run = |schema: &Schema| checker.check(schema, value, name, None);
    let complain = |text: String| FieldError::invalid(checker.base, "", format!("{} {text}", quoted(name)));
    any_of(&limits.any_of, &run, &complain, findings);
    one_of(&limits.one_of, &run, &complain, findings);
    all_of(&limits.all_of, &run, &complain, findings);
    if limits.not.as_deref().is_some_and(|not| run(not).is_valid()) {
        findings.errors.push(complain("must not validate the schema (not)".to_owned()));
    }
}

type Run<'a> = dyn Fn(&Schema) -> Findings + 'a;
type Complain<'a> = dyn Fn(String) -> FieldError + 'a;

fn any_of(branches: &[Schema], run: &Run<'_>, complain: &Complain<'_>, findings: &mut Findings) {
    let mut best: Option<Findings> = None;
    for branch in branches {
        let result = run(branch);
        if result.is_valid() {
            return findings.merge(result);
        }
        keep_best(&mut best, result);
    }
    if let Some(best) = best {
        findings.errors.push(complain("must validate at least one schema (anyOf)".to_owned()));
        findings.merge(best);
    }
}

fn one_of(branches: &[Schema], run: &Run<'_>, complain: &Complain<'_>, findings: &mut Findings) {
    if branches.is_empty() {
        return;
    }
    let (mut best, mut first_valid, mut valid) = (None, None, 0);
    for result in branches.iter().map(run) {
        if result.is_valid() {
            valid += 1;
            first_valid.get_or_insert(result);
        } else {
            keep_best(&mut best, result);
        }
    }
    let why = match valid {
        0 => "Found none valid".to_owned(),
        1 => return findings.merge(first_valid.unwrap_or_default()),
        many => format!("Found {many} valid alternatives"),
    };
    findings.errors.push(complain(format!("must validate one and only one schema (oneOf). {why}")));
    if let (0, Some(best)) = (valid, best) {
        findings.merge(best);
    }
}

fn all_of(branches: &[Schema], run: &Run<'_>, complain: &Complain<'_>, findings: &mut Findings) {
    let mut valid = 0;
    for result in branches.iter().map(run) {
        valid += usize::from(result.is_valid());
        findings.merge(result);
    }
    if valid < branches.len() {
        let none = if valid == 0 { ". None validated" } else { "" };
        findings.errors.push(complain(format!("must validate all the schemas (allOf){none}")));
    }
}

/// The failure that came closest is the one worth showing.
fn keep_best(best: &mut Option<Findings>, result: Findings) {
    if best.as_ref().is_none_or(|best| result.matches > best.matches) {
        *best = Some(result);
    }
}
