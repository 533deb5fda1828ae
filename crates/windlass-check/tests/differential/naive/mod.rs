//! A checker that is as simple as can be: every state is a plain value, all of them are kept, nothing is left out.
//!
//! It shares no code with the checker that it is compared with: only the API (`windlass-model`) and the reconcile as a
//! coroutine (`windlass`). Its world is the documented one; see `docs/checking.md`.

mod ends;
mod meet;
mod reconcile;
mod state;
mod steps;

use std::collections::BTreeSet;
use std::rc::Rc;

use kube::CustomResourceExt;
use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::Controller;
use windlass::model::{Cluster, Store, Timestamp};

use crate::machine::Thing;
use crate::world::{Claim, Rule, World, config_map_key};
use meet::Memory;
use state::{Snapshot, State};

/// The name of what is wrong with code that has a bug of its own.
pub(crate) const BUG: &str = "code";

/// What was found.
#[derive(Clone, Debug)]
pub(crate) struct Explored {
    /// The names of all rules that are violated.
    pub(crate) violated: BTreeSet<String>,
    pub(crate) states: usize,
}

/// Explores a world; `None` if it has more states than this.
#[expect(clippy::mutable_key_type, reason = "what a cluster remembers for speed is no part of its value")]
pub(crate) fn explore(world: &World, most: usize) -> Option<Explored> {
    let mut explorer = Explorer::new(world);
    let first = Rc::new(explorer.initial());
    let mut numbers = FxHashMap::from_iter([(first.clone(), 0)]);
    let mut states = vec![first];
    let mut successors: Vec<Vec<Successor>> = Vec::new();
    while successors.len() < states.len() {
        let state = states[successors.len()].clone();
        let mut steps = Vec::new();
        explorer.steps(&state, &mut steps);
        let found = steps.into_iter().map(|(is_fault, next)| {
            let next = Rc::new(next);
            let number = *numbers.entry(next.clone()).or_insert(states.len());
            if number == states.len() {
                states.push(next);
            }
            Successor { number, is_fault }
        });
        let found: Vec<Successor> = found.collect();
        successors.push(found);
        if states.len() > most {
            return None;
        }
    }
    let mut violated = violated(world, &states, &successors);
    violated.extend(explorer.has_bug.then(|| BUG.to_owned()));
    Some(Explored { violated, states: states.len() })
}

/// A step to another state.
#[derive(Clone, Copy, Debug)]
struct Successor {
    number: usize,
    is_fault: bool,
}

/// What does not change while a world is explored, and what was learnt.
struct Explorer<'a> {
    world: &'a World,
    controllers: Vec<Controller>,
    memory: Memory,
    has_bug: bool,
}

impl<'a> Explorer<'a> {
    fn new(world: &'a World) -> Self {
        let controllers = world.programs.iter().cloned().map(Controller::new).collect();
        Explorer { world, controllers, memory: Memory::default(), has_bug: false }
    }

    fn initial(&self) -> State {
        let mut cluster = Cluster::new();
        cluster.set_now(Timestamp::from_unix_seconds(1_000_000_000));
        let definition = serde_json::to_value(Thing::crd()).expect("a definition serializes");
        cluster.install_crd(&definition).expect("the definition is right");
        for object in &self.world.given {
            let response = cluster.request(&object.creation());
            assert!(response.failure().is_none(), "a given object was refused: {response:?}");
        }
        let cluster = Snapshot::new(cluster);
        let processes = (0..self.controllers.len()).map(|process| state::Process {
            fresh: self.listed(&cluster, process),
            ..state::Process::default()
        });
        State {
            processes: processes.collect(),
            cluster,
            late: Vec::new(),
            copies: Vec::new(),
            left: self.world.budget,
            scripts: vec![0; self.world.scripts.len()],
        }
    }
}

/// The rules that do not hold.
fn violated(world: &World, states: &[Rc<State>], successors: &[Vec<Successor>]) -> BTreeSet<String> {
    let ends = ends::ends(successors);
    let is_violated = |rule: &Rule| match rule {
        Rule::Always(_, claim) => !states.iter().all(|state| holds(claim, state)),
        Rule::Sometimes(_, claim) => !states.iter().any(|state| holds(claim, state)),
        Rule::Eventually(_, claim) => !ends.iter().all(|state| holds(claim, &states[*state])),
        Rule::NeverBetween(_, before, after) => {
            let mut steps = (0..states.len())
                .flat_map(|from| successors[from].iter().map(move |successor| (from, successor.number)));
            steps.any(|(from, to)| {
                Claim::between([before, after], &find_in(&states[from]), &find_in(&states[to]))
            })
        }
    };
    world.rules.iter().filter(|rule| is_violated(rule)).map(|rule| rule.name().to_owned()).collect()
}

fn holds(claim: &Claim, state: &State) -> bool {
    claim.holds(&find_in(state))
}

fn find_in(state: &State) -> impl Fn(&str) -> Option<Value> {
    |name| state.cluster.store().get(&config_map_key(name)).map(|found| (*found).clone())
}
