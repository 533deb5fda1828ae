//! A checker that is as simple as can be: every state is a plain value, all of them are kept, nothing is left out.
//!
//! It shares no code with the checker that it is compared with: only the API (`windlass-model`) and the reconcile as a
//! coroutine (`windlass`). Its world is the documented one; see `docs/checking.md`.

mod ends;
mod meet;
mod reconcile;
mod state;
mod steps;
mod views;

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use kube::CustomResourceExt;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use windlass::Controller;
use windlass::model::{Cluster, Store, Timestamp};

use crate::machine::{COPIER, Copier, START, Thing};
use crate::record::SharedObjects;
use crate::visible::{Only, Reached, Seen, SeenStep};
use crate::world::{Claim, Rule, World, config_map_key};
use meet::Memory;
use state::{Known, Snapshot, State};
use steps::{Deed, Sender, Steps};
use views::View;

/// The name of the violation of code that has a bug of its own.
pub(crate) const BUG: &str = "code";

/// An exploration that is complete.
pub(crate) struct Explored<'a> {
    explorer: Explorer<'a>,
    states: Vec<Rc<State>>,
    /// What is seen of each state.
    seen: Vec<Seen>,
    successors: Vec<Vec<Successor>>,
    ends: Vec<usize>,
    objects: SharedObjects,
}

/// Explores a world; `None` if it has more states than this.
#[expect(clippy::mutable_key_type, reason = "what a cluster remembers for speed is no part of its value")]
pub(crate) fn explore<'a>(world: &'a World, most: usize, objects: &SharedObjects) -> Option<Explored<'a>> {
    let mut explorer = Explorer::new(world);
    let first = Rc::new(explorer.initial());
    let mut numbers = FxHashMap::from_iter([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut successors: Vec<Vec<Successor>> = Vec::new();
    let mut deeds = Deeds { known: FxHashMap::default(), world, objects };
    while successors.len() < states.len() {
        let state = states[successors.len()].clone();
        let mut steps = Steps::default();
        explorer.steps(&state, &mut steps);
        let found = steps.all.into_iter().map(|step| {
            let next = Rc::new(step.next);
            let number = *numbers.entry(next.clone()).or_insert(states.len());
            if number == states.len() {
                states.push(next);
            }
            let is_change =
                states[number].cluster != state.cluster || states[number].service != state.service;
            let deed = step.deed.filter(|_| is_change);
            Successor { number, is_fault: step.is_fault, deed: deed.map_or(0, |deed| deeds.number(deed)) }
        });
        let found: Vec<Successor> = found.collect();
        successors.push(found);
        if states.len() > most {
            return None;
        }
    }
    let seen = states.iter().map(|state| see(state, world, objects)).collect();
    let ends = ends::ends(&successors);
    Some(Explored { explorer, states, seen, successors, ends, objects: objects.clone() })
}

impl Explored<'_> {
    /// How many states there are.
    pub(crate) fn states(&self) -> usize {
        self.states.len()
    }

    /// Whether some code has a bug.
    pub(crate) fn has_bug(&self) -> bool {
        self.explorer.has_bug
    }

    /// Everything that a property can see somewhere.
    pub(crate) fn reached(&self) -> Reached {
        Reached {
            states: self.seen.iter().copied().collect(),
            steps: self.steps().map(|step| self.seen_step(step)).collect(),
            ends: self.ends.iter().map(|end| self.seen[*end]).collect(),
        }
    }

    /// The names of all rules that are violated.
    pub(crate) fn violated(&self) -> BTreeSet<String> {
        let rules = self.explorer.world.rules.iter().filter(|rule| self.is_violated(rule));
        let bug = self.has_bug().then(|| BUG.to_owned());
        rules.map(|rule| rule.name().to_owned()).chain(bug).collect()
    }

    fn is_violated(&self, rule: &Rule) -> bool {
        let holds = |claim: &Claim, state: usize| claim.holds(&find_in(&self.states[state]));
        let mut all = 0..self.states.len();
        match rule {
            Rule::Always(_, claim) => !all.all(|state| holds(claim, state)),
            Rule::Sometimes(_, claim) => !all.any(|state| holds(claim, state)),
            Rule::Eventually(_, claim) => !self.ends.iter().all(|state| holds(claim, *state)),
            Rule::NeverBetween(_, before, after) => {
                let mut steps = self.steps().filter(|(from, to, _)| self.is_change(*from, *to));
                steps.any(|(from, to, _)| holds(before, from) && holds(after, to))
            }
        }
    }

    /// Whether a property sees more of a step than the numbers of versions and generations.
    fn is_change(&self, from: usize, to: usize) -> bool {
        let mut objects = self.objects.lock();
        self.seen[from] != self.seen[to]
            && objects.without_numbers(self.seen[from]) != objects.without_numbers(self.seen[to])
    }

    /// All steps: from where, to where, and the number of what is done.
    fn steps(&self) -> impl Iterator<Item = (usize, usize, u32)> {
        (0..self.states.len())
            .flat_map(|from| self.successors[from].iter().map(move |step| (from, step.number, step.deed)))
    }

    fn seen_step(&self, (from, to, deed): (usize, usize, u32)) -> SeenStep {
        SeenStep { before: self.seen[from], after: self.seen[to], deed }
    }

    /// The shortest way to something that was reached, in words; `None` if it was not.
    pub(crate) fn way_to(&mut self, only: Only, is_reduced: bool) -> Option<Vec<String>> {
        let (from, to) = self.find(only, is_reduced)?;
        let mut words = self.way_to_state(from);
        words.extend(to.map(|to| self.words(from, to)));
        Some(words)
    }

    /// The first state of this kind; or the first step, by the state before and the state after.
    fn find(&self, only: Only, is_reduced: bool) -> Option<(usize, Option<usize>)> {
        let mut objects = self.objects.lock();
        let mut is = |state: usize, wanted| objects.as_compared(self.seen[state], is_reduced) == wanted;
        let found = match only {
            Only::State(seen) => (0..self.states.len()).find(|state| is(*state, seen)),
            Only::End(seen) => self.ends.iter().copied().find(|state| is(*state, seen)),
            Only::Step(wanted) => {
                let mut steps = self.steps();
                let mut is = |step| objects.step_as_compared(self.seen_step(step), is_reduced) == wanted;
                return steps.find(|step| is(*step)).map(|(from, to, _)| (from, Some(to)));
            }
        };
        found.map(|state| (state, None))
    }

    fn way_to_state(&mut self, state: usize) -> Vec<String> {
        let mut before = vec![None; self.states.len()];
        let mut queue = VecDeque::from([0]);
        while let Some(from) = queue.pop_front() {
            for step in &self.successors[from] {
                if step.number != 0 && before[step.number].is_none() {
                    before[step.number] = Some(from);
                    queue.push_back(step.number);
                }
            }
        }
        let mut way = vec![state];
        while let Some(from) = before[way[way.len() - 1]] {
            way.push(from);
        }
        way.reverse();
        way.windows(2).map(|pair| self.words(pair[0], pair[1])).collect()
    }

    /// A step in words.
    fn words(&mut self, from: usize, to: usize) -> String {
        let mut steps = Steps { in_words: true, ..Steps::default() };
        let state = self.states[from].clone();
        self.explorer.steps(&state, &mut steps);
        let step = steps.all.into_iter().find(|step| step.next == *self.states[to]);
        step.expect("the same steps are possible again").words
    }
}

thread_local! {
    /// A cluster in which there can be parents. All worlds begin with one.
    static EMPTY: Cluster = {
        let mut cluster = Cluster::new();
        cluster.set_now(Timestamp::from_unix_seconds(START));
        let definition = serde_json::to_value(Thing::crd()).expect("a definition serializes");
        cluster.install_crd(&definition).expect("the definition is right");
        cluster
    };
}

/// A step to another state.
#[derive(Clone, Copy, Debug)]
struct Successor {
    number: usize,
    is_fault: bool,
    /// The number of what is done, and by whom, if it changes something.
    deed: u32,
}

/// What was done, and by whom, as rules on steps see it.
struct Deeds<'a> {
    known: FxHashMap<Deed, u32>,
    world: &'a World,
    objects: &'a SharedObjects,
}

impl Deeds<'_> {
    fn number(&mut self, deed: Deed) -> u32 {
        if let Some(known) = self.known.get(&deed) {
            return *known;
        }
        let actor = match deed.actor {
            Sender::Client(script) => format!("client {}", script + 1),
            Sender::Cluster(controller) => controller.to_owned(),
            Sender::Process(process) => {
                let program = self.world.programs.get(process / self.world.replicas);
                let name = program.map_or(COPIER, |program| program.name);
                match process % self.world.replicas {
                    0 => name.to_owned(),
                    replica => format!("{name}#{}", replica + 1),
                }
            }
        };
        let number = self.objects.lock().deed(&actor, Some(&deed.ask));
        self.known.insert(deed, number);
        number
    }
}

/// What does not change while a world is explored, and what was learnt.
struct Explorer<'a> {
    world: &'a World,
    /// One per process.
    controllers: Vec<Controller>,
    memory: Memory,
    has_bug: bool,
}

impl<'a> Explorer<'a> {
    fn new(world: &'a World) -> Self {
        let controllers = world.programs.iter().cloned().map(Controller::new);
        let controllers = controllers.chain(world.has_copier.then(|| Controller::new(Copier)));
        let controllers = controllers.flat_map(|controller| vec![controller; world.replicas]).collect();
        Explorer { world, controllers, memory: Memory::default(), has_bug: false }
    }

    fn initial(&self) -> State {
        let mut cluster = EMPTY.with(Cluster::clone);
        for object in &self.world.given {
            let response = cluster.request(&object.creation());
            assert!(response.failure().is_none(), "a given object was refused: {response:?}");
        }
        let cluster = Snapshot::new(cluster);
        // Caches are behind by themselves, or because they are cut off.
        let is_stale = self.world.budget.stale > 0 || self.world.budget.partitions > 0;
        let may_start_again = self.world.budget.crashes > 0 || self.world.budget.watch_gaps > 0;
        let processes = (0..self.controllers.len()).map(|process| state::Process {
            fresh: self.listed(&cluster, process),
            view: is_stale.then(|| View::current(&cluster)),
            ..state::Process::default()
        });
        State {
            processes: processes.collect(),
            oldest: (is_stale && may_start_again).then(|| View::current(&cluster)),
            cluster,
            service: Known::new(json!("0")),
            late: Vec::new(),
            copies: Vec::new(),
            left: self.world.budget,
            cuts: BTreeSet::new(),
            scripts: vec![0; self.world.scripts.len()],
        }
    }
}

fn see(state: &State, world: &World, objects: &SharedObjects) -> Seen {
    let service = world.has_service.then_some(&*state.service);
    objects.lock().seen(|key| state.cluster.store().get(key), service)
}

fn find_in(state: &State) -> impl Fn(&str) -> Option<Value> {
    |name| state.cluster.store().get(&config_map_key(name)).map(|found| (*found).clone())
}
