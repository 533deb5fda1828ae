//! Conversion between the versions of a custom resource.

use serde_json::Value;

use crate::object;

/// Shows an object in another version. With the strategy `None`, only `apiVersion` differs.
pub fn convert(object: &mut Value, group: &str, to_version: &str) {
    if let Some(map) = object.as_object_mut() {
        map.insert("apiVersion".to_owned(), object::api_version(group, to_version).into());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_the_version_changes() {
        let mut object = json!({"apiVersion": "g.io/v1", "kind": "K", "spec": {"a": 1}});
        convert(&mut object, "g.io", "v2");
        assert_eq!(object, json!({"apiVersion": "g.io/v2", "kind": "K", "spec": {"a": 1}}));
        let mut no_object = json!([]);
        convert(&mut no_object, "g.io", "v2");
        assert_eq!(no_object, json!([]));
    }
}
