//! A state of the model, in a few words.

use super::parts::RegisterWords;
use super::registers::MAX_INSTANCES;

/// The most slots of a world.
pub(super) const MAX_SLOTS: usize = 2;
/// Number of words.
pub(super) const WIDTH: usize = FAULTS + 1;

const REGISTERS: usize = 0;
const PROCESSES: usize = 1 + MAX_INSTANCES;
const WRITES: usize = PROCESSES + MAX_INSTANCES;
const RECONCILED: usize = WRITES + 1;
pub(super) const FAULTS: usize = RECONCILED + 1;

/// The registers, the processes, the writes to objects that are in flight, and the faults that can still strike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State(pub(super) [u32; WIDTH]);

/// For how long writes of an instance to a slot are in flight at the most; 0 if none are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct InFlight {
    /// Of its present incarnation.
    pub(super) own: u32,
    /// Of an earlier one.
    pub(super) earlier: u32,
}

impl State {
    pub(super) fn registers(&self) -> RegisterWords {
        let mut registers = RegisterWords::default();
        registers.copy_from_slice(&self.0[REGISTERS..PROCESSES]);
        registers
    }

    pub(super) fn set_registers(&mut self, registers: RegisterWords) {
        self.0[REGISTERS..PROCESSES].copy_from_slice(&registers);
    }

    pub(super) fn process(&self, instance: usize) -> u32 {
        self.0[PROCESSES + instance]
    }

    pub(super) fn set_process(&mut self, instance: usize, process: u32) {
        self.0[PROCESSES + instance] = process;
    }

    pub(super) fn in_flight(&self, instance: usize, slot: usize) -> InFlight {
        let bits = self.0[WRITES] >> shift(instance, slot);
        InFlight { own: bits & 3, earlier: (bits >> 2) & 3 }
    }

    pub(super) fn set_in_flight(&mut self, instance: usize, slot: usize, in_flight: InFlight) {
        let shift = shift(instance, slot);
        let bits = in_flight.own | in_flight.earlier << 2;
        self.0[WRITES] = self.0[WRITES] & !(15 << shift) | bits << shift;
    }

    /// A unit of time passes for all writes in flight.
    pub(super) fn age_writes(&mut self) {
        for (instance, slot) in
            (0..MAX_INSTANCES).flat_map(|instance| (0..MAX_SLOTS).map(move |slot| (instance, slot)))
        {
            let InFlight { own, earlier } = self.in_flight(instance, slot);
            let aged = InFlight { own: own.saturating_sub(1), earlier: earlier.saturating_sub(1) };
            self.set_in_flight(instance, slot, aged);
        }
    }

    /// What an instance has sent is that of an earlier incarnation from now on.
    pub(super) fn begin_incarnation(&mut self, instance: usize) {
        for slot in 0..MAX_SLOTS {
            let InFlight { own, earlier } = self.in_flight(instance, slot);
            self.set_in_flight(instance, slot, InFlight { own: 0, earlier: own.max(earlier) });
        }
    }

    /// The slots, as bits, that their owners have acted on.
    pub(super) fn reconciled(&self) -> u32 {
        self.0[RECONCILED]
    }

    pub(super) fn set_reconciled(&mut self, slots: u32) {
        self.0[RECONCILED] = slots;
    }

    pub(super) fn faults(&self) -> u32 {
        self.0[FAULTS]
    }

    pub(super) fn set_faults(&mut self, faults: u32) {
        self.0[FAULTS] = faults;
    }
}

fn shift(instance: usize, slot: usize) -> usize {
    4 * (instance * MAX_SLOTS + slot)
}
