//! The union of a live object and an applied configuration; where both have a leaf, the configuration wins.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::path_element::PathElement;
use super::type_ref::{Form, Items, TypeRef, filled_list, filled_map};

/// Merges a configuration into a live object. Nothing is removed.
///
/// Fails on live list items that cannot be distinguished from others; the configuration was checked before.
pub(super) fn merge(type_ref: TypeRef<'_>, live: &Value, config: &Value) -> Result<Value, String> {
    Ok(merge_at(type_ref, Some(live), Some(config))?.unwrap_or(Value::Null))
}

fn merge_at(
    type_ref: TypeRef<'_>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Result<Option<Value>, String> {
    let Some(applied) = config else { return Ok(live.cloned()) };
    match type_ref.form(config) {
        Form::Map { atomic: false } if filled_map(live).is_some() || filled_map(config).is_some() => {
            merge_maps(type_ref, filled_map(live), filled_map(config)).map(Some)
        }
        Form::List(items)
            if !items.is_atomic() && (filled_list(live).is_some() || filled_list(config).is_some()) =>
        {
            let (live, config) = (filled_list(live), filled_list(config));
            merge_lists(items, live.unwrap_or_default(), config.unwrap_or_default()).map(Some)
        }
        // Scalars and atomic values are replaced. Empty ones too: null and empty are distinct.
        _ => Ok(Some(applied.clone())),
    }
}

fn merge_maps(
    type_ref: TypeRef<'_>,
    live: Option<&Map<String, Value>>,
    config: Option<&Map<String, Value>>,
) -> Result<Value, String> {
    let mut merged = Map::new();
    for (name, live) in live.into_iter().flatten() {
        let applied = config.and_then(|map| map.get(name));
        merged.extend(
            merge_at(type_ref.field(name).type_ref, Some(live), applied)?.map(|value| (name.clone(), value)),
        );
    }
    for (name, applied) in config.into_iter().flatten() {
        if live.is_none_or(|map| !map.contains_key(name)) {
            let value = merge_at(type_ref.field(name).type_ref, None, Some(applied))?;
            merged.extend(value.map(|value| (name.clone(), value)));
        }
    }
    Ok(Value::Object(merged))
}

/// Merges associative lists. Items of the configuration keep their order; items that
/// only the live list has stay where they stand between the others.
fn merge_lists(items: Items<'_>, live: &[Value], config: &[Value]) -> Result<Value, String> {
    let live_elements = elements(items, live)?;
    let config_elements = elements(items, config)?;
    let live_items = index(&live_elements, live);
    let config_items = index(&config_elements, config);
    let merge_item = |element: &PathElement| -> Result<Option<Value>, String> {
        // Of several live items with one key none is merged into: the applied item replaces them.
        let live = live_items.get(element).copied().flatten();
        merge_at(items.type_ref, live, config_items.get(element).copied().flatten())
    };

    let mut shared = config_elements.iter().filter(|element| live_items.contains_key(element));
    let mut next_shared = shared.next();
    let mut done: BTreeSet<&PathElement> = BTreeSet::new();
    let mut merged = Vec::new();
    let mut live_left = live_elements.iter().zip(live).peekable();
    let mut config_left = config_elements.iter().peekable();
    loop {
        if let Some(&(element, item)) = live_left.peek() {
            if config_left.peek() == Some(&element) {
                done.insert(element);
                merged.extend(merge_item(element)?);
                live_left.next();
                config_left.next();
                next_shared = shared.next();
                continue;
            }
            let is_shared = config_items.contains_key(element);
            let out_of_turn = next_shared.is_some_and(|next| next != element);
            if is_shared && out_of_turn && config_left.peek().is_some() {
                live_left.next();
                continue;
            }
            if !is_shared {
                merged.push(item.clone());
                live_left.next();
                continue;
            }
            if done.contains(element) {
                live_left.next();
            }
        }
        match config_left.next() {
            Some(element) => {
                done.insert(element);
                merged.extend(merge_item(element)?);
                if next_shared == Some(element) {
                    next_shared = shared.next();
                }
            }
            None if live_left.peek().is_none() => break,
            None => {}
        }
    }
    Ok(Value::Array(merged))
}

fn elements(items: Items<'_>, list: &[Value]) -> Result<Vec<PathElement>, String> {
    let element = |(i, item)| items.element(item).map_err(|why| format!("element {i}: {why}"));
    list.iter().enumerate().map(element).collect()
}

/// The one item of each element; none where there are several.
fn index<'a>(elements: &'a [PathElement], list: &'a [Value]) -> BTreeMap<&'a PathElement, Option<&'a Value>> {
    let mut index = BTreeMap::new();
    for (element, item) in elements.iter().zip(list) {
        index.entry(element).and_modify(|item| *item = None).or_insert(Some(item));
    }
    index
}
