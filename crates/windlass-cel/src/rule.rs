//! Expressions that stand in a schema: `x-kubernetes-validations`.

use std::rc::Rc;

use crate::budget::Budget;
use crate::environment::{Declarations, compile};
use crate::error::{CompileError, EvalError, Issue};
use crate::eval::Machine;
use crate::program::Program;
use crate::schema::Schema;
use crate::types::Type;
use crate::value::Value;
use crate::{check, estimate};

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
        compile(source, &Untyped(variables), names).map(|(program, _)| program)
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
            issues.push(Issue { offset: None, message: complaint.to_owned() });
        }
        if issues.is_empty() { Ok(()) } else { Err(CompileError::new(&self.source, issues)) }
    }

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
