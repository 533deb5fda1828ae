//! The steps of a world, in words.

use windlass_check::TraceStep;
use windlass_check::engine::Model;

use crate::registry::Request;

use super::registers::id;
use super::state::State;
use super::world::{Action, World};

/// An action in words, as it happens in a state.
pub(super) fn describe(world: &mut World, state: &State, action: &Action) -> TraceStep {
    let (actor, text) = words(world, state, action);
    TraceStep {
        action: format!("{action:?}"),
        actor,
        text,
        fault: world.is_fault(action).then(|| fault(action).to_owned()),
        ..TraceStep::default()
    }
}

fn words(world: &World, state: &State, action: &Action) -> (String, String) {
    let name = |number: usize| id(number).to_string();
    match *action {
        Action::Arrive(number) => {
            let process = world.process(state, number);
            (name(number), process.in_flight().map(request).unwrap_or_default())
        }
        Action::LoseReply(number) => {
            let process = world.process(state, number);
            let request = process.in_flight().map(request).unwrap_or_default();
            (name(number), format!("{request}, but the answer is lost"))
        }
        Action::ArriveLate(number, index) => {
            let process = world.process(state, number);
            (name(number), format!("{}, late", process.late.get(index).map(request).unwrap_or_default()))
        }
        Action::Watch(number) => (name(number), "is shown the ring by its watch".into()),
        Action::Load(number, slot) => (name(number), format!("has loaded slot {slot}")),
        Action::Drain(number, slot) => (name(number), format!("has drained slot {slot}")),
        Action::Check(number, slot) => (name(number), format!("checks its permit for slot {slot}")),
        Action::Act(number, slot) => {
            let owner = world.owner(state, slot);
            (name(number), format!("sends a write to slot {slot}, which the ring has for {owner}"))
        }
        Action::Tick => ("clock".into(), "a unit of time passes".into()),
        Action::Stall => ("clock".into(), "a unit of time passes while requests are on their way".into()),
        Action::Pause(number) => (name(number), "is paused".into()),
        Action::Resume(number) => (name(number), "goes on".into()),
        Action::Crash(number) => (name(number), "crashes".into()),
        Action::Start(number) => (name(number), "is started".into()),
        Action::Die(number) => (name(number), "crashes for good".into()),
        Action::TimeOut(number) => (name(number), "stops waiting for an answer".into()),
        Action::Leave(number) => (name(number), "is asked to leave".into()),
    }
}

fn request(request: &Request) -> String {
    match request {
        Request::ReadRing => "reads the ring".into(),
        Request::ReadLeases(_) => "reads the leases".into(),
        Request::SwapLease { id, lease, .. } => {
            let state = if lease.alive { "alive" } else { "dead" };
            format!("swaps the lease of {id} to {state}, incarnation {}", lease.incarnation.0)
        }
        Request::SwapRing { ring, .. } => {
            let name =
                |place: usize| format!("{}{}", ring.members()[place].id, ring.members()[place].incarnation.0);
            let slot = |owned: crate::ring::Ownership| {
                let to = owned.draining_to.map(|to| format!(">{}", name(to))).unwrap_or_default();
                format!("{}{}{to}", name(owned.owner), if owned.clean { "" } else { "*" })
            };
            let slots: Vec<String> = ring.slots().map(|(_, owned)| slot(owned)).collect();
            let lock = ring.lock_holder().map(|holder| format!(", locked by {holder}")).unwrap_or_default();
            format!("swaps the ring: {} of {} members{lock}", slots.join(" "), ring.members().len())
        }
    }
}

fn fault(action: &Action) -> &'static str {
    match action {
        Action::Pause(_) => "pause",
        Action::Crash(_) => "crash",
        Action::Die(_) => "death",
        Action::TimeOut(_) => "timeout",
        Action::LoseReply(_) => "lost reply",
        Action::Stall => "stall",
        _ => "leave",
    }
}
