//! The Common Expression Language, as far as Kubernetes uses it for rules.
//!
//! Start with [`Program::compile`]. An expression goes through a lexer, a parser that expands macros, a
//! resolver of names and a type checker; what remains is evaluated against [`Value`]s that look at JSON,
//! within a [`Budget`]. Functions, messages and costs are those of Kubernetes 1.35.
//!
//! ```
//! use windlass_model::cel::{Budget, Program, Value};
//!
//! let rule = Program::compile("self.replicas <= self.max", &["self"])?;
//! let object = serde_json::json!({"replicas": 3, "max": 5});
//! let result = rule.evaluate(&[("self", Value::from_json(&object, None))], &mut Budget::default())?;
//! assert_eq!(result.as_bool(), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ast;
mod budget;
mod check;
mod declared;
mod environment;
mod error;
mod estimate;
mod eval;
mod json;
mod lexer;
mod library;
mod macros;
mod message;
mod operators;
mod parser;
mod resolve;
mod signatures;
mod types;
mod value;

#[cfg(test)]
mod conformance;
#[cfg(test)]
mod limits;
#[cfg(test)]
mod patches;
#[cfg(test)]
mod typed;

use std::rc::Rc;
use std::sync::Arc;

pub use budget::{Budget, PER_CALL_LIMIT, RUNTIME_COST_BUDGET};
pub(crate) use environment::{Declarations, Scope, named_type};
pub use error::{CompileError, EvalError};
pub(crate) use estimate::max_cardinality;
pub(crate) use library::Opaque;
pub use message::Message;
pub use value::{List, Map, Text, Value};

use ast::{Expr, Node};
use eval::Machine;
pub(crate) use parser::is_reserved;
pub(crate) use types::Type;

use crate::schema::Schema;

/// A compiled expression. Two are equal if they were compiled from the same text and variables.
#[derive(Clone, Debug)]
pub struct Program {
    source: Arc<str>,
    variables: Arc<[Box<str>]>,
    root: Arc<Expr>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.variables == other.variables
    }
}

/// How a rule of a schema sees its variables, and what it must return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleContext {
    /// The schema is that of a whole resource, so the rule sees apiVersion, kind and the name.
    pub resource_root: bool,
    /// `oldSelf` is an optional value (`optionalOldSelf: true`).
    pub optional_old_self: bool,
    /// The expression must return text, as a `messageExpression`; otherwise it must return a boolean.
    pub returns_text: bool,
}

impl Program {
    /// Parses and checks an expression that may use the given variables, whose types are not known yet:
    /// [`Program::check_against`] looks closer.
    ///
    /// # Errors
    /// Syntax errors, unknown names and functions, wrong numbers of arguments, and operators that do not
    /// take the types they are certain to meet.
    pub fn compile(source: &str, variables: &[&str]) -> Result<Program, CompileError> {
        let names = variables.iter().map(|name| Box::from(*name)).collect();
        environment::compile(source, &Untyped(variables), names).map(|(program, _)| program)
    }

    /// The text it was compiled from.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Whether it mentions a variable; a rule that mentions `oldSelf` is a transition rule.
    pub fn uses(&self, variable: &str) -> bool {
        let position = self.variables.iter().position(|name| **name == *variable);
        position.is_some_and(|index| mentions(&self.root, index))
    }

    /// Computes the value with the given variables. Each evaluation adds to what the budget has spent.
    ///
    /// # Errors
    /// What fails while it runs: a missing key, an overflow, or the end of the budget.
    pub fn evaluate<'a>(
        &self,
        bindings: &[(&str, Value<'a>)],
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvalError> {
        let bound =
            |name: &str| bindings.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
        let globals = self.variables.iter().map(|name| bound(name)).collect();
        Machine { names: &self.variables, globals, locals: Vec::new(), scope: None, budget }.eval(&self.root)
    }

    /// Checks a rule against the schema it stands in: every field it selects must be known there, and
    /// every operator must take the types it meets.
    ///
    /// # Errors
    /// Unknown fields, operators and functions without a match, or a result of the wrong type.
    pub fn check_against(&self, schema: &Schema, context: RuleContext) -> Result<(), CompileError> {
        let (found, mut issues) = check::check(&self.root, self.types(schema, context));
        let (wanted, complaint) = if context.returns_text {
            (Type::String, "messageExpression must evaluate to a string")
        } else {
            (Type::Bool, "cel expression must evaluate to a bool")
        };
        if issues.is_empty() && found != wanted {
            issues.push(error::Issue { offset: None, message: complaint.to_owned() });
        }
        if issues.is_empty() { Ok(()) } else { Err(CompileError::new(&self.source, issues)) }
    }
}

impl Program {
    /// The highest cost of one evaluation against values of a schema, as Kubernetes estimates it.
    pub fn max_cost(&self, schema: &Schema, context: RuleContext) -> u64 {
        let resource = context.resource_root || schema.embedded_resource;
        estimate::max_cost(&self.root, self.types(schema, context), estimate::declared(schema, resource))
    }

    fn types<'s>(&self, schema: &'s Schema, context: RuleContext) -> Vec<Type<'s>> {
        let resource = context.resource_root || schema.embedded_resource;
        let own = Type::of(schema, resource).unwrap_or(Type::Dynamic);
        let of = |name: &str| match name {
            "self" => own.clone(),
            "oldSelf" if context.optional_old_self => Type::Optional(Rc::new(own.clone())),
            "oldSelf" => own.clone(),
            _ => Type::Dynamic,
        };
        self.variables.iter().map(|name| of(name)).collect()
    }
}

/// Variables of which only the names are known.
struct Untyped<'a>(&'a [&'a str]);

impl Declarations for Untyped<'_> {
    fn type_of(&self, name: &str) -> Option<Type<'static>> {
        self.0.contains(&name).then_some(Type::Open)
    }
}

/// Whether a variable of the caller occurs in an expression.
fn mentions(expr: &Expr, variable: usize) -> bool {
    let in_any = |exprs: &[Expr]| exprs.iter().any(|expr| mentions(expr, variable));
    match &expr.node {
        Node::Global(index) => *index == variable,
        Node::Literal(_) | Node::Name(_) | Node::Local(_) => false,
        Node::Select { operand, .. } | Node::Unary(_, operand) => mentions(operand, variable),
        Node::Index { operand: left, index: right, .. } | Node::Binary(_, left, right) => {
            mentions(left, variable) || mentions(right, variable)
        }
        Node::Call(call) => in_any(&call.arguments),
        Node::And(terms) | Node::Or(terms) => in_any(terms),
        Node::Conditional(parts) => in_any(parts.as_slice()),
        Node::List(elements) => elements.iter().any(|(element, _)| mentions(element, variable)),
        Node::Map(entries) => {
            entries.iter().any(|entry| mentions(&entry.key, variable) || mentions(&entry.value, variable))
        }
        Node::Message(message) => message.fields.iter().any(|field| mentions(&field.value, variable)),
        Node::Macro(expanded) => {
            mentions(&expanded.range, variable)
                || mentions(&expanded.body, variable)
                || expanded.filter.as_ref().is_some_and(|filter| mentions(filter, variable))
        }
    }
}
