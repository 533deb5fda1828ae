//! A few instances that share a few slots: what can happen, and what must hold.

use std::sync::Arc;

use windlass_check::TraceStep;
use windlass_check::engine::{Model, Next, Property};

use super::faults::{self, Faults, Kind};
use super::parts::{Delivery, Facts, Parts};
use super::process::{Event, Life, NOW, Process};
use super::registers::{MAX_INSTANCES, id};
use super::state::{FAULTS, MAX_SLOTS, State, WIDTH};
use super::{Instance, Mutation, TIMING};
use crate::slot::{Slot, SlotCount};
use crate::timing::Timing;

/// A few instances that share a few slots.
#[derive(Clone)]
pub struct World {
    pub(super) instances: usize,
    pub(super) slots: usize,
    faults: Faults,
    pub(super) writes: bool,
    /// Whether watches show the ring between two reads.
    watches: bool,
    pub(super) timing: Timing,
    monitors: usize,
    mutation: Option<Mutation>,
    /// Whether all instances have joined already when it begins.
    settled: bool,
    /// The orders of the instances, the unchanged one first.
    orders: Arc<Vec<Vec<usize>>>,
    pub(super) parts: Parts,
}

/// Something that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A request of an instance arrives at the registry, and is answered.
    Arrive(usize),
    /// A request that no one waits for arrives at the registry.
    ArriveLate(usize, usize),
    /// A watch shows an instance the ring.
    Watch(usize),
    /// An instance has loaded a slot.
    Load(usize, usize),
    /// An instance has drained a slot.
    Drain(usize, usize),
    /// An instance checks its permit for a slot, and remembers it: a mistake.
    Check(usize, usize),
    /// An instance sends a write to an object of a slot.
    Act(usize, usize),
    /// A unit of time passes.
    Tick,
    /// A unit of time passes although requests are on their way.
    Stall,
    /// A process is paused.
    Pause(usize),
    /// A paused process goes on.
    Resume(usize),
    /// A process crashes.
    Crash(usize),
    /// A process is started.
    Start(usize),
    /// A process crashes for good.
    Die(usize),
    /// An instance stops waiting for an answer.
    TimeOut(usize),
    /// A request is performed, but its answer is lost.
    LoseReply(usize),
    /// An instance is asked to leave.
    Leave(usize),
}

impl World {
    /// A world of `instances` instances that start at the same time, and `slots` slots.
    ///
    /// # Panics
    /// If there are more instances or slots than a state has room for, or the slots are no power of two.
    pub fn new(instances: usize, slots: usize) -> Self {
        assert!(
            (1..=MAX_INSTANCES).contains(&instances),
            "a state has room for {MAX_INSTANCES} instances, not for {instances}"
        );
        assert!((1..=MAX_SLOTS).contains(&slots), "a state has room for {MAX_SLOTS} slots, not for {slots}");
        World {
            instances,
            slots,
            faults: Faults::default(),
            writes: true,
            watches: false,
            timing: TIMING,
            monitors: MAX_INSTANCES,
            mutation: None,
            settled: false,
            orders: Arc::new(orders(instances)),
            parts: Parts::default(),
        }
    }

    /// How often each kind of fault may strike.
    #[must_use]
    pub fn faults(self, faults: Faults) -> Self {
        World { faults, ..self }
    }

    /// Leaves out writes to objects: only who may act counts then.
    #[must_use]
    pub fn without_writes(self) -> Self {
        World { writes: false, ..self }
    }

    /// With watches, which show the ring at any time between two reads.
    #[must_use]
    pub fn watches(self) -> Self {
        World { watches: true, ..self }
    }

    /// Begins when all instances have joined and own their share.
    #[must_use]
    pub fn settled(self) -> Self {
        World { settled: true, ..self }
    }

    /// Leases that last for this long. The default is 2 units, as long as an instance may act without a renewal.
    #[must_use]
    pub fn lease(self, units: u64) -> Self {
        World { timing: Timing { lease_ms: units, ..self.timing }, ..self }
    }

    /// How many of the oldest members watch the leases of all. The default is all of them.
    #[must_use]
    pub fn monitors(self, monitors: usize) -> Self {
        World { monitors, ..self }
    }

    /// Breaks a rule of the protocol.
    #[must_use]
    pub fn broken(self, mutation: Mutation) -> Self {
        World { mutation: Some(mutation), ..self }
    }

    pub(super) fn instance(&self, number: usize) -> Instance {
        let count = SlotCount::new(self.slots as u64).expect("the slots of a world are a power of two");
        let mut instance = Instance::new(id(number), count, self.timing, NOW);
        instance.monitors = self.monitors;
        if let Some(mutation) = self.mutation {
            instance.break_rule(mutation);
        }
        instance
    }

    fn start(&mut self) -> State {
        let mut state = State::default();
        let ring = self.parts.add_ring(None);
        state.set_registers([ring, 0, 0, 0]);
        for number in 0..MAX_INSTANCES {
            let process = Process { life: Life::Gone, late: Vec::new() };
            let process =
                if number < self.instances { process.start(self.instance(number)) } else { process };
            state.set_process(number, self.parts.add_process(process));
        }
        state.set_faults(self.faults.to_word());
        state
    }

    /// Lets everything happen in a fixed order, without faults and writes, until there is nothing left to do.
    fn settle(&mut self, mut state: State) -> State {
        loop {
            let mut actions = Vec::new();
            self.actions(&state, &mut actions);
            actions.retain(|action| !self.is_fault(action) && !matches!(action, Action::Act(..)));
            let is_settled =
                actions == [Action::Tick] && self.actors(&state).is_some_and(|actors| self.shared(actors));
            let next = actions.first().filter(|_| !is_settled).map(|action| self.next(&state, action));
            match next {
                Some(Next::State(next)) => state = next,
                _ => return state,
            }
        }
    }

    /// Whether slots are shared as evenly as they can be.
    fn shared(&self, actors: [usize; MAX_SLOTS]) -> bool {
        self.slots == 1 || self.instances == 1 || actors[0] != actors[1]
    }

    fn facts(&mut self, state: &State) -> [Facts; MAX_INSTANCES] {
        [0, 1, 2].map(|number| self.parts.facts(state.process(number)))
    }

    /// Who may act on each slot; none if there is one that none or several may act on.
    fn actors(&mut self, state: &State) -> Option<[usize; MAX_SLOTS]> {
        let facts = self.facts(state);
        let mut actors = [0; MAX_SLOTS];
        for (slot, actor) in actors.iter_mut().enumerate().take(self.slots) {
            let mut permitted = (0..MAX_INSTANCES).filter(|number| facts[*number].permits & (1 << slot) != 0);
            *actor = permitted.next()?;
            if permitted.next().is_some() {
                return None;
            }
        }
        Some(actors)
    }

    fn bits(&self, bits: u8) -> impl Iterator<Item = usize> + use<> {
        (0..self.slots).filter(move |slot| bits & (1 << slot) != 0)
    }

    fn actions_of(&self, number: usize, facts: Facts, state: &State, actions: &mut Vec<Action>) {
        let left = |kind| faults::is_left(state.faults(), kind);
        actions.extend((0..usize::from(facts.late)).map(|index| Action::ArriveLate(number, index)));
        if facts.down {
            actions.push(Action::Start(number));
        }
        if !facts.up {
            return;
        }
        if facts.in_flight {
            actions.push(Action::Arrive(number));
            actions.extend(left(Kind::LostReply).then_some(Action::LoseReply(number)));
        }
        actions.extend(left(Kind::Crash).then_some(Action::Crash(number)));
        actions.extend(left(Kind::Death).then_some(Action::Die(number)));
        if facts.paused {
            actions.push(Action::Resume(number));
            return;
        }
        actions.extend((self.watches && facts.is_stale).then_some(Action::Watch(number)));
        actions.extend(self.bits(facts.loading).map(|slot| Action::Load(number, slot)));
        let at_rest = |slot: &usize| state.in_flight(number, *slot).own == 0;
        actions.extend(self.bits(facts.draining).filter(at_rest).map(|slot| Action::Drain(number, slot)));
        if self.mutation == Some(Mutation::ChecksOnce) {
            let checks = self.bits(facts.permits & !facts.checked);
            actions.extend(checks.map(|slot| Action::Check(number, slot)));
        }
        actions.extend(self.bits(facts.permits | facts.checked).map(|slot| Action::Act(number, slot)));
        actions.extend(left(Kind::Pause).then_some(Action::Pause(number)));
        if facts.in_flight {
            actions.extend(left(Kind::Timeout).then_some(Action::TimeOut(number)));
        }
        if !facts.leaving {
            actions.extend(left(Kind::Leave).then_some(Action::Leave(number)));
        }
    }

    /// Whether a process would do something before time passes.
    fn is_busy(&self, number: usize, facts: Facts, state: &State) -> bool {
        let drains = |slot: usize| state.in_flight(number, slot).own == 0;
        let works = facts.in_flight || facts.loading != 0 || self.bits(facts.draining).any(drains);
        facts.up && !facts.paused && works
    }

    /// Whether every slot is owned, loaded and reconciled, and only by one.
    fn is_served(&mut self, state: &State) -> bool {
        state.reconciled() == (1 << self.slots) - 1 && self.actors(state).is_some()
    }

    /// Whether at most one may act on each slot.
    fn is_exclusive(&mut self, state: &State) -> bool {
        let [first, second, third] = self.facts(state).map(|facts| facts.permits);
        first & second == 0 && first & third == 0 && second & third == 0
    }
}

impl Model for World {
    type State = State;
    type Action = Action;

    fn width(&self) -> usize {
        WIDTH
    }

    fn encode(&mut self, state: &State, words: &mut [u32]) {
        words.copy_from_slice(&state.0);
    }

    fn decode(&mut self, words: &[u32]) -> State {
        let mut state = State::default();
        state.0.copy_from_slice(words);
        state
    }

    fn initial(&mut self) -> Vec<State> {
        let start = self.start();
        vec![if self.settled { self.settle(start) } else { start }]
    }

    fn actions(&mut self, state: &State, actions: &mut Vec<Action>) {
        let facts = self.facts(state);
        for (number, facts) in facts.into_iter().enumerate().take(self.instances) {
            self.actions_of(number, facts, state, actions);
        }
        let mut numbers = 0..self.instances;
        if !numbers.any(|number| self.is_busy(number, facts[number], state)) {
            actions.push(Action::Tick);
        } else if faults::is_left(state.faults(), Kind::Stall) {
            actions.push(Action::Stall);
        }
    }

    fn next(&mut self, state: &State, action: &Action) -> Next<State> {
        let mut before = *state;
        if let Some(kind) = kind(action) {
            before.set_faults(faults::spend(state.faults(), kind));
        }
        Next::State(match *action {
            Action::Arrive(number) => return self.arrive(&before, number, Delivery::Answered),
            Action::LoseReply(number) => return self.arrive(&before, number, Delivery::Unanswered),
            Action::ArriveLate(number, index) => {
                return self.arrive(&before, number, Delivery::Late(index as u8));
            }
            Action::Watch(number) => return self.watch(&before, number),
            Action::Act(number, slot) => return self.act(&before, number, slot),
            Action::Load(number, slot) => self.happen(&before, number, Event::Loaded(slot as u8)),
            Action::Drain(number, slot) => self.happen(&before, number, Event::Drained(slot as u8)),
            Action::Check(number, slot) => self.happen(&before, number, Event::Check(slot as u8)),
            Action::Pause(number) => self.happen(&before, number, Event::Pause),
            Action::Resume(number) => self.happen(&before, number, Event::Resume),
            Action::Crash(number) => self.happen(&before, number, Event::Crash),
            Action::Die(number) => self.happen(&before, number, Event::Die),
            Action::TimeOut(number) => self.happen(&before, number, Event::TimeOut),
            Action::Leave(number) => self.happen(&before, number, Event::Leave),
            Action::Start(number) => self.restart(&before, number),
            Action::Tick | Action::Stall => self.tick(&before),
        })
    }

    fn is_fault(&self, action: &Action) -> bool {
        kind(action).is_some()
    }

    fn actor(&self, action: &Action) -> usize {
        match *action {
            Action::Arrive(number)
            | Action::ArriveLate(number, _)
            | Action::Watch(number)
            | Action::Load(number, _)
            | Action::Drain(number, _)
            | Action::Check(number, _)
            | Action::Act(number, _)
            | Action::Pause(number)
            | Action::Resume(number)
            | Action::Crash(number)
            | Action::Start(number)
            | Action::Die(number)
            | Action::TimeOut(number)
            | Action::LoseReply(number)
            | Action::Leave(number) => number,
            Action::Tick | Action::Stall => MAX_INSTANCES,
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("at most one may act on a slot", |world: &mut Self, state| {
                world.is_exclusive(state)
            }),
            Property::eventually("every slot is owned, loaded and reconciled", |world: &mut Self, state| {
                world.is_served(state)
            }),
        ]
    }

    fn describe(&mut self, state: &State, action: &Action) -> TraceStep {
        super::narrate::describe(self, state, action)
    }

    fn symmetries(&self) -> usize {
        self.orders.len() - 1
    }

    fn permute(&mut self, state: &State, symmetry: usize) -> State {
        let orders = self.orders.clone();
        let (order, symmetry) = (&orders[symmetry + 1], symmetry as u8);
        let mut next = *state;
        let before = state.registers();
        let mut registers = before;
        registers[0] = self.parts.renamed_ring(before[0], order, symmetry);
        for (number, to) in order.iter().enumerate() {
            registers[1 + to] = before[1 + number];
            next.set_process(*to, self.parts.renamed(state.process(number), order, symmetry));
            (0..MAX_SLOTS).for_each(|slot| next.set_in_flight(*to, slot, state.in_flight(number, slot)));
        }
        next.set_registers(registers);
        next
    }

    fn take_faults(&mut self, words: &mut [u32]) -> Option<u64> {
        Some(u64::from(std::mem::take(&mut words[FAULTS])))
    }

    fn put_faults(&mut self, words: &mut [u32], faults: u64) {
        words[FAULTS] = faults as u32;
    }

    fn includes_faults(&mut self, more: u64, less: u64) -> bool {
        faults::includes(more as u32, less as u32)
    }

    fn fresh_copy(&self) -> Self {
        World { parts: Parts::default(), ..self.clone() }
    }

    fn bytes(&self) -> usize {
        self.parts.bytes()
    }
}

impl World {
    /// What an instance has under way, for people.
    pub(super) fn process(&self, state: &State, number: usize) -> Arc<Process> {
        self.parts.process(state.process(number))
    }

    /// Who owns a slot, for people.
    pub(super) fn owner(&self, state: &State, slot: usize) -> String {
        let owner = self.parts.registers(&state.registers()).owner(Slot::new(slot));
        owner.map(|(number, incarnation)| format!("{}{}", id(number), incarnation.0)).unwrap_or_default()
    }
}

/// The fault that an action is.
fn kind(action: &Action) -> Option<Kind> {
    match action {
        Action::Pause(_) => Some(Kind::Pause),
        Action::Crash(_) => Some(Kind::Crash),
        Action::Die(_) => Some(Kind::Death),
        Action::TimeOut(_) => Some(Kind::Timeout),
        Action::LoseReply(_) => Some(Kind::LostReply),
        Action::Stall => Some(Kind::Stall),
        Action::Leave(_) => Some(Kind::Leave),
        _ => None,
    }
}

/// All orders of some instances, the unchanged one first.
fn orders(instances: usize) -> Vec<Vec<usize>> {
    let all = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let counts = [0, 1, 2, 6];
    all[..counts[instances]].iter().map(|order| order[..instances].to_vec()).collect()
}
