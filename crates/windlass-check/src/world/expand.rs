//! Successor generation: the transitions of a state, from cached plans.

use super::actions::PackedCondition;
use super::plan::{NOTHING, Planned};
use super::situation::{STORED_HOSTS, STORED_NETWORK};
use super::{NETWORK, Words, World};
use crate::action::Action;
use crate::engine::Expansion;

/// An action, and where this worker has its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) action: Action,
    /// Index of the plan in this worker's table, and of the step in the plan. Valid only in the worker that created it.
    plan: u32,
    index: u16,
}

/// Stands for the process in a plan of the environment.
const NO_PROCESS: usize = usize::MAX;

impl World {
    /// Everything that can happen next, in a fixed order.
    pub(crate) fn moves(&mut self, state: &Words, moves: &mut Vec<Move>) {
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        let common = self.plan_all(&words);
        for process in 0..self.controllers() {
            let plan = words[STORED_HOSTS + process];
            let mut possible = Vec::new();
            self.host_actions(state, process, &mut possible);
            let network = self.memory.known_network(state[NETWORK]);
            let now = (0..).zip(possible).filter(|(_, (_, condition))| condition.holds(network));
            moves.extend(now.map(|(index, (action, _))| Move { action, plan, index }));
        }
        let mut actions = Vec::new();
        self.common_actions(state, &mut actions);
        let plan = common as u32;
        moves.extend((0..).zip(actions).map(|(index, action)| Move { action, plan, index }));
    }

    /// Where a move leads, and its violation.
    pub(crate) fn make(&mut self, state: &Words, next: &Move) -> (Words, Option<u32>) {
        let (mut after, violation) = self.make_plainly(state, next);
        if self.renumbers() {
            self.canonical(&mut after);
        }
        (after, violation)
    }

    fn make_plainly(&mut self, state: &Words, next: &Move) -> (Words, Option<u32>) {
        let process = next.action.process();
        let plans = &self.memory.plans;
        let plan = match process {
            Some(_) => plans.known(next.plan),
            None => plans.known_of_environment(next.plan as usize),
        };
        let planned = plan[usize::from(next.index)];
        debug_assert_eq!(planned.kind(), next.action.kind(), "a move is made by the worker that planned it");
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        self.follow(&mut words, process.unwrap_or(NO_PROCESS), &planned);
        (self.decode(&words), planned.violation())
    }

    /// Adds all steps from a state; if `ample_only`, only the ample one, if there is one. Notes the violating
    /// ones, by their index.
    pub(crate) fn expand(
        &mut self,
        ample_only: bool,
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, u32)>,
    ) {
        let common = self.plan_all(expansion.from());
        if ample_only && let Some((process, index)) = self.ample_step(expansion.from()) {
            let planned = self.memory.plans.known(expansion.from()[STORED_HOSTS + process])[index];
            self.add(process, &planned, expansion, violations);
            return;
        }
        for process in 0..self.controllers() {
            let number = expansion.from()[STORED_HOSTS + process] as usize;
            // Moved out to end the borrow; nothing reads this plan during the loop.
            let Some(plan) = self.memory.plans.of_processes[number].take() else { continue };
            self.add_plan(process, &plan, expansion, violations);
            self.memory.plans.of_processes[number] = Some(plan);
        }
        let Some(plan) = self.memory.plans.of_environment_by_number[common].take() else { return };
        for planned in plan.iter() {
            self.add(NO_PROCESS, planned, expansion, violations);
        }
        self.memory.plans.of_environment_by_number[common] = Some(plan);
    }

    /// Computes the missing plans of this state. Returns the index of the environment's plan.
    pub(super) fn plan_all(&mut self, words: &[u32]) -> usize {
        self.network(words[STORED_NETWORK]);
        for process in 0..self.controllers() {
            self.plan(words, process);
        }
        self.environment_plan(words)
    }

    /// The process and the index of an ample step.
    pub(super) fn ample_step(&self, words: &[u32]) -> Option<(usize, usize)> {
        let network = self.memory.known_network(words[STORED_NETWORK]);
        (0..self.controllers()).find_map(|process| {
            let plan = self.memory.plans.known(words[STORED_HOSTS + process]);
            let index = plan.iter().position(|planned| planned.condition.unpack().is_ample(network))?;
            Some((process, index))
        })
    }

    fn add_plan(
        &mut self,
        process: usize,
        plan: &[Planned],
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, u32)>,
    ) {
        for planned in plan.iter() {
            let is_possible = planned.condition == PackedCondition::FREE || {
                let network = self.memory.known_network(expansion.from()[STORED_NETWORK]);
                planned.condition.unpack().holds(network)
            };
            if is_possible {
                self.add(process, planned, expansion, violations);
            }
        }
    }

    #[inline]
    fn add(
        &mut self,
        process: usize,
        planned: &Planned,
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, u32)>,
    ) {
        if let Some(violation) = planned.violation() {
            violations.push((expansion.len(), violation));
        }
        let words = expansion.add(planned.kind(), planned.is_fault());
        self.follow(words, process, planned);
        if self.renumbers() {
            let mut state = self.decode(words);
            let before = state;
            self.canonical(&mut state);
            if state != before {
                self.encode(&state, words);
            }
        }
    }

    /// Applies a planned step, and its deferred effects on the network and on other processes.
    #[inline]
    fn follow(&mut self, words: &mut [u32], process: usize, planned: &Planned) {
        if process == NO_PROCESS {
            words[STORED_NETWORK] = planned.next;
        } else {
            words[STORED_HOSTS + process] = planned.next;
        }
        let open = planned.open;
        if open == NOTHING {
            return;
        }
        if open.concerns_network() {
            words[STORED_NETWORK] = self.network_after(words[STORED_NETWORK], open);
        }
        if open.concerns_processes() {
            for (other, word) in words[STORED_HOSTS..].iter_mut().enumerate() {
                if other != process {
                    *word = self.situation_after_open(*word, open);
                }
            }
        }
    }

    /// Whether states are renumbered after every step.
    pub(crate) fn renumbers(&self) -> bool {
        self.renumbers
    }
}
