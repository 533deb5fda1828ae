//! The expressions of a policy: what they may use, and what they must return.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value;

use windlass_cel::{Declarations, Program, Type, named_type};

use super::text;

/// What an expression is for, which says what it may use and what it must return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Knows none of the policy's variables.
    MatchCondition,
    Validation,
    /// A `messageExpression`, which cannot ask for permissions.
    Message,
    /// The value of an audit annotation.
    Annotation,
    /// A variable, which may be anything.
    Variable,
    /// Makes a part of an object that is applied.
    ApplyConfiguration,
    /// Makes a list of operations.
    JsonPatch,
}

/// What the expressions of a policy may use besides the object and the request.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables {
    /// Whether the policy has a `paramKind`.
    params: bool,
    /// The policy's own variables, by their qualified names; `None` if it has none.
    own: Option<BTreeMap<Box<str>, Type<'static>>>,
}

/// An expression of a stored policy.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Expression {
    pub(crate) source: Box<str>,
    /// Only a policy that was stored by something else than this model can have one that does not compile.
    pub(crate) program: Result<Program, String>,
}

impl Variables {
    /// Those of a policy that has a `paramKind`, or has none.
    pub(crate) fn new(params: bool) -> Self {
        Variables { params, own: None }
    }

    /// Compiles a variable, which may use those before it, and declares it for those after it. One that does not
    /// compile may be anything.
    pub(crate) fn declare(&mut self, name: &str, source: &str) -> Result<Program, String> {
        self.own.get_or_insert_default();
        let compiled = compile(source, Purpose::Variable, self);
        let of = compiled.as_ref().map_or(Type::Dynamic, |(_, of)| of.of_variable());
        self.own.get_or_insert_default().insert(qualified(name), of);
        compiled.map(|(program, _)| program)
    }
}

/// `variables.limit`
pub(crate) fn qualified(name: &str) -> Box<str> {
    format!("variables.{name}").into()
}

/// The variables as the expressions of one purpose see them.
struct View<'a> {
    variables: &'a Variables,
    purpose: Purpose,
}

impl Declarations for View<'_> {
    fn type_of(&self, name: &str) -> Option<Type<'static>> {
        let own = self.variables.own.as_ref().filter(|_| self.purpose != Purpose::MatchCondition);
        let authorizer = self.purpose != Purpose::Message;
        Some(match name {
            "object" | "oldObject" => Type::Dynamic,
            "params" if self.variables.params => Type::Dynamic,
            "namespaceObject" => named_type("kubernetes.Namespace"),
            "request" => named_type("kubernetes.AdmissionRequest"),
            "authorizer" if authorizer => named_type("Authorizer"),
            "authorizer.requestResource" if authorizer => named_type("ResourceCheck"),
            "variables" if own.is_some() => named_type("kubernetes.variables"),
            name => own?.get(name)?.clone(),
        })
    }

    fn makes_patch(&self) -> bool {
        matches!(self.purpose, Purpose::ApplyConfiguration | Purpose::JsonPatch)
    }
}

/// Compiles an expression; returns it with its type. The error is what Kubernetes says of the field.
pub(crate) fn compile(
    source: &str,
    purpose: Purpose,
    variables: &Variables,
) -> Result<(Program, Type<'static>), String> {
    let compiled = Program::compile_with(source, &View { variables, purpose });
    let (program, output) = compiled.map_err(|error| format!("compilation failed: {error}"))?;
    let wanted: &[Type<'_>] = match purpose {
        Purpose::MatchCondition | Purpose::Validation => &[Type::Bool],
        Purpose::Message => &[Type::String],
        Purpose::Annotation => &[Type::String, Type::Null],
        Purpose::ApplyConfiguration => &[Type::Message("Object".into())],
        Purpose::JsonPatch => &[Type::List(Rc::new(Type::Message("JSONPatch".into())))],
        Purpose::Variable => &[],
    };
    if wanted.is_empty() || wanted.contains(&output) {
        return Ok((program, output));
    }
    let names: Vec<String> = wanted.iter().map(Type::as_result).collect();
    let wanted = match names.as_slice() {
        [one] => one.clone(),
        several => format!("one of [{}]", several.join(" ")),
    };
    Err(format!("must evaluate to {wanted} but got {}", output.as_result()))
}

impl Expression {
    /// Compiles the expression that stands at a field.
    pub(crate) fn of(object: &Value, field: &str, purpose: Purpose, variables: &Variables) -> Self {
        let source = text(object, field);
        let program = compile(source, purpose, variables).map(|(program, _)| program);
        Expression { source: source.into(), program }
    }
}
