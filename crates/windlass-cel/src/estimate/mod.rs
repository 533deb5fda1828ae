//! What an expression can cost at most, worked out before it runs, as Kubernetes estimates it.
//!
//! The schema bounds how long strings, lists and maps can be; where it does not, the size of a request does. A macro
//! costs its body times the length of its range, so rules over unbounded lists get expensive quickly.

mod calls;
mod declared;
mod size;

use crate::ast::{Access, Binary, Call, Expr, Macro, MacroKind, MapEntry, NewMessage, Node};
use crate::check::Checker;
use crate::types::Type;
use crate::value::Value;
pub use declared::max_cardinality;
use declared::{Declared, Origin};
use size::{Size, by_factor};

const IDENTIFIER: u64 = 1;
const CALL: u64 = 1;
const NEW_LIST: u64 = 10;
const NEW_MAP: u64 = 30;
const NEW_MESSAGE: u64 = 40;
/// What a character costs that is looked at.
const TRAVERSAL: f64 = 0.1;

/// The value that rules of a schema see, if they see any.
pub(crate) fn declared(schema: &crate::schema::Schema, resource: bool) -> Option<Declared<'_>> {
    Declared::of(schema, resource)
}

/// The highest cost of an expression, given the types of the caller's variables; all of them stand for values of one
/// declared type.
pub(crate) fn max_cost<'s>(expr: &Expr, globals: Vec<Type<'s>>, root: Option<Declared<'s>>) -> u64 {
    let mut estimator = Estimator { checker: Checker::new(globals), root, locals: Vec::new() };
    estimator.visit(expr).cost
}

struct Estimator<'s> {
    checker: Checker<'s>,
    root: Option<Declared<'s>>,
    locals: Vec<Variable<'s>>,
}

/// What is known of a variable of a macro.
#[derive(Clone, Copy, Default)]
struct Variable<'s> {
    origin: Origin<'s>,
    size: Option<Size>,
}

/// What is known of a node.
struct Estimated<'s> {
    cost: u64,
    size: Option<Size>,
    /// The sizes of keys and values, if the list or map is made by the expression.
    entries: Option<Entries>,
    origin: Origin<'s>,
    found: Type<'s>,
}

#[derive(Clone, Copy)]
struct Entries {
    key: Size,
    value: Size,
}

impl Entries {
    fn union(one: Option<Entries>, other: Option<Entries>) -> Option<Entries> {
        let (one, other) = (one?, other?);
        Some(Entries { key: one.key.union(other.key), value: one.value.union(other.value) })
    }
}

impl Estimated<'_> {
    fn size(&self) -> Size {
        self.size.unwrap_or(Size::UNKNOWN)
    }
}

/// The sum of costs, which ends at the highest number.
fn sum(costs: impl IntoIterator<Item = u64>) -> u64 {
    costs.into_iter().fold(0, u64::saturating_add)
}

/// Whether all values of a type are of size 1.
fn is_scalar(found: &Type<'_>) -> bool {
    match found {
        Type::Bool | Type::Double | Type::Duration | Type::Int | Type::Timestamp | Type::Uint => true,
        Type::Optional(inner) => is_scalar(inner),
        _ => false,
    }
}

impl<'s> Estimator<'s> {
    /// Expressions may be deep: the frames of what recurs are kept small.
    fn visit(&mut self, expr: &Expr) -> Estimated<'s> {
        let (cost, known) = self.cost(expr);
        self.settle(expr, cost, known)
    }

    fn settle(&mut self, expr: &Expr, cost: u64, known: Known<'s>) -> Estimated<'s> {
        let found = self.checker.visit(expr);
        // A bound of the schema comes before the size of the type.
        let by_type = is_scalar(&found).then_some(Size::ONE);
        let size = known.size.or(known.origin.size()).or(by_type).or(known.variable_size);
        Estimated { cost, size, entries: known.entries, origin: known.origin, found }
    }

    fn visit_all<'e>(&mut self, exprs: impl Iterator<Item = &'e Expr>) -> Vec<Estimated<'s>> {
        let mut all = Vec::new();
        for expr in exprs {
            all.push(self.visit(expr));
        }
        all
    }

    /// The cost of a node with all below it, and what follows from its form.
    fn cost(&mut self, expr: &Expr) -> (u64, Known<'s>) {
        match &expr.node {
            Node::Literal(value) => self.literal(value),
            Node::Name(_) => (IDENTIFIER, Known::default()),
            Node::Global(_) => (IDENTIFIER, Known::of(Origin::of(self.root))),
            Node::Local(index) => self.local(*index),
            Node::Select { operand, field, mode } => self.select(operand, field, *mode),
            Node::Index { operand, index, optional } => self.index(operand, index, *optional),
            Node::Call(call) => self.call(call),
            Node::Unary(_, operand) => self.unary(operand),
            Node::Binary(operator, left, right) => self.binary(*operator, left, right),
            Node::And(terms) | Node::Or(terms) => self.logic(terms),
            Node::Conditional(parts) => self.conditional(parts),
            Node::List(elements) => self.list(elements),
            Node::Map(entries) => self.map(entries),
            Node::Message(message) => self.message(message),
            Node::Macro(expanded) => match expanded.kind {
                MacroKind::OptMap | MacroKind::OptFlatMap => self.map_optional(expanded),
                MacroKind::SortBy => self.sort_by(expanded),
                _ => self.repeat(expanded),
            },
        }
    }

    fn literal(&self, value: &Value<'_>) -> (u64, Known<'s>) {
        match value {
            // The name of a type is looked up like a variable.
            Value::Type(_) => (IDENTIFIER, Known::of(Origin::of(self.root))),
            value => (0, Known { size: Some(literal_size(value)), ..Known::default() }),
        }
    }

    fn local(&self, index: usize) -> (u64, Known<'s>) {
        let Variable { origin, size } = self.locals.get(index).copied().unwrap_or_default();
        (IDENTIFIER, Known { variable_size: size, ..Known::of(origin) })
    }

    fn call(&mut self, call: &Call) -> (u64, Known<'s>) {
        let arguments = self.visit_all(call.arguments.iter());
        let (cost, size) = calls::estimate(&call.function, call.member, &arguments, &call.arguments);
        let copied = arguments.first().filter(|_| &*call.function == "dyn");
        (cost, Known { size, entries: copied.and_then(|of| of.entries), ..Known::default() })
    }

    fn unary(&mut self, operand: &Expr) -> (u64, Known<'s>) {
        (self.visit(operand).cost.saturating_add(CALL), Known::default())
    }

    fn binary(&mut self, operator: Binary, left: &Expr, right: &Expr) -> (u64, Known<'s>) {
        let (left, right) = (self.visit(left), self.visit(right));
        binary(operator, &left, &right)
    }

    fn logic(&mut self, terms: &[Expr]) -> (u64, Known<'s>) {
        let mut cost: u64 = 0;
        for term in terms {
            cost = cost.saturating_add(self.visit(term).cost);
        }
        (cost, Known::default())
    }

    fn conditional(&mut self, [condition, yes, no]: &[Expr; 3]) -> (u64, Known<'s>) {
        let condition = self.visit(condition).cost;
        let (yes, no) = (self.visit(yes), self.visit(no));
        let size = Some(yes.size().union(no.size()));
        let entries = Entries::union(yes.entries, no.entries);
        (condition.saturating_add(yes.cost.max(no.cost)), Known { size, entries, ..Known::default() })
    }

    fn list(&mut self, elements: &[(Expr, bool)]) -> (u64, Known<'s>) {
        let elements = self.visit_all(elements.iter().map(|(element, _)| element));
        let value = Size::union_of(elements.iter().map(Estimated::size));
        let known = Known {
            size: Some(Size::fixed(elements.len())),
            entries: Some(Entries { key: Size::ONE, value }),
            ..Known::default()
        };
        (sum(elements.iter().map(|element| element.cost)).saturating_add(NEW_LIST), known)
    }

    fn map(&mut self, entries: &[MapEntry]) -> (u64, Known<'s>) {
        let keys = self.visit_all(entries.iter().map(|entry| &entry.key));
        let values = self.visit_all(entries.iter().map(|entry| &entry.value));
        let of = |parts: &[Estimated<'s>]| Size::union_of(parts.iter().map(Estimated::size));
        let known = Known {
            size: Some(Size::fixed(keys.len())),
            entries: Some(Entries { key: of(&keys), value: of(&values) }),
            ..Known::default()
        };
        (sum(keys.iter().chain(&values).map(|part| part.cost)).saturating_add(NEW_MAP), known)
    }

    fn message(&mut self, message: &NewMessage) -> (u64, Known<'s>) {
        let values = self.visit_all(message.fields.iter().map(|field| &field.value));
        (sum(values.iter().map(|value| value.cost)).saturating_add(NEW_MESSAGE), Known::default())
    }

    fn select(&mut self, operand: &Expr, field: &str, mode: Access) -> (u64, Known<'s>) {
        let operand = self.visit(operand);
        match mode {
            // A test for presence is free in Kubernetes.
            Access::Presence => (operand.cost, Known::default()),
            Access::Optional => (operand.cost.saturating_add(CALL), Known::default()),
            Access::Plain => {
                let looks = matches!(operand.found, Type::Map(..) | Type::Object(_) | Type::Open);
                let origin = operand.origin.part(self.root, |declared| declared.field(field));
                let cost = operand.cost.saturating_add(if looks { IDENTIFIER } else { 0 });
                (cost, Known::of(origin))
            }
        }
    }

    fn index(&mut self, operand: &Expr, index: &Expr, optional: bool) -> (u64, Known<'s>) {
        let (operand, index) = (self.visit(operand), self.visit(index));
        let cost = sum([operand.cost, index.cost, CALL]);
        if optional || matches!(operand.found, Type::Optional(_)) {
            return (cost, Known::default());
        }
        let size = operand.entries.map(|entries| entries.value);
        let origin = operand.origin.part(self.root, Declared::element);
        (cost, Known { size, origin, ..Known::default() })
    }

    /// A loop: what each turn costs, times the highest number of turns.
    fn repeat(&mut self, expanded: &Macro) -> (u64, Known<'s>) {
        let range = self.visit(&expanded.range);
        let (depth, first) = self.enter(expanded, &range);
        let filter = match &expanded.filter {
            Some(filter) => self.visit(filter).cost,
            None => 0,
        };
        let body = self.visit(&expanded.body);
        self.leave(depth);
        let (start, step, end, known) = loop_parts(expanded.kind, range.size(), first, &body);
        let turns = range.size().max.saturating_mul(sum([step, filter]));
        (sum([range.cost, start, end, turns]), known)
    }

    /// Brings the variables of a macro into scope. Returns how many there were before, and how large the first one is.
    fn enter(&mut self, expanded: &Macro, range: &Estimated<'s>) -> (usize, Size) {
        let depth = self.locals.len();
        let is_list = matches!(range.found, Type::List(_));
        let (key, value) = match &range.found {
            Type::List(item) => (Type::Int, item.as_ref().clone()),
            Type::Map(key, value) => (key.as_ref().clone(), value.as_ref().clone()),
            _ => (Type::Dynamic, Type::Dynamic),
        };
        let keys = Variable {
            origin: range.origin.part(self.root, Declared::key),
            size: range.entries.map(|entries| entries.key),
        };
        let values = Variable {
            origin: range.origin.part(self.root, Declared::element),
            size: range.entries.map(|entries| entries.value),
        };
        let pairs = expanded.second.is_some();
        let (first, first_type) = if is_list && !pairs { (values, value.clone()) } else { (keys, key) };
        let by_type = is_scalar(&first_type).then_some(Size::ONE);
        self.locals.push(first);
        self.checker.enter(first_type);
        if pairs {
            self.locals.push(values);
            self.checker.enter(value);
        }
        (depth, first.origin.size().or(by_type).or(first.size).unwrap_or(Size::UNKNOWN))
    }

    fn leave(&mut self, depth: usize) {
        self.locals.truncate(depth);
        self.checker.leave(depth);
    }

    /// `target.hasValue() ? body of target.value() : none`, where the value is bound by a loop that never turns.
    fn map_optional(&mut self, expanded: &Macro) -> (u64, Known<'s>) {
        let target = self.visit(&expanded.range);
        let inner = match &target.found {
            Type::Optional(inner) => inner.as_ref().clone(),
            _ => Type::Dynamic,
        };
        self.locals.push(Variable { origin: Origin::Computed, size: is_scalar(&inner).then_some(Size::ONE) });
        self.checker.enter(inner);
        let body = self.visit(&expanded.body);
        self.leave(self.locals.len() - 1);
        let bound = sum([NEW_LIST, target.cost, CALL, body.cost]);
        let (yes, size) = match expanded.kind {
            MacroKind::OptMap => (bound.saturating_add(CALL), Size::UNKNOWN),
            _ => (bound, body.size().union(Size::UNKNOWN)),
        };
        (sum([target.cost, CALL, yes.max(CALL)]), Known { size: Some(size), ..Known::default() })
    }

    /// The keys are made by a `map`, and then compared each with each.
    fn sort_by(&mut self, expanded: &Macro) -> (u64, Known<'s>) {
        let range = self.visit(&expanded.range);
        let (depth, _) = self.enter(expanded, &range);
        let body = self.visit(&expanded.body);
        self.leave(depth);
        let length = range.size();
        let turn = sum([body.cost, CALL, IDENTIFIER, NEW_LIST]);
        let keys = sum([IDENTIFIER, NEW_LIST, IDENTIFIER, length.max.saturating_mul(turn)]);
        let (sorting, size) = calls::sort(length, &body.found);
        (
            sum([NEW_LIST, range.cost, IDENTIFIER, keys, sorting]),
            Known { size: Some(size), ..Known::default() },
        )
    }
}

/// What the form of a node says about its value.
#[derive(Default)]
struct Known<'s> {
    size: Option<Size>,
    entries: Option<Entries>,
    origin: Origin<'s>,
    /// What a variable was made with, if nothing else is known.
    variable_size: Option<Size>,
}

impl<'s> Known<'s> {
    fn of(origin: Origin<'s>) -> Self {
        Known { origin, ..Known::default() }
    }
}

fn literal_size(value: &Value<'_>) -> Size {
    match value {
        Value::String(text) => Size::fixed(text.chars().count()),
        Value::Bytes(bytes) => Size::fixed(bytes.len()),
        _ => Size::ONE,
    }
}

/// What a loop costs at its start, in each turn and at its end, and what it makes. Beside its body a turn asks whether to
/// go on, and adds to what the loop makes.
fn loop_parts<'s>(
    kind: MacroKind,
    length: Size,
    variable: Size,
    body: &Estimated<'_>,
) -> (u64, u64, u64, Known<'s>) {
    let list_of = |value: Size| Known {
        size: Some(length),
        entries: Some(Entries { key: Size::ONE, value: Size::ZERO.union(value) }),
        ..Known::default()
    };
    let of_size = |size: Size| Known { size: Some(size), ..Known::default() };
    let turn = |cost: u64| body.cost.saturating_add(cost);
    let append = CALL + IDENTIFIER + NEW_LIST;
    match kind {
        MacroKind::All => (0, turn(3), IDENTIFIER, of_size(Size::ONE)),
        MacroKind::Exists => (0, turn(4), IDENTIFIER, of_size(Size::ONE)),
        MacroKind::ExistsOne => (0, turn(2), 2, of_size(Size::ONE)),
        MacroKind::Filter => (NEW_LIST, turn(append + IDENTIFIER), IDENTIFIER, list_of(variable)),
        MacroKind::TransformMap => (NEW_MAP, turn(3), IDENTIFIER, of_size(length)),
        MacroKind::TransformMapEntry => (NEW_MAP, turn(2), IDENTIFIER, of_size(length)),
        _ => (NEW_LIST, turn(append), IDENTIFIER, list_of(body.size())),
    }
}

fn binary<'s>(operator: Binary, left: &Estimated<'s>, right: &Estimated<'s>) -> (u64, Known<'s>) {
    let arguments = left.cost.saturating_add(right.cost);
    let plain = (arguments.saturating_add(CALL), Known::default());
    let types = [&left.found, &right.found];
    let any = |is: fn(&Type<'_>) -> bool| types.into_iter().any(is);
    let is_open = types.into_iter().all(|found| matches!(found, Type::Dynamic | Type::Open));
    let is_text = any(|found| matches!(found, Type::String | Type::Bytes));
    match operator {
        Binary::Add if is_text || is_open => {
            let size = left.size().add(right.size());
            let cost = arguments.saturating_add(by_factor(size.max, TRAVERSAL).max(u64::from(is_open)));
            (
                cost,
                Known {
                    size: Some(size),
                    entries: Entries::union(left.entries, right.entries),
                    ..Known::default()
                },
            )
        }
        Binary::Add if any(|found| matches!(found, Type::List(_))) => {
            let size = Some(left.size().add(right.size()));
            let entries = Entries::union(left.entries, right.entries);
            (plain.0, Known { size, entries, ..Known::default() })
        }
        Binary::Equal if left.found == right.found && matches!(left.found, Type::Opaque(_)) => {
            let cost = match left.found {
                Type::Opaque("kubernetes.NamedFormat") => by_factor(64, TRAVERSAL),
                Type::Opaque("kubernetes.URL") => by_factor(right.size.map_or(1, |size| size.max), TRAVERSAL),
                _ => CALL,
            };
            (arguments.saturating_add(cost), Known::default())
        }
        Binary::Equal | Binary::NotEqual => {
            let compared = left.size().max.min(right.size().max);
            (arguments.saturating_add(by_factor(compared, TRAVERSAL)), Known::default())
        }
        Binary::Less | Binary::LessEqual | Binary::Greater | Binary::GreaterEqual if is_text || is_open => {
            let compared = by_factor(left.size().max.min(right.size().max), TRAVERSAL);
            (arguments.saturating_add(compared.max(u64::from(is_open))), Known::default())
        }
        Binary::In if !matches!(right.found, Type::Map(..)) => {
            (arguments.saturating_add(right.size().max), Known::default())
        }
        _ => plain,
    }
}
