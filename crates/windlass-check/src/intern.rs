//! Interning: equal values get the same small number, so that a state of the world is a tuple of numbers.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::sync::Arc;

use rustc_hash::FxHashMap;

/// The number of an interned value of one type. An `Id<Ask>` is no `Id<Answer>`: numbers of different kinds of parts
/// look alike, and one taken for another would name a wrong part instead of failing.
///
/// It is stored plus one, so that an `Option` of it is no larger.
pub(crate) struct Id<T> {
    plus_one: NonZeroU32,
    of: PhantomData<fn() -> T>,
}

impl<T> Id<T> {
    /// The number of what is interned first.
    pub(crate) const FIRST: Self = Id { plus_one: NonZeroU32::MIN, of: PhantomData };
    /// A number that no value has: nothing is found under it.
    pub(crate) const INVALID: Self = Id { plus_one: NonZeroU32::MAX, of: PhantomData };

    /// The number as a word, for where words of several kinds are stored together.
    #[inline]
    pub(crate) const fn word(self) -> u32 {
        self.plus_one.get() - 1
    }

    /// The number of a word that was made by [`Id::word`].
    #[inline]
    pub(crate) const fn from_word(word: u32) -> Self {
        // Saturating, not checked: interners give no number as large as that.
        Id { plus_one: NonZeroU32::MIN.saturating_add(word), of: PhantomData }
    }

    /// The number as an index.
    #[inline]
    pub(crate) const fn index(self) -> usize {
        self.word() as usize
    }

    /// The number of the value at an index.
    pub(crate) fn from_index(index: usize) -> Self {
        let id = u32::try_from(index).map_or(Self::INVALID, Self::from_word);
        assert!(id != Self::INVALID, "fewer than 2^32 distinct parts fit in memory");
        id
    }
}

// By hand, since derived ones would demand the same of `T`.
impl<T> Copy for Id<T> {}

impl<T> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> PartialEq for Id<T> {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.plus_one == other.plus_one
    }
}

impl<T> Eq for Id<T> {}

impl<T> PartialOrd for Id<T> {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Id<T> {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.plus_one.cmp(&other.plus_one)
    }
}

impl<T> Hash for Id<T> {
    #[inline]
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u32(self.plus_one.get());
    }
}

impl<T> Default for Id<T> {
    fn default() -> Self {
        Id::FIRST
    }
}

impl<T> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.word())
    }
}

/// Numbers for values. Numbers are given in order of first sight, so equal runs number alike.
pub(crate) struct Interner<T> {
    ids: FxHashMap<Arc<T>, Id<T>>,
    values: Vec<Arc<T>>,
}

impl<T: Hash + Eq> Interner<T> {
    pub(crate) fn new() -> Self {
        Interner { ids: FxHashMap::default(), values: Vec::new() }
    }

    /// One whose first value, which has the number [`Id::FIRST`], is this one: that which stands for nothing.
    pub(crate) fn beginning_with(nothing: T) -> Self {
        let mut interner = Interner::new();
        interner.id(nothing);
        interner
    }

    /// The number of a value.
    pub(crate) fn id(&mut self, value: T) -> Id<T> {
        if let Some(id) = self.ids.get(&value) {
            return *id;
        }
        let id = Id::from_index(self.values.len());
        let value = Arc::new(value);
        self.values.push(value.clone());
        self.ids.insert(value, id);
        id
    }

    /// The value of a number. Cloning the result shares it.
    pub(crate) fn get(&self, id: Id<T>) -> &Arc<T> {
        &self.values[id.index()]
    }

    /// The values from an index on.
    pub(crate) fn from(&self, index: usize) -> &[Arc<T>] {
        &self.values[index..]
    }

    /// All values, in the order of their numbers.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<T>> {
        self.values.iter()
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len()
    }
}

/// What is known of interned values, by their numbers. There is room for all up to the largest, so it is for values
/// most of which are met.
pub(crate) struct IdTable<T, V> {
    values: Vec<Option<V>>,
    of: PhantomData<fn() -> T>,
}

impl<T, V> IdTable<T, V> {
    #[inline]
    pub(crate) fn get(&self, id: Id<T>) -> Option<&V> {
        self.values.get(id.index()).and_then(Option::as_ref)
    }

    pub(crate) fn set(&mut self, id: Id<T>, value: V) {
        *self.slot(id) = Some(value);
    }

    /// What is known, worked out when it is first asked for.
    #[inline]
    pub(crate) fn get_or_insert_with(&mut self, id: Id<T>, make: impl FnOnce() -> V) -> &V {
        self.slot(id).get_or_insert_with(make)
    }

    /// Takes out what is known.
    #[inline]
    pub(crate) fn take(&mut self, id: Id<T>) -> Option<V> {
        self.values.get_mut(id.index()).and_then(Option::take)
    }

    #[inline]
    fn slot(&mut self, id: Id<T>) -> &mut Option<V> {
        let index = id.index();
        if index >= self.values.len() {
            self.values.resize_with((index + 1).next_power_of_two(), || None);
        }
        &mut self.values[index]
    }
}

impl<T, V> Default for IdTable<T, V> {
    fn default() -> Self {
        IdTable { values: Vec::new(), of: PhantomData }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_number() {
        let mut words = Interner::beginning_with("");
        let [one, other] = ["one", "other"].map(|word| words.id(word));
        assert_eq!((words.id(""), words.id("one"), words.len()), (Id::FIRST, one, 3));
        assert!(one < other && **words.get(other) == "other");
        assert_eq!(Id::from_word(other.word()), other);
    }

    #[test]
    fn an_optional_number_takes_one_word() {
        assert_eq!(size_of::<Option<Id<&str>>>(), size_of::<u32>());
    }

    #[test]
    fn a_table_knows_what_was_set() {
        let mut table: IdTable<&str, &str> = IdTable::default();
        let [one, other] = [3, 70].map(Id::from_index);
        table.set(one, "one");
        assert_eq!((table.get(one), table.get(other)), (Some(&"one"), None));
        assert_eq!(*table.get_or_insert_with(other, || "other"), "other");
        assert_eq!((table.take(one), table.get(one)), (Some("one"), None));
    }
}
