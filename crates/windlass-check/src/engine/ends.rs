//! Where fair runs end up: the bottom strongly connected components of what must happen, called ends here.
//!
//! Once faults have stopped, a fair run ends up in such a component and visits all of it for ever. So
//! "eventually always p" holds if and only if p holds in every state of every one of them.
//!
//! A state that leads to one that is not in such a component is in none itself. So for nearly all states one
//! step is enough to see that they are in none: it leads, in the end, to where nothing more happens or to
//! what was decided before. Only where single steps go round in a circle, all steps are looked at.

use std::ops::ControlFlow;

use rustc_hash::FxHashMap;

use super::exits::{Exit, ExitMap};

/// Knows the steps, and evaluates the ends.
pub(super) trait EndVisitor {
    /// Adds the states that the steps of a state lead to.
    fn successors(&mut self, state: u32, successors: &mut Vec<u32>);

    /// Is shown an end: all its states.
    fn visit(&mut self, members: &[u32]) -> ControlFlow<()>;
}

/// Shows all ends that were not decided before to the visitor, until it breaks off. Returns how many it has
/// shown. All states are then decided.
pub(super) fn for_each_end(exits: &mut ExitMap, visitor: &mut impl EndVisitor) -> usize {
    let mut ends = 0;
    let mut way = Vec::new();
    // From the states found last to the first. A state that leads to one found later is in no end, or was decided
    // with it: so only the others are looked at.
    for state in exits.not_upwards() {
        exits.set_decided_above(state);
        let Some(end) = follow(exits, visitor, state, &mut way) else { continue };
        ends += 1;
        if visitor.visit(&end).is_break() {
            return ends;
        }
    }
    exits.set_all_decided();
    ends
}

/// Follows single steps from a state until it is known where they end up. Returns the end, if it is a new one.
fn follow(
    exits: &mut ExitMap,
    visitor: &mut impl EndVisitor,
    from: u32,
    way: &mut Vec<u32>,
) -> Option<Vec<u32>> {
    let mut state = from;
    let end = loop {
        match exits.get(state) {
            Exit::Decided | Exit::Unknown => break None,
            Exit::None => {
                exits.set_decided(state);
                break Some(vec![state]);
            }
            Exit::OnTheWay => break search(exits, visitor, state),
            Exit::To(next) => {
                exits.set_on_the_way(state);
                way.push(state);
                state = next;
            }
        }
    };
    way.drain(..).for_each(|state| exits.set_decided(state));
    end
}

/// A state on the path that is being searched.
struct Frame {
    order: u32,
    /// The earliest state on the path that it can reach, as far as is known.
    low: u32,
    /// Where its successors begin, and how many were looked at.
    from: usize,
    looked_at: usize,
}

/// Searches depth first (as Tarjan does) until a component is closed, which is an end then, or a step leads to
/// what was decided before: then nothing of what was searched is in an end. All of it is decided afterwards.
fn search(exits: &mut ExitMap, visitor: &mut impl EndVisitor, start: u32) -> Option<Vec<u32>> {
    let mut orders: FxHashMap<u32, u32> = FxHashMap::default();
    let mut entered = Vec::new();
    let mut successors = Vec::new();
    let mut frames: Vec<Frame> = Vec::new();
    let mut next = Some(start);
    let mut end = None;
    loop {
        if let Some(state) = next.take() {
            let order = entered.len() as u32;
            orders.insert(state, order);
            entered.push(state);
            frames.push(Frame { order, low: order, from: successors.len(), looked_at: 0 });
            visitor.successors(state, &mut successors);
        }
        let Some(frame) = frames.last_mut() else { break };
        if let Some(successor) = successors.get(frame.from + frame.looked_at).copied() {
            frame.looked_at += 1;
            if let Some(order) = orders.get(&successor) {
                frame.low = frame.low.min(*order);
            } else if matches!(exits.get(successor), Exit::Decided | Exit::None) {
                break;
            } else {
                next = Some(successor);
            }
        } else if frame.low == frame.order {
            end = Some(entered[frame.order as usize..].to_vec());
            break;
        } else {
            let (low, from) = (frame.low, frame.from);
            successors.truncate(from);
            frames.pop();
            if let Some(before) = frames.last_mut() {
                before.low = before.low.min(low);
            }
        }
    }
    entered.into_iter().for_each(|state| exits.set_decided(state));
    end
}

#[cfg(test)]
mod tests {
    use super::super::exits::{Exits, StepOut};
    use super::super::pair_table::Groups;
    use super::*;

    struct Edges<'a> {
        edges: &'a [(u32, &'a [u32])],
        ends: Vec<Vec<u32>>,
        looked_at: usize,
    }

    impl EndVisitor for Edges<'_> {
        fn successors(&mut self, state: u32, successors: &mut Vec<u32>) {
            self.looked_at += 1;
            successors.extend_from_slice(self.edges[state as usize].1);
        }

        fn visit(&mut self, members: &[u32]) -> ControlFlow<()> {
            self.ends.push(members.to_vec());
            self.ends.last_mut().unwrap().sort_unstable();
            ControlFlow::Continue(())
        }
    }

    /// The ends of a graph, and how many states all steps were looked at of.
    fn ends(edges: &[(u32, &[u32])], decided: &[u32]) -> (Vec<Vec<u32>>, usize) {
        let exits = Exits::new();
        let steps = edges.iter().map(|(state, next)| StepOut::new(*state, next.iter().copied()));
        exits.note_all(&steps.collect::<Vec<_>>(), &mut Groups::new());
        let mut map = exits.take();
        decided.iter().for_each(|state| map.set_decided(*state));
        let mut visitor = Edges { edges, ends: Vec::new(), looked_at: 0 };
        let count = for_each_end(&mut map, &mut visitor);
        assert_eq!(count, visitor.ends.len());
        assert!(edges.iter().all(|(state, _)| map.get(*state) == Exit::Decided));
        visitor.ends.sort();
        (visitor.ends, visitor.looked_at)
    }

    #[test]
    fn where_nothing_more_happens_is_an_end() {
        assert_eq!(ends(&[(0, &[1]), (1, &[2]), (2, &[])], &[]), (vec![vec![2]], 0));
        assert_eq!(ends(&[(0, &[1]), (1, &[1])], &[]), (vec![vec![1]], 0));
    }

    #[test]
    fn a_loop_that_can_be_left_is_no_end() {
        let expected = vec![vec![2, 3]];
        assert_eq!(ends(&[(0, &[1]), (1, &[0, 2]), (2, &[3]), (3, &[2])], &[]).0, expected);
        assert_eq!(ends(&[(0, &[1]), (1, &[2, 0]), (2, &[3]), (3, &[2])], &[]).0, expected);
        // The way out is behind a state that was found first.
        assert_eq!(ends(&[(0, &[]), (1, &[2]), (2, &[1, 0])], &[]).0, [[0]]);
        assert_eq!(ends(&[(0, &[]), (1, &[2, 3]), (2, &[1]), (3, &[1, 0])], &[]).0, [[0]]);
    }

    #[test]
    fn a_loop_that_cannot_is_one_whole_end() {
        assert_eq!(ends(&[(0, &[1]), (1, &[2, 3]), (2, &[1]), (3, &[1])], &[]).0, [[1, 2, 3]]);
        // Two circles of single steps in one end: 1 and 4, 2 and 3.
        let edges: [(u32, &[u32]); 5] = [(0, &[1]), (1, &[4]), (2, &[3]), (3, &[2, 1]), (4, &[1, 2])];
        assert_eq!(ends(&edges, &[]).0, [[1, 2, 3, 4]]);
    }

    #[test]
    fn several_ends_after_a_fork_and_one_after_a_join() {
        assert_eq!(ends(&[(0, &[1, 2]), (1, &[3]), (2, &[3]), (3, &[])], &[]).0, [[3]]);
        assert_eq!(ends(&[(0, &[1, 2]), (1, &[1]), (2, &[])], &[]).0, [[1], [2]]);
    }

    #[test]
    fn a_step_to_what_was_decided_before_leaves_for_good() {
        assert_eq!(ends(&[(0, &[]), (1, &[2]), (2, &[1, 0])], &[0]).0, Vec::<Vec<u32>>::new());
        assert_eq!(ends(&[(0, &[]), (1, &[2]), (2, &[1])], &[0]).0, [[1, 2]]);
    }

    #[test]
    fn agrees_with_the_definition_on_random_graphs() {
        let mut random = super::super::random::Random::new(3);
        for _ in 0..2_000 {
            let states = 2 + random.below(9);
            let lists: Vec<Vec<u32>> = (0..states)
                .map(|_| (0..random.below(4)).map(|_| random.below(states) as u32).collect())
                .collect();
            let edges: Vec<(u32, &[u32])> = (0..).zip(lists.iter().map(Vec::as_slice)).collect();
            let reach = |from: u32| {
                let mut reached = vec![from];
                let mut index = 0;
                while index < reached.len() {
                    for next in &lists[reached[index] as usize] {
                        if !reached.contains(next) {
                            reached.push(*next);
                        }
                    }
                    index += 1;
                }
                reached.sort_unstable();
                reached
            };
            // An end is what a state reaches, if all that it reaches reach the same.
            let is_end = |reached: &Vec<u32>| reached.iter().all(|state| reach(*state) == *reached);
            let mut expected: Vec<Vec<u32>> = (0..states as u32).map(reach).filter(is_end).collect();
            expected.sort();
            expected.dedup();
            assert_eq!(ends(&edges, &[]).0, expected, "{lists:?}");
        }
    }

    #[test]
    fn long_ways_need_no_stack() {
        let edges: Vec<[u32; 1]> = (0..200_000).map(|state| [(state + 1).min(199_999)]).collect();
        let edges: Vec<(u32, &[u32])> = (0..).zip(&edges).map(|(state, next)| (state, &next[..])).collect();
        assert_eq!(ends(&edges, &[]).0, [[199_999]]);
        let mut edges = edges;
        edges[199_999].1 = &[0];
        assert_eq!(ends(&edges, &[]).0[0].len(), 200_000);
    }
}
