//! Successor generation: the transitions of a state, from cached plans.
//!
//! This is the path that a check takes for every state: look up the plans of its processes and of its environment, follow
//! each step that is possible now, and lower the numbers of what comes out.

use super::World;
use super::plans::{EnvironmentPlanId, Open, Planned, SituationId, stored};
use super::state::State;
use super::transitions::PackedCondition;
use crate::action::Action;
use crate::engine::Expansion;
use crate::ids::{NetworkId, ViolationId};
use crate::index::ProcessIndex;

/// An action, and where this worker has its plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Move {
    pub(crate) action: Action,
    /// The plan, and the index of the step in it.
    plan: PlanId,
    index: u16,
}

/// The number of a plan. Valid only in the worker that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanId {
    Process(ProcessIndex, SituationId),
    Environment(EnvironmentPlanId),
}

impl World {
    /// Everything that can happen next, in a fixed order.
    pub(crate) fn moves(&mut self, state: &State, moves: &mut Vec<Move>) {
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        let common = self.plan_all(&words);
        for process in ProcessIndex::all(self.controllers()) {
            let plan = PlanId::Process(process, stored::situation(&words, process));
            let mut possible = Vec::new();
            self.transitions.host_actions(state, process, &mut possible);
            let network = self.transitions.cache.known_network(state.network);
            let now = (0..).zip(possible).filter(|(_, (_, condition))| condition.holds(network));
            moves.extend(now.map(|(index, (action, _))| Move { action, plan, index }));
        }
        let mut actions = Vec::new();
        self.transitions.common_actions(state, &mut actions);
        let plan = PlanId::Environment(common);
        moves.extend((0..).zip(actions).map(|(index, action)| Move { action, plan, index }));
    }

    /// Where a move leads, and its violation.
    pub(crate) fn make(&mut self, state: &State, next: &Move) -> (State, Option<ViolationId>) {
        let (mut after, violation) = self.make_plainly(state, next);
        if self.shared.facts.renumbers {
            self.canonicalizer.canonical(&mut after);
        }
        (after, violation)
    }

    fn make_plainly(&mut self, state: &State, next: &Move) -> (State, Option<ViolationId>) {
        let mut words = vec![0; self.width()];
        self.encode(state, &mut words);
        let (kind, violation) = match next.plan {
            PlanId::Process(process, situation) => {
                let planned = self.planner.known(situation)[usize::from(next.index)];
                self.follow(&mut words, process, &planned);
                (planned.kind(), planned.violation())
            }
            PlanId::Environment(plan) => {
                let planned = self.planner.known_of_environment(plan)[usize::from(next.index)];
                self.follow_environment(&mut words, &planned);
                (planned.kind(), planned.violation())
            }
        };
        debug_assert_eq!(kind, next.action.kind(), "a move is made by the worker that planned it");
        (self.decode(&words), violation)
    }

    /// Adds all steps from a state; if `ample_only`, only the ample one, if there is one. Notes the violating
    /// ones, by their index.
    pub(crate) fn expand(
        &mut self,
        ample_only: bool,
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, ViolationId)>,
    ) {
        let common = self.plan_all(expansion.from());
        if ample_only && let Some((process, index)) = self.ample_step(expansion.from()) {
            let planned = self.planner.known(stored::situation(expansion.from(), process))[index];
            self.add(&planned, expansion, violations, |world, words| world.follow(words, process, &planned));
            return;
        }
        for process in ProcessIndex::all(self.controllers()) {
            let situation = stored::situation(expansion.from(), process);
            // Nothing reads this plan during the loop.
            let Some(plan) = self.planner.take(situation) else { continue };
            self.add_plan(process, &plan, expansion, violations);
            self.planner.put_back(situation, plan);
        }
        let Some(plan) = self.planner.take_of_environment(common) else { return };
        for planned in plan.iter() {
            self.add(planned, expansion, violations, |world, words| world.follow_environment(words, planned));
        }
        self.planner.put_back_of_environment(common, plan);
    }

    /// Computes the missing plans of this state. Returns the index of the environment's plan.
    pub(super) fn plan_all(&mut self, words: &[u32]) -> EnvironmentPlanId {
        // So that it is known when conditions are evaluated, which then takes no exclusive borrow.
        self.transitions.cache.network(stored::network(words));
        for process in ProcessIndex::all(self.controllers()) {
            self.planner.plan(words, process, &mut self.transitions, &mut self.situations);
        }
        self.planner.environment_plan(words, &mut self.transitions, &mut self.situations)
    }

    /// The process and the index of an ample step.
    pub(super) fn ample_step(&self, words: &[u32]) -> Option<(ProcessIndex, usize)> {
        let network = self.transitions.cache.known_network(stored::network(words));
        ProcessIndex::all(self.controllers()).find_map(|process| {
            let plan = self.planner.known(stored::situation(words, process));
            let index = plan.iter().position(|planned| planned.condition.unpack().is_ample(network))?;
            Some((process, index))
        })
    }

    fn add_plan(
        &mut self,
        process: ProcessIndex,
        plan: &[Planned<SituationId>],
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, ViolationId)>,
    ) {
        for planned in plan.iter() {
            let is_possible = planned.condition == PackedCondition::FREE || {
                let network = self.transitions.cache.known_network(stored::network(expansion.from()));
                planned.condition.unpack().holds(network)
            };
            if is_possible {
                self.add(planned, expansion, violations, |world, words| {
                    world.follow(words, process, planned)
                });
            }
        }
    }

    #[inline]
    fn add<Next>(
        &mut self,
        planned: &Planned<Next>,
        expansion: &mut Expansion<Move>,
        violations: &mut Vec<(usize, ViolationId)>,
        follow: impl Fn(&mut World, &mut [u32]),
    ) {
        if let Some(violation) = planned.violation() {
            violations.push((expansion.len(), violation));
        }
        let words = expansion.add(planned.kind(), planned.is_fault());
        follow(self, words);
        // The plan is that of many states: what they have in hand differs, so it cannot be renumbered beforehand.
        if self.shared.facts.renumbers {
            let mut state = self.decode(words);
            let before = state;
            self.canonicalizer.canonical(&mut state);
            if state != before {
                self.encode(&state, words);
            }
        }
    }

    /// Applies a planned step of a process, and its deferred effects on the network and on other processes.
    #[inline]
    fn follow(&mut self, words: &mut [u32], process: ProcessIndex, planned: &Planned<SituationId>) {
        stored::set_situation(words, process, planned.next);
        let open = planned.open;
        if open == Open::NOTHING {
            return;
        }
        if open.concerns_network() {
            let after = self.planner.network_after(stored::network(words), open);
            stored::set_network(words, after);
        }
        if open.concerns_processes() {
            stored::map_situations(words, |other, situation| match other == process {
                true => situation,
                false => self.planner.situation_after(situation, open, &mut self.situations),
            });
        }
    }

    /// Applies a planned step of the environment, and its deferred effects on all processes. The network is part of its
    /// plan's key, so what it does to that is not deferred.
    #[inline]
    fn follow_environment(&mut self, words: &mut [u32], planned: &Planned<NetworkId>) {
        stored::set_network(words, planned.next);
        let open = planned.open;
        debug_assert!(!open.concerns_network(), "a plan of the environment knows the network");
        if open.concerns_processes() {
            stored::map_situations(words, |_, situation| {
                self.planner.situation_after(situation, open, &mut self.situations)
            });
        }
    }
}
