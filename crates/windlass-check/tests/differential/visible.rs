//! What properties see of a state, and the sets of it that two explorers are compared by.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use windlass::model::{Key, object};
use windlass::{Ask, Kind};

use crate::machine::Thing;
use crate::program::PARENTS;

/// The objects that these worlds can have, and the service.
const THINGS: [&str; 2] = PARENTS;
const MAPS: [&str; 5] = ["p-x", "p-y", "q-x", "q-y", "shared"];
const SERVICE: usize = THINGS.len() + MAPS.len();
const WIDTH: usize = SERVICE + 1;
/// Where each object goes when the parents are permuted.
const PERMUTED: [usize; WIDTH] = [1, 0, 4, 5, 2, 3, 6, 7];

/// What is seen of a state: the number of each object, 0 where there is none, and of the state of the service.
pub(crate) type Seen = [u32; WIDTH];

/// What is seen of a step: the states before and after it, and the number of what is done, and by whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeenStep {
    pub(crate) before: Seen,
    pub(crate) after: Seen,
    pub(crate) deed: u32,
}

impl SeenStep {
    fn map(self, mut change: impl FnMut(Seen) -> Seen, deed: u32) -> Self {
        SeenStep { before: change(self.before), after: change(self.after), deed }
    }
}

/// All objects that any explorer of a world has seen.
pub(crate) struct Objects {
    keys: Vec<Key>,
    values: Vec<Arc<Value>>,
    numbers: FxHashMap<Arc<Value>, u32>,
    /// By address. The objects are kept, so no other comes to the same address.
    addresses: FxHashMap<usize, u32>,
    kept: Vec<Arc<Value>>,
    without_numbers: BTreeMap<u32, u32>,
    without_uids: BTreeMap<u32, u32>,
    permuted: BTreeMap<u32, u32>,
}

impl Objects {
    pub(crate) fn new() -> Self {
        Objects {
            keys: keys(),
            values: vec![Arc::new(Value::Null)],
            numbers: FxHashMap::default(),
            addresses: FxHashMap::default(),
            kept: Vec::new(),
            without_numbers: BTreeMap::new(),
            without_uids: BTreeMap::new(),
            permuted: BTreeMap::new(),
        }
    }

    /// What is seen where objects are found like this.
    pub(crate) fn seen(
        &mut self,
        find: impl Fn(&Key) -> Option<Arc<Value>>,
        service: Option<&Value>,
    ) -> Seen {
        let mut seen = Seen::default();
        let found: Vec<Option<Arc<Value>>> = self.keys.iter().map(find).collect();
        for (index, found) in found.into_iter().enumerate() {
            seen[index] = found.map_or(0, |found| self.number_of_shared(found));
        }
        seen[SERVICE] = service.map_or(0, |state| self.number(Arc::new(state.clone())));
        seen
    }

    fn number_of_shared(&mut self, value: Arc<Value>) -> u32 {
        let address = Arc::as_ptr(&value) as usize;
        if let Some(known) = self.addresses.get(&address) {
            return *known;
        }
        let number = self.number(value.clone());
        self.addresses.insert(address, number);
        self.kept.push(value);
        number
    }

    fn number(&mut self, value: Arc<Value>) -> u32 {
        let next = u32::try_from(self.values.len()).expect("these worlds have few objects");
        let number = *self.numbers.entry(value.clone()).or_insert(next);
        if number == next {
            self.values.push(value);
        }
        number
    }

    fn value(&self, number: u32) -> &Value {
        &self.values[number as usize]
    }

    /// The number of what was done in a step, and by whom.
    pub(crate) fn deed(&mut self, actor: &str, ask: Option<&Ask>) -> u32 {
        let ask = serde_json::to_value(ask).expect("requests serialize");
        self.number(Arc::new(json!({ "actor": actor, "ask": ask })))
    }

    /// The same without what only counts writes: a step that changes nothing else is no step to a rule on steps.
    pub(crate) fn without_numbers(&mut self, seen: Seen) -> Seen {
        seen.map(|number| self.one_without_numbers(number))
    }

    fn one_without_numbers(&mut self, number: u32) -> u32 {
        if let Some(known) = self.without_numbers.get(&number) {
            return *known;
        }
        let mut value = self.value(number).clone();
        forget_numbers(&mut value);
        let after = if number == 0 { 0 } else { self.number(Arc::new(value)) };
        self.without_numbers.insert(number, after);
        after
    }

    /// The same without versions, generations and uids, which renumbering makes others.
    fn reduced(&mut self, seen: Seen) -> Seen {
        seen.map(|number| self.one_reduced(number))
    }

    fn one_reduced(&mut self, number: u32) -> u32 {
        let number = self.one_without_numbers(number);
        if let Some(known) = self.without_uids.get(&number) {
            return *known;
        }
        let value = change_texts(self.value(number), &without_uids);
        let after = if number == 0 { 0 } else { self.number(Arc::new(value)) };
        self.without_uids.insert(number, after);
        after
    }

    /// The same with the parents permuted.
    fn permuted(&mut self, seen: Seen) -> Seen {
        let mut after = Seen::default();
        for (index, number) in seen.into_iter().enumerate() {
            after[PERMUTED[index]] = self.one_permuted(number);
        }
        after
    }

    fn one_permuted(&mut self, number: u32) -> u32 {
        if let Some(known) = self.permuted.get(&number) {
            return *known;
        }
        let value = change_texts(self.value(number), &permute_names);
        let other = if number == 0 { 0 } else { self.number(Arc::new(value)) };
        self.permuted.insert(number, other);
        other
    }

    fn reduced_step(&mut self, step: SeenStep) -> SeenStep {
        let deed = self.one_reduced(step.deed);
        step.map(|seen| self.reduced(seen), deed)
    }

    fn permuted_step(&mut self, step: SeenStep) -> SeenStep {
        let deed = self.one_permuted(step.deed);
        step.map(|seen| self.permuted(seen), deed)
    }

    /// In words, an object per line.
    pub(crate) fn show(&self, seen: &Seen) -> String {
        let mut text = String::new();
        let names =
            self.keys.iter().map(|key| format!("{} {}", key.plural, key.name)).chain(["service".to_owned()]);
        for (name, number) in names.zip(seen) {
            if *number != 0 {
                let mut value = self.value(*number).clone();
                object::remove_meta(&mut value, "managedFields");
                writeln!(text, "  {name}: {value}").expect("a string takes all");
            }
        }
        text
    }
}

/// What an explorer has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) states: BTreeSet<Seen>,
    /// Each step that changes something of it.
    pub(crate) steps: BTreeSet<SeenStep>,
    /// Where fair runs stay for ever.
    pub(crate) ends: BTreeSet<Seen>,
}

/// Something that only one of two explorers has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Only {
    State(Seen),
    Step(SeenStep),
    End(Seen),
}

impl Reached {
    /// The same without the steps that change nothing but numbers.
    pub(crate) fn with_visible_steps(mut self, objects: &mut Objects) -> Self {
        self.steps.retain(|step| objects.without_numbers(step.before) != objects.without_numbers(step.after));
        self
    }

    /// What remains of it under the reductions.
    ///
    /// Renumbering merges states that differ in versions, generations and uids only, so these are left out. Partial
    /// order leaves out orders of steps of which one changes nothing that is seen, so of what is seen nothing.
    pub(crate) fn reduced(&self, objects: &mut Objects) -> Self {
        let steps = self.steps.iter().map(|step| objects.reduced_step(*step));
        let steps = steps.filter(|step| step.before != step.after).collect();
        let states = self.states.iter().map(|seen| objects.reduced(*seen)).collect();
        let ends = self.ends.iter().map(|seen| objects.reduced(*seen)).collect();
        Reached { states, steps, ends }
    }

    /// With the parents permuted, too: symmetry visits one of two states that differ in nothing else.
    pub(crate) fn closed(mut self, objects: &mut Objects) -> Self {
        let permuted: Vec<Seen> = self.states.iter().map(|seen| objects.permuted(*seen)).collect();
        self.states.extend(permuted);
        let permuted: Vec<Seen> = self.ends.iter().map(|seen| objects.permuted(*seen)).collect();
        self.ends.extend(permuted);
        let permuted: Vec<SeenStep> = self.steps.iter().map(|step| objects.permuted_step(*step)).collect();
        self.steps.extend(permuted);
        self
    }

    /// The first that is here and not there: states before steps, and those before ends.
    pub(crate) fn beyond(&self, other: &Reached) -> Option<Only> {
        let state = self.states.difference(&other.states).next().map(|seen| Only::State(*seen));
        let step = || self.steps.difference(&other.steps).next().map(|step| Only::Step(*step));
        let end = || self.ends.difference(&other.ends).next().map(|seen| Only::End(*seen));
        state.or_else(step).or_else(end)
    }
}

impl Only {
    pub(crate) fn show(&self, objects: &Objects) -> String {
        match self {
            Only::State(seen) => format!("the state\n{}", objects.show(seen)),
            Only::Step(SeenStep { before, after, deed }) => {
                let (before, after) = (objects.show(before), objects.show(after));
                format!("the step from\n{before} to\n{after} by\n  {}\n", objects.value(*deed))
            }
            Only::End(seen) => format!("the end\n{}", objects.show(seen)),
        }
    }
}

impl Objects {
    /// What a state looks like to an explorer with or without reductions.
    pub(crate) fn as_compared(&mut self, seen: Seen, is_reduced: bool) -> Seen {
        if is_reduced { self.reduced(seen) } else { seen }
    }

    /// The same of a step.
    pub(crate) fn step_as_compared(&mut self, step: SeenStep, is_reduced: bool) -> SeenStep {
        if is_reduced { self.reduced_step(step) } else { step }
    }
}

fn keys() -> Vec<Key> {
    let things = THINGS.map(key::<Thing>);
    things.into_iter().chain(MAPS.map(key::<ConfigMap>)).collect()
}

fn key<K: Kind>(name: &str) -> Key {
    let resource = K::kind_info().resource;
    Key::new(&resource.group, &resource.plural, "default", name)
}

fn forget_numbers(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| {
                // The last is the name that preconditions of requests have.
                !["resourceVersion", "generation", "observedGeneration", "resource_version"]
                    .contains(&name.as_str())
            });
            fields.values_mut().for_each(forget_numbers);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_numbers),
        _ => {}
    }
}

fn change_texts(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(items) => items.iter().map(|item| change_texts(item, change)).collect(),
        Value::Object(fields) => {
            fields.iter().map(|(name, field)| (change(name), change_texts(field, change))).collect()
        }
        other => other.clone(),
    }
}

/// A text with every uid in it replaced by one word.
fn without_uids(text: &str) -> String {
    const SHAPE: &str = "hhhhhhhh-hhhh-hhhh-hhhh-hhhhhhhhhhhh";
    let is_uid = |part: &str| {
        part.len() == SHAPE.len()
            && part.chars().zip(SHAPE.chars()).all(|(letter, shape)| match shape {
                '-' => letter == '-',
                _ => letter.is_ascii_hexdigit(),
            })
    };
    let (mut after, mut rest) = (String::new(), text);
    while let Some(letter) = rest.chars().next() {
        match rest.split_at_checked(SHAPE.len()) {
            Some((uid, more)) if is_uid(uid) => {
                after.push_str("(uid)");
                rest = more;
            }
            _ => {
                after.push(letter);
                rest = &rest[letter.len_utf8()..];
            }
        }
    }
    after
}

/// A text with the names of the parents permuted where they stand as whole words.
fn permute_names(text: &str) -> String {
    let [one, other] = PARENTS;
    let permute = |word: &str| match word {
        _ if word == one => other.to_owned(),
        _ if word == other => one.to_owned(),
        _ => word.to_owned(),
    };
    let parts = text.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric());
    parts
        .map(|part| {
            let word = part.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
            permute(word) + &part[word.len()..]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_permuted_as_whole_words() {
        assert_eq!(permute_names("p-x of q, not pq: default.p"), "q-x of p, not pq: default.q");
    }

    #[test]
    fn uids_are_found_anywhere_in_a_text() {
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        assert_eq!(without_uids(&format!("not {uid}, é")), "not (uid), é");
        assert_eq!(without_uids("0123"), "0123");
    }
}
