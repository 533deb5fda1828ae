//! Computes the value of a resolved expression, and what it costs.
//!
//! Costs follow Kubernetes: a variable or a step of a path costs one, a list ten, a map thirty, a
//! message forty, a literal nothing, and a path that is a branch of `?:` or an index one less.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ast::{Access, Binary, Call, Expr, Macro, MacroKind, MapEntry, NewMessage, Node};
use crate::budget::Budget;
use crate::environment::Scope;
use crate::error::EvalError;
use crate::library::{Arguments, Outcome, lists};
use crate::message::Message;
use crate::operators;
use crate::value::{Key, Text, Value};

/// One evaluation: the caller's variables, those of the macros around, and the budget.
pub(crate) struct Machine<'e, 'a> {
    /// The names of the caller's variables.
    pub(crate) names: &'e [Box<str>],
    pub(crate) globals: Vec<Option<Value<'a>>>,
    pub(crate) locals: Vec<Value<'a>>,
    /// Where variables are found that have no value yet.
    pub(crate) scope: Option<&'e dyn Scope<'a>>,
    pub(crate) budget: &'e mut Budget,
}

impl<'a> Machine<'_, 'a> {
    /// The value of an expression. The parser bounds the height of trees, so recursion is safe.
    pub(crate) fn eval(&mut self, expr: &Expr) -> Outcome<'a> {
        if let Some(constant) = &expr.constant {
            return Ok(constant.clone());
        }
        match &expr.node {
            Node::Literal(value) => Ok(value.clone()),
            Node::Name(name) => Err(EvalError::failed(format!("no such attribute: {name}"))),
            Node::Global(index) => {
                self.budget.charge(1)?;
                self.global(*index)
            }
            Node::Local(index) => {
                self.budget.charge(1)?;
                self.locals.get(*index).cloned().ok_or_else(|| EvalError::failed("no such attribute"))
            }
            Node::Select { operand, field, mode } => self.select(operand, field, *mode),
            Node::Index { operand, index, optional } => self.index(operand, index, *optional),
            Node::Call(call) => self.call(call),
            Node::Unary(operator, operand) => {
                let value = self.eval(operand)?;
                self.budget.charge(1)?;
                operators::unary(*operator, &value)
            }
            Node::Binary(operator, left, right) => self.binary(*operator, left, right),
            Node::And(terms) => self.logical(terms, false),
            Node::Or(terms) => self.logical(terms, true),
            Node::Conditional(parts) => self.conditional(parts),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Message(message) => self.message(message),
            Node::Macro(expanded) => self.expand(expanded),
        }
    }

    /// The value of a variable of the caller.
    fn global(&mut self, index: usize) -> Outcome<'a> {
        if let Some(Some(value)) = self.globals.get(index) {
            return Ok(value.clone());
        }
        let found = self.scope.zip(self.names.get(index)).and_then(|(scope, name)| scope.value(name));
        found.unwrap_or_else(|| Err(EvalError::failed("no such attribute")))
    }

    /// The start of a path: whatever is not a path itself costs one more.
    fn path_operand(&mut self, operand: &Expr) -> Outcome<'a> {
        let value = self.eval(operand)?;
        if !operand.is_path() {
            self.budget.charge(1)?;
        }
        Ok(value)
    }

    /// Evaluates a path in a position where its start costs nothing.
    fn free_path(&mut self, expr: &Expr) -> Outcome<'a> {
        let value = self.eval(expr)?;
        if expr.is_path() {
            self.budget.refund(1);
        }
        Ok(value)
    }

    #[inline(never)]
    fn select(&mut self, operand: &Expr, field: &Arc<str>, mode: Access) -> Outcome<'a> {
        let value = self.path_operand(operand)?;
        let key = Value::String(Text::Shared(field.clone()));
        if mode == Access::Presence {
            let value = match value {
                Value::Optional(None) => return Ok(Value::Bool(false)),
                Value::Optional(Some(inner)) => inner.as_ref().clone(),
                value => value,
            };
            return Ok(Value::Bool(matches!(lookup(&value, &key), Ok(Some(_)))));
        }
        self.access(&value, &key, mode == Access::Optional)
    }

    #[inline(never)]
    fn index(&mut self, operand: &Expr, index: &Expr, optional: bool) -> Outcome<'a> {
        let value = self.path_operand(operand)?;
        let key = self.free_path(index)?;
        self.access(&value, &key, optional)
    }

    /// One step of a path. On an optional value, every step is an optional one.
    fn access(&mut self, value: &Value<'a>, key: &Value<'a>, optional: bool) -> Outcome<'a> {
        let value = match value {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => return self.access_optional(inner, key),
            value => value,
        };
        if optional {
            return self.access_optional(value, key);
        }
        self.budget.charge(1)?;
        lookup(value, key)?.ok_or_else(|| absent(value, key))
    }

    fn access_optional(&mut self, value: &Value<'a>, key: &Value<'a>) -> Outcome<'a> {
        let found = lookup(value, key)?;
        if found.is_some() {
            self.budget.charge(1)?;
        }
        Ok(match found {
            Some(Value::Optional(inner)) => Value::Optional(inner),
            found => Value::optional(found),
        })
    }

    #[inline(never)]
    fn call(&mut self, call: &Call) -> Outcome<'a> {
        if let ("or" | "orValue", [first, second]) = (&*call.function, call.arguments.as_slice()) {
            return self.otherwise(first, second, &*call.function == "orValue");
        }
        let mut values = Vec::with_capacity(call.arguments.len());
        for argument in &call.arguments {
            values.push(self.eval(argument)?);
        }
        let native = call.native.ok_or_else(EvalError::no_overload)?;
        native(&mut Arguments {
            values: &values,
            budget: self.budget,
            regex: call.regex.as_ref(),
            scope: self.scope,
        })
    }

    /// `a.or(b)` and `a.orValue(b)`, which evaluate `b` only if they need it.
    fn otherwise(&mut self, first: &Expr, second: &Expr, unwrap: bool) -> Outcome<'a> {
        match self.eval(first)? {
            Value::Optional(Some(value)) if unwrap => Ok(value.as_ref().clone()),
            value @ Value::Optional(Some(_)) => Ok(value),
            Value::Optional(None) => self.eval(second),
            _ => Err(EvalError::no_overload()),
        }
    }

    #[inline(never)]
    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> Outcome<'a> {
        let left = self.eval(left)?;
        let collection = self.eval(right)?;
        if operator == Binary::In {
            match &collection {
                // Membership in a list of literals is a look-up, and free.
                Value::List(_) if right.known().is_some() => {}
                Value::List(list) => self.budget.charge(list.len() as u64)?,
                _ => self.budget.charge(1)?,
            }
            return operators::contains(&left, &collection, self.budget);
        }
        operators::binary(operator, &left, &collection, self.budget)
    }

    /// `&&` and `||`: a term that decides wins over errors on either side of it.
    #[inline(never)]
    fn logical(&mut self, terms: &[Expr], decisive: bool) -> Outcome<'a> {
        let mut error = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(value)) if value == decisive => return Ok(Value::Bool(decisive)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => error = error.or_else(|| Some(EvalError::no_overload())),
                Err(failure) if failure.is_cost_exceeded() => return Err(failure),
                Err(failure) => error = error.or(Some(failure)),
            }
        }
        error.map_or(Ok(Value::Bool(!decisive)), Err)
    }

    #[inline(never)]
    fn conditional(&mut self, [condition, then, otherwise]: &[Expr; 3]) -> Outcome<'a> {
        match self.eval(condition)? {
            Value::Bool(true) => self.free_path(then),
            Value::Bool(false) => self.free_path(otherwise),
            _ => Err(EvalError::no_overload()),
        }
    }

    #[inline(never)]
    fn list(&mut self, elements: &[(Expr, bool)]) -> Outcome<'a> {
        let mut items = Vec::with_capacity(elements.len());
        for (element, optional) in elements {
            match (self.eval(element)?, optional) {
                (value, false) => items.push(value),
                (Value::Optional(Some(value)), true) => items.push(value.as_ref().clone()),
                (Value::Optional(None), true) => {}
                (_, true) => return Err(EvalError::no_overload()),
            }
        }
        self.budget.charge(10)?;
        self.budget.work(items.len() * size_of::<Value<'_>>())?;
        Ok(Value::list(items))
    }

    #[inline(never)]
    fn map(&mut self, entries: &[MapEntry]) -> Outcome<'a> {
        let mut map = BTreeMap::new();
        for entry in entries {
            let key = self.eval(&entry.key)?;
            let key = key.to_key().ok_or_else(|| unsupported_key(&key))?;
            match (self.eval(&entry.value)?, entry.optional) {
                (value, false) => drop(map.insert(key, value)),
                (Value::Optional(Some(value)), true) => drop(map.insert(key, value.as_ref().clone())),
                (Value::Optional(None), true) => {}
                (_, true) => return Err(EvalError::no_overload()),
            }
        }
        self.budget.charge(30)?;
        self.budget.work(map.len() * size_of::<Value<'_>>())?;
        Ok(Value::map(map))
    }

    #[inline(never)]
    fn message(&mut self, made: &NewMessage) -> Outcome<'a> {
        let mut fields = BTreeMap::new();
        for field in &made.fields {
            let name = field.name.clone();
            match (self.eval(&field.value)?, field.optional) {
                (value, false) => drop(fields.insert(name, value)),
                (Value::Optional(Some(value)), true) => drop(fields.insert(name, value.as_ref().clone())),
                (Value::Optional(None), true) => {}
                (_, true) => return Err(EvalError::no_overload()),
            }
        }
        self.budget.charge(40)?;
        self.budget.work(fields.len() * size_of::<Value<'_>>())?;
        Message::new(made.type_name.clone(), fields).map(Value::Message)
    }

    #[inline(never)]
    fn expand(&mut self, expanded: &Macro) -> Outcome<'a> {
        if matches!(expanded.kind, MacroKind::OptMap | MacroKind::OptFlatMap) {
            return self.map_optional(expanded);
        }
        let range = self.eval(&expanded.range)?;
        let depth = self.locals.len();
        let result = match expanded.kind {
            MacroKind::All => self.quantify(expanded, &range, false),
            MacroKind::Exists => self.quantify(expanded, &range, true),
            MacroKind::ExistsOne => self.exists_one(expanded, &range),
            MacroKind::SortBy => self.sort_by(expanded, &range),
            MacroKind::TransformMap | MacroKind::TransformMapEntry => self.transform_map(expanded, &range),
            _ => self.transform_list(expanded, &range).map(Value::list),
        };
        // An error may leave variables behind, and another operator may absorb the error.
        self.locals.truncate(depth);
        result
    }

    /// Runs a step for each element of the range with the variables bound, until the step says to stop.
    fn for_each(
        &mut self,
        expanded: &Macro,
        range: &Value<'a>,
        mut step: impl FnMut(&mut Self, &Value<'a>) -> Result<bool, EvalError>,
    ) -> Result<(), EvalError> {
        let two = expanded.second.is_some();
        let mut bound = |first: Value<'a>, second: Option<Value<'a>>| {
            let depth = self.locals.len();
            self.locals.push(first.clone());
            self.locals.extend(second);
            let again = step(self, &first);
            self.locals.truncate(depth);
            again
        };
        match range {
            Value::List(list) => {
                for (index, item) in list.iter().enumerate() {
                    let index = Value::Int(index as i64);
                    if !(if two { bound(index, Some(item)) } else { bound(item, None) })? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for (key, value) in map.iter() {
                    if !bound(key.to_value(), two.then_some(value))? {
                        break;
                    }
                }
            }
            other => {
                let message = format!("got '{}', expected iterable type", other.type_name());
                return Err(EvalError::failed(message));
            }
        }
        Ok(())
    }

    /// `all` and `exists`, which treat errors as `&&` and `||` do.
    fn quantify(&mut self, expanded: &Macro, range: &Value<'a>, decisive: bool) -> Outcome<'a> {
        let check = if decisive { 3 } else { 2 };
        let mut decided = false;
        let mut error: Option<EvalError> = None;
        let mut remaining = range.size();
        self.for_each(expanded, range, |machine, _| {
            machine.budget.charge(check + 1)?;
            remaining = remaining.saturating_sub(1);
            match machine.eval(&expanded.body) {
                Ok(Value::Bool(value)) if value == decisive => {
                    decided = true;
                    error = None;
                }
                Ok(Value::Bool(_)) => {}
                Ok(_) => error = error.take().or_else(|| Some(EvalError::no_overload())),
                Err(failure) if failure.is_cost_exceeded() => return Err(failure),
                Err(failure) => error = error.take().or(Some(failure)),
            }
            Ok(!decided)
        })?;
        let last_check = if decided && remaining > 0 { check } else { 0 };
        self.budget.charge(last_check + 1)?;
        error.map_or(Ok(Value::Bool(decided == decisive)), Err)
    }

    fn exists_one(&mut self, expanded: &Macro, range: &Value<'a>) -> Outcome<'a> {
        let mut count = 0_u64;
        self.for_each(expanded, range, |machine, _| {
            if machine.holds(&expanded.body)? {
                machine.budget.charge(2)?;
                count += 1;
            }
            Ok(true)
        })?;
        self.budget.charge(2)?;
        Ok(Value::Bool(count == 1))
    }

    fn holds(&mut self, predicate: &Expr) -> Result<bool, EvalError> {
        self.eval(predicate)?.as_bool().ok_or_else(EvalError::no_overload)
    }

    /// `map`, `filter` and `transformList`.
    fn transform_list(&mut self, expanded: &Macro, range: &Value<'a>) -> Result<Vec<Value<'a>>, EvalError> {
        let mut items = Vec::new();
        self.for_each(expanded, range, |machine, element| {
            if let Some(filter) = &expanded.filter
                && !machine.holds(filter)?
            {
                return Ok(true);
            }
            let item = if expanded.kind == MacroKind::Filter {
                if !machine.holds(&expanded.body)? {
                    return Ok(true);
                }
                machine.budget.charge(1)?;
                element.clone()
            } else {
                machine.eval(&expanded.body)?
            };
            machine.budget.charge(12)?;
            machine.budget.work(size_of::<Value<'_>>())?;
            items.push(item);
            Ok(true)
        })?;
        self.budget.charge(1)?;
        Ok(items)
    }

    fn transform_map(&mut self, expanded: &Macro, range: &Value<'a>) -> Outcome<'a> {
        let mut map: BTreeMap<Key<'a>, Value<'a>> = BTreeMap::new();
        self.for_each(expanded, range, |machine, element| {
            if let Some(filter) = &expanded.filter
                && !machine.holds(filter)?
            {
                return Ok(true);
            }
            let value = machine.eval(&expanded.body)?;
            let entries = if expanded.kind == MacroKind::TransformMap {
                machine.budget.charge(1)?;
                vec![(element.to_key().ok_or_else(|| unsupported_key(element))?, value)]
            } else {
                let Value::Map(entries) = value else { return Err(EvalError::no_overload()) };
                entries.iter().collect()
            };
            machine.budget.charge(2)?;
            for (key, value) in entries {
                machine.budget.work(size_of::<Value<'_>>())?;
                if map.contains_key(&key) {
                    let message = format!("insert failed: key {} already exists", key.show());
                    return Err(EvalError::failed(message));
                }
                map.insert(key, value);
            }
            Ok(true)
        })?;
        self.budget.charge(1)?;
        Ok(Value::map(map))
    }

    fn sort_by(&mut self, expanded: &Macro, range: &Value<'a>) -> Outcome<'a> {
        let Value::List(list) = range else { return Err(EvalError::no_overload()) };
        self.budget.charge(2)?;
        let keys = self.transform_list(expanded, range)?;
        lists::sort_by_keys(list.iter().collect(), &keys, self.budget)
    }

    /// `optMap` and `optFlatMap`. Kubernetes evaluates the target twice, so its cost counts twice.
    fn map_optional(&mut self, expanded: &Macro) -> Outcome<'a> {
        let before = self.budget.spent();
        let target = self.eval(&expanded.range)?;
        let target_cost = self.budget.spent() - before;
        self.budget.charge(1)?;
        let Value::Optional(target) = target else { return Err(EvalError::no_overload()) };
        let Some(value) = target else {
            self.budget.charge(1)?;
            return Ok(Value::Optional(None));
        };
        self.budget.charge(target_cost.saturating_add(1))?;
        self.locals.push(value.as_ref().clone());
        let result = self.eval(&expanded.body);
        self.locals.pop();
        let result = result?;
        if expanded.kind == MacroKind::OptFlatMap {
            return Ok(result);
        }
        self.budget.charge(1)?;
        Ok(Value::optional(Some(result)))
    }
}

fn unsupported_key(key: &Value<'_>) -> EvalError {
    EvalError::failed(format!("unsupported key type: {}", key.type_name()))
}

/// The entry of a key or the item of an index; an error if the key can be none.
fn lookup<'a>(value: &Value<'a>, key: &Value<'a>) -> Result<Option<Value<'a>>, EvalError> {
    match value {
        Value::Map(map) => Ok(key.to_key().and_then(|key| map.get(&key))),
        Value::Message(message) => Ok(key.as_str().and_then(|name| message.field(name)).cloned()),
        Value::List(list) => {
            let index = match (key, key.to_key()) {
                (Value::Int(_) | Value::Uint(_) | Value::Double(_), Some(Key::Int(index))) => index,
                (_, Some(Key::Uint(index))) => i64::try_from(index).unwrap_or(i64::MAX),
                (Value::Double(number), _) => {
                    return Err(EvalError::failed(format!("unsupported index value {number} in list")));
                }
                _ => {
                    let name = key.type_name();
                    return Err(EvalError::failed(format!("unsupported index type '{name}' in list")));
                }
            };
            Ok(usize::try_from(index).ok().and_then(|index| list.get(index)))
        }
        _ => Ok(None),
    }
}

fn absent(value: &Value<'_>, key: &Value<'_>) -> EvalError {
    let shown = key.to_key().map_or_else(|| key.type_name().to_owned(), |key| key.show());
    match value {
        Value::List(_) => EvalError::failed(format!("index out of bounds: {shown}")),
        _ => EvalError::failed(format!("no such key: {shown}")),
    }
}
