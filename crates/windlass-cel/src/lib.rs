//! The Common Expression Language, as far as Kubernetes uses it: for the rules of schemas and for admission policies.
//!
//! Start with [`Program::compile`]. An expression goes through a lexer, a parser that expands macros, a
//! resolver of names and a type checker; what remains is evaluated against [`Value`]s that look at JSON,
//! within a [`Budget`]. Functions, messages and costs are those of Kubernetes 1.35.
//!
//! ```
//! use windlass_cel::{Budget, Program, Value};
//!
//! let rule = Program::compile("self.replicas <= self.max", &["self"])?;
//! let object = serde_json::json!({"replicas": 3, "max": 5});
//! let result = rule.evaluate(&[("self", Value::from_json(&object, None))], &mut Budget::default())?;
//! assert_eq!(result.as_bool(), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Two things that expressions and the rest of the API share are here too, since nothing below this crate could hold
//! them: [`schema`], the shapes of values, and [`formats`], the text formats of Kubernetes.

mod ast;
mod budget;
mod check;
mod declared;
mod environment;
mod error;
mod estimate;
mod eval;
pub mod formats;
mod json;
mod lexer;
mod library;
mod macros;
mod message;
mod operators;
mod parser;
mod permission;
mod program;
mod resolve;
mod rule;
pub mod schema;
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

pub use budget::{Budget, PER_CALL_LIMIT, RUNTIME_COST_BUDGET};
pub use environment::{Declarations, Scope, named_type};
pub use error::{CompileError, EvalError};
pub use estimate::max_cardinality;
pub use library::Opaque;
pub use message::Message;
pub use parser::is_reserved;
pub use permission::{Decision, Permission, ResourcePermission, Subject};
pub use program::Program;
pub use rule::RuleContext;
pub use schema::Schema;
pub use types::Type;
pub use value::{List, Map, Text, Value};
