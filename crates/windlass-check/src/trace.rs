//! Traces: how the world got from its first state to where something is wrong.

use std::fmt;

use windlass::Ask;
use windlass_model::object;

use crate::action::Action;
use crate::show;
use crate::world::World;

/// A sequence of steps, for people.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<TraceStep>,
}

/// One step of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// Who did it.
    pub actor: String,
    /// What it did.
    pub text: String,
    /// Whether this is a fault.
    pub fault: bool,
    /// What it did to objects.
    pub changes: Vec<String>,
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.steps.iter().map(|step| step.actor.len()).max().unwrap_or(0);
        for (number, step) in self.steps.iter().enumerate() {
            let mark = if step.fault { '!' } else { ' ' };
            writeln!(f, "{:>4} {mark} {:width$}  {}", number + 1, step.actor, step.text)?;
            for change in &step.changes {
                writeln!(f, "       {:width$}    {change}", "")?;
            }
        }
        Ok(())
    }
}

/// The step that leads from one state to another.
pub(crate) fn step_between(world: &mut World, before: &[u32], after: &[u32]) -> Option<TraceStep> {
    let mut actions = Vec::new();
    world.actions(before, &mut actions);
    // A fault is named only where nothing else explains the step.
    actions.sort_by_key(|action| action.is_fault());
    let action = actions.into_iter().find(|action| world.perform(before, *action).state == after)?;
    Some(describe(world, before, action))
}

/// An action in words.
pub(crate) fn describe(world: &mut World, before: &[u32], action: Action) -> TraceStep {
    let next = world.perform(before, action);
    let answer = next.answer.map(|answer| show::answer(world.answers.get(answer))).unwrap_or_default();
    let (actor, text) = words(world, before, action, &answer);
    TraceStep {
        actor,
        text,
        fault: action.is_fault(),
        changes: next.changes.iter().map(show::change).collect(),
    }
}

fn words(world: &mut World, before: &[u32], action: Action, answer: &str) -> (String, String) {
    let name = |world: &World, controller: usize| world.controllers[controller].name().to_owned();
    let job = |world: &World, job: u32| world.jobs.get(job).target.to_string();
    let message =
        |world: &mut World| world.message(before, action).map_or(String::new(), |ask| show::ask(&ask));
    match action {
        Action::Client { .. } => ("client".to_owned(), format!("{} -> {answer}", message(world))),
        Action::Notify { controller, job: parent } => (
            "watch".to_owned(),
            format!("tells {} that {} has changed", name(world, controller), job(world, parent)),
        ),
        Action::NotifyAgain { controller, job: parent } => (
            "watch".to_owned(),
            format!("tells {} AGAIN that {} has changed", name(world, controller), job(world, parent)),
        ),
        Action::Timer { controller, job: parent } => {
            (name(world, controller), format!("it is time to look at {} again", job(world, parent)))
        }
        Action::Start { controller } => {
            let parent =
                world.next_in_queue(before, controller).map_or(String::new(), |job| job.target.to_string());
            (name(world, controller), format!("starts to reconcile {parent}"))
        }
        Action::Deliver { controller, slot } | Action::DeliverAgain { controller, slot } => {
            let again = if action.is_fault() { "AGAIN, " } else { "" };
            let Some((ask, state)) = world.sent(before, controller, slot) else { return Default::default() };
            let text = format!(
                "{again}{} in state {state}: {} -> {answer}",
                name(world, controller),
                show::ask(&ask)
            );
            (receiver(&ask), text)
        }
        Action::Reply { controller, .. } => (name(world, controller), format!("gets the answer {answer}")),
        Action::Late { .. } | Action::Duplicate { .. } => {
            let Some(ask) = world.message(before, action) else { return Default::default() };
            let how = if action.is_fault() { "AGAIN" } else { "LATE, from before a crash" };
            (receiver(&ask), format!("{how}: {} -> {answer}", show::ask(&ask)))
        }
        Action::Collect { .. } => ("collector".to_owned(), format!("{} -> {answer}", message(world))),
        Action::Crash { controller } => {
            let doing = match world.active(before, controller) {
                Some((job, state)) => format!(" while it reconciles {} in state {state}", job.target),
                None => String::new(),
            };
            (name(world, controller), format!("CRASHES{doing}"))
        }
    }
}

/// Who gets an ask.
fn receiver(ask: &Ask) -> String {
    match ask {
        Ask::Call { service, .. } => service.clone(),
        _ => "database".to_owned(),
    }
}

/// Removes what counts writes, so that objects can be compared by what they say.
pub(crate) fn without_counters(value: &serde_json::Value) -> serde_json::Value {
    let mut value = value.clone();
    object::remove_meta(&mut value, "resourceVersion");
    object::remove_meta(&mut value, "managedFields");
    value
}
