//! Which fields a value has, and a value without some of its fields.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::field_set::{FieldNode, FieldSet};
use super::path_element::PathElement;
use super::type_ref::{Form, Items, TypeRef};

/// All fields of a value: its leaves, the items of its lists, the keys of its maps.
///
/// A list item that has lost its keys has no path and is left out.
pub(super) fn fields_of(type_ref: TypeRef<'_>, value: &Value) -> FieldSet {
    fields_at(type_ref, value).children
}

fn fields_at(type_ref: TypeRef<'_>, value: &Value) -> FieldNode {
    match (type_ref.form(Some(value)), value) {
        (Form::Scalar | Form::Map { atomic: true }, _) => FieldNode::leaf(),
        (Form::List(items), _) if items.is_atomic() => FieldNode::leaf(),
        (Form::Map { .. }, Value::Object(map)) => fields_of_map(type_ref, map),
        (Form::List(items), Value::Array(list)) => fields_of_list(items, list),
        (Form::Map { .. } | Form::List(_), _) => FieldNode::default(),
    }
}

fn fields_of_map(type_ref: TypeRef<'_>, map: &Map<String, Value>) -> FieldNode {
    let mut children = FieldSet::new();
    for (name, value) in map {
        let field = type_ref.field(name);
        let mut node = fields_at(field.type_ref, value);
        let hollow = value.is_null() || value.as_object().is_some_and(Map::is_empty);
        node.member |= hollow || !field.named;
        children.attach(PathElement::field(name), node);
    }
    FieldNode { member: false, children }
}

fn fields_of_list(items: Items<'_>, list: &[Value]) -> FieldNode {
    let mut by_element: BTreeMap<PathElement, Vec<&Value>> = BTreeMap::new();
    for item in list {
        if let Ok(element) = items.element(item) {
            by_element.entry(element).or_default().push(item);
        }
    }
    let mut children = FieldSet::new();
    for (element, same) in by_element {
        let mut node = match same.as_slice() {
            [item] => fields_at(items.type_ref, item),
            // Nothing inside items that cannot be distinguished has an owner.
            _ => FieldNode::default(),
        };
        node.member = true;
        children.attach(element, node);
    }
    FieldNode { member: false, children }
}

/// The value without the given fields. What loses its last field or item becomes null.
pub(super) fn without(type_ref: TypeRef<'_>, value: &Value, fields: &FieldSet) -> Value {
    match (type_ref.form(Some(value)), value) {
        (Form::Scalar, _) => value.clone(),
        (Form::Map { atomic: false }, Value::Object(map)) => {
            let kept: Map<String, Value> = map
                .iter()
                .filter_map(|(name, value)| {
                    let element = PathElement::field(name);
                    Some((name.clone(), kept(type_ref.field(name).type_ref, value, fields.get(&element))?))
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Object(kept) }
        }
        (Form::List(items), Value::Array(list)) if !items.is_atomic() => {
            let kept: Vec<Value> = list
                .iter()
                .filter_map(|item| match items.element(item) {
                    Ok(element) => kept(items.type_ref, item, fields.get(&element)),
                    // An item that no path leads to is in no set.
                    Err(_) => Some(item.clone()),
                })
                .collect();
            if kept.is_empty() { Value::Null } else { Value::Array(kept) }
        }
        _ => Value::Null,
    }
}

fn kept(type_ref: TypeRef<'_>, value: &Value, removed: Option<&FieldNode>) -> Option<Value> {
    match removed {
        None => Some(value.clone()),
        Some(node) if node.member => None,
        Some(node) => Some(without(type_ref, value, &node.children)),
    }
}

/// The set with every named field that leads to a member. Without these, a struct whose fields are
/// all given up would stay behind empty.
pub(super) fn with_named_fields(type_ref: TypeRef<'_>, fields: &FieldSet) -> FieldSet {
    let mut full = FieldSet::new();
    for (element, node) in fields.nodes() {
        let step = type_ref.step(element);
        let children = match step {
            Some(field) => with_named_fields(field.type_ref, &node.children),
            None => node.children.clone(),
        };
        let named = step.is_some_and(|field| field.named);
        let member = node.member || (named && !node.children.is_empty());
        full.attach(element.clone(), FieldNode { member, children });
    }
    full
}

/// The set under the current schema: where a node has become atomic, the members below it
/// become the node itself.
pub(super) fn reconciled(type_ref: TypeRef<'_>, fields: &FieldSet) -> FieldSet {
    let mut new = FieldSet::new();
    for (element, node) in fields.nodes() {
        new.attach(element.clone(), reconciled_node(type_ref, element, node));
    }
    new
}

fn reconciled_node(type_ref: TypeRef<'_>, element: &PathElement, node: &FieldNode) -> FieldNode {
    let Some(field) = type_ref.step(element).filter(|field| field.declared) else { return node.clone() };
    let atomic = match field.type_ref.form(None) {
        Form::Scalar => return node.clone(),
        Form::Map { atomic } => atomic,
        Form::List(items) => items.is_atomic(),
    };
    match (atomic, node.children.is_empty()) {
        (_, true) => node.clone(),
        (true, false) => FieldNode::leaf(),
        (false, false) => {
            FieldNode { member: node.member, children: reconciled(field.type_ref, &node.children) }
        }
    }
}
