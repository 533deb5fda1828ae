//! What a check explores: the world, as a [`Model`], with the rules that it must obey.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Ask, Bug, ReconcileResult, Shortcut};

use crate::action::{Action, KINDS};
use crate::engine::{Expansion, Model, Next, Property, PropertyKind};
use crate::ids::{AskId, ClusterId, JobId, NodeId, ServicesId, ViolationId};
use crate::index::{PermutationIndex, ProcessIndex, ScriptIndex};
use crate::narrate;
use crate::oracle::{self, Oracle, Settled};
use crate::rules::{Rules, StateRule, StepRule};
use crate::steps::NodeNext;
use crate::trace::TraceStep;
use crate::world::{Move, SeenStep, Setup, State, StepViolation, Visible, World};

/// The world and its rules, as one worker sees them.
pub(crate) struct Subject {
    pub(crate) world: World,
    rules: Arc<Rules>,
    evaluated: Evaluated,
    /// Violating steps of an expansion, kept so that there is always room for them.
    violations: Vec<(usize, ViolationId)>,
    /// Steps of an expansion as rules see them, kept for the same reason.
    seen_steps: Vec<SeenStep>,
    /// The first set of objects in which a fair run ended up, and all others.
    ends: Arc<Mutex<Vec<Arc<Settled>>>>,
    /// Where clients' scripts waited for ever: which script, and which of its events.
    stuck: Arc<Mutex<BTreeSet<(ScriptIndex, usize)>>>,
    /// Properties that panicked, with what the panic said.
    panics: Arc<Mutex<BTreeMap<String, String>>>,
    /// The bugs in controllers' code that showed, in this run and in those for traces.
    bugs: Arc<Mutex<Vec<Bug>>>,
}

/// What was found before. Views that look the same are evaluated once.
#[derive(Default)]
struct Evaluated {
    /// By what a property can see. (Environments that differ in what no property sees are evaluated more than once; there
    /// are few.)
    states: Vec<FxHashMap<Visible, bool>>,
    steps: FxHashMap<SeenStep, Option<usize>>,
    orphans: FxHashMap<ClusterId, Option<String>>,
    settled: FxHashMap<(ClusterId, ServicesId), Arc<Settled>>,
}

impl Evaluated {
    fn new(rules: &Rules) -> Self {
        Evaluated {
            states: rules.states.iter().map(|_| FxHashMap::default()).collect(),
            ..Evaluated::default()
        }
    }
}

impl Subject {
    pub(crate) fn new(setup: Setup, rules: Rules) -> Self {
        let rules = Arc::new(rules);
        let evaluated = Evaluated::new(&rules);
        let (ends, stuck, panics, bugs) = Default::default();
        let world = World::new(setup);
        let (violations, seen_steps) = Default::default();
        Subject { world, rules, evaluated, violations, seen_steps, ends, stuck, panics, bugs }
    }

    /// The bug in controller code that a message is about.
    pub(crate) fn bug(&self, message: &str) -> Option<Bug> {
        let bugs = self.bugs.lock().unwrap_or_else(PoisonError::into_inner);
        bugs.iter().find(|bug| bug.to_string() == message).cloned()
    }

    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The distinct sets of objects in which fair runs ended up.
    pub(crate) fn ends(&self) -> Vec<String> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        let mut ends: Vec<String> = ends.iter().map(ToString::to_string).collect();
        ends.sort();
        ends.dedup();
        ends
    }

    /// The objects of each of these.
    pub(crate) fn settled(&self) -> Vec<BTreeMap<String, Value>> {
        let ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        ends.iter().map(|end| end.objects().clone()).collect()
    }

    /// The clients' scripts that can wait for ever, in words.
    pub(crate) fn unfinished_scripts(&self) -> Vec<String> {
        let stuck = self.stuck.lock().unwrap_or_else(PoisonError::into_inner);
        let parts = self.world.parts();
        let reached = |script: ScriptIndex| {
            parts.environments.all().map(|environment| environment.scripts[script.index()]).max().unwrap_or(0)
        };
        let in_words = |(script, event): &(ScriptIndex, usize)| {
            let what = parts.setup.scripts[script.index()][*event].wait()?;
            let how = if reached(*script) > *event { "may wait" } else { "waits" };
            Some(format!("client script {} {how} for ever for {what}", script.index() + 1))
        };
        stuck.iter().filter_map(in_words).collect()
    }

    /// Notes the scripts that go on no more.
    fn note_stuck(&mut self, state: &State) {
        let done = self.world.transitions.env(state).scripts.clone();
        let lengths = self.world.transitions.facts.script_lengths.clone();
        let left = ScriptIndex::all(done.len())
            .zip(done)
            .zip(lengths.iter())
            .filter(|((_, done), length)| done < *length);
        let left: Vec<(ScriptIndex, usize)> = left.map(|(event, _)| event).collect();
        if !left.is_empty() {
            self.stuck.lock().unwrap_or_else(PoisonError::into_inner).extend(left);
        }
    }

    fn holds(&mut self, rule: usize, state: &State) -> bool {
        let visible = state.visible();
        if let Some(known) = self.evaluated.states[rule].get(&visible) {
            return *known;
        }
        let seen = self.world.transitions.seen(state);
        let StateRule { name, predicate, .. } = &self.rules.states[rule];
        let Some(holds) = self.guarded(name, || predicate(&seen.view())) else {
            self.evaluated.states[rule].insert(visible, false);
            return false;
        };
        if self.world.transitions.tries_other_numbers()
            && predicate(&seen.with_other_numbers().view()) != holds
        {
            self.world
                .transitions
                .note_dependence(&format!("the property {:?}", self.rules.states[rule].name));
        }
        self.evaluated.states[rule].insert(visible, holds);
        holds
    }

    /// The first rule on steps that a step breaks.
    fn broken_by(&mut self, step: &SeenStep) -> Option<usize> {
        if let Some(known) = self.evaluated.steps.get(step) {
            return *known;
        }
        let broken = if step.is_seen(&self.world.parts()) { self.evaluate_step(step) } else { None };
        self.evaluated.steps.insert(*step, broken);
        broken
    }

    fn evaluate_step(&self, step: &SeenStep) -> Option<usize> {
        let step_view = step.step_view(&self.world.parts());
        let between = step_view.between();
        let happens =
            |rule: &StepRule| self.guarded(&rule.name, || (rule.predicate)(&between)).unwrap_or(true);
        let broken = self.rules.steps.iter().position(happens);
        if self.world.transitions.tries_other_numbers() {
            let step_view = step_view.with_other_numbers();
            let between = step_view.between();
            let other = self.rules.steps.iter().position(|rule| (rule.predicate)(&between));
            if other != broken
                && let Some(rule) = other.or(broken)
            {
                self.world
                    .transitions
                    .note_dependence(&format!("the property {:?}", self.rules.steps[rule].name));
            }
        }
        broken
    }

    /// The same, for all steps that are like this one too.
    fn broken_by_any_like(&mut self, step: &SeenStep) -> Option<usize> {
        self.broken_by(step).or_else(|| {
            PermutationIndex::all(self.world.permutations()).find_map(|permutation| {
                let permuted = self.world.permute_step(step, permutation);
                self.broken_by(&permuted)
            })
        })
    }

    /// Forbids the steps of an expansion that break a rule.
    fn forbid_broken(&mut self, state: &State, ample_only: bool, expansion: &mut Expansion<Move>) {
        let mut steps = std::mem::take(&mut self.seen_steps);
        self.world.seen_steps(state, ample_only, &mut steps);
        debug_assert_eq!(steps.len(), expansion.len(), "the steps of an expansion can be listed again");
        for (index, step) in steps.drain(..).enumerate() {
            let broken = match expansion.symmetry() {
                true => self.broken_by_any_like(&step),
                false => self.broken_by(&step),
            };
            if let Some(rule) = broken {
                expansion.forbid(index, self.happens(rule));
            }
        }
        self.seen_steps = steps;
    }

    /// Evaluates a property. One that panics is noted with what the panic says, and counts as violated there.
    fn guarded(&self, property: &str, evaluate: impl FnOnce() -> bool) -> Option<bool> {
        let evaluated = catch_unwind(AssertUnwindSafe(evaluate));
        evaluated
            .map_err(|panic| {
                let message = panic.downcast_ref::<String>().map(String::as_str);
                let message =
                    message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
                let mut panics = self.panics.lock().unwrap_or_else(PoisonError::into_inner);
                panics.entry(property.to_owned()).or_insert_with(|| message.to_owned());
            })
            .ok()
    }

    /// The properties that panicked, each with what the panic said.
    pub(crate) fn panics(&self) -> BTreeMap<String, String> {
        self.panics.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A rule on steps is broken, in words.
    fn happens(&self, rule: usize) -> String {
        self.rules.steps[rule].happens()
    }

    /// What must never happen, in words; nothing if the rule against it is switched off.
    fn violation_message(&self, violation: ViolationId) -> Option<String> {
        let violation = self.world.parts().violations.get(violation).clone();
        match &*violation {
            StepViolation::AnotherObject { .. } if !self.demands(Oracle::SameObject) => None,
            StepViolation::AnotherObject { .. } => Some(said(Oracle::SameObject, &violation.to_string())),
            StepViolation::Code(bug) => {
                self.bugs.lock().unwrap_or_else(PoisonError::into_inner).push(bug.clone());
                Some(bug.to_string())
            }
        }
    }

    fn demands(&self, oracle: Oracle) -> bool {
        self.rules.oracles.contains(&oracle)
    }

    /// Evaluates the states in which a fair run stays for ever; see [`Model::evaluate_end`].
    fn evaluate_component(&mut self, states: &mut dyn Iterator<Item = State>) -> Option<(usize, String)> {
        let mut rest = Rest::default();
        for (index, state) in states.enumerate() {
            if index == 0 {
                // Scripts only go on: all states in which a run stays for ever are alike in this.
                self.note_stuck(&state);
            }
            self.look_at_steps(&state, index, &mut rest);
            if rest.odd.is_none() {
                let odd = self.left_over(&state).or_else(|| self.other_result(&state));
                rest.odd = odd.map(|message| (index, message));
            }
        }
        // What explains the most comes first.
        rest.restless.take().or_else(|| self.fails_for_ever(&rest)).or(rest.odd).or(rest.noisy)
    }

    fn fails_for_ever(&self, rest: &Rest) -> Option<(usize, String)> {
        let (job, index) = rest.failing.iter().find(|(job, _)| !rest.succeeding.contains_key(job))?;
        let target = self.world.parts().jobs.get(*job).target.to_string();
        let message = format!("the reconcile of {target} fails, again and again");
        self.demands(Oracle::CanSucceed).then(|| (*index, said(Oracle::CanSucceed, &message)))
    }

    fn left_over(&mut self, state: &State) -> Option<String> {
        if !self.demands(Oracle::NoOrphans) {
            return None;
        }
        let world = &self.world;
        let known = self.evaluated.orphans.entry(state.cluster).or_insert_with(|| {
            let parts = world.parts();
            oracle::orphan(parts.database.cluster(state.cluster), &parts.setup.processes)
        });
        known.as_ref().map(|message| said(Oracle::NoOrphans, message))
    }

    fn other_result(&mut self, state: &State) -> Option<String> {
        let (world, rules) = (&self.world, &self.rules);
        let services = world.parts().environments.get(state.environment).services;
        let known = self.evaluated.settled.entry((state.cluster, services)).or_insert_with(|| {
            let parts = world.parts();
            let services = parts.services.states.get(services);
            Settled::new(parts.database.cluster(state.cluster), services, rules).into()
        });
        let known = known.clone();
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        if !ends.contains(&known) {
            ends.push(known.clone());
        }
        let first = ends.first().filter(|first| **first != known).cloned();
        drop(ends);
        let racing = world.parts().scripts.len() > 1 || world.parts().draws();
        let first = first.filter(|_| !racing && self.demands(Oracle::OneResult))?;
        let difference = first.difference(&known);
        Some(said(
            Oracle::OneResult,
            &format!(
                "it can end in another way than a run with fewer faults, or in another order\n\
                 - there\n+ here\n{}",
                difference.trim_end()
            ),
        ))
    }

    /// What happens in a state where fair runs stay: writes that change nothing, reconciles that fail.
    fn look_at_steps(&mut self, state: &State, index: usize, rest: &mut Rest) {
        let mut actions = Vec::new();
        self.world.transitions.actions(state, &mut actions);
        for action in actions.into_iter().filter(|action| action.fault().is_none()) {
            let step = self.world.transitions.perform(state, action);
            if step.state.cluster != state.cluster && self.demands(Oracle::Converges) {
                let message = said(Oracle::Converges, "the objects never come to rest");
                rest.restless.get_or_insert((index, message));
            }
            if let Some(ending) = step.ending {
                let failed = self.failed(ending.node);
                let endings = if failed { &mut rest.failing } else { &mut rest.succeeding };
                endings.entry(ending.job).or_insert(index);
            }
            if let Action::Deliver { .. } = action
                && rest.noisy.is_none()
                && self.demands(Oracle::QuietAtRest)
                && let Some((_, ask)) = step.met
                && let Some(write) = self.unconditional_write(ask)
            {
                rest.noisy =
                    Some((index, said(Oracle::QuietAtRest, &format!("it goes on sending `{write}`"))));
            }
        }
    }

    fn failed(&self, node: NodeId) -> bool {
        match &self.world.parts().steps.node(node).next {
            NodeNext::End(ended) => {
                matches!(ended.result, ReconcileResult::Failed { .. } | ReconcileResult::Conflict { .. })
            }
            _ => false,
        }
    }

    /// A write that is sent even if nothing is to change.
    fn unconditional_write(&self, ask: AskId) -> Option<String> {
        match &**self.world.parts().asks.get(ask) {
            Ask::Api { request, shortcut: Shortcut::None, .. } if request.verb.is_write() => {
                Some(crate::show::request(request))
            }
            _ => None,
        }
    }
}

/// What was seen of a set of states in which fair runs stay.
#[derive(Default)]
struct Rest {
    /// Where an object changes.
    restless: Option<(usize, String)>,
    /// Where objects are left over, or others than in another end.
    odd: Option<(usize, String)>,
    /// Jobs whose reconciles end well, and those that fail, with the state where it was seen.
    succeeding: BTreeMap<JobId, usize>,
    failing: BTreeMap<JobId, usize>,
    /// A write that is sent although nothing is to change.
    noisy: Option<(usize, String)>,
}

fn said(oracle: Oracle, message: &str) -> String {
    format!("\"{oracle}\": {message}")
}

impl Clone for Subject {
    fn clone(&self) -> Self {
        Subject {
            world: self.world.clone(),
            rules: self.rules.clone(),
            evaluated: Evaluated::new(&self.rules),
            violations: Vec::new(),
            seen_steps: Vec::new(),
            ends: self.ends.clone(),
            stuck: self.stuck.clone(),
            panics: self.panics.clone(),
            bugs: self.bugs.clone(),
        }
    }
}

impl Model for Subject {
    type State = State;
    type Action = Move;

    fn width(&self) -> usize {
        self.world.width()
    }

    fn encode(&mut self, state: &State, words: &mut [u32]) {
        self.world.encode(state, words);
    }

    fn decode(&mut self, words: &[u32]) -> State {
        self.world.decode(words)
    }

    fn initial(&mut self) -> Vec<State> {
        vec![self.world.initial()]
    }

    fn actions(&mut self, state: &State, actions: &mut Vec<Move>) {
        self.world.moves(state, actions);
    }

    fn next(&mut self, state: &State, action: &Move) -> Next<State> {
        let (next, violation) = self.world.make(state, action);
        if let Some(violation) = violation
            && let Some(message) = self.violation_message(violation)
        {
            return Next::Violation(message);
        }
        if !self.rules.steps.is_empty() {
            let step = self.world.seen_step(state, action.action);
            if let Some(rule) = self.broken_by(&step) {
                return Next::Violation(self.happens(rule));
            }
        }
        Next::State(next)
    }

    fn expand(&mut self, state: &State, ample_only: bool, expansion: &mut Expansion<Move>) {
        let mut violations = std::mem::take(&mut self.violations);
        self.world.expand(ample_only, expansion, &mut violations);
        for (step, violation) in violations.drain(..) {
            if let Some(message) = self.violation_message(violation) {
                expansion.forbid(step, message);
            }
        }
        self.violations = violations;
        if !self.rules.steps.is_empty() {
            self.forbid_broken(state, ample_only, expansion);
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let rules = self.rules.states.iter().enumerate();
        rules
            .map(|(index, rule)| {
                let holds = move |subject: &mut Subject, state: &State| subject.holds(index, state);
                match rule.kind {
                    PropertyKind::Always => Property::always(&rule.name, holds),
                    PropertyKind::Eventually => Property::eventually(&rule.name, holds),
                    PropertyKind::Sometimes => Property::sometimes(&rule.name, holds),
                }
            })
            .collect()
    }

    fn describe(&mut self, state: &State, action: &Move) -> TraceStep {
        narrate::describe(&mut self.world.transitions, state, action.action)
    }

    fn name(&mut self, state: &State, action: &Move) -> String {
        narrate::name(&mut self.world.transitions, state, action.action)
    }

    fn is_fault(&self, action: &Move) -> bool {
        action.action.fault().is_some()
    }

    fn kinds(&self) -> &'static [&'static str] {
        &KINDS
    }

    fn kind(&self, action: &Move) -> usize {
        action.action.kind()
    }

    fn actor(&self, action: &Move) -> usize {
        // Each process is somebody; so is each kind of what else happens.
        let process = action.action.process().map(ProcessIndex::index);
        process.unwrap_or_else(|| self.world.controllers() + action.action.kind())
    }

    fn ample_action(&mut self, state: &State, actions: &[Move]) -> Option<usize> {
        self.world.transitions.ample_answer(state, actions.iter().map(|next| next.action))
    }

    fn symmetries(&self) -> usize {
        self.world.permutations()
    }

    fn permute(&mut self, state: &State, symmetry: usize) -> State {
        self.world.permute(state, PermutationIndex::new(symmetry))
    }

    fn representative(&mut self, state: &State) -> State {
        // The network last: states that differ in what may come again are permuted alike.
        let rank = |state: &State| (state.cluster, state.environment, state.hosts, state.network);
        let permuted = PermutationIndex::all(self.world.permutations())
            .map(|symmetry| self.world.permute(state, symmetry));
        permuted.fold(*state, |least, other| std::cmp::min_by_key(least, other, rank))
    }

    fn take_faults(&mut self, words: &mut [u32]) -> Option<u64> {
        self.world.take_faults(words)
    }

    fn put_faults(&mut self, words: &mut [u32], faults: u64) {
        self.world.put_faults(words, faults);
    }

    fn includes_faults(&mut self, more: u64, less: u64) -> bool {
        self.world.includes_faults(more, less)
    }

    fn evaluate_end(&mut self, states: &mut dyn Iterator<Item = State>) -> Option<(usize, String)> {
        self.evaluate_component(states)
    }

    fn without_verdicts(&self) -> Self {
        Subject { ends: Arc::default(), ..self.clone() }
    }

    fn fresh_copy(&self) -> Self {
        Subject { world: self.world.fresh_copy(), ends: Arc::default(), ..self.clone() }
    }

    fn gives_up(&self) -> bool {
        let parts = self.world.parts();
        parts.steps.depends_on_numbers.is_some() || parts.permutations.broken.is_some()
    }

    fn bytes(&self) -> usize {
        self.world.bytes()
    }
}
