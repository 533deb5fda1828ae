//! Errors of an expression: when it is compiled, and when it runs.

use std::fmt;

/// Why an expression was refused, worded and laid out as Kubernetes does it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompileError {
    source: String,
    issues: Vec<Issue>,
}

/// One complaint and the byte offset that it is about; no offset if it is about the whole expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Issue {
    pub(crate) offset: Option<usize>,
    pub(crate) message: String,
}

impl Issue {
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> Self {
        Issue { offset: Some(offset), message: message.into() }
    }

    pub(crate) fn boxed(offset: usize, message: impl Into<String>) -> Box<Self> {
        Box::new(Self::at(offset, message))
    }
}

impl CompileError {
    pub(crate) fn new(source: &str, mut issues: Vec<Issue>) -> Self {
        issues.sort_by_key(|issue| issue.offset);
        CompileError { source: source.to_owned(), issues }
    }

    /// The complaints without their positions, in the order of the text.
    #[cfg(test)]
    pub(crate) fn messages(&self) -> impl Iterator<Item = &str> {
        self.issues.iter().map(|issue| issue.message.as_str())
    }
}

/// `ERROR: <input>:1:5: message`, then the line of the expression and a caret below the position.
impl fmt::Display for CompileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, issue) in self.issues.iter().enumerate() {
            if index > 0 {
                writeln!(f)?;
            }
            let Some(offset) = issue.offset else {
                write!(f, "{}", issue.message)?;
                continue;
            };
            let before = self.source.get(..offset).unwrap_or(&self.source);
            let line_number = before.matches('\n').count() + 1;
            let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
            let column = before.get(line_start..).unwrap_or("").chars().count();
            let line = self.source.get(line_start..).and_then(|rest| rest.lines().next()).unwrap_or("");
            write!(f, "ERROR: <input>:{line_number}:{}: {}", column + 1, issue.message)?;
            write!(f, "\n | {line}\n | {}^", ".".repeat(column))?;
        }
        Ok(())
    }
}

impl std::error::Error for CompileError {}

/// Why an evaluation has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError {
    kind: Kind,
    message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Overload,
    Cost,
    Failed,
}

impl EvalError {
    /// An operation failed: `no such key: a`, `division by zero`.
    pub fn failed(message: impl Into<String>) -> Self {
        EvalError { kind: Kind::Failed, message: message.into() }
    }

    /// No operator or function takes these types.
    pub(crate) fn no_overload() -> Self {
        EvalError { kind: Kind::Overload, message: "no such overload".to_owned() }
    }

    /// The budget is used up. Logical operators do not absorb this one.
    pub(crate) fn cost_exceeded() -> Self {
        EvalError { kind: Kind::Cost, message: "operation cancelled: actual cost limit exceeded".to_owned() }
    }

    /// Whether no operator or function takes the types that were met.
    pub fn is_no_overload(&self) -> bool {
        self.kind == Kind::Overload
    }

    /// Whether the budget was used up.
    pub fn is_cost_exceeded(&self) -> bool {
        self.kind == Kind::Cost
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for EvalError {}
