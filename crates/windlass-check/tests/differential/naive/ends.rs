//! Where fair runs stay for ever: the bottom strongly connected components of the steps that are no faults.

use super::Successor;

/// All states that are in such a component, by Tarjan's algorithm, without recursion.
pub(super) fn ends(successors: &[Vec<Successor>]) -> Vec<usize> {
    let mut search = Search {
        successors,
        order: vec![None; successors.len()],
        low: vec![0; successors.len()],
        stack: Vec::new(),
        component: vec![None; successors.len()],
        entered: 0,
        components: 0,
    };
    for state in 0..successors.len() {
        if search.order[state].is_none() {
            search.from(state);
        }
    }
    let component = |state: usize| search.component[state];
    let mut is_bottom = vec![true; search.components];
    for (state, steps) in successors.iter().enumerate() {
        for step in steps.iter().filter(|step| !step.is_fault) {
            if component(state) != component(step.number) {
                is_bottom[component(state).expect("all states were visited")] = false;
            }
        }
    }
    (0..successors.len()).filter(|state| component(*state).is_some_and(|number| is_bottom[number])).collect()
}

struct Search<'a> {
    successors: &'a [Vec<Successor>],
    /// When each state was entered.
    order: Vec<Option<usize>>,
    /// The earliest state in its component that each is known to reach.
    low: Vec<usize>,
    /// States that are in no component yet.
    stack: Vec<usize>,
    component: Vec<Option<usize>>,
    entered: usize,
    components: usize,
}

impl Search<'_> {
    fn from(&mut self, start: usize) {
        self.enter(start);
        // The states on the path, and how many steps of each were looked at.
        let mut path = vec![(start, 0)];
        while let Some((state, looked_at)) = path.last_mut() {
            let state = *state;
            let Some(step) = self.successors[state].get(*looked_at) else {
                path.pop();
                self.leave(state);
                if let Some((before, _)) = path.last() {
                    self.low[*before] = self.low[*before].min(self.low[state]);
                }
                continue;
            };
            *looked_at += 1;
            match self.order[step.number] {
                _ if step.is_fault => {}
                None => {
                    self.enter(step.number);
                    path.push((step.number, 0));
                }
                Some(order) if self.component[step.number].is_none() => {
                    self.low[state] = self.low[state].min(order);
                }
                Some(_) => {}
            }
        }
    }

    fn enter(&mut self, state: usize) {
        self.order[state] = Some(self.entered);
        self.low[state] = self.entered;
        self.entered += 1;
        self.stack.push(state);
    }

    /// Closes the component of a state that was entered first in it.
    fn leave(&mut self, state: usize) {
        if self.order[state] != Some(self.low[state]) {
            return;
        }
        while let Some(member) = self.stack.pop() {
            self.component[member] = Some(self.components);
            if member == state {
                break;
            }
        }
        self.components += 1;
    }
}
