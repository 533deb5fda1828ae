//! The object types that Kubernetes declares for the variables of admission policies.

use crate::signatures::parse_type;
use crate::types::Type;

/// An object whose fields are known by their names, apart from any schema.
#[derive(Debug)]
pub struct DeclaredType {
    /// As errors show it.
    pub(crate) name: &'static str,
    /// Fields with their types, as signatures write them.
    fields: &'static [(&'static str, &'static str)],
}

impl DeclaredType {
    /// The type of a field; `None` if there is no such field.
    pub(crate) fn field(&self, name: &str) -> Option<Type<'static>> {
        let (_, text) = self.fields.iter().find(|(known, _)| *known == name)?;
        parse_type(text)
    }
}

/// The declared type of a name.
pub(crate) fn find(name: &str) -> Option<&'static DeclaredType> {
    DECLARED.iter().find(|declared| declared.name == name)
}

const DECLARED: &[DeclaredType] = &[
    DeclaredType {
        name: "kubernetes.AdmissionRequest",
        fields: &[
            ("kind", "kubernetes.GroupVersionKind"),
            ("resource", "kubernetes.GroupVersionResource"),
            ("subResource", "string"),
            ("requestKind", "kubernetes.GroupVersionKind"),
            ("requestResource", "kubernetes.GroupVersionResource"),
            ("requestSubResource", "string"),
            ("name", "string"),
            ("namespace", "string"),
            ("operation", "string"),
            ("userInfo", "kubernetes.UserInfo"),
            ("dryRun", "bool"),
            ("options", "dyn"),
        ],
    },
    DeclaredType {
        name: "kubernetes.GroupVersionKind",
        fields: &[("group", "string"), ("version", "string"), ("kind", "string")],
    },
    DeclaredType {
        name: "kubernetes.GroupVersionResource",
        fields: &[("group", "string"), ("version", "string"), ("resource", "string")],
    },
    DeclaredType {
        name: "kubernetes.UserInfo",
        fields: &[
            ("username", "string"),
            ("uid", "string"),
            ("groups", "list<string>"),
            ("extra", "map<string, list<string>>"),
        ],
    },
    DeclaredType {
        name: "kubernetes.Namespace",
        fields: &[
            ("metadata", "kubernetes.NamespaceMetadata"),
            ("spec", "kubernetes.NamespaceSpec"),
            ("status", "kubernetes.NamespaceStatus"),
        ],
    },
    DeclaredType {
        name: "kubernetes.NamespaceMetadata",
        fields: &[
            ("name", "string"),
            ("generateName", "string"),
            ("namespace", "string"),
            ("labels", "map<string, string>"),
            ("annotations", "map<string, string>"),
            ("UID", "string"),
            ("creationTimestamp", "timestamp"),
            ("deletionGracePeriodSeconds", "int"),
            ("deletionTimestamp", "timestamp"),
            ("generation", "int"),
            ("resourceVersion", "string"),
            ("finalizers", "list<string>"),
        ],
    },
    DeclaredType { name: "kubernetes.NamespaceSpec", fields: &[("finalizers", "list<string>")] },
    DeclaredType {
        name: "kubernetes.NamespaceStatus",
        fields: &[("conditions", "list<kubernetes.NamespaceCondition>"), ("phase", "string")],
    },
    DeclaredType {
        name: "kubernetes.NamespaceCondition",
        fields: &[
            ("status", "string"),
            ("type", "string"),
            ("lastTransitionTime", "timestamp"),
            ("message", "string"),
            ("reason", "string"),
        ],
    },
    // What a policy names itself is found by its qualified name; all else below `variables` is undefined.
    DeclaredType { name: "kubernetes.variables", fields: &[] },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_has_a_type() {
        for declared in DECLARED {
            for (field, text) in declared.fields {
                assert!(declared.field(field).is_some(), "{}.{field}: {text}", declared.name);
            }
        }
        let request = find("kubernetes.AdmissionRequest").unwrap();
        assert_eq!(request.field("userInfo").unwrap().to_string(), "kubernetes.UserInfo");
        assert_eq!(request.field("uid"), None);
    }
}
