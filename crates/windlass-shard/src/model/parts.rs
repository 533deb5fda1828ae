//! The parts of a state by their numbers, and what happens to each of them, worked out once.

use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::instance::Stage;
use crate::lease::{Incarnation, Lease};
use crate::ring::Ring;

use super::process::{Event, Life, Process};
use super::registers::{CURRENT, CURRENT_EPOCH, MAX_INSTANCES, Registers, Written};

/// The registers in a state: the number of the ring, and the leases themselves.
pub(super) type RegisterWords = [u32; 1 + MAX_INSTANCES];

/// What is known of a process, to see at a glance what can happen.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Facts {
    pub(super) up: bool,
    pub(super) down: bool,
    pub(super) paused: bool,
    pub(super) in_flight: bool,
    pub(super) late: u8,
    pub(super) leaving: bool,
    /// Whether it knows an older ring than there is, or none.
    pub(super) is_stale: bool,
    /// Slots, as bits.
    pub(super) permits: u8,
    pub(super) loading: u8,
    pub(super) draining: u8,
    pub(super) checked: u8,
    pub(super) held: u8,
    pub(super) incarnation: u32,
}

/// What the arrival of a request leads to.
#[derive(Clone, Debug)]
pub(super) struct Arrival {
    pub(super) registers: RegisterWords,
    /// The process that gets the answer.
    pub(super) process: u32,
    pub(super) written: Written,
    /// What must never happen.
    pub(super) violation: Option<String>,
}

/// Which request of a process arrives, and what becomes of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Delivery {
    Answered,
    /// The answer is lost.
    Unanswered,
    /// One that no one waits for.
    Late(u8),
}

/// The numbers of all parts, shared by all workers, and what this one has worked out so far.
#[derive(Clone, Default)]
pub(super) struct Parts {
    shared: Arc<Mutex<Shared>>,
    facts: Vec<Option<Facts>>,
    events: FxHashMap<(u32, Event), u32>,
    outdated: FxHashMap<(u32, Written), u32>,
    observed: FxHashMap<(u32, u32), u32>,
    arrivals: FxHashMap<(u32, Delivery, RegisterWords), Arrival>,
    renamed: FxHashMap<(u32, u8), u32>,
    renamed_rings: FxHashMap<(u32, u8), u32>,
}

#[derive(Default)]
struct Shared {
    processes: Interned<Process>,
    rings: Interned<Option<Arc<Ring>>>,
}

struct Interned<Value> {
    values: Vec<Arc<Value>>,
    numbers: FxHashMap<Arc<Value>, u32>,
}

impl<Value> Default for Interned<Value> {
    fn default() -> Self {
        Interned { values: Vec::new(), numbers: FxHashMap::default() }
    }
}

impl<Value: Hash + Eq> Interned<Value> {
    fn number(&mut self, value: Value) -> u32 {
        if let Some(number) = self.numbers.get(&value) {
            return *number;
        }
        let (value, number) = (Arc::new(value), self.values.len() as u32);
        self.values.push(value.clone());
        self.numbers.insert(value, number);
        number
    }
}

impl Parts {
    fn shared(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn process(&self, number: u32) -> Arc<Process> {
        self.shared().processes.values[number as usize].clone()
    }

    pub(super) fn add_process(&self, process: Process) -> u32 {
        self.shared().processes.number(process)
    }

    pub(super) fn ring(&self, number: u32) -> Option<Arc<Ring>> {
        (*self.shared().rings.values[number as usize]).clone()
    }

    pub(super) fn add_ring(&self, ring: Option<Arc<Ring>>) -> u32 {
        self.shared().rings.number(ring)
    }

    pub(super) fn facts(&mut self, number: u32) -> Facts {
        let index = number as usize;
        if self.facts.len() <= index {
            self.facts.resize(index + 1, None);
        }
        if let Some(facts) = self.facts[index] {
            return facts;
        }
        let facts = facts(&self.process(number));
        self.facts[index] = Some(facts);
        facts
    }

    pub(super) fn happens(&mut self, process: u32, event: Event) -> u32 {
        if let Some(next) = self.events.get(&(process, event)) {
            return *next;
        }
        let next = self.add_process(self.process(process).happens(event));
        self.events.insert((process, event), next);
        next
    }

    pub(super) fn outdated(&mut self, process: u32, written: Written) -> u32 {
        let key = (process, written);
        if let Some(next) = self.outdated.get(&key) {
            return *next;
        }
        let next = self.add_process(self.process(process).outdated(written));
        self.outdated.insert(key, next);
        next
    }

    /// A watch shows a process the current ring; none if there is none.
    pub(super) fn observes(&mut self, process: u32, ring: u32) -> Option<u32> {
        if let Some(next) = self.observed.get(&(process, ring)) {
            return Some(*next);
        }
        let next = self.add_process(self.process(process).observes(self.ring(ring)?));
        self.observed.insert((process, ring), next);
        Some(next)
    }

    pub(super) fn arrives(
        &mut self,
        process: u32,
        delivery: Delivery,
        registers: &RegisterWords,
    ) -> &Arrival {
        let key = (process, delivery, *registers);
        if !self.arrivals.contains_key(&key) {
            let arrival = self.work_out(process, delivery, registers);
            self.arrivals.insert(key, arrival);
        }
        &self.arrivals[&key]
    }

    fn work_out(&self, number: u32, delivery: Delivery, words: &RegisterWords) -> Arrival {
        let process = self.process(number);
        let request = match delivery {
            Delivery::Late(index) => process.late.get(usize::from(index)),
            Delivery::Answered | Delivery::Unanswered => process.in_flight(),
        };
        let request = request.expect("only what is on its way arrives");
        let mut registers = self.registers(words);
        let is_first = registers.ring.is_none();
        let (answer, written) = match registers.perform(request, process.writes_blindly(request)) {
            Ok(performed) => performed,
            Err(why) => {
                let written = Written::default();
                return Arrival { registers: *words, process: number, written, violation: Some(why) };
            }
        };
        let rest = if let Delivery::Late(index) = delivery {
            process.without_late(index)
        } else {
            (*process).clone()
        };
        let mut next = rest.outdated(written);
        if is_first && written.ring {
            next.set_epochs(CURRENT_EPOCH);
        }
        let next = match delivery {
            Delivery::Answered => next.answered(answer),
            Delivery::Unanswered => next.answered(crate::registry::Answer::Unknown),
            Delivery::Late(_) => next,
        };
        Arrival {
            registers: self.words(&registers),
            process: self.add_process(next),
            written,
            violation: None,
        }
    }

    /// The process with all instances under other names: the one of number `i` gets that of `order[i]`.
    pub(super) fn renamed(&mut self, process: u32, order: &[usize], symmetry: u8) -> u32 {
        if let Some(next) = self.renamed.get(&(process, symmetry)) {
            return *next;
        }
        let next =
            self.process(process).renamed(&|id| super::registers::id(order[super::registers::number(id)]));
        let next = self.add_process(next);
        self.renamed.insert((process, symmetry), next);
        next
    }

    /// The same for the ring.
    pub(super) fn renamed_ring(&mut self, ring: u32, order: &[usize], symmetry: u8) -> u32 {
        if let Some(next) = self.renamed_rings.get(&(ring, symmetry)) {
            return *next;
        }
        let mut next = self.ring(ring);
        let name = |id: &_| super::registers::id(order[super::registers::number(id)]);
        next.iter_mut().for_each(|ring| crate::instance::relative::rename_ring(ring, &name));
        let next = self.add_ring(next);
        self.renamed_rings.insert((ring, symmetry), next);
        next
    }

    pub(super) fn registers(&self, words: &RegisterWords) -> Registers {
        let lease = |word: u32| {
            (word > 0).then(|| Lease { incarnation: Incarnation(u64::from(word >> 1)), alive: word & 1 == 1 })
        };
        Registers { ring: self.ring(words[0]), leases: [lease(words[1]), lease(words[2]), lease(words[3])] }
    }

    fn words(&self, registers: &Registers) -> RegisterWords {
        let lease = |lease: Option<Lease>| {
            lease.map_or(0, |lease| (lease.incarnation.0 as u32) << 1 | u32::from(lease.alive))
        };
        let [first, second, third] = registers.leases.map(lease);
        [self.add_ring(registers.ring.clone()), first, second, third]
    }

    /// Bytes, about.
    pub(super) fn bytes(&self) -> usize {
        let shared = self.shared();
        (shared.processes.values.len() + shared.rings.values.len()) * 1_500 + self.arrivals.len() * 100
    }
}

fn facts(process: &Process) -> Facts {
    let mut facts = Facts {
        down: process.life == Life::Down,
        in_flight: process.in_flight().is_some(),
        late: process.late.len() as u8,
        ..Facts::default()
    };
    if let Some(running) = process.running() {
        facts.up = true;
        facts.paused = running.paused;
        facts.leaving = running.instance.leaving;
        facts.is_stale = running.instance.ring_version() != Some(CURRENT);
        facts.permits = running.permits();
        facts.loading = running.at(Stage::Loading);
        facts.draining = running.at(Stage::Draining);
        facts.checked = running.checked;
        facts.held = running.instance.held.keys().fold(0, |bits, slot| bits | 1 << slot.index());
        facts.incarnation = running.instance.incarnation.map_or(0, |incarnation| incarnation.0 as u32);
    }
    facts
}
