//! Gives names their meaning: variables, types and functions. Works out what is constant.

use std::sync::Arc;

use crate::ast::{Access, Call, Expr, Node};
use crate::budget::Budget;
use crate::environment::Declarations;
use crate::error::Issue;
use crate::eval::Machine;
use crate::library::{self, convert, regex};
use crate::message;
use crate::value::Value;

/// Names that stand for types.
const TYPES: &[&str] = &[
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
    "int",
    "list",
    "map",
    "net.CIDR",
    "net.IP",
    "null_type",
    "optional_type",
    "string",
    "type",
    "uint",
];

/// Resolves all names below an expression, and reports those that mean nothing. Variables that are used and not among
/// `variables` yet are added to them.
pub(crate) fn resolve(
    expr: &mut Expr,
    declarations: &dyn Declarations,
    variables: &mut Vec<Box<str>>,
) -> Vec<Issue> {
    let mut resolver = Resolver { declarations, variables, locals: Vec::new(), issues: Vec::new() };
    resolver.visit(expr);
    resolver.issues
}

struct Resolver<'v> {
    declarations: &'v dyn Declarations,
    variables: &'v mut Vec<Box<str>>,
    locals: Vec<Arc<str>>,
    issues: Vec<Issue>,
}

impl Resolver<'_> {
    fn undeclared(&mut self, offset: usize, name: &str) {
        self.issues.push(Issue::at(offset, format!("undeclared reference to '{name}' (in container '')")));
    }

    /// The innermost variable of a name: of a macro, or of the caller.
    fn variable(&mut self, name: &str) -> Option<Node> {
        match self.locals.iter().rposition(|local| **local == *name) {
            Some(index) => Some(Node::Local(index)),
            None => self.global(name).map(Node::Global),
        }
    }

    /// A variable of the caller.
    fn global(&mut self, name: &str) -> Option<usize> {
        if let Some(index) = self.variables.iter().position(|variable| **variable == *name) {
            return Some(index);
        }
        self.declarations.type_of(name)?;
        self.variables.push(name.into());
        Some(self.variables.len() - 1)
    }

    /// Whether a variable of this name is there.
    fn is_variable(&self, name: &str) -> bool {
        self.locals.iter().any(|local| **local == *name) || self.declarations.type_of(name).is_some()
    }

    fn visit(&mut self, expr: &mut Expr) {
        if let Some(name) = expr.dotted_name()
            && self.is_type(expr, &name)
        {
            let known = TYPES.iter().find(|known| **known == name).copied().unwrap_or("type");
            expr.node = Node::Literal(Value::Type(known));
            return;
        }
        if let Some(qualified) = self.qualified(expr) {
            expr.node = qualified;
            return;
        }
        match &mut expr.node {
            Node::Name(name) => match self.variable(name) {
                Some(variable) => expr.node = variable,
                None => {
                    let name = name.clone();
                    self.undeclared(expr.offset, &name);
                }
            },
            Node::Literal(_) | Node::Global(_) | Node::Local(_) => {}
            Node::Select { operand, .. } | Node::Unary(_, operand) => self.visit(operand),
            Node::Index { operand, index, .. } => {
                self.visit(operand);
                self.visit(index);
            }
            Node::Binary(_, left, right) => {
                self.visit(left);
                self.visit(right);
            }
            Node::And(terms) | Node::Or(terms) => terms.iter_mut().for_each(|term| self.visit(term)),
            Node::Conditional(parts) => parts.iter_mut().for_each(|part| self.visit(part)),
            Node::List(elements) => elements.iter_mut().for_each(|(element, _)| self.visit(element)),
            Node::Map(entries) => {
                for entry in entries {
                    self.visit(&mut entry.key);
                    self.visit(&mut entry.value);
                }
            }
            Node::Message(message) => {
                if !(self.declarations.makes_patch() && message::is_type(&message.type_name)) {
                    let name = message.type_name.clone();
                    self.undeclared(expr.offset, &name);
                    return;
                }
                message.fields.iter_mut().for_each(|field| self.visit(&mut field.value));
            }
            Node::Macro(expanded) => {
                self.visit(&mut expanded.range);
                let depth = self.locals.len();
                self.locals.push(expanded.first.clone());
                self.locals.extend(expanded.second.clone());
                if let Some(filter) = &mut expanded.filter {
                    self.visit(filter);
                }
                self.visit(&mut expanded.body);
                self.locals.truncate(depth);
            }
            Node::Call(call) => self.visit_call(call, expr.offset),
        }
    }

    /// A variable whose name has dots (`variables.limit`), unless a variable of a macro hides its first part. One
    /// that is declared is also present.
    fn qualified(&mut self, expr: &Expr) -> Option<Node> {
        let Node::Select { operand, field, mode } = &expr.node else { return None };
        let name = format!("{}.{field}", operand.dotted_name()?);
        let first = name.split('.').next().unwrap_or("");
        if self.locals.iter().any(|local| **local == *first) {
            return None;
        }
        match mode {
            Access::Plain => self.global(&name).map(Node::Global),
            Access::Presence => self.is_variable(&name).then_some(Node::Literal(Value::Bool(true))),
            Access::Optional => None,
        }
    }

    /// A dotted name is a type only if no variable hides its first part.
    fn is_type(&self, expr: &Expr, name: &str) -> bool {
        let plain = matches!(expr.node, Node::Name(_) | Node::Select { mode: Access::Plain, .. });
        let first = name.split('.').next().unwrap_or("");
        plain && TYPES.contains(&name) && !self.is_variable(first)
    }

    /// The function of a name, if expressions of this kind know it.
    fn function(&self, name: &str) -> Option<library::Native> {
        let known = !library::is_for_patches(name) || self.declarations.makes_patch();
        library::find(name).filter(|_| known)
    }

    fn visit_call(&mut self, call: &mut Call, offset: usize) {
        // `sets.contains(a, b)` reads like a method of a variable `sets`, but is one name.
        let qualifier = call.arguments.first().filter(|_| call.member).and_then(Expr::dotted_name);
        if let Some(qualifier) = qualifier {
            let name = format!("{qualifier}.{}", call.function);
            if self.function(&name).is_some() {
                call.arguments.remove(0);
                call.member = false;
                call.function = name.into();
            }
        }
        for argument in &mut call.arguments {
            self.visit(argument);
        }
        call.native = self.function(&call.function);
        if call.native.is_none() {
            let name = call.function.clone();
            self.undeclared(offset, &name);
        }
    }
}

/// Notes the values of constant parts, compiles literal patterns, and reports literals that cannot work.
pub(crate) fn fold(expr: &mut Expr) -> Vec<Issue> {
    let mut issues = Vec::new();
    fold_into(expr, &mut issues);
    issues
}

fn fold_into(expr: &mut Expr, issues: &mut Vec<Issue>) {
    let constant = match &mut expr.node {
        Node::Literal(_) | Node::Name(_) | Node::Global(_) | Node::Local(_) => false,
        Node::Select { operand, .. } | Node::Unary(_, operand) => {
            fold_into(operand, issues);
            false
        }
        Node::Index { operand: left, index: right, .. } | Node::Binary(_, left, right) => {
            fold_into(left, issues);
            fold_into(right, issues);
            false
        }
        Node::And(terms) | Node::Or(terms) => {
            terms.iter_mut().for_each(|term| fold_into(term, issues));
            false
        }
        Node::Conditional(parts) => {
            parts.iter_mut().for_each(|part| fold_into(part, issues));
            false
        }
        Node::List(elements) => {
            elements.iter_mut().for_each(|(element, _)| fold_into(element, issues));
            elements.iter().all(|(element, optional)| !optional && element.known().is_some())
        }
        Node::Map(entries) => {
            for entry in entries.iter_mut() {
                fold_into(&mut entry.key, issues);
                fold_into(&mut entry.value, issues);
            }
            entries
                .iter()
                .all(|entry| !entry.optional && entry.key.known().is_some() && entry.value.known().is_some())
        }
        Node::Message(message) => {
            message.fields.iter_mut().for_each(|field| fold_into(&mut field.value, issues));
            false
        }
        Node::Macro(expanded) => {
            fold_into(&mut expanded.range, issues);
            fold_into(&mut expanded.body, issues);
            if let Some(filter) = &mut expanded.filter {
                fold_into(filter, issues);
            }
            false
        }
        Node::Call(call) => {
            call.arguments.iter_mut().for_each(|argument| fold_into(argument, issues));
            issues.extend(compile_pattern(call));
            issues.extend(refused_literal(call));
            convert::is_conversion(&call.function)
                && call.arguments.len() == 1
                && call.arguments.iter().all(|argument| argument.known().is_some())
        }
    };
    if constant {
        let mut budget = Budget::default();
        let mut machine =
            Machine { names: &[], globals: Vec::new(), locals: Vec::new(), scope: None, budget: &mut budget };
        match machine.eval(expr) {
            Ok(value) => expr.constant = Some(value),
            Err(error) => issues.push(constant_issue(expr, error.to_string())),
        }
    }
}

/// What Kubernetes says about a literal that does not convert.
fn constant_issue(expr: &Expr, message: String) -> Issue {
    match &expr.node {
        Node::Call(call) if matches!(&*call.function, "timestamp" | "duration") => {
            let offset = call.arguments.first().map_or(expr.offset, |argument| argument.offset);
            Issue::at(offset, format!("invalid {} argument", call.function))
        }
        _ => Issue { offset: None, message },
    }
}

/// A literal number of nanoseconds is no duration in Kubernetes, though a computed one is.
fn refused_literal(call: &Call) -> Option<Issue> {
    let argument = call.arguments.first().filter(|_| &*call.function == "duration")?;
    matches!(argument.node, Node::Literal(Value::Int(_)))
        .then(|| Issue::at(argument.offset, "invalid duration argument"))
}

fn compile_pattern(call: &mut Call) -> Option<Issue> {
    if !matches!(&*call.function, "matches" | "find" | "findAll") {
        return None;
    }
    let pattern = call.arguments.get(1)?;
    let Some(Value::String(text)) = pattern.known() else { return None };
    match regex::compile(text) {
        Ok(compiled) => {
            call.regex = Some(Arc::new(compiled));
            None
        }
        Err(_) if &*call.function == "matches" => Some(Issue::at(pattern.offset, "invalid matches argument")),
        Err(message) => Some(Issue { offset: None, message }),
    }
}
