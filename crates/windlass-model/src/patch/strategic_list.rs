//! How strategic merge patches lists: by merge key or by value, and in which order.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::strategic::{PATCH, merge_maps, unexpected, unknown_directive, without_directives};
use crate::go_format::plain;
use crate::schema::{Schema, Strategic};
use crate::status::Status;
use crate::value_order::Ordered;

/// Merges a patch into a list that has the merge strategy.
pub(super) fn delete_and_merge(
    items: &Schema,
    key: Option<&str>,
    original: Vec<Value>,
    patch: Vec<Value>,
) -> Result<Vec<Value>, Status> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !have_maps(&original, &patch)? {
        let (live_keys, patch_keys) = (keys(&original, key)?, keys(&patch, key)?);
        let mut seen = BTreeSet::new();
        let all: Vec<Value> = original.into_iter().chain(patch).collect();
        let distinct: Vec<Value> = all.iter().filter(|item| seen.insert(Ordered(item))).cloned().collect();
        return ordered(distinct, key, &patch_keys, &live_keys);
    }
    let Some(key) = key else {
        return Err(Status::unclassified("cannot merge lists without merge key for struct"));
    };
    let (original, patch) = follow_directives(original, patch, key)?;
    let (live_keys, patch_keys) = (keys(&original, Some(key))?, keys(&patch, Some(key))?);
    let merged = merge_by_key(items, original, patch, &live_keys, &patch_keys)?;
    ordered(merged, Some(key), &patch_keys, &live_keys)
}

/// Merges the lists, whichever there are, and puts the items in a given order. Items that it does not
/// name stay where they stand between the others. `None` if there is no list.
pub(super) fn put_in_order(
    items: &Schema,
    strategic: &Strategic,
    original: Option<Vec<Value>>,
    patch: Option<Vec<Value>>,
    order: &[Value],
) -> Result<Option<Vec<Value>>, Status> {
    let key = strategic.key.as_deref();
    check_order(patch.as_deref().unwrap_or_default(), order, key)?;
    let empty = Vec::new();
    let (live, new) = (original.as_ref().unwrap_or(&empty), patch.as_ref().unwrap_or(&empty));
    if original.is_none() && patch.is_none() {
        return Ok(None);
    }
    if live.is_empty() && new.is_empty() {
        return Err(Status::unclassified("no elements in any of the given slices"));
    }
    let has_maps = have_maps(live, new)?;
    if has_maps && key.is_none() {
        return Err(Status::unclassified("hash of unhashable type map[string]interface {}"));
    }
    let live_keys = match key {
        Some(key) if strategic.merge => remaining_keys(live, new, key)?,
        _ => keys(live, key)?,
    };
    let merged = match (original, patch) {
        (Some(original), None) => original,
        (Some(original), Some(patch)) if strategic.merge => delete_and_merge(items, key, original, patch)?,
        (Some(_), Some(patch)) => patch,
        (None, patch) => patch.unwrap_or_default().into_iter().filter_map(without_directives).collect(),
    };
    ordered(merged, key, &keys(order, key)?, &live_keys).map(Some)
}

/// The order of the live list once the patch has deleted its items. As many new items as it deletes
/// are taken to stand at the end: Kubernetes moves them into the freed positions.
fn remaining_keys(live: &[Value], patch: &[Value], key: &str) -> Result<Vec<Value>, Status> {
    let directive = |item: &Value| item.get(PATCH).and_then(Value::as_str).map(str::to_owned);
    let deletes = |item: &&Value| directive(item).as_deref() == Some("delete");
    let deleted: BTreeSet<Ordered<'_>> =
        patch.iter().filter(deletes).filter_map(|item| item.get(key)).map(Ordered).collect();
    let live_keys = keys(live, Some(key))?;
    let mut known: BTreeSet<Ordered<'_>> = live_keys.iter().map(Ordered).collect();
    known.retain(|key| !deleted.contains(key));
    let mut order: Vec<Value> =
        live_keys.iter().filter(|key| !deleted.contains(&Ordered(key))).cloned().collect();
    let freed = live_keys.len() - order.len();
    if !patch.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        let plain_items = patch.iter().filter(|item| item.get(PATCH).is_none());
        let new_keys = plain_items.filter_map(|item| item.get(key)).filter(|key| known.insert(Ordered(key)));
        order.extend(new_keys.take(freed).cloned());
    }
    Ok(order)
}

/// Whether the items are maps rather than scalars. They must all be of one type, and no lists.
fn have_maps(original: &[Value], patch: &[Value]) -> Result<bool, Status> {
    let all = || original.iter().chain(patch);
    let Some(first) = all().next() else { return Ok(false) };
    if first.is_array() {
        return Err(Status::unprocessable());
    }
    let kind = |value: &Value| (std::mem::discriminant(value), value.is_f64());
    if first.is_null() || all().any(|item| kind(item) != kind(first)) {
        let lists = [original.to_vec().into(), patch.to_vec().into()];
        let shown = plain(&Value::Array(lists.to_vec()));
        return Err(Status::unclassified(format!("list element types are not identical: {shown}")));
    }
    Ok(first.is_object())
}

/// The identity of an item: the value of its merge key, or the item itself.
fn key_of<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, Status> {
    let Some(key) = key else { return Ok(item) };
    let Value::Object(map) = item else { return Err(unexpected("map[string]interface {}", item)) };
    map.get(key).ok_or_else(|| no_merge_key(map, key))
}

fn no_merge_key(map: &Map<String, Value>, key: &str) -> Status {
    let shown = plain(&Value::Object(map.clone()));
    Status::unclassified(format!("map: {shown} does not contain declared merge key: {key}"))
}

fn keys(list: &[Value], key: Option<&str>) -> Result<Vec<Value>, Status> {
    list.iter().map(|item| key_of(item, key).cloned()).collect()
}

/// Does what the `$patch` items of a patch say; returns the live list and the patch without them.
fn follow_directives(
    original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), Status> {
    let mut plain_items = Vec::new();
    let mut deleted = Vec::new();
    let mut replace = false;
    for item in patch {
        let Value::Object(mut map) = item else { continue };
        match map.get(PATCH).cloned() {
            None => plain_items.push(Value::Object(map)),
            Some(directive) => match directive.as_str() {
                Some("delete") => deleted.push(map.remove(key).ok_or_else(|| no_merge_key(&map, key))?),
                Some("replace") => replace = true,
                Some("merge") => {
                    return Err(Status::unclassified("merging lists cannot yet be specified in the patch"));
                }
                _ => return Err(unknown_directive(&directive, map)),
            },
        }
    }
    if replace {
        return Ok((plain_items, Vec::new()));
    }
    let deleted: BTreeSet<Ordered<'_>> = deleted.iter().map(Ordered).collect();
    let stays = |item: &Value| item.get(key).is_none_or(|value| !deleted.contains(&Ordered(value)));
    Ok((original.into_iter().filter(stays).collect(), plain_items))
}

fn merge_by_key(
    items: &Schema,
    mut original: Vec<Value>,
    patch: Vec<Value>,
    live_keys: &[Value],
    patch_keys: &[Value],
) -> Result<Vec<Value>, Status> {
    let mut positions = first_positions(live_keys);
    for (item, key) in patch.into_iter().zip(patch_keys) {
        let found = positions.get(&Ordered(key)).and_then(|position| original.get_mut(*position));
        match (found, item) {
            (Some(live), Value::Object(change)) => {
                let old = live.as_object_mut().map(std::mem::take).unwrap_or_default();
                *live = Value::Object(merge_maps(items, old, change)?);
            }
            (_, item) => {
                positions.insert(Ordered(key), original.len());
                original.push(item);
            }
        }
    }
    Ok(original)
}

fn first_positions(keys: &[Value]) -> BTreeMap<Ordered<'_>, usize> {
    let mut positions = BTreeMap::new();
    for (position, key) in keys.iter().enumerate() {
        positions.entry(Ordered(key)).or_insert(position);
    }
    positions
}

/// The items that the patch names in its order, and the others where they stood in the live list: each
/// before the first named item that it preceded.
fn ordered(
    merged: Vec<Value>,
    key: Option<&str>,
    patch_keys: &[Value],
    live_keys: &[Value],
) -> Result<Vec<Value>, Status> {
    let (patch_positions, live_positions) = (first_positions(patch_keys), first_positions(live_keys));
    let mut named = Vec::new();
    let mut others = Vec::new();
    for item in merged {
        let item_key = key_of(&item, key)?;
        let live_position = live_positions.get(&Ordered(item_key)).copied();
        match patch_positions.get(&Ordered(item_key)).copied() {
            Some(patch_position) => named.push((patch_position, live_position, item)),
            None => others.push((live_position, item)),
        }
    }
    named.sort_by_key(|(patch_position, _, _)| *patch_position);
    others.sort_by_key(|(live_position, _)| *live_position);

    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for (_, named_position, item) in named {
        let precedes = |position: Option<usize>| {
            position.zip(named_position).is_some_and(|(other, named)| other < named)
        };
        while let Some((_, other)) = others.next_if(|(position, _)| precedes(*position)) {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others.map(|(_, item)| item));
    Ok(result)
}

/// Refuses a patch whose items are not in the given order, or not all in it.
fn check_order(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), Status> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let is_delete = |item: &&Value| item.get(PATCH).and_then(Value::as_str) == Some("delete");
    let mut left = patch.iter().filter(|item| !is_delete(item)).peekable();
    let mut order_left = order.iter().peekable();
    while let (Some(item), Some(expected)) = (left.peek(), order_left.peek()) {
        if item.get(PATCH).is_some() {
            left.next();
            continue;
        }
        if Ordered(key_of(item, key)?) == Ordered(key_of(expected, key)?) {
            left.next();
        }
        order_left.next();
    }
    if left.peek().is_none() {
        return Ok(());
    }
    let (patch, order) = (plain(&patch.to_vec().into()), plain(&order.to_vec().into()));
    Err(Status::unclassified(format!(
        "The order in patch list:\n{patch}\n doesn't match $setElementOrder list:\n{order}\n"
    )))
}
