//! A process of a simulated fleet, with a clock of its own.

use std::collections::BTreeMap;

use crate::instance::Instance;
use crate::lease::InstanceId;
use crate::slot::Slot;
use crate::timing::Millis;

use super::Event;
use super::random::Random;
use super::scenario::Scenario;

/// What the names of all instances begin with.
const PREFIX: &str = "instance-";

/// The number of the process that has this name.
pub(super) fn number_of(id: &InstanceId) -> usize {
    let number = id.as_str().strip_prefix(PREFIX).and_then(|number| number.parse().ok());
    number.expect("a fleet has only instances that it has named")
}

/// A process, or the place of one.
pub(super) struct Node {
    number: usize,
    pub(super) instance: Option<Instance>,
    /// How often it was started.
    pub(super) start: u32,
    /// Which request is under way.
    pub(super) asks: u32,
    /// Which wake-up counts.
    pub(super) wake: u32,
    /// The number of the last command for each slot.
    pub(super) commands: BTreeMap<Slot, u64>,
    pub(super) paused: bool,
    /// What happened to it while it was paused.
    pub(super) waiting: Vec<Event>,
    /// What its clock shows at the true time 0.
    offset: u64,
    /// How fast its clock runs, in millionths.
    rate: u64,
}

impl Node {
    pub(super) fn new(number: usize, random: &mut Random, scenario: &Scenario) -> Self {
        let drift = scenario.drift_millionths;
        Node {
            number,
            instance: None,
            start: 0,
            asks: 0,
            wake: 0,
            commands: BTreeMap::new(),
            paused: false,
            waiting: Vec::new(),
            offset: random.below(1_000_000_000),
            rate: 1_000_000 - drift + random.below(2 * drift + 1),
        }
    }

    /// What its clock shows.
    pub(super) fn local(&self, now: u64) -> Millis {
        Millis(self.offset + now * self.rate / 1_000_000)
    }

    /// Whether it could act on a slot now.
    pub(super) fn may_act(&self, slot: Slot, now: u64) -> bool {
        let permit = self.instance.as_ref().and_then(|instance| instance.permit(slot, self.local(now)));
        permit.is_some() && !self.paused
    }

    /// When its clock shows this, rounded up.
    pub(super) fn true_time(&self, local: Millis) -> u64 {
        (local.0.saturating_sub(self.offset) * 1_000_000).div_ceil(self.rate)
    }

    /// Starts a process.
    pub(super) fn begin(&mut self, now: u64, scenario: &Scenario) {
        let id = InstanceId::new(&format!("{PREFIX}{}", self.number));
        let instance = Instance::new(id, scenario.slots, scenario.timing, self.local(now));
        #[cfg(any(test, feature = "model"))]
        let instance = instance.with_broken_rule(scenario.broken);
        self.instance = Some(instance);
        self.start += 1;
        self.asks += 1;
        self.paused = false;
        self.waiting.clear();
        self.commands.clear();
    }

    /// Whether no other command came after this one for a slot.
    pub(super) fn is_last_command(&self, slot: Slot, number: u64) -> bool {
        self.commands.get(&slot) == Some(&number)
    }

    pub(super) fn with(&mut self, change: impl FnOnce(&mut Instance)) {
        if let Some(instance) = &mut self.instance {
            change(instance);
        }
    }

    /// Whether it is paused from now on, and was not before.
    pub(super) fn pause(&mut self) -> bool {
        let pauses = self.instance.is_some() && !self.paused;
        self.paused |= pauses;
        pauses
    }

    /// Goes on; returns what happened meanwhile.
    pub(super) fn resume(&mut self, start: u32) -> Vec<Event> {
        if self.start != start {
            return Vec::new();
        }
        self.paused = false;
        std::mem::take(&mut self.waiting)
    }
}
