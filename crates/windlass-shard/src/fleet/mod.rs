//! A fleet on virtual time: the protocol at its real size, with the real code, from one seed.
//!
//! The [model](crate) explores every interleaving of three instances; this runs one random interleaving of a hundred. Each
//! instance has a clock of its own, which runs a little too fast or too slow. Requests take a random time, and some take so
//! long that their sender gives up on them first. Every write to an object is audited: it is a violation if a write of
//! another owner to the same slot may still be in flight.
//!
//! ```
//! use windlass_shard::fleet::{Scenario, simulate};
//!
//! let report = simulate(&Scenario { instances: 5, ..Scenario::rolling_restart(1) });
//! assert_eq!((report.violations.len(), report.unserved), (0, 0));
//! assert_eq!(report.movement.slots, 0, "a rolling restart under stable names moves no slot");
//! ```

mod audit;
mod balance;
mod disturbance;
mod meter;
mod movement;
mod node;
mod objects;
mod random;
mod report;
mod scenario;
mod timeline;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use audit::Audit;
use meter::Meter;
use node::Node;
use random::Random;

pub use balance::Balance;
pub use disturbance::Disturbance;
pub use movement::Movement;
pub use objects::KeyVersion;
pub use report::Report;
pub use scenario::{Scenario, ScenarioError};
pub use timeline::{Change, Mark, Sample, Timeline};

use crate::instance::{Command, Instance, Next};
use crate::memory::MemoryRegistry;
use crate::registry::{Answer, Request, Versioned};
use crate::ring::{Epoch, Ring};
use crate::slot::Slot;

/// Milliseconds between two rounds of writes of an instance.
const ROUND_MS: u64 = 250;

/// Runs a scenario.
///
/// # Panics
/// If [`Scenario::check`] refuses it.
pub fn simulate(scenario: &Scenario) -> Report {
    simulate_with_progress(scenario, |_| ())
}

/// Runs a scenario; `progress` gets the virtual time in milliseconds now and then.
///
/// # Panics
/// If [`Scenario::check`] refuses it.
pub fn simulate_with_progress(scenario: &Scenario, mut progress: impl FnMut(u64)) -> Report {
    scenario.check().expect("a scenario that can be simulated");
    let mut fleet = Fleet::new(scenario);
    while let Some(Reverse(entry)) = fleet.agenda.pop() {
        if entry.at > scenario.duration_ms {
            break;
        }
        fleet.now = entry.at;
        if entry.event == Event::Sample {
            progress(fleet.now);
        }
        fleet.happen(entry.event);
    }
    fleet.report()
}

/// Everything.
struct Fleet<'a> {
    scenario: &'a Scenario,
    /// The true time.
    now: u64,
    agenda: BinaryHeap<Reverse<Entry>>,
    /// How many entries there were, so that those of the same time have an order.
    entries: u64,
    nodes: Vec<Node>,
    registry: MemoryRegistry,
    audit: Audit,
    meter: Meter,
    random: Random,
}

/// Something that happens at a time. `start` says which start of the process it belongs to: after another one, it is void.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Event {
    Wake {
        node: usize,
        start: u32,
        wake: u32,
    },
    Arrive {
        node: usize,
        start: u32,
        request: Request,
        ask: u32,
    },
    Answer {
        node: usize,
        start: u32,
        answer: Answer,
        ask: u32,
    },
    Watch {
        node: usize,
        start: u32,
        ring: Versioned<Arc<Ring>>,
    },
    /// `command` says which command it answers: after a later one for the same slot, it is void.
    Loaded {
        node: usize,
        start: u32,
        slot: Slot,
        epoch: Epoch,
        command: u64,
    },
    Drained {
        node: usize,
        start: u32,
        slot: Slot,
        epoch: Epoch,
        command: u64,
    },
    Round {
        node: usize,
        start: u32,
    },
    Weights {
        node: usize,
        start: u32,
        weights: Arc<[u64]>,
    },
    Stop {
        node: usize,
    },
    Start {
        node: usize,
    },
    Leave {
        node: usize,
    },
    Pause {
        node: usize,
        for_ms: u64,
    },
    Resume {
        node: usize,
        start: u32,
    },
    Weigh {
        changed: bool,
    },
    Sample,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    at: u64,
    number: u64,
    event: Event,
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<'a> Fleet<'a> {
    fn new(scenario: &'a Scenario) -> Self {
        let mut random = Random::new(scenario.seed);
        let nodes = (0..scenario.instances).map(|number| Node::new(number, &mut random, scenario)).collect();
        let mut fleet = Fleet {
            scenario,
            now: 0,
            agenda: BinaryHeap::new(),
            entries: 0,
            nodes,
            registry: MemoryRegistry::default(),
            audit: Audit::new(scenario),
            meter: Meter::new(scenario),
            random,
        };
        for node in 0..scenario.first() {
            let at = fleet.random.below(2_000);
            fleet.schedule(at, Event::Start { node });
        }
        fleet.schedule(scenario.warm_up_ms, Event::Sample);
        for (at, event) in scenario.disturbances(&mut fleet.random) {
            fleet.schedule(at, event);
        }
        fleet
    }

    fn schedule(&mut self, at: u64, event: Event) {
        self.entries += 1;
        self.agenda.push(Reverse(Entry { at, number: self.entries, event }));
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Start { node } => self.start(node),
            Event::Stop { node } => self.stop(node),
            Event::Leave { node } => self.leave(node),
            Event::Pause { node, for_ms } => self.pause(node, for_ms),
            Event::Resume { node, start } => {
                let waiting = self.nodes[node].resume(start);
                waiting.into_iter().for_each(|event| self.schedule(self.now, event));
            }
            Event::Weigh { changed } => self.weigh(changed),
            Event::Sample => self.sample(),
            // It arrives whatever has become of its sender.
            Event::Arrive { node, start, request, ask } => self.arrive(node, start, request, ask),
            event => self.happen_to(event),
        }
    }

    /// What happens to a process, unless it has been restarted; a paused one gets it later.
    fn happen_to(&mut self, event: Event) {
        let (Event::Wake { node, start, .. }
        | Event::Answer { node, start, .. }
        | Event::Watch { node, start, .. }
        | Event::Loaded { node, start, .. }
        | Event::Drained { node, start, .. }
        | Event::Weights { node, start, .. }
        | Event::Round { node, start }) = event
        else {
            return;
        };
        if self.nodes[node].instance.is_none() || self.nodes[node].start != start {
            return;
        }
        if self.nodes[node].paused {
            self.nodes[node].waiting.push(event);
            return;
        }
        let local = self.nodes[node].local(self.now);
        match event {
            Event::Wake { wake, .. } if wake != self.nodes[node].wake => return,
            Event::Loaded { slot, command, .. } | Event::Drained { slot, command, .. }
                if !self.nodes[node].is_last_command(slot, command) =>
            {
                return;
            }
            Event::Round { .. } => {
                self.audit.round(node, &self.nodes, self.now);
                self.schedule(self.now + ROUND_MS, Event::Round { node, start });
                return;
            }
            Event::Answer { answer, ask, .. } => {
                // The first answer counts, be it only that none has come in time.
                if ask != self.nodes[node].asks {
                    return;
                }
                self.nodes[node].asks += 1;
                self.nodes[node].with(|instance| instance.answered(answer, local));
            }
            Event::Watch { ring, .. } => {
                self.nodes[node].with(|instance| instance.observed_ring(ring, local))
            }
            Event::Loaded { slot, epoch, .. } => {
                self.nodes[node].with(|instance| instance.loaded(slot, epoch))
            }
            Event::Drained { slot, epoch, .. } => {
                self.nodes[node].with(|instance| instance.drained(slot, epoch))
            }
            Event::Weights { weights, .. } => {
                self.nodes[node].with(|instance| instance.set_weights(Some(weights)))
            }
            _ => {}
        }
        self.go_on(node);
    }

    fn start(&mut self, node: usize) {
        if self.nodes[node].instance.is_none() {
            self.meter.changed(Change::Started, self.now);
            self.nodes[node].begin(self.now, self.scenario);
            let start = self.nodes[node].start;
            self.schedule(self.now + ROUND_MS, Event::Round { node, start });
            self.go_on(node);
        }
    }

    fn stop(&mut self, node: usize) {
        if self.nodes[node].instance.take().is_some() {
            self.meter.changed(Change::Stopped, self.now);
        }
    }

    fn leave(&mut self, node: usize) {
        self.meter.changed(Change::Left, self.now);
        self.nodes[node].with(Instance::leave);
        self.go_on(node);
    }

    fn pause(&mut self, node: usize, for_ms: u64) {
        if self.nodes[node].pause() {
            self.meter.changed(Change::Paused, self.now);
            let start = self.nodes[node].start;
            self.schedule(self.now + for_ms, Event::Resume { node, start });
        }
    }

    /// All instances observe what the slots cost, sooner or later.
    fn weigh(&mut self, changed: bool) {
        self.meter.changed(Change::Weighed, self.now);
        if changed {
            self.meter.objects.change_costs(&mut self.random);
        }
        for node in self.running() {
            let (at, start) = (self.now + self.latency(), self.nodes[node].start);
            let weights = self.meter.objects.costs.clone();
            self.schedule(at, Event::Weights { node, start, weights });
        }
    }

    fn sample(&mut self) {
        if let Some(ring) = self.registry.ring() {
            self.meter.sample(&ring, &self.nodes, &self.audit, self.now);
        }
        self.schedule(self.now + self.meter.every_ms(), Event::Sample);
    }

    fn running(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|node| self.nodes[*node].instance.is_some()).collect()
    }

    fn report(self) -> Report {
        let report = self.meter.report(self.audit.report(self.now));
        let MemoryRegistry { swaps: ring_swaps, conflicts: ring_conflicts, .. } = self.registry;
        Report { ring_swaps, ring_conflicts, ..report }
    }

    /// Lets an instance do what it wants next.
    fn go_on(&mut self, node: usize) {
        let local = self.nodes[node].local(self.now);
        let (start, ask) = (self.nodes[node].start, self.nodes[node].asks);
        let Some(instance) = &mut self.nodes[node].instance else { return };
        let next = if instance.is_waiting() { None } else { Some(instance.next(local)) };
        let commands = instance.take_commands();
        commands.into_iter().for_each(|command| self.obey(node, start, command));
        match next {
            Some(Next::Ask(request)) => {
                let delay = self.latency();
                self.schedule(self.now + delay, Event::Arrive { node, start, request, ask });
                let given_up = self.now + self.scenario.give_up_ms;
                self.schedule(given_up, Event::Answer { node, start, answer: Answer::Unknown, ask });
            }
            Some(Next::WaitUntil(local)) => {
                self.nodes[node].wake += 1;
                let (at, wake) = (self.nodes[node].true_time(local).max(self.now + 1), self.nodes[node].wake);
                self.schedule(at, Event::Wake { node, start, wake });
            }
            Some(Next::Finished) => self.nodes[node].instance = None,
            None => {}
        }
    }

    fn obey(&mut self, node: usize, start: u32, command: Command) {
        let (slot, number) = (command.slot(), self.entries);
        self.nodes[node].commands.insert(slot, number);
        match command {
            Command::Load(slot, epoch) => {
                let at = self.now + self.random.below(200);
                self.schedule(at, Event::Loaded { node, start, slot, epoch, command: number });
            }
            Command::Drain(slot, epoch) => {
                // Nothing is sent from now on, so that all is answered when the last write has arrived.
                let at = self.audit.at_rest(node, slot).max(self.now) + 1;
                self.schedule(at, Event::Drained { node, start, slot, epoch, command: number });
            }
            // Neither is answered.
            Command::Start(..) | Command::Drop(..) => {}
        }
    }

    fn arrive(&mut self, node: usize, start: u32, request: Request, ask: u32) {
        let before = self.registry.ring();
        let answer = self.registry.perform(&request);
        if let (Request::SwapRing { ring, .. }, Answer::Swapped(version)) = (&request, &answer) {
            if let Some(before) = &before {
                self.audit.swapped(before, ring, self.now);
                self.meter.swapped(before, ring, self.now);
            }
            self.announce(&Versioned::new(*version, ring.clone()));
        }
        let delay = self.latency();
        self.schedule(self.now + delay, Event::Answer { node, start, answer, ask });
    }

    /// The watches of all instances show a new ring, sooner or later, and now and then in another order.
    fn announce(&mut self, ring: &Versioned<Arc<Ring>>) {
        for node in self.running() {
            let (at, start) = (self.now + self.latency(), self.nodes[node].start);
            self.schedule(at, Event::Watch { node, start, ring: ring.clone() });
        }
    }

    /// How long a message takes: mostly a few milliseconds, and one in a hundred longer than its sender waits.
    fn latency(&mut self) -> u64 {
        match self.random.below(100) {
            0 => self.random.below(3 * self.scenario.give_up_ms),
            1..=5 => self.random.below(300),
            _ => 1 + self.random.below(10),
        }
    }
}
