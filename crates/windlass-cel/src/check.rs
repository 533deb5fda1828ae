//! The static check: which types meet which operators, functions and fields.

use std::rc::Rc;

use crate::ast::{Access, Call, Expr, Macro, MacroKind, NewMessage, Node};
use crate::error::Issue;
use crate::library::format_string::{self, Clause, Piece};
use crate::message;
use crate::signatures;
use crate::types::{Type, compatible, is_assignable, same, substitute};
use crate::value::Value;

/// The type of a resolved expression, given those of the caller's variables, and the issues in it.
pub(crate) fn check<'s>(expr: &Expr, globals: Vec<Type<'s>>) -> (Type<'s>, Vec<Issue>) {
    let mut checker = Checker::new(globals);
    let found = checker.visit(expr);
    (found, checker.issues)
}

/// Finds types, and what does not fit.
pub(crate) struct Checker<'s> {
    globals: Vec<Type<'s>>,
    locals: Vec<Type<'s>>,
    issues: Vec<Issue>,
    /// Within the arguments of `format`, where lists and maps may mix types.
    mixing_allowed: bool,
}

impl<'s> Checker<'s> {
    pub(crate) fn new(globals: Vec<Type<'s>>) -> Self {
        Checker { globals, locals: Vec::new(), issues: Vec::new(), mixing_allowed: false }
    }

    /// Adds a variable of a macro.
    pub(crate) fn enter(&mut self, variable: Type<'s>) {
        self.locals.push(variable);
    }

    /// Takes away all but the first variables of macros.
    pub(crate) fn leave(&mut self, depth: usize) {
        self.locals.truncate(depth);
    }

    fn report(&mut self, offset: usize, message: String) -> Type<'s> {
        self.issues.push(Issue::at(offset, message));
        Type::Dynamic
    }

    /// The type of an expression. One that gets too large to reason about counts as dynamic.
    pub(crate) fn visit(&mut self, expr: &Expr) -> Type<'s> {
        let found = self.visit_node(expr);
        if found.is_huge() { Type::Dynamic } else { found }
    }

    fn visit_node(&mut self, expr: &Expr) -> Type<'s> {
        match &expr.node {
            Node::Literal(value) => literal(value),
            Node::Name(_) => Type::Dynamic,
            Node::Global(index) => self.globals.get(*index).cloned().unwrap_or(Type::Dynamic),
            Node::Local(index) => self.locals.get(*index).cloned().unwrap_or(Type::Dynamic),
            Node::Select { operand, field, mode } => {
                let found = self.visit(operand);
                self.select(&found, field, *mode, expr.offset)
            }
            Node::Index { operand, index, optional } => {
                let given = vec![self.visit(operand), self.visit(index)];
                self.apply(if *optional { "_[?_]" } else { "_[_]" }, false, &given, expr.offset)
            }
            Node::Call(call) => self.call(call, expr.offset),
            Node::Unary(operator, operand) => {
                let given = vec![self.visit(operand)];
                self.apply(operator.name(), false, &given, expr.offset)
            }
            Node::Binary(operator, left, right) => {
                let given = vec![self.visit(left), self.visit(right)];
                self.apply(operator.name(), false, &given, expr.offset)
            }
            Node::And(terms) | Node::Or(terms) => {
                for term in terms {
                    self.expect_bool(term);
                }
                Type::Bool
            }
            Node::Conditional(parts) => {
                let given: Vec<_> = parts.iter().map(|part| self.visit(part)).collect();
                self.apply("_?_:_", false, &given, expr.offset)
            }
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => {
                let (mut keys, mut values) = (Type::Open, Type::Open);
                for entry in entries {
                    let key = self.visit(&entry.key);
                    keys = self.join(keys, key, entry.key.offset);
                    let value = self.element(&entry.value, entry.optional);
                    values = self.join(values, value, entry.value.offset);
                }
                Type::Map(Rc::new(keys), Rc::new(values))
            }
            Node::Message(message) => self.message(message),
            Node::Macro(expanded) => self.expand(expanded),
        }
    }

    fn expect_bool(&mut self, expr: &Expr) {
        let found = self.visit(expr);
        if !compatible(&Type::Bool, &found) {
            self.report(expr.offset, format!("expected type 'bool' but found '{found}'"));
        }
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> Type<'s> {
        let mut items = Type::Open;
        for (element, optional) in elements {
            let found = self.element(element, *optional);
            items = self.join(items, found, element.offset);
        }
        Type::List(Rc::new(items))
    }

    /// A message: each field must take its value.
    fn message(&mut self, made: &NewMessage) -> Type<'s> {
        for field in &made.fields {
            let found = self.element(&field.value, field.optional);
            let Some(wanted) = message::field(&made.type_name, &field.name) else {
                self.report(field.offset, format!("undefined field '{}'", field.name));
                continue;
            };
            if !compatible(&wanted, &found) {
                let name = &field.name;
                let message =
                    format!("expected type of field '{name}' is '{wanted}' but provided type is '{found}'");
                self.report(field.offset, message);
            }
        }
        Type::Message(made.type_name.clone())
    }

    /// The type of an element; that of a `?` element is wrapped in an optional.
    fn element(&mut self, expr: &Expr, optional: bool) -> Type<'s> {
        let found = self.visit(expr);
        match &found {
            _ if !optional => found,
            Type::Optional(inner) => inner.as_ref().clone(),
            Type::Dynamic | Type::Open => found,
            other => {
                let message = format!("expected type 'optional_type({other})' but found '{other}'");
                self.report(expr.offset, message)
            }
        }
    }

    /// Elements must be of one type, except in the arguments of `format`.
    fn join(&mut self, known: Type<'s>, found: Type<'s>, offset: usize) -> Type<'s> {
        if known == Type::Open {
            return found;
        }
        if same(&known, &found) {
            return known;
        }
        if !self.mixing_allowed {
            self.report(offset, format!("expected type '{known}' but found '{found}'"));
        }
        Type::Dynamic
    }

    fn select(&mut self, operand: &Type<'s>, field: &str, mode: Access, offset: usize) -> Type<'s> {
        let (operand, wrapped) = match operand {
            Type::Optional(inner) => (inner.as_ref(), true),
            other => (other, mode == Access::Optional),
        };
        let found = match operand {
            Type::Dynamic => Type::Dynamic,
            Type::Open => Type::Open,
            Type::Map(_, value) => value.as_ref().clone(),
            Type::Object(object) => match object.field(field) {
                Some(found) => found,
                None => return self.report(offset, format!("undefined field '{field}'")),
            },
            Type::Message(name) => match message::field(name, field) {
                Some(found) => found,
                None => return self.report(offset, format!("undefined field '{field}'")),
            },
            other => {
                let message = format!("type '{other}' does not support field selection");
                return self.report(offset, message);
            }
        };
        match mode {
            Access::Presence => Type::Bool,
            _ if wrapped && !matches!(found, Type::Optional(_)) => Type::Optional(Rc::new(found)),
            _ => found,
        }
    }

    /// The result of an operator or function, if it takes these types. Where a type is open, only the
    /// wrong number of arguments is certain to fail.
    fn apply(&mut self, name: &str, member: bool, given: &[Type<'s>], offset: usize) -> Type<'s> {
        let open = given.contains(&Type::Open);
        let mut results: Vec<Type<'s>> = Vec::new();
        for signature in signatures::of(name).filter_map(signatures::parse) {
            if signature.member != member || signature.parameters.len() != given.len() {
                continue;
            }
            let mut bindings = Vec::new();
            let mut pairs = signature.parameters.iter().zip(given);
            if pairs.all(|(wanted, given)| is_assignable(wanted, given, &mut bindings)) || open {
                results.push(substitute(&signature.result, &bindings));
            }
        }
        match results.split_first() {
            Some((first, rest)) if rest.iter().all(|other| other == first) => first.clone(),
            Some(_) if open => Type::Open,
            Some(_) => Type::Dynamic,
            None => {
                let shown: Vec<String> = given.iter().map(ToString::to_string).collect();
                let applied = match shown.split_first() {
                    Some((receiver, arguments)) if member => format!("{receiver}.({})", arguments.join(", ")),
                    _ => format!("({})", shown.join(", ")),
                };
                self.report(offset, format!("found no matching overload for '{name}' applied to '{applied}'"))
            }
        }
    }

    fn call(&mut self, call: &Call, offset: usize) -> Type<'s> {
        let is_format = &*call.function == "format" && call.member;
        let outside = self.mixing_allowed;
        self.mixing_allowed |= is_format;
        let given: Vec<Type<'s>> = call.arguments.iter().map(|argument| self.visit(argument)).collect();
        self.mixing_allowed = outside;
        let result = self.apply(&call.function, call.member, &given, offset);
        if let (true, [format, values]) = (is_format, call.arguments.as_slice()) {
            self.format(format, values, offset);
        }
        result
    }

    /// A literal format string must fit a literal list of arguments.
    fn format(&mut self, format: &Expr, values: &Expr, offset: usize) {
        let (Node::Literal(Value::String(text)), Node::List(elements)) = (&format.node, &values.node) else {
            return;
        };
        let pieces = match format_string::parse(text) {
            Ok(pieces) => pieces,
            Err(message) => {
                self.report(offset, message);
                return;
            }
        };
        let clauses: Vec<Clause> = pieces
            .into_iter()
            .filter_map(|piece| match piece {
                Piece::Clause(clause) => Some(clause),
                Piece::Text(_) => None,
            })
            .collect();
        for (index, clause) in clauses.iter().enumerate() {
            let Some((element, _)) = elements.get(index) else {
                self.report(offset, format!("index {index} out of range"));
                return;
            };
            if !self.format_argument(*clause, element) {
                return;
            }
        }
        if elements.len() > clauses.len() {
            let (wanted, got) = (clauses.len(), elements.len());
            let message = "too many arguments supplied to string.format";
            self.report(offset, format!("{message} (expected {wanted}, got {got})"));
        }
    }

    fn format_argument(&mut self, clause: Clause, element: &Expr) -> bool {
        // Its own mistakes have been reported already.
        let before = self.issues.len();
        let found = self.visit(element);
        self.issues.truncate(before);
        let text_number = matches!(clause, Clause::Fixed(_) | Clause::Scientific)
            && matches!(element.known(), Some(Value::String(_)));
        let open = matches!(found, Type::Dynamic | Type::Open);
        let fits = open || text_number || clause.accepts(found.runtime_name());
        if !fits {
            self.report(element.offset, clause.complaint(found.runtime_name()));
        }
        fits
    }

    fn expand(&mut self, expanded: &Macro) -> Type<'s> {
        let range = self.visit(&expanded.range);
        if matches!(expanded.kind, MacroKind::OptMap | MacroKind::OptFlatMap) {
            return self.map_optional(expanded, &range);
        }
        let (first, second) = match &range {
            Type::List(item) if expanded.second.is_some() => (Type::Int, item.as_ref().clone()),
            Type::List(item) => (item.as_ref().clone(), Type::Dynamic),
            Type::Map(key, value) => (key.as_ref().clone(), value.as_ref().clone()),
            Type::Dynamic => (Type::Dynamic, Type::Dynamic),
            Type::Open => (Type::Open, Type::Open),
            other => {
                let allowed = "cannot be range of a comprehension (must be list, map, or dynamic)";
                return self.report(expanded.range.offset, format!("expression of type '{other}' {allowed}"));
            }
        };
        let depth = self.locals.len();
        self.locals.push(first.clone());
        self.locals.extend(expanded.second.as_ref().map(|_| second));
        if let Some(filter) = &expanded.filter {
            self.expect_bool(filter);
        }
        let predicate = matches!(
            expanded.kind,
            MacroKind::All | MacroKind::Exists | MacroKind::ExistsOne | MacroKind::Filter
        );
        let body = if predicate {
            self.expect_bool(&expanded.body);
            Type::Bool
        } else {
            self.visit(&expanded.body)
        };
        self.locals.truncate(depth);
        match expanded.kind {
            MacroKind::Map => Type::List(Rc::new(body)),
            MacroKind::Filter => Type::List(Rc::new(first)),
            MacroKind::TransformMap => Type::Map(Rc::new(first), Rc::new(body)),
            MacroKind::TransformMapEntry => body,
            MacroKind::SortBy => range,
            _ => Type::Bool,
        }
    }

    fn map_optional(&mut self, expanded: &Macro, target: &Type<'s>) -> Type<'s> {
        let inner = match target {
            Type::Optional(inner) => inner.as_ref().clone(),
            Type::Dynamic => Type::Dynamic,
            Type::Open => Type::Open,
            other => {
                let message = format!("found no matching overload for 'hasValue' applied to '{other}.()'");
                return self.report(expanded.range.offset, message);
            }
        };
        self.locals.push(inner);
        let body = self.visit(&expanded.body);
        self.locals.pop();
        if expanded.kind == MacroKind::OptMap { Type::Optional(Rc::new(body)) } else { body }
    }
}

fn literal<'s>(value: &Value<'_>) -> Type<'s> {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Uint(_) => Type::Uint,
        Value::Double(_) => Type::Double,
        Value::String(_) => Type::String,
        Value::Bytes(_) => Type::Bytes,
        Value::Type(name) => Type::Meta(Rc::new(named(name))),
        _ => Type::Dynamic,
    }
}

/// The type of a name, as far as `type(int)` shows it.
fn named<'s>(name: &str) -> Type<'s> {
    match name {
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        _ => Type::Dynamic,
    }
}
