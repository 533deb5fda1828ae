//! What an action does to a state.

use windlass_check::engine::Next;

use super::parts::Delivery;
use super::process::Event;
use super::registers::{MAX_INSTANCES, Written, id};
use super::state::{InFlight, State};
use super::world::World;

impl World {
    pub(super) fn arrive(&mut self, state: &State, number: usize, delivery: Delivery) -> Next<State> {
        let mut next = *state;
        let before = self.parts.facts(state.process(number)).incarnation;
        let arrival = self.parts.arrives(state.process(number), delivery, &state.registers());
        if let Some(violation) = &arrival.violation {
            return Next::Violation(violation.clone());
        }
        next.set_registers(arrival.registers);
        next.set_process(number, arrival.process);
        let written = arrival.written;
        if written != Written::default() {
            for other in (0..self.instances).filter(|other| *other != number) {
                next.set_process(other, self.parts.outdated(state.process(other), written));
            }
            next.set_reconciled(state.reconciled() & !u32::from(written.slots));
        }
        self.begin_incarnation(&mut next, number, before);
        Next::State(next)
    }

    pub(super) fn watch(&mut self, state: &State, number: usize) -> Next<State> {
        let observed = self.parts.observes(state.process(number), state.registers()[0]);
        let Some(process) = observed.filter(|process| *process != state.process(number)) else {
            return Next::Impossible;
        };
        let mut next = *state;
        let before = self.parts.facts(state.process(number)).incarnation;
        next.set_process(number, process);
        self.begin_incarnation(&mut next, number, before);
        Next::State(next)
    }

    pub(super) fn happen(&mut self, state: &State, number: usize, event: Event) -> State {
        let mut next = *state;
        let before = self.parts.facts(state.process(number)).incarnation;
        next.set_process(number, self.parts.happens(state.process(number), event));
        self.begin_incarnation(&mut next, number, before);
        next
    }

    /// Writes of an incarnation that is over are another's.
    fn begin_incarnation(&mut self, next: &mut State, number: usize, before: u32) {
        if self.parts.facts(next.process(number)).incarnation != before {
            next.begin_incarnation(number);
        }
    }

    pub(super) fn act(&mut self, state: &State, number: usize, slot: usize) -> Next<State> {
        let facts = self.parts.facts(state.process(number));
        if facts.loading & (1 << slot) != 0 {
            return Next::Violation(format!("{} acts on slot {slot} before it is loaded", id(number)));
        }
        let is_anothers = |other: usize| {
            let InFlight { own, earlier } = state.in_flight(other, slot);
            earlier > 0 || (own > 0 && other != number)
        };
        if (0..MAX_INSTANCES).any(is_anothers) {
            return Next::Violation(format!(
                "{} acts on slot {slot} while another's write is in flight",
                id(number)
            ));
        }
        let mut next = *state;
        next.set_reconciled(state.reconciled() | 1 << slot);
        if self.writes {
            let own = self.timing.request_ms as u32;
            next.set_in_flight(number, slot, InFlight { own, earlier: 0 });
        }
        if next == *state { Next::Impossible } else { Next::State(next) }
    }

    pub(super) fn tick(&mut self, state: &State) -> State {
        let mut next = *state;
        next.age_writes();
        for number in 0..self.instances {
            next = self.happen(&next, number, Event::Tick);
        }
        next
    }

    pub(super) fn restart(&mut self, state: &State, number: usize) -> State {
        let process = self.parts.process(state.process(number)).start(self.instance(number));
        let mut next = *state;
        next.set_process(number, self.parts.add_process(process));
        next.begin_incarnation(number);
        next
    }
}
