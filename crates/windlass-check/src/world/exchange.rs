//! Exchanges: which names, and which processes of one controller, take whose place.

use std::collections::BTreeMap;

/// More ways to change places than this cost more than they save.
const MOST_EXCHANGES: usize = 23;
/// More than this many alike make too many exchanges anyway.
const MOST_ALIKE: usize = 4;

/// Which name takes the place of which, and which process that of which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exchange {
    /// The names that change; empty if none does.
    names: BTreeMap<String, String>,
    /// By process: whose place it takes.
    processes: Vec<usize>,
}

impl Exchange {
    /// Whether names change places, and not only processes.
    pub(crate) fn moves_names(&self) -> bool {
        !self.names.is_empty()
    }

    /// What stands in the place of a word.
    pub(crate) fn word<'a>(&'a self, word: &'a str) -> &'a str {
        self.names.get(word).map_or(word, String::as_str)
    }

    /// Whose place a process takes.
    pub(crate) fn process(&self, process: usize) -> usize {
        self.processes.get(process).copied().unwrap_or(process)
    }

    fn is_trivial(&self) -> bool {
        self.names.is_empty() && (0..).zip(&self.processes).all(|(own, other)| own == *other)
    }
}

/// The ways in which the names of each group, and the processes of each, can change places, without that of leaving
/// them. Where both together are too many, those of the processes or of the names alone.
pub(crate) fn exchanges(names: &[Vec<String>], processes: &[Vec<usize>]) -> Vec<Exchange> {
    let (names, processes) = (orders(names), orders(processes));
    let all = |names: &[BTreeMap<String, String>], processes: &[BTreeMap<usize, usize>]| {
        let with = |names: &BTreeMap<String, String>| {
            let moved = names.iter().filter(|(name, other)| name != other);
            let names: BTreeMap<_, _> = moved.map(|(name, other)| (name.clone(), other.clone())).collect();
            processes
                .iter()
                .map(move |order| Exchange {
                    names: names.clone(),
                    processes: order.values().copied().collect(),
                })
                .collect::<Vec<_>>()
        };
        let mut all: Vec<Exchange> = names.iter().flat_map(with).collect();
        all.retain(|exchange| !exchange.is_trivial());
        all
    };
    if names.len() * processes.len() <= MOST_EXCHANGES + 1 {
        all(&names, &processes)
    } else if processes.len() > 1 {
        all(&[BTreeMap::new()], &processes)
    } else {
        Vec::new()
    }
}

/// Every way to order what is alike, as a map from each to what takes its place; that of leaving all included. Groups
/// that would make too many are left as they are.
fn orders<T: Ord + Clone>(groups: &[Vec<T>]) -> Vec<BTreeMap<T, T>> {
    let mut all = vec![BTreeMap::new()];
    for group in groups {
        let ways = permutations(group);
        let ways = if all.len() * ways.len() > MOST_EXCHANGES + 1 { vec![group.clone()] } else { ways };
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

fn permutations<T: Clone>(alike: &[T]) -> Vec<Vec<T>> {
    let Some((first, rest)) = alike.split_first() else { return vec![Vec::new()] };
    if alike.len() > MOST_ALIKE {
        return vec![alike.to_vec()];
    }
    let mut all = Vec::new();
    for order in permutations(rest) {
        for place in 0..=order.len() {
            let mut order = order.clone();
            order.insert(place, first.clone());
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

    #[test]
    fn names_and_processes_change_places_independently() {
        let found = exchanges(&[names(&["a", "b"])], &[vec![0, 1], vec![2]]);
        let seen = |exchange: &Exchange| {
            (exchange.word("a").to_owned(), [0, 1, 2].map(|process| exchange.process(process)))
        };
        let mut seen: Vec<_> = found.iter().map(seen).collect();
        seen.sort();
        let expected = [("a", [1, 0, 2]), ("b", [0, 1, 2]), ("b", [1, 0, 2])]
            .map(|(name, order)| (name.to_owned(), order));
        assert_eq!(seen, expected);
    }

    #[test]
    fn too_many_exchanges_leave_those_of_the_processes() {
        let found = exchanges(&[names(&["a", "b", "c", "d"])], &[vec![0, 1]]);
        assert_eq!(found.len(), 1);
        assert!(!found[0].moves_names() && found[0].process(0) == 1);
    }

    #[test]
    fn what_is_alone_leaves_nothing_to_exchange() {
        assert_eq!(exchanges(&[names(&["a"])], &[vec![0], vec![1]]), []);
        assert_eq!(exchanges(&[names(&["a", "b", "c", "d", "e"])], &[vec![0]]), []);
    }
}
