//! A compiled expression as data. How it is compiled, checked, evaluated and priced is in [`crate::rule`] and
//! [`crate::environment`], so that a [`Schema`](crate::Schema) can hold the programs of its rules without knowing any of that.

use std::sync::Arc;

use crate::ast::{Expr, Node};

/// A compiled expression. Two are equal if they were compiled from the same text and variables.
#[derive(Clone, Debug)]
pub struct Program {
    pub(crate) source: Arc<str>,
    pub(crate) variables: Arc<[Box<str>]>,
    pub(crate) root: Arc<Expr>,
}

impl PartialEq for Program {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source && self.variables == other.variables
    }
}

impl Program {
    /// Whether it mentions a variable; a rule that mentions `oldSelf` is a transition rule.
    pub fn uses(&self, variable: &str) -> bool {
        let position = self.variables.iter().position(|name| **name == *variable);
        position.is_some_and(|index| mentions(&self.root, index))
    }

    /// How deep its tree is: what an evaluation needs of the stack grows with it.
    pub fn height(&self) -> usize {
        self.root.height
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
