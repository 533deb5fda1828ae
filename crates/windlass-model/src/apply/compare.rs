//! What changed from one value to another, as sets of fields.

use std::collections::BTreeMap;

use serde_json::Value;

use super::field_set::{FieldNode, FieldSet};
use super::path_element::PathElement;
use super::type_ref::{Form, Items, TypeRef, filled_list, filled_map};
use crate::value_order;

/// The fields that differ between two values. No field is in two of the sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Comparison {
    pub(super) removed: FieldSet,
    pub(super) modified: FieldSet,
    pub(super) added: FieldSet,
}

impl Comparison {
    /// The fields that got a value, and those that went.
    pub(super) fn into_written_and_removed(self) -> (FieldSet, FieldSet) {
        let mut written = self.added;
        written.add(self.modified);
        (written, self.removed)
    }

    /// The same without these fields and all below them.
    pub(super) fn excluding(mut self, fields: &FieldSet) -> Comparison {
        for set in [&mut self.removed, &mut self.modified, &mut self.added] {
            set.subtract_with_all_below(fields);
        }
        self
    }
}

/// Compares two objects of one type. Fails on a list item that cannot be distinguished from others.
pub(super) fn compare(type_ref: TypeRef<'_>, old: &Value, new: &Value) -> Result<Comparison, String> {
    let Difference { removed, modified, added } = differ(type_ref, Some(old), Some(new))?;
    Ok(Comparison { removed: removed.children, modified: modified.children, added: added.children })
}

/// A comparison of two values at one path.
#[derive(Default)]
struct Difference {
    removed: FieldNode,
    modified: FieldNode,
    added: FieldNode,
}

impl Difference {
    fn attach(&mut self, element: impl Fn() -> PathElement, below: Difference) {
        for (here, below) in [
            (&mut self.removed, below.removed),
            (&mut self.modified, below.modified),
            (&mut self.added, below.added),
        ] {
            if !below.is_empty() {
                here.children.attach(element(), below);
            }
        }
    }
}

fn differ(type_ref: TypeRef<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Difference, String> {
    let (Some(before), Some(after)) = (old, new) else {
        let mut difference = differ_as(type_ref, type_ref.form(old.or(new)), old, new)?;
        // A container that comes or goes is itself a field.
        difference.added.member |= old.is_none() && new.is_some();
        difference.removed.member |= new.is_none() && old.is_some();
        return Ok(difference);
    };
    let (form_before, form_after) = (type_ref.form(old), type_ref.form(new));
    if std::mem::discriminant(&form_before) == std::mem::discriminant(&form_after) {
        return differ_as(type_ref, form_after, Some(before), Some(after));
    }
    // One kind of value replaces another: what was inside the old one is gone as well.
    let mut gone = differ_as(type_ref, form_before, Some(before), Some(after))?;
    let come = differ_as(type_ref, form_after, Some(before), Some(after))?;
    for (here, there) in [
        (&mut gone.removed, come.removed),
        (&mut gone.modified, come.modified),
        (&mut gone.added, come.added),
    ] {
        here.member |= there.member;
        here.children.add(there.children);
    }
    Ok(gone)
}

fn differ_as(
    type_ref: TypeRef<'_>,
    form: Form<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<Difference, String> {
    match form {
        Form::Map { atomic: false } if filled_map(old).is_some() || filled_map(new).is_some() => {
            differ_as_maps(type_ref, old, new)
        }
        Form::List(items)
            if !items.is_atomic() && (filled_list(old).is_some() || filled_list(new).is_some()) =>
        {
            differ_as_lists(items, old, new)
        }
        _ => Ok(differ_as_leaves(old, new)),
    }
}

fn differ_as_leaves(old: Option<&Value>, new: Option<&Value>) -> Difference {
    let mut difference = Difference::default();
    match (old, new) {
        (None, _) => difference.added.member = true,
        (_, None) => difference.removed.member = true,
        (Some(old), Some(new)) => difference.modified.member = !value_order::equal(old, new),
    }
    difference
}

fn differ_as_maps(
    type_ref: TypeRef<'_>,
    old: Option<&Value>,
    new: Option<&Value>,
) -> Result<Difference, String> {
    let (old, new) = (filled_map(old), filled_map(new));
    let in_new = |name: &String| new.and_then(|map| map.get(name));
    let kept = old.into_iter().flatten().map(|(name, old)| (name, Some(old), in_new(name)));
    let is_come = |name: &String| old.is_none_or(|old| !old.contains_key(name));
    let come = new.into_iter().flatten().filter(|(name, _)| is_come(name));
    let mut difference = Difference::default();
    for (name, old, new) in kept.chain(come.map(|(name, new)| (name, None, Some(new)))) {
        let below = differ(type_ref.field(name).type_ref, old, new)?;
        difference.attach(|| PathElement::field(name), below);
    }
    Ok(difference)
}

fn differ_as_lists(items: Items<'_>, old: Option<&Value>, new: Option<&Value>) -> Result<Difference, String> {
    if old == new {
        return Ok(Difference::default());
    }
    let mut by_element: BTreeMap<PathElement, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
    for item in filled_list(old).unwrap_or_default() {
        by_element.entry(items.element(item)?).or_default().0.push(item);
    }
    for item in filled_list(new).unwrap_or_default() {
        by_element.entry(items.element(item)?).or_default().1.push(item);
    }
    let mut difference = Difference::default();
    for (element, (old, new)) in by_element {
        difference.attach(|| element.clone(), differ_as_items(items.type_ref, &old, &new)?);
    }
    Ok(difference)
}

/// Compares all items with one path element. There should be one; more are taken as one value.
fn differ_as_items(type_ref: TypeRef<'_>, old: &[&Value], new: &[&Value]) -> Result<Difference, String> {
    match (old, new) {
        ([_, _, ..], [_, _, ..]) => {
            let same =
                old.len() == new.len() && old.iter().zip(new).all(|(old, new)| value_order::equal(old, new));
            let mut difference = Difference::default();
            difference.modified.member = !same;
            Ok(difference)
        }
        ([_, _, ..], _) => {
            let mut difference = match new.first() {
                Some(new) => differ(type_ref, None, Some(new))?,
                None => Difference::default(),
            };
            difference.removed.member = true;
            Ok(difference)
        }
        (_, [_, _, ..]) => {
            let mut difference = match old.first() {
                Some(old) => differ(type_ref, Some(old), None)?,
                None => Difference::default(),
            };
            difference.added.member = true;
            Ok(difference)
        }
        _ => differ(type_ref, old.first().copied(), new.first().copied()),
    }
}
