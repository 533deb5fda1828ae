//! The shape of a parsed expression.

use std::sync::Arc;

use crate::library::Native;
use crate::value::Value;

/// One node, with the offset in the text that issues about it point to.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) offset: usize,
    /// How deep the tree below is; bounded, so that recursion over it is safe.
    pub(crate) height: usize,
    pub(crate) node: Node,
    /// The value, where it is the same in every evaluation.
    pub(crate) constant: Option<Value<'static>>,
}

/// What a node computes.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Literal(Value<'static>),
    /// A name as written, until it is resolved.
    Name(Arc<str>),
    /// A variable of the caller.
    Global(usize),
    /// A variable of a macro, counted from the outermost one.
    Local(usize),
    Select {
        operand: Box<Expr>,
        field: Arc<str>,
        mode: Access,
    },
    Index {
        operand: Box<Expr>,
        index: Box<Expr>,
        optional: bool,
    },
    Call(Box<Call>),
    Unary(Unary, Box<Expr>),
    Binary(Binary, Box<Expr>, Box<Expr>),
    /// Two or more terms; kept flat since people write long ones.
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Conditional(Box<[Expr; 3]>),
    List(Vec<(Expr, bool)>),
    Map(Vec<MapEntry>),
    /// `Object.spec{replicas: 1}`
    Message(Box<NewMessage>),
    Macro(Box<Macro>),
}

/// How a field is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// `a.b`
    Plain,
    /// `a.?b`
    Optional,
    /// `has(a.b)`
    Presence,
}

#[derive(Clone, Debug)]
pub(crate) struct MapEntry {
    pub(crate) key: Expr,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// The construction of a message: the name of its type, and its fields as they are written.
#[derive(Clone, Debug)]
pub(crate) struct NewMessage {
    pub(crate) type_name: Arc<str>,
    pub(crate) fields: Vec<MessageField>,
}

#[derive(Clone, Debug)]
pub(crate) struct MessageField {
    /// Where its colon is, which is what complaints about the field point to.
    pub(crate) offset: usize,
    pub(crate) name: Arc<str>,
    pub(crate) value: Expr,
    pub(crate) optional: bool,
}

/// A function call. A receiver is the first argument.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) function: Arc<str>,
    pub(crate) member: bool,
    pub(crate) arguments: Vec<Expr>,
    /// Set once the name is resolved.
    pub(crate) native: Option<Native>,
    /// The pattern, where it is a literal.
    pub(crate) regex: Option<Arc<regex::Regex>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unary {
    Not,
    Negate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Binary {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
}

/// A macro that binds variables for its body.
#[derive(Clone, Debug)]
pub(crate) struct Macro {
    pub(crate) kind: MacroKind,
    pub(crate) range: Expr,
    pub(crate) first: Arc<str>,
    /// The value, in macros over keys (or indexes) and values.
    pub(crate) second: Option<Arc<str>>,
    pub(crate) filter: Option<Expr>,
    pub(crate) body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Map,
    Filter,
    TransformMap,
    TransformMapEntry,
    SortBy,
    OptMap,
    OptFlatMap,
}

impl Unary {
    /// The name under which the type checker reports it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Unary::Not => "!_",
            Unary::Negate => "-_",
        }
    }
}

impl Binary {
    /// The operator of this spelling, with how tightly it binds.
    pub(crate) fn parse(symbol: &str) -> Option<(Binary, u8)> {
        Some(match symbol {
            "<" => (Binary::Less, 3),
            "<=" => (Binary::LessEqual, 3),
            ">" => (Binary::Greater, 3),
            ">=" => (Binary::GreaterEqual, 3),
            "==" => (Binary::Equal, 3),
            "!=" => (Binary::NotEqual, 3),
            "in" => (Binary::In, 3),
            "+" => (Binary::Add, 4),
            "-" => (Binary::Subtract, 4),
            "*" => (Binary::Multiply, 5),
            "/" => (Binary::Divide, 5),
            "%" => (Binary::Modulo, 5),
            _ => return None,
        })
    }

    /// The name under which the type checker reports it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Binary::Add => "_+_",
            Binary::Subtract => "_-_",
            Binary::Multiply => "_*_",
            Binary::Divide => "_/_",
            Binary::Modulo => "_%_",
            Binary::Equal => "_==_",
            Binary::NotEqual => "_!=_",
            Binary::Less => "_<_",
            Binary::LessEqual => "_<=_",
            Binary::Greater => "_>_",
            Binary::GreaterEqual => "_>=_",
            Binary::In => "@in",
        }
    }
}

impl Expr {
    /// Whether it is a variable or a path below one value; Kubernetes prices those differently.
    pub(crate) fn is_path(&self) -> bool {
        self.constant.is_none()
            && matches!(
                self.node,
                Node::Global(_)
                    | Node::Local(_)
                    | Node::Select { mode: Access::Plain | Access::Optional, .. }
                    | Node::Index { .. }
            )
    }

    /// The names of `a.b.c`, joined; `None` for anything else.
    pub(crate) fn dotted_name(&self) -> Option<String> {
        match &self.node {
            Node::Name(name) => Some(name.to_string()),
            Node::Select { operand, field, mode: Access::Plain } => {
                Some(format!("{}.{field}", operand.dotted_name()?))
            }
            _ => None,
        }
    }

    /// The value, if it is a literal or was found to be constant.
    pub(crate) fn known(&self) -> Option<&Value<'static>> {
        match &self.node {
            Node::Literal(value) => Some(value),
            _ => self.constant.as_ref(),
        }
    }
}
