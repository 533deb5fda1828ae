//! Liveness, decided exactly: where fair runs end up.
//!
//! Once faults have stopped, a fair run ends up in a bottom strongly connected component of the graph of
//! what must happen, and visits all of it for ever. So "eventually always p" holds if and only if p holds
//! in every state of every such component.

/// The graph of fault-free steps: the successors of state `n` are `targets[offsets[n]..offsets[n + 1]]`.
#[derive(Default)]
pub(crate) struct FairGraph {
    pub(crate) offsets: Vec<u64>,
    pub(crate) targets: Vec<u32>,
}

impl FairGraph {
    pub(crate) fn new() -> Self {
        FairGraph { offsets: vec![0], targets: Vec::new() }
    }

    /// Ends the list of successors of the current state.
    pub(crate) fn close(&mut self) {
        self.offsets.push(self.targets.len() as u64);
    }

    pub(crate) fn successors(&self, state: u32) -> &[u32] {
        let (from, to) = (self.offsets[state as usize], self.offsets[state as usize + 1]);
        &self.targets[from as usize..to as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.offsets.len() - 1
    }
}

const UNSEEN: u32 = u32::MAX;

/// The bottom strongly connected components: those that no fair step leaves. (Tarjan's algorithm, without
/// recursion: paths are as long as there are states.)
pub(crate) fn bottom_components(graph: &FairGraph) -> Vec<Vec<u32>> {
    let count = graph.len();
    let mut search = Search {
        graph,
        order: vec![UNSEEN; count],
        low: vec![0; count],
        component: vec![UNSEEN; count],
        stack: Vec::new(),
        next_order: 0,
        components: Vec::new(),
    };
    for root in 0..count as u32 {
        if search.order[root as usize] == UNSEEN {
            search.visit(root);
        }
    }
    let Search { component, components, .. } = search;
    let is_bottom = |index: usize, members: &[u32]| {
        members.iter().all(|state| {
            graph.successors(*state).iter().all(|next| component[*next as usize] == index as u32)
        })
    };
    let indexed = components.into_iter().enumerate();
    indexed.filter(|(index, members)| is_bottom(*index, members)).map(|(_, members)| members).collect()
}

struct Search<'a> {
    graph: &'a FairGraph,
    /// When each state was first seen.
    order: Vec<u32>,
    /// The earliest state on the stack that each can reach.
    low: Vec<u32>,
    component: Vec<u32>,
    stack: Vec<u32>,
    next_order: u32,
    components: Vec<Vec<u32>>,
}

impl Search<'_> {
    fn visit(&mut self, root: u32) {
        // Each frame is a state and how many of its successors have been looked at.
        let mut frames = vec![(root, 0)];
        self.discover(root);
        while let Some((state, looked_at)) = frames.pop() {
            match self.graph.successors(state).get(looked_at) {
                Some(next) => {
                    frames.push((state, looked_at + 1));
                    if self.order[*next as usize] == UNSEEN {
                        self.discover(*next);
                        frames.push((*next, 0));
                    } else if self.component[*next as usize] == UNSEEN {
                        self.low[state as usize] = self.low[state as usize].min(self.order[*next as usize]);
                    }
                }
                None => {
                    if self.low[state as usize] == self.order[state as usize] {
                        self.close_component(state);
                    }
                    if let Some((before, _)) = frames.last() {
                        self.low[*before as usize] = self.low[*before as usize].min(self.low[state as usize]);
                    }
                }
            }
        }
    }

    fn discover(&mut self, state: u32) {
        self.order[state as usize] = self.next_order;
        self.low[state as usize] = self.next_order;
        self.next_order += 1;
        self.stack.push(state);
    }

    fn close_component(&mut self, root: u32) {
        let number = self.components.len() as u32;
        let mut members = Vec::new();
        while let Some(state) = self.stack.pop() {
            self.component[state as usize] = number;
            members.push(state);
            if state == root {
                break;
            }
        }
        self.components.push(members);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[&[u32]]) -> FairGraph {
        let mut graph = FairGraph::new();
        for targets in edges {
            graph.targets.extend_from_slice(targets);
            graph.close();
        }
        graph
    }

    fn sorted(mut components: Vec<Vec<u32>>) -> Vec<Vec<u32>> {
        components.iter_mut().for_each(|members| members.sort_unstable());
        components.sort();
        components
    }

    #[test]
    fn an_end_is_a_component() {
        assert_eq!(sorted(bottom_components(&graph(&[&[1], &[2], &[]]))), [[2]]);
    }

    #[test]
    fn a_loop_that_can_be_left_is_no_bottom() {
        // 0 and 1 loop, but 1 leads on to 2; 2 and 3 loop for ever.
        assert_eq!(sorted(bottom_components(&graph(&[&[1], &[0, 2], &[3], &[2]]))), [[2, 3]]);
    }

    #[test]
    fn several_bottoms_after_a_fork_and_one_after_a_join() {
        assert_eq!(sorted(bottom_components(&graph(&[&[1, 2], &[3], &[3], &[]]))), [[3]]);
        assert_eq!(sorted(bottom_components(&graph(&[&[1, 2], &[1], &[]]))), [[1], [2]]);
    }

    #[test]
    fn long_paths_need_no_stack() {
        let edges: Vec<Vec<u32>> = (0..200_000).map(|state| vec![(state + 1).min(199_999)]).collect();
        let edges: Vec<&[u32]> = edges.iter().map(Vec::as_slice).collect();
        assert_eq!(bottom_components(&graph(&edges)), [[199_999]]);
    }
}
