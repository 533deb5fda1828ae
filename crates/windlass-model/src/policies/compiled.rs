//! Policies and bindings as they are evaluated.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::field::FieldPath;
use crate::selector::{LabelSelector, from_label_selector_object};
use crate::status::Reason;
use windlass_cel::Program;

use super::expression::{Expression, Purpose, Variables, compile, qualified};
use super::matching::Matching;
use super::mutation::Mutation;
use super::{items, name_of, text};

/// A validating or mutating policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Policy {
    pub(crate) name: Box<str>,
    /// Whether an expression that cannot be evaluated refuses the request.
    pub(crate) fails_closed: bool,
    /// `apiVersion` and `kind` of its parameters.
    pub(crate) param_kind: Option<(Box<str>, Box<str>)>,
    pub(crate) constraints: Matching,
    pub(crate) conditions: Vec<Expression>,
    /// By their qualified names (`variables.limit`).
    pub(crate) variables: BTreeMap<Box<str>, Expression>,
    pub(crate) validations: Vec<Validation>,
    /// The values of its audit annotations. There is no audit log, but one that fails refuses the request.
    pub(crate) annotations: Vec<Expression>,
    /// What a mutating policy does, in this order.
    pub(crate) mutations: Vec<Mutation>,
    /// Whether it runs again if later policies have changed the object.
    pub(crate) reinvoked: bool,
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Validation {
    pub(crate) expression: Expression,
    pub(crate) message: Box<str>,
    pub(crate) message_expression: Option<Program>,
    pub(crate) reason: Reason,
}

/// The binding of a validating or mutating policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Binding {
    pub(crate) name: Box<str>,
    /// The policy that it binds.
    pub(crate) policy: Box<str>,
    pub(crate) param_ref: Option<ParamRef>,
    /// Absent if it narrows nothing.
    pub(crate) resources: Option<Matching>,
    pub(crate) denies: bool,
    pub(crate) warns: bool,
}

/// Which parameters a binding gives to its policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ParamRef {
    pub(crate) name: Box<str>,
    pub(crate) namespace: Box<str>,
    pub(crate) selector: Option<LabelSelector>,
    /// Whether the request is refused if there are none.
    pub(crate) required: bool,
}

impl Policy {
    /// Compiles a policy.
    pub(crate) fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let kind = &spec["paramKind"];
        let param_kind =
            kind.is_object().then(|| (text(kind, "apiVersion").into(), text(kind, "kind").into()));
        let mut declared = Variables::new(param_kind.is_some());
        let mut variables = BTreeMap::new();
        for variable in items(spec, "variables") {
            let (name, source) = (text(variable, "name"), text(variable, "expression"));
            let program = declared.declare(name, source);
            variables.insert(qualified(name), Expression { source: source.into(), program });
        }
        let all = |list: &str, field: &str, purpose: Purpose| -> Vec<Expression> {
            items(spec, list).map(|item| Expression::of(item, field, purpose, &declared)).collect()
        };
        Policy {
            name: name_of(object),
            fails_closed: text(spec, "failurePolicy") != "Ignore",
            param_kind,
            constraints: Matching::of(&spec["matchConstraints"]),
            conditions: all("matchConditions", "expression", Purpose::MatchCondition),
            variables,
            validations: items(spec, "validations").map(|it| Validation::of(it, &declared)).collect(),
            annotations: all("auditAnnotations", "valueExpression", Purpose::Annotation),
            mutations: items(spec, "mutations").filter_map(|it| Mutation::of(it, &declared)).collect(),
            reinvoked: text(spec, "reinvocationPolicy") == "IfNeeded",
        }
    }
}

impl Validation {
    fn of(object: &Value, variables: &Variables) -> Self {
        let message = text(object, "messageExpression");
        let compiled =
            (!message.trim().is_empty()).then(|| compile(message, Purpose::Message, variables).ok());
        let compiled = compiled.flatten();
        Validation {
            expression: Expression::of(object, "expression", Purpose::Validation, variables),
            message: text(object, "message").trim().into(),
            message_expression: compiled.map(|(program, _)| program),
            reason: match text(object, "reason") {
                "Forbidden" => Reason::Forbidden,
                "Unauthorized" => Reason::Unauthorized,
                "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
                _ => Reason::Invalid,
            },
        }
    }
}

impl Binding {
    /// Reads a binding.
    pub(crate) fn of(object: &Value) -> Self {
        let spec = &object["spec"];
        let has = |action: &str| items(spec, "validationActions").any(|known| known == action);
        let (resources, param_ref) = (&spec["matchResources"], &spec["paramRef"]);
        Binding {
            name: name_of(object),
            policy: text(spec, "policyName").into(),
            param_ref: param_ref.is_object().then(|| ParamRef::of(param_ref)),
            resources: resources.is_object().then(|| Matching::of(resources)),
            denies: has("Deny"),
            warns: has("Warn"),
        }
    }
}

impl ParamRef {
    fn of(object: &Value) -> Self {
        let selector = &object["selector"];
        let read = || from_label_selector_object(selector, &FieldPath::root()).ok();
        ParamRef {
            name: text(object, "name").into(),
            namespace: text(object, "namespace").into(),
            selector: if selector.is_object() { read() } else { None },
            required: text(object, "parameterNotFoundAction") == "Deny",
        }
    }
}
