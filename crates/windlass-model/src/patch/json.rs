//! JSON patch (RFC 6902), with the liberties that Kubernetes takes.
//!
//! These are: an index may count from the end (`-1` is the last item), `replace` sets a missing field,
//! `copy` and `test` take a missing field for null, and what stands before the first `/` of a path is
//! ignored.

use serde_json::Value;

use crate::status::{Reason, Status};
use crate::unmarshal::json_type;

/// A patch with more operations is refused.
const MAX_OPERATIONS: usize = 10_000;
/// Maximum total bytes of the values that a patch copies.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;
/// An object that is nested deeper could be stored, but not read back.
const MAX_DEPTH: usize = 127;
/// While a patch is applied, moves may nest values deeper than the result may be, but not without end.
const MAX_DEPTH_BETWEEN: usize = 1_000;

/// The document that a patch makes of `target`.
///
/// A malformed patch is a 400, one of more than 10,000 operations a 413, one that does not apply a 422.
pub(crate) fn apply_json_patch(target: &Value, patch: &Value) -> Result<Value, Status> {
    let operations = read_patch(patch)?;
    if operations.len() > MAX_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Status::failure(413, Reason::RequestEntityTooLarge, message));
    }
    let mut document = Document::new(target.clone());
    for operation in &operations {
        document.apply(operation).ok_or_else(Status::unprocessable)?;
    }
    if depth(&document.root) > MAX_DEPTH { Err(Status::unprocessable()) } else { Ok(document.root) }
}

/// One operation as it was sent; absent and null are the same.
#[derive(Default)]
pub(super) struct Operation<'a> {
    pub(super) op: Option<&'a str>,
    pub(super) path: Option<&'a str>,
    pub(super) from: Option<&'a str>,
    pub(super) value: Option<&'a Value>,
}

pub(super) fn read_patch(patch: &Value) -> Result<Vec<Operation<'_>>, Status> {
    match patch {
        Value::Null => Ok(Vec::new()),
        Value::Array(operations) => operations.iter().map(read_operation).collect(),
        other => Err(malformed(other, "Go value of type []handlers.jsonPatchOp")),
    }
}

fn read_operation(operation: &Value) -> Result<Operation<'_>, Status> {
    if operation.is_null() {
        return Ok(Operation::default());
    }
    let Value::Object(operation) = operation else {
        return Err(malformed(operation, "Go value of type handlers.jsonPatchOp"));
    };
    let text = |field: &str| match operation.get(field) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.as_str())),
        Some(other) => Err(malformed(other, &format!("Go struct field jsonPatchOp.{field} of type string"))),
    };
    Ok(Operation { op: text("op")?, path: text("path")?, from: text("from")?, value: operation.get("value") })
}

fn malformed(value: &Value, into: &str) -> Status {
    Status::bad_request(format!(
        "error decoding patch: json: cannot unmarshal {} into {into}",
        json_type(value)
    ))
}

/// A document that is being patched.
pub(super) struct Document {
    pub(super) root: Value,
    /// At least how deep the root is nested.
    depth: usize,
    copied_bytes: usize,
}

impl Document {
    /// A document before its first operation.
    pub(super) fn new(root: Value) -> Self {
        Document { depth: depth(&root), root, copied_bytes: 0 }
    }

    /// `None` if the operation does not apply.
    pub(super) fn apply(&mut self, operation: &Operation<'_>) -> Option<()> {
        let path = operation.path;
        let value = || operation.value.cloned().unwrap_or_default();
        match operation.op? {
            "add" => self.add(path?, value()),
            "remove" => self.remove(path?).map(drop),
            "replace" => self.replace(path?, operation.value),
            "move" => {
                let from = operation.from?;
                let moved = self.remove(from)?;
                let path = path?;
                self.deepen(steps(path).saturating_add(self.depth.saturating_sub(steps(from))))?;
                self.insert(path, moved)
            }
            "copy" => {
                let copied = self.get(operation.from?)?.clone();
                self.copied_bytes = self.copied_bytes.saturating_add(copied.to_string().len());
                if self.copied_bytes > MAX_COPIED_BYTES {
                    return None;
                }
                self.add(path?, copied)
            }
            "test" => {
                let path = path?;
                let found = if path.is_empty() { &self.root } else { self.get(path)? };
                (found == operation.value.unwrap_or(&Value::Null)).then_some(())
            }
            _ => None,
        }
    }

    fn add(&mut self, path: &str, value: Value) -> Option<()> {
        self.deepen(steps(path).saturating_add(depth(&value)))?;
        self.insert(path, value)
    }

    fn replace(&mut self, path: &str, value: Option<&Value>) -> Option<()> {
        let new = value.cloned().unwrap_or_default();
        self.deepen(steps(path).saturating_add(depth(&new)))?;
        if path.is_empty() {
            if !new.is_object() && !new.is_array() {
                return None;
            }
            self.root = new;
            return Some(());
        }
        let (parent, key) = parent_of(&mut self.root, path)?;
        match parent {
            Value::Object(map) => {
                map.insert(key, new);
            }
            Value::Array(list) => {
                let index = existing_index(list, &key)?;
                *list.get_mut(index)? = new;
            }
            _ => return None,
        }
        Some(())
    }

    fn insert(&mut self, path: &str, value: Value) -> Option<()> {
        let (parent, key) = parent_of(&mut self.root, path)?;
        match parent {
            Value::Object(map) => {
                map.insert(key, value);
            }
            Value::Array(list) if key == "-" => list.push(value),
            Value::Array(list) => {
                let index = index(&key, list.len() + 1)?;
                list.insert(index, value);
            }
            _ => return None,
        }
        Some(())
    }

    fn remove(&mut self, path: &str) -> Option<Value> {
        let (parent, key) = parent_of(&mut self.root, path)?;
        match parent {
            Value::Object(map) => map.remove(&key),
            Value::Array(list) => existing_index(list, &key).map(|index| list.remove(index)),
            _ => None,
        }
    }

    /// The value at a path; null for a missing field of an object that is there.
    fn get(&mut self, path: &str) -> Option<&Value> {
        let (parent, key) = parent_of(&mut self.root, path)?;
        match parent {
            Value::Object(map) => Some(map.get(&key).unwrap_or(&Value::Null)),
            Value::Array(list) => list.get(existing_index(list, &key)?),
            _ => None,
        }
    }

    /// Notes that the document may now be so deep. Moves of moved values could nest it without end.
    fn deepen(&mut self, depth: usize) -> Option<()> {
        self.depth = self.depth.max(depth);
        (self.depth <= MAX_DEPTH_BETWEEN).then_some(())
    }
}

/// The value that holds what a path names, and the last part of the path.
pub(super) fn parent_of<'a>(root: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (_, path) = path.split_once('/')?;
    let (parents, last) = match path.rsplit_once('/') {
        None => (None, path),
        Some((parents, last)) => (Some(parents), last),
    };
    let mut value = root;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        let key = unescape(part);
        value = match value {
            Value::Object(map) => map.get_mut(&key)?,
            Value::Array(list) => {
                let index = existing_index(list, &key)?;
                list.get_mut(index)?
            }
            _ => return None,
        };
    }
    Some((value, unescape(last)))
}

fn unescape(part: &str) -> String {
    if part.contains('~') { part.replace("~1", "/").replace("~0", "~") } else { part.to_owned() }
}

fn existing_index(list: &[Value], key: &str) -> Option<usize> {
    index(key, list.len())
}

/// An index below `length`; a negative one counts from there.
pub(super) fn index(key: &str, length: usize) -> Option<usize> {
    let index: i64 = key.parse().ok()?;
    let index = if index < 0 { index.checked_add(i64::try_from(length).ok()?)? } else { index };
    usize::try_from(index).ok().filter(|index| *index < length)
}

fn steps(path: &str) -> usize {
    path.bytes().filter(|byte| *byte == b'/').count()
}

/// How many lists and maps are inside each other.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn patched(target: Value, patch: Value) -> Result<Value, u16> {
        apply_json_patch(&target, &patch).map_err(|status| status.code)
    }

    #[test]
    fn applies_operations() {
        for (target, operation, expected) in [
            (json!({}), json!({"op": "add", "path": "/a", "value": 1}), json!({"a": 1})),
            (json!({"a": 1}), json!({"op": "add", "path": "/a", "value": 2}), json!({"a": 2})),
            (json!({}), json!({"op": "add", "path": "/a"}), json!({"a": null})),
            (json!({}), json!({"op": "add", "path": "/", "value": 1}), json!({"": 1})),
            (json!({}), json!({"op": "add", "path": "/x~1y~0z", "value": 1}), json!({"x/y~z": 1})),
            (json!({}), json!({"op": "add", "path": "/~01", "value": 1}), json!({"~1": 1})),
            (json!({}), json!({"op": "add", "path": "ignored/a", "value": 1}), json!({"a": 1})),
            (json!({"a": [1, 3]}), json!({"op": "add", "path": "/a/1", "value": 2}), json!({"a": [1, 2, 3]})),
            (json!({"a": [1]}), json!({"op": "add", "path": "/a/1", "value": 2}), json!({"a": [1, 2]})),
            (json!({"a": [1]}), json!({"op": "add", "path": "/a/-", "value": 2}), json!({"a": [1, 2]})),
            (json!({"a": [1]}), json!({"op": "add", "path": "/a/-1", "value": 2}), json!({"a": [1, 2]})),
            (json!({"a": [1]}), json!({"op": "add", "path": "/a/-2", "value": 2}), json!({"a": [2, 1]})),
            (json!({"a": 1, "b": 2}), json!({"op": "remove", "path": "/a"}), json!({"b": 2})),
            (json!({"a": [1, 2, 3]}), json!({"op": "remove", "path": "/a/1"}), json!({"a": [1, 3]})),
            (json!({"a": [1, 2, 3]}), json!({"op": "remove", "path": "/a/-1"}), json!({"a": [1, 2]})),
            (json!({"a": 1}), json!({"op": "replace", "path": "/a", "value": 2}), json!({"a": 2})),
            (json!({}), json!({"op": "replace", "path": "/a", "value": 2}), json!({"a": 2})),
            (json!({"a": [1]}), json!({"op": "replace", "path": "/a/0", "value": 2}), json!({"a": [2]})),
            (json!({"a": 1}), json!({"op": "replace", "path": "", "value": {"b": 1}}), json!({"b": 1})),
            (json!({"a": 1}), json!({"op": "move", "from": "/a", "path": "/b"}), json!({"b": 1})),
            (json!({"a": {"b": 1}}), json!({"op": "move", "from": "/a/b", "path": "/a"}), json!({"a": 1})),
            (
                json!({"a": [1, 2]}),
                json!({"op": "move", "from": "/a/0", "path": "/a/-"}),
                json!({"a": [2, 1]}),
            ),
            (
                json!({"a": [1]}),
                json!({"op": "copy", "from": "/a", "path": "/b"}),
                json!({"a": [1], "b": [1]}),
            ),
            (json!({}), json!({"op": "copy", "from": "/a", "path": "/b"}), json!({"b": null})),
            (json!({"a": [1]}), json!({"op": "test", "path": "/a", "value": [1]}), json!({"a": [1]})),
            (json!({"a": 1}), json!({"op": "test", "path": "", "value": {"a": 1}}), json!({"a": 1})),
            (json!({}), json!({"op": "test", "path": "/a", "value": null}), json!({})),
            (json!({}), json!({"op": "test", "path": "/a"}), json!({})),
        ] {
            assert_eq!(patched(target, json!([operation])), Ok(expected), "{operation}");
        }
    }

    #[test]
    fn refuses_what_does_not_apply() {
        let target = json!({"a": [1, 2], "b": {"c": 1}, "n": null});
        for operation in [
            json!({"op": "add", "path": "", "value": {}}),
            json!({"op": "add", "path": "a", "value": {}}),
            json!({"op": "add", "path": "/x/y", "value": 1}),
            json!({"op": "add", "path": "/n/y", "value": 1}),
            json!({"op": "add", "path": "/b/c/d", "value": 1}),
            json!({"op": "add", "path": "/a/3", "value": 1}),
            json!({"op": "add", "path": "/a/-4", "value": 1}),
            json!({"op": "add", "path": "/a/x", "value": 1}),
            json!({"op": "add", "path": "/a/-/x", "value": 1}),
            json!({"op": "add", "value": 1}),
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "remove", "path": "/a/2"}),
            json!({"op": "remove", "path": "/a/-"}),
            json!({"op": "remove", "path": ""}),
            json!({"op": "replace", "path": "/a/2", "value": 1}),
            json!({"op": "replace", "path": "/x/y", "value": 1}),
            json!({"op": "replace", "path": "", "value": 1}),
            json!({"op": "replace", "path": ""}),
            json!({"op": "move", "from": "/x", "path": "/y"}),
            json!({"op": "move", "from": "/b", "path": "/b/c"}),
            json!({"op": "move", "path": "/y"}),
            json!({"op": "copy", "from": "/x/y", "path": "/y"}),
            json!({"op": "copy", "from": "", "path": "/y"}),
            json!({"op": "test", "path": "/a", "value": [2, 1]}),
            json!({"op": "test", "path": "/a/0", "value": 1.0}),
            json!({"op": "test", "path": "/b"}),
            json!({"op": "test", "path": "/x/y", "value": null}),
            json!({"op": "jump", "path": "/a"}),
            json!({"op": null, "path": "/a"}),
            json!({}),
            json!(null),
        ] {
            assert_eq!(patched(target.clone(), json!([operation])), Err(422), "{operation}");
        }
    }

    #[test]
    fn refuses_malformed_patches() {
        for (patch, message) in [
            (
                json!({}),
                "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp",
            ),
            (
                json!([1]),
                "error decoding patch: json: cannot unmarshal number into Go value of type handlers.jsonPatchOp",
            ),
            (
                json!([{"op": 1}]),
                "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op of type string",
            ),
        ] {
            let status = apply_json_patch(&json!({}), &patch).unwrap_err();
            assert_eq!((status.code, status.message.as_str()), (400, message));
        }
        assert_eq!(patched(json!({"a": 1}), json!(null)), Ok(json!({"a": 1})));
    }

    #[test]
    fn refuses_too_many_operations() {
        let test = json!({"op": "test", "path": "/a", "value": null});
        assert_eq!(patched(json!({}), vec![test.clone(); 10_000].into()), Ok(json!({})));
        let status = apply_json_patch(&json!({}), &vec![test; 10_001].into()).unwrap_err();
        assert_eq!(status.code, 413);
        assert!(status.message.ends_with("maximum operations in a JSON patch is 10000, got 10001"));
    }

    #[test]
    fn refuses_to_copy_without_end() {
        let double = json!({"op": "copy", "from": "/a", "path": "/a/-"});
        assert!(patched(json!({"a": [1]}), vec![double.clone(); 10].into()).is_ok());
        assert_eq!(patched(json!({"a": [1]}), vec![double; 100].into()), Err(422));
    }

    #[test]
    fn refuses_to_nest_without_end() {
        let wrap = [
            json!({"op": "add", "path": "/t", "value": {}}),
            json!({"op": "move", "from": "/a", "path": "/t/a"}),
            json!({"op": "move", "from": "/t", "path": "/a"}),
        ];
        let wrapped = |times: usize| {
            let operations: Vec<Value> = (0..times).flat_map(|_| wrap.clone()).collect();
            patched(json!({"a": 1}), operations.into())
        };
        assert!(wrapped(126).is_ok());
        assert_eq!(wrapped(127), Err(422));
        assert_eq!(wrapped(3_000), Err(422));
    }
}
