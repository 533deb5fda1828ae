//! Which variables an expression may use, what their types are, and where their values come from.

use std::sync::Arc;

use crate::ast::Expr;
use crate::eval::Machine;
use crate::permission::{Decision, Permission, Subject};
use crate::signatures::parse_type;
use crate::types::Type;
use crate::{Budget, CompileError, EvalError, Program, Value, check, parser, resolve};

/// The variables that an expression may use. A name may have dots: `variables.limit`.
pub trait Declarations {
    /// The type of a variable; `None` if there is no such variable.
    fn type_of(&self, name: &str) -> Option<Type<'static>>;

    /// Whether the expression makes a patch: then it knows the messages `Object` and `JSONPatch`, and the functions of
    /// patches.
    fn makes_patch(&self) -> bool {
        false
    }
}

/// Where an evaluation finds the values of its variables, when it needs them.
pub trait Scope<'a> {
    /// The value of a variable; `None` if there is none.
    fn value(&self, name: &str) -> Option<Result<Value<'a>, EvalError>>;

    /// Whether somebody has a permission.
    fn authorize(&self, subject: &Subject, wanted: &Permission) -> Decision;
}

/// A type by its name in signatures: `dyn`, `kubernetes.AdmissionRequest`.
pub fn named_type(name: &str) -> Type<'static> {
    parse_type(name).unwrap_or(Type::Dynamic)
}

impl Program {
    /// Parses and checks an expression against the types of what it uses. Returns it with the type of its result.
    ///
    /// # Errors
    /// Syntax errors, unknown names, fields and functions, and operators that do not take what they meet.
    pub fn compile_with(
        source: &str,
        declarations: &dyn Declarations,
    ) -> Result<(Program, Type<'static>), CompileError> {
        compile(source, declarations, Vec::new())
    }

    /// Computes the value with variables that are looked up when they are needed.
    ///
    /// # Errors
    /// What fails while it runs: a missing key, an overflow, or the end of the budget.
    pub fn evaluate_in<'a>(
        &self,
        scope: &dyn Scope<'a>,
        budget: &mut Budget,
    ) -> Result<Value<'a>, EvalError> {
        let names = &self.variables;
        Machine { names, globals: Vec::new(), locals: Vec::new(), scope: Some(scope), budget }
            .eval(&self.root)
    }
}

/// Compiles an expression. Its variables are those of `names`, which are there whether or not it uses them, and then
/// whatever else it uses, so that many expressions with many variables do not each remember all of them.
pub(crate) fn compile(
    source: &str,
    declarations: &dyn Declarations,
    mut names: Vec<Box<str>>,
) -> Result<(Program, Type<'static>), CompileError> {
    let fail = |issues| Err(CompileError::new(source, issues));
    let mut root: Expr = match parser::parse(source) {
        Ok(root) => *root,
        Err(issue) => return fail(vec![*issue]),
    };
    let unresolved = resolve::resolve(&mut root, declarations, &mut names);
    if !unresolved.is_empty() {
        return fail(unresolved);
    }
    let types = names.iter().map(|name| declarations.type_of(name).unwrap_or(Type::Dynamic));
    let (output, mut issues) = check::check(&root, types.collect());
    if issues.is_empty() {
        issues = resolve::fold(&mut root);
    }
    if !issues.is_empty() {
        return fail(issues);
    }
    Ok((Program { source: source.into(), variables: names.into(), root: Arc::new(root) }, output))
}
