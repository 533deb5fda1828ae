//! How urgent a change is for a controller. Pure functions of the change.

use serde_json::Value;
use windlass::Cause;
use windlass::model::object;

use crate::informer::EventOrigin;
use crate::queue::Priority;

/// How urgent a trigger is. A controller's own write comes back to it through the watch like any other change, and is
/// rarely followed by work, so it has low priority. A parent that another controller of this process created is live.
pub(crate) fn priority(origin: EventOrigin, cause: Cause, spec_changed: bool) -> Priority {
    let comes_back = match cause {
        Cause::Output => true,
        Cause::Parent => !spec_changed,
        Cause::Watched | Cause::Source => false,
    };
    match origin {
        EventOrigin::Initial => Priority::Background,
        EventOrigin::OwnWrite if comes_back => Priority::Background,
        EventOrigin::OwnWrite | EventOrigin::Live => Priority::Live,
    }
}

/// Whether the desired state of an object changed, and not only its status.
pub(crate) fn spec_changed(before: Option<&Value>, after: Option<&Value>) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    let decided = ["uid", "generation", "deletionTimestamp", "annotations", "labels"];
    if decided.iter().any(|field| before["metadata"][field] != after["metadata"][field]) {
        return true;
    }
    // Kinds without a generation: compare everything but metadata and status.
    object::generation(after) == 0 && content(before).ne(content(after))
}

fn content(object: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = object.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn status_changes_are_not_spec_changes() {
        let old =
            json!({"metadata": {"generation": 1, "resourceVersion": "1"}, "status": {"a": 1}, "spec": {}});
        let mut new = old.clone();
        new["status"]["a"] = json!(2);
        object::set_meta(&mut new, "resourceVersion", "2");
        object::set_meta(&mut new, "managedFields", json!([{}]));
        assert!(!spec_changed(Some(&old), Some(&new)));
        for (field, value) in [
            ("generation", json!(2)),
            ("deletionTimestamp", json!("now")),
            ("annotations", json!({"a": "b"})),
            ("uid", json!("u")),
        ] {
            let mut changed = new.clone();
            object::set_meta(&mut changed, field, value);
            assert!(spec_changed(Some(&old), Some(&changed)), "{field}");
        }
        assert!(spec_changed(Some(&old), None) && spec_changed(None, Some(&new)));
    }

    #[test]
    fn own_writes_have_background_priority() {
        let urgent = |origin, cause, spec_changed| priority(origin, cause, spec_changed) == Priority::Live;
        assert!(
            !urgent(EventOrigin::OwnWrite, Cause::Output, false)
                && !urgent(EventOrigin::OwnWrite, Cause::Parent, false)
        );
        assert!(
            urgent(EventOrigin::OwnWrite, Cause::Parent, true),
            "a parent that another controller has made"
        );
        assert!(
            urgent(EventOrigin::Live, Cause::Output, false)
                && urgent(EventOrigin::Live, Cause::Parent, false)
        );
        assert!(!urgent(EventOrigin::Initial, Cause::Parent, true));
    }

    #[test]
    fn compares_kinds_without_a_generation() {
        let old = json!({"metadata": {"resourceVersion": "1"}, "data": {"a": "1"}, "status": 1});
        let mut new = json!({"metadata": {"resourceVersion": "2"}, "data": {"a": "1"}, "status": 2});
        assert!(!spec_changed(Some(&old), Some(&new)));
        new["data"]["a"] = json!("2");
        assert!(spec_changed(Some(&old), Some(&new)));
    }
}
