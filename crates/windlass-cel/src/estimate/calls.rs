//! What functions cost, by the sizes of their arguments.

use super::declared::Origin;
use super::size::{Size, by_factor};
use super::{CALL, Estimated, NEW_LIST, TRAVERSAL, sum};
use crate::ast::{Expr, Node};
use crate::types::Type;
use crate::value::Value;

/// What a character of a pattern costs for each that it is tried on.
const PATTERN: f64 = 0.25;
/// The longest pattern of a named format.
const NAMED_PATTERN: f64 = 128.0;
/// The bytes of an address.
const ADDRESS: u64 = 16;

/// The cost of a call with its arguments, and the size of its result where that is known.
pub(super) fn estimate(
    name: &str,
    member: bool,
    arguments: &[Estimated<'_>],
    exprs: &[Expr],
) -> (u64, Option<Size>) {
    let paid = sum(arguments.iter().map(|argument| argument.cost));
    let (cost, size) = match (member, arguments, exprs) {
        (true, [target, rest @ ..], [_, given @ ..]) => of_method(name, target, rest, given),
        _ => of_function(name, arguments, exprs),
    };
    (paid.saturating_add(cost), size)
}

fn walk(size: Size) -> u64 {
    by_factor(size.max, TRAVERSAL)
}

/// A pattern is tried at each character, and once more at the end.
fn search(text: Size, pattern: Size) -> u64 {
    walk(text.add(Size::ONE)).saturating_mul(by_factor(pattern.max, PATTERN))
}

fn of_method(
    name: &str,
    target: &Estimated<'_>,
    rest: &[Estimated<'_>],
    given: &[Expr],
) -> (u64, Option<Size>) {
    let size = target.size();
    let argument = || rest.first().map_or(Size::UNKNOWN, Estimated::size);
    let takes_text = rest.first().is_some_and(|argument| !matches!(argument.found, Type::Opaque(_)));
    match name {
        "startsWith" | "endsWith" => (walk(argument()), None),
        "contains" => (walk(size).saturating_mul(walk(argument())), None),
        "matches" => (search(size, argument()), None),
        "find" | "findAll" => (search(size, argument()), Some(Size { min: 0, max: size.max })),
        "format" => (walk(size), None),
        "lowerAscii" | "upperAscii" | "substring" | "trim" => (walk(size), Some(size)),
        "replace" if rest.len() >= 2 => {
            (by_factor(size.max, 2.0 * TRAVERSAL), Some(replaced(size, argument(), rest[1].size())))
        }
        "split" => {
            let max = given.get(1).and_then(number).unwrap_or(size.max);
            (by_factor(size.max, 2.0 * TRAVERSAL), Some(Size { min: 0, max }))
        }
        "join" => {
            let joined = joined(target, rest);
            (walk(joined), Some(joined))
        }
        "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => (compare_items(target), None),
        "sort" => {
            let item = match &target.found {
                Type::List(item) => item.as_ref(),
                _ => &Type::String,
            };
            let (cost, size) = sort(size, item);
            (cost, Some(size))
        }
        "slice" => {
            let bound = |index: usize, default: u64| given.get(index).and_then(number).unwrap_or(default);
            list(1.0, Size::UNKNOWN, bound(1, size.max).wrapping_sub(bound(0, 0)))
        }
        "reverse" => list(1.0, size, size.max),
        "flatten" => {
            let depth = if given.is_empty() { Some(1) } else { number(&given[0]) };
            #[expect(clippy::cast_precision_loss, reason = "Kubernetes computes so")]
            list(depth.unwrap_or(u64::MAX) as f64, size, size.max)
        }
        "distinct" => {
            let pairs = size.multiply(size);
            list(2.0, pairs, pairs.max)
        }
        "containsIP" => {
            (walk(Size::fixed(2 * 16)).saturating_add(if takes_text { walk(argument()) } else { 0 }), None)
        }
        "containsCIDR" => {
            let compared = sum([walk(Size::fixed(2 * 16)), by_factor(ADDRESS, TRAVERSAL), CALL]);
            (compared.saturating_add(if takes_text { walk(argument()) } else { 0 }), None)
        }
        "validate" => (by_factor(walk(argument()), NAMED_PATTERN * PATTERN), None),
        _ => (CALL, None),
    }
}

fn of_function(name: &str, arguments: &[Estimated<'_>], exprs: &[Expr]) -> (u64, Option<Size>) {
    let first = arguments.first().map_or(Size::UNKNOWN, Estimated::size);
    let second = arguments.get(1).map_or(Size::UNKNOWN, Estimated::size);
    let found = arguments.first().map_or(&Type::Dynamic, |argument| &argument.found);
    let is_open = matches!(found, Type::Dynamic | Type::Open);
    match name {
        "dyn" => (CALL, arguments.first().and_then(|argument| argument.size)),
        "bytes" if *found == Type::String || is_open => {
            (walk(first), Some(Size { min: first.min, max: first.max.saturating_mul(4) }))
        }
        "string" if *found == Type::Bytes || is_open => {
            (walk(first).max(u64::from(is_open)), Some(Size { min: first.min / 4, max: first.max }))
        }
        "strings.quote" => {
            let size =
                Size { min: first.min.saturating_add(2), max: first.max.saturating_mul(2).saturating_add(2) };
            (walk(first), Some(size))
        }
        "url" => (walk(first), Some(first)),
        "cidr" | "ip" | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            (walk(first), None)
        }
        "ip.isCanonical" => (by_factor(first.max, 2.0 * TRAVERSAL), None),
        "sets.contains" | "sets.intersects" => (first.multiply(second).max.saturating_add(CALL), None),
        "sets.equivalent" => (by_factor(first.multiply(second).max, 2.0).saturating_add(CALL), None),
        "lists.range" => {
            let length = exprs.first().and_then(number).unwrap_or(u64::MAX);
            list(1.0, Size { min: length, max: length }, length)
        }
        _ => (CALL, None),
    }
}

/// A literal number.
fn number(expr: &Expr) -> Option<u64> {
    match &expr.node {
        Node::Literal(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// A call that makes a list of a length.
fn list(factor: f64, size: Size, length: u64) -> (u64, Option<Size>) {
    let size = if size == Size::UNKNOWN { Size { min: length, max: length } } else { size };
    (sum([by_factor(length, factor), CALL, NEW_LIST]), Some(size))
}

/// Each item is compared with each.
pub(super) fn sort(length: Size, item: &Type<'_>) -> (u64, Size) {
    let pairs = length.multiply(length);
    let of_text = matches!(item, Type::String | Type::Bytes | Type::Dynamic | Type::Open);
    let factor = if of_text { 2.0 + TRAVERSAL } else { 2.0 };
    (sum([by_factor(pairs.max, factor), CALL, NEW_LIST]), pairs)
}

/// The items of a list that is part of a variable have the size that is declared.
fn item_size(list: &Estimated<'_>) -> Size {
    match list.origin {
        Origin::Declared(declared) => Origin::of(declared.element()).size().unwrap_or(Size::UNKNOWN),
        _ => Size::UNKNOWN,
    }
}

fn compare_items(target: &Estimated<'_>) -> u64 {
    match &target.found {
        Type::List(item) => {
            let is_text = matches!(item.as_ref(), Type::String | Type::Bytes);
            let each = if is_text { CALL.saturating_add(walk(item_size(target))) } else { CALL };
            target.size().max.saturating_mul(each)
        }
        _ => walk(target.size()),
    }
}

fn joined(target: &Estimated<'_>, rest: &[Estimated<'_>]) -> Size {
    let length = target.size();
    let items = length.multiply(item_size(target));
    let separators = Size { min: length.min.saturating_sub(1), max: length.max.saturating_sub(1) };
    rest.first().map_or(items, |separator| items.add(separator.size().multiply(separators)))
}

/// The size of a text in which one substring replaces another.
fn replaced(size: Size, old: Size, new: Size) -> Size {
    // Between all characters, before and after them.
    let everywhere = |length: u64| (length.saturating_add(1), length);
    let quotient =
        |length: u64, of: u64| if length == u64::MAX { u64::MAX } else { length.div_ceil(of.max(1)) };
    let (most, kept_most) = match (old.min, new.max <= old.min) {
        (0, _) => everywhere(size.max),
        (_, true) => (0, size.max),
        (shortest, false) => (quotient(size.max, shortest), 0),
    };
    let (least, kept_least) = match (old.max, old.max <= new.min) {
        (0, _) => everywhere(size.min),
        (_, true) => (0, size.min),
        (longest, false) => (quotient(size.min, longest), 0),
    };
    Size { min: least, max: most }.multiply(new).add(Size { min: kept_least, max: kept_most })
}
