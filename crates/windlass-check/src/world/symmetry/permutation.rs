//! Permutations of equal objects, by their names, and of the processes of one controller.

use crate::index::ProcessIndex;
use std::collections::BTreeMap;

/// More permutations than this cost more than they save.
const MAX_PERMUTATIONS: usize = 23;
/// More than this many alike make too many permutations anyway.
const MAX_ALIKE: usize = 4;

/// A permutation of names and of processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Permutation {
    /// The names that change; empty if none does.
    names: BTreeMap<String, String>,
    /// By process: the one that it becomes.
    processes: Vec<ProcessIndex>,
}

impl Permutation {
    /// Whether names are permuted, and not only processes.
    pub(crate) fn moves_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// What a word becomes.
    pub(crate) fn word<'a>(&'a self, word: &'a str) -> &'a str {
        self.names.get(word).map_or(word, String::as_str)
    }

    /// What a process becomes.
    pub(crate) fn process(&self, process: ProcessIndex) -> ProcessIndex {
        self.processes.get(process.index()).copied().unwrap_or(process)
    }

    fn is_trivial(&self) -> bool {
        self.names.is_empty() && (0..).zip(&self.processes).all(|(own, other)| own == other.index())
    }
}

/// All permutations within each group of names and each group of processes, without the identity. Where both together
/// are too many, only those of the processes.
pub(crate) fn permutations(names: &[Vec<String>], processes: &[Vec<ProcessIndex>]) -> Vec<Permutation> {
    let (names, processes) = (orders(names), orders(processes));
    let all = |names: &[BTreeMap<String, String>], processes: &[BTreeMap<ProcessIndex, ProcessIndex>]| {
        let with = |names: &BTreeMap<String, String>| {
            let moved = names.iter().filter(|(name, other)| name != other);
            let names: BTreeMap<_, _> = moved.map(|(name, other)| (name.clone(), other.clone())).collect();
            processes
                .iter()
                .map(move |order| Permutation {
                    names: names.clone(),
                    processes: order.values().copied().collect(),
                })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<Permutation> = names.iter().flat_map(with).collect();
        all.retain(|permutation| !permutation.is_trivial());
        all
    };
    if names.len() * processes.len() <= MAX_PERMUTATIONS + 1 {
        all(&names, &processes)
    } else if processes.len() > 1 {
        all(&[BTreeMap::new()], &processes)
    } else {
        Vec::new()
    }
}

/// Every way to order what is alike, as a map from each to what it becomes; the identity included. Groups
/// that would make too many are left as they are.
fn orders<T: Ord + Clone>(groups: &[Vec<T>]) -> Vec<BTreeMap<T, T>> {
    let mut all = vec![BTreeMap::new()];
    for group in groups {
        let ways = orderings(group);
        let ways = if all.len() * ways.len() > MAX_PERMUTATIONS + 1 { vec![group.clone()] } else { ways };
        let with = |known: &BTreeMap<T, T>| {
            let known = known.clone();
            ways.iter().map(move |order| {
                let pairs = group.iter().cloned().zip(order.iter().cloned());
                known.clone().into_iter().chain(pairs).collect::<BTreeMap<T, T>>()
            })
        };
        all = all.iter().flat_map(with).collect();
    }
    all
}

fn orderings<T: Clone>(alike: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = alike.split_first() else { return vec![Vec::new()] };
    if alike.len() > MAX_ALIKE {
        return vec![alike.to_vec()];
    }
    let mut all = Vec::new();
    for order in orderings(rest) {
        for position in 0..=order.len() {
            let mut order = order.clone();
            order.insert(position, first.clone());
            all.push(order);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(group: &[&str]) -> Vec<String> {
        group.iter().map(|name| (*name).to_owned()).collect()
    }

    fn processes(group: &[usize]) -> Vec<ProcessIndex> {
        group.iter().copied().map(ProcessIndex::new).collect()
    }

    #[test]
    fn names_and_processes_are_permuted_independently() {
        let found = permutations(&[names(&["a", "b"])], &[processes(&[0, 1]), processes(&[2])]);
        let seen = |permutation: &Permutation| {
            (
                permutation.word("a").to_owned(),
                [0, 1, 2].map(|process| permutation.process(ProcessIndex::new(process)).index()),
            )
        };
        let mut seen: Vec<_> = found.iter().map(seen).collect();
        seen.sort();
        let expected = [("a", [1, 0, 2]), ("b", [0, 1, 2]), ("b", [1, 0, 2])]
            .map(|(name, order)| (name.to_owned(), order));
        assert_eq!(seen, expected);
    }

    #[test]
    fn too_many_permutations_leave_those_of_the_processes() {
        let found = permutations(&[names(&["a", "b", "c", "d"])], &[processes(&[0, 1])]);
        assert_eq!(found.len(), 1);
        assert!(!found[0].moves_names() && found[0].process(ProcessIndex::new(0)) == ProcessIndex::new(1));
    }

    #[test]
    fn single_members_have_no_permutations() {
        assert_eq!(permutations(&[names(&["a"])], &[processes(&[0]), processes(&[1])]), []);
        assert_eq!(permutations(&[names(&["a", "b", "c", "d", "e"])], &[processes(&[0])]), []);
    }
}
