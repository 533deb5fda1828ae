//! Calls that are macros: they bind variables, or read their argument without evaluating it.

use std::sync::Arc;

use crate::ast::{Access, Expr, Macro, MacroKind, Node};
use crate::error::Issue;
use crate::parser::{Parsed, call, node};

/// `has(a.b)`
pub(crate) fn presence(mut arguments: Vec<Expr>, offset: usize) -> Parsed {
    match arguments.pop() {
        Some(Expr { node: Node::Select { operand, field, mode: Access::Plain }, .. }) => {
            node(offset, Node::Select { operand, field, mode: Access::Presence })
        }
        other => {
            let offset = other.map_or(offset, |expr| expr.offset);
            Err(Issue::boxed(offset, "invalid argument to has() macro"))
        }
    }
}

/// `target.name(arguments)`: a macro if the name and the number of arguments say so.
pub(crate) fn method(target: Expr, name: &str, mut arguments: Vec<Expr>, offset: usize) -> Parsed {
    let Some((kind, variables, has_filter)) = macro_form(name, arguments.len()) else {
        arguments.insert(0, target);
        return call(name, true, arguments, offset);
    };
    if kind == MacroKind::SortBy && matches!(target.node, Node::Literal(_) | Node::Map(_)) {
        let message =
            "sortBy can only be applied to a list, identifier, comprehension, call or select expression";
        return Err(Issue::boxed(target.offset, message));
    }
    let mut arguments = arguments.into_iter();
    let mut names: Vec<Arc<str>> = Vec::new();
    for argument in arguments.by_ref().take(variables) {
        let name = variable(&argument, kind)?;
        if names.contains(&name) {
            return Err(Issue::boxed(argument.offset, format!("duplicate variable name: {name}")));
        }
        names.push(name);
    }
    let mut names = names.into_iter();
    let filter = if has_filter { arguments.next() } else { None };
    let (Some(first), Some(body)) = (names.next(), arguments.next()) else {
        return Err(Issue::boxed(offset, "argument is not an identifier"));
    };
    let expanded = Macro { kind, range: target, first, second: names.next(), filter, body };
    node(offset, Node::Macro(Box::new(expanded)))
}

/// Which macro a method call is, how many variables it binds, and whether a filter follows them.
fn macro_form(name: &str, arguments: usize) -> Option<(MacroKind, usize, bool)> {
    Some(match (name, arguments) {
        ("all", 2) => (MacroKind::All, 1, false),
        ("all", 3) => (MacroKind::All, 2, false),
        ("exists", 2) => (MacroKind::Exists, 1, false),
        ("exists", 3) => (MacroKind::Exists, 2, false),
        ("exists_one", 2) => (MacroKind::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (MacroKind::ExistsOne, 2, false),
        ("map", 2) => (MacroKind::Map, 1, false),
        ("map", 3) => (MacroKind::Map, 1, true),
        ("filter", 2) => (MacroKind::Filter, 1, false),
        ("transformList", 3) => (MacroKind::Map, 2, false),
        ("transformList", 4) => (MacroKind::Map, 2, true),
        ("transformMap", 3) => (MacroKind::TransformMap, 2, false),
        ("transformMap", 4) => (MacroKind::TransformMap, 2, true),
        ("transformMapEntry", 3) => (MacroKind::TransformMapEntry, 2, false),
        ("transformMapEntry", 4) => (MacroKind::TransformMapEntry, 2, true),
        ("sortBy", 2) => (MacroKind::SortBy, 1, false),
        ("optMap", 2) => (MacroKind::OptMap, 1, false),
        ("optFlatMap", 2) => (MacroKind::OptFlatMap, 1, false),
        _ => return None,
    })
}

fn variable(argument: &Expr, kind: MacroKind) -> Parsed<Arc<str>> {
    let message = match (&argument.node, kind) {
        (Node::Name(name), _) => return Ok(name.clone()),
        (_, MacroKind::OptMap) => "optMap() variable name must be a simple identifier",
        (_, MacroKind::OptFlatMap) => "optFlatMap() variable name must be a simple identifier",
        (Node::Select { .. }, _) => "argument must be a simple name",
        _ => "argument is not an identifier",
    };
    Err(Issue::boxed(argument.offset, message))
}
