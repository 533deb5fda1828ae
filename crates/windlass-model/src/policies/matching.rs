//! Which requests a policy or a binding is about, as it says it.

use serde_json::Value;

use crate::field::FieldPath;
use crate::selector::{LabelSelector, from_label_selector_object};

use super::{items, text, texts};

/// `matchConstraints` or `matchResources`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Matching {
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    /// Whether the same objects in another group or version do not count.
    pub(crate) exact: bool,
    pub(crate) rules: Vec<Rule>,
    pub(crate) excluded: Vec<Rule>,
}

/// One of `resourceRules`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Rule {
    pub(crate) operations: Vec<Box<str>>,
    pub(crate) groups: Vec<Box<str>>,
    pub(crate) versions: Vec<Box<str>>,
    pub(crate) resources: Vec<Box<str>>,
    pub(crate) names: Vec<Box<str>>,
    pub(crate) scope: Box<str>,
}

impl Matching {
    /// Reads the constraints. Absent selectors select everything, as they do once defaults are set.
    pub(crate) fn of(object: &Value) -> Self {
        let selector = |field: &str| match &object[field] {
            Value::Null => LabelSelector::everything(),
            selector => {
                let read = from_label_selector_object(selector, &FieldPath::root());
                read.unwrap_or(LabelSelector::Nothing)
            }
        };
        Matching {
            namespaces: selector("namespaceSelector"),
            objects: selector("objectSelector"),
            exact: text(object, "matchPolicy") == "Exact",
            rules: items(object, "resourceRules").map(Rule::of).collect(),
            excluded: items(object, "excludeResourceRules").map(Rule::of).collect(),
        }
    }
}

impl Rule {
    fn of(object: &Value) -> Self {
        Rule {
            operations: texts(object, "operations"),
            groups: texts(object, "apiGroups"),
            versions: texts(object, "apiVersions"),
            resources: texts(object, "resources"),
            names: texts(object, "resourceNames"),
            scope: text(object, "scope").into(),
        }
    }
}
