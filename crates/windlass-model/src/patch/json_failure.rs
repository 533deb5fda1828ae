//! JSON patches that say in words why they do not apply, as those of admission policies do.

use serde_json::Value;

use super::json::{Document, Operation, index, parent_of, read_patch};

/// Why a patch makes nothing of a document.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum PatchFailure {
    /// A test found another value.
    TestFailed,
    /// An operation does not fit the document.
    NotApplicable(String),
}

/// The document that a patch makes of `target`.
///
/// # Errors
/// The first operation that fails, in the words of Kubernetes.
pub(crate) fn explained_json_patch(target: &Value, patch: &Value) -> Result<Value, PatchFailure> {
    let operations = read_patch(patch).map_err(|status| PatchFailure::NotApplicable(status.message))?;
    let mut document = Document::new(target.clone());
    for (index, operation) in operations.iter().enumerate() {
        if document.apply(operation).is_none() {
            // It may have done a part of its work.
            let mut before = Document::new(target.clone());
            for done in operations.iter().take(index) {
                before.apply(done);
            }
            return Err(explain(&mut before.root, operation));
        }
    }
    Ok(document.root)
}

/// What is at the end of a path.
enum Spot {
    /// There is nothing that could have it.
    Nowhere,
    /// What should have it cannot, and why.
    Unfit(String),
    Fit,
}

/// Why an operation has failed on a document.
fn explain(root: &mut Value, operation: &Operation<'_>) -> PatchFailure {
    use Spot::{Fit, Nowhere, Unfit};
    let text = |part: Option<&str>| part.unwrap_or_default().to_owned();
    let (op, path, from) = (text(operation.op), text(operation.path), text(operation.from));
    let missing = "missing value";
    let too_much = || "the document grows too deep or too large".to_owned();
    PatchFailure::NotApplicable(match op.as_str() {
        "add" => match adding(root, &path) {
            Nowhere => format!("add operation does not apply: doc is missing path: \"{path}\": {missing}"),
            Unfit(why) => format!("error in add for path: '{path}': {why}"),
            Fit => too_much(),
        },
        "remove" => match removing(root, &path) {
            Nowhere => format!("remove operation does not apply: doc is missing path: \"{path}\": {missing}"),
            Unfit(why) => format!("error in remove for path: '{path}': {why}"),
            Fit => too_much(),
        },
        "replace" => match reading(root, &path) {
            Nowhere => format!("replace operation does not apply: doc is missing path: {path}: {missing}"),
            Unfit(_) => format!("replace operation does not apply: doc is missing key: {path}: {missing}"),
            Fit => too_much(),
        },
        "move" => match (removing(root, &from), adding(root, &path)) {
            (Nowhere, _) => {
                format!("move operation does not apply: doc is missing from path: {from}: {missing}")
            }
            (Unfit(why), _) => {
                let key = from.rsplit('/').next().unwrap_or_default();
                format!("error in move for path: '{key}': {why}")
            }
            (Fit, Nowhere) => {
                format!("move operation does not apply: doc is missing destination path: {path}: {missing}")
            }
            (Fit, Unfit(why)) => format!("error in move for path: '{path}': {why}"),
            (Fit, Fit) => too_much(),
        },
        "copy" => match (reading(root, &from), adding(root, &path)) {
            (Nowhere, _) => {
                format!("copy operation does not apply: doc is missing from path: {from}: {missing}")
            }
            (Unfit(why), _) => format!("error in copy for from: '{from}': {why}"),
            (Fit, Nowhere) => {
                format!("copy operation does not apply: doc is missing destination path: {path}: {missing}")
            }
            (Fit, Unfit(why)) => format!("error while adding value during copy: {why}"),
            (Fit, Fit) => too_much(),
        },
        "test" => match reading(root, &path) {
            Nowhere if !path.is_empty() => {
                format!("test operation does not apply: is missing path: {path}: {missing}")
            }
            Unfit(why) => format!("error in test for path: '{path}': {why}"),
            _ => return PatchFailure::TestFailed,
        },
        other => format!("Unexpected kind: {other}"),
    })
}

/// Whether a value can be read at a path. A field that is absent reads as null.
fn reading(root: &mut Value, path: &str) -> Spot {
    match parent_of(root, path) {
        Some((Value::Object(_), _)) => Spot::Fit,
        Some((Value::Array(list), key)) => at_index(&key, list.len(), ""),
        _ => Spot::Nowhere,
    }
}

fn removing(root: &mut Value, path: &str) -> Spot {
    match parent_of(root, path) {
        Some((Value::Object(fields), key)) if !fields.contains_key(&key) => {
            Spot::Unfit(format!("Unable to remove nonexistent key: {key}: missing value"))
        }
        _ => reading(root, path),
    }
}

fn adding(root: &mut Value, path: &str) -> Spot {
    match parent_of(root, path) {
        Some((Value::Array(_), key)) if key == "-" => Spot::Fit,
        Some((Value::Array(list), key)) => {
            at_index(&key, list.len() + 1, &format!("value was not a proper array index: '{key}': "))
        }
        _ => reading(root, path),
    }
}

/// `before` is the prefix of the message about a key that is not a number.
fn at_index(key: &str, length: usize, before: &str) -> Spot {
    match key.parse::<i64>() {
        Err(_) => Spot::Unfit(format!("{before}strconv.Atoi: parsing {key:?}: invalid syntax")),
        Ok(_) if index(key, length).is_some() => Spot::Fit,
        Ok(index) => {
            Spot::Unfit(format!("Unable to access invalid index: {index}: invalid index referenced"))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn says_why_an_operation_does_not_apply() {
        let target = json!({"a": {"b": 1}, "list": [1]});
        for (operation, expected) in [
            (
                json!({"op": "add", "path": "/x/y", "value": 1}),
                "add operation does not apply: doc is missing path: \"/x/y\": missing value",
            ),
            (
                json!({"op": "remove", "path": "/a/c"}),
                "error in remove for path: '/a/c': Unable to remove nonexistent key: c: missing value",
            ),
            (
                json!({"op": "add", "path": "/list/5", "value": 1}),
                "error in add for path: '/list/5': Unable to access invalid index: 5: invalid index referenced",
            ),
            (
                json!({"op": "add", "path": "/list/x", "value": 1}),
                "error in add for path: '/list/x': value was not a proper array index: 'x': strconv.Atoi: parsing \"x\": \
                 invalid syntax",
            ),
            (
                json!({"op": "move", "from": "/a/b", "path": "/x/y"}),
                "move operation does not apply: doc is missing destination path: /x/y: missing value",
            ),
            (
                json!({"op": "copy", "from": "/list/1", "path": "/x"}),
                "error in copy for from: '/list/1': Unable to access invalid index: 1: invalid index referenced",
            ),
            (json!({"op": "shuffle", "path": "/a"}), "Unexpected kind: shuffle"),
        ] {
            let failure = explained_json_patch(&target, &json!([operation])).unwrap_err();
            assert_eq!(failure, PatchFailure::NotApplicable(expected.to_owned()));
        }
    }

    #[test]
    fn a_failed_test_has_its_own_error() {
        let patch = json!([{"op": "test", "path": "/a", "value": 2}, {"op": "remove", "path": "/a"}]);
        assert_eq!(explained_json_patch(&json!({"a": 1}), &patch), Err(PatchFailure::TestFailed));
        assert_eq!(explained_json_patch(&json!({"a": 2}), &patch), Ok(json!({})));
    }
}
