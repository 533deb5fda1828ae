//! Draws a small world from a seed.

use crate::machine::{Fence, Map, Op, Program, Source, Stage, Test};
use crate::random::Random;
use crate::world::{Budget, Claim, Event, Object, Rule, World};

const VALUES: [&str; 3] = ["0", "1", "2"];
const MAPS: [Map; 3] = [Map::X, Map::Y, Map::Shared];
/// The ConfigMaps that machines and clients write.
const MAP_NAMES: [&str; 3] = ["a-x", "a-y", "shared"];

/// The world of a seed.
pub(crate) fn world(seed: u64) -> World {
    let random = &mut Random::new(seed);
    let controllers = if random.percent(10) { 2 } else { 1 };
    let parents = if controllers == 1 && random.percent(20) { 2 } else { 1 };
    let programs: Vec<Program> =
        ["left", "right"].into_iter().take(controllers).map(|name| program(random, name)).collect();
    let given = given(random, parents);
    let scripts = scripts(random, parents, controllers);
    let budget = budget(random, controllers * parents);
    let names: &[&'static str] = if parents == 2 { &["a-x", "b-x", "a-y", "shared"] } else { &MAP_NAMES };
    let rules = rules(random, names);
    World { programs, workers: 1 + usize::from(random.percent(30)), given, scripts, budget, rules }
}

fn given(random: &mut Random, parents: usize) -> Vec<Object> {
    let value = random.pick(&VALUES);
    let mut given = Vec::new();
    for name in ["a", "b"].into_iter().take(parents) {
        if random.percent(85) {
            // Parents that are equal but for their names can change places.
            let value = if random.percent(80) { value } else { random.pick(&VALUES) };
            given.push(Object { is_parent: true, name, value });
        }
    }
    for name in MAP_NAMES {
        if random.percent(if name == "shared" { 45 } else { 15 }) {
            given.push(Object { is_parent: false, name, value: random.pick(&VALUES) });
        }
    }
    given
}

fn scripts(random: &mut Random, parents: usize, controllers: usize) -> Vec<Vec<Event>> {
    let most = if controllers * parents > 1 { 1 } else { 2 };
    let mut events: Vec<Event> = (0..random.below(most + 1)).map(|_| event(random, parents)).collect();
    let apart = random.percent(25) && events.len() > 1;
    let second = if apart { events.split_off(1) } else { Vec::new() };
    [events, second].into_iter().filter(|script| !script.is_empty()).collect()
}

fn event(random: &mut Random, parents: usize) -> Event {
    let is_parent = random.percent(65);
    let names: &[&'static str] = match (is_parent, parents) {
        (true, 1) => &["a"],
        (true, _) => &["a", "b"],
        (false, _) => &MAP_NAMES,
    };
    let object = Object { is_parent, name: random.pick(names), value: random.pick(&VALUES) };
    match random.below(10) {
        0..=1 => Event::Create(object),
        2..=6 => Event::Patch(object),
        _ => Event::Delete(object),
    }
}

fn budget(random: &mut Random, size: usize) -> Budget {
    let mut budget = Budget::default();
    let faults = match random.below(10) {
        0..=3 => 0,
        9 if size == 1 => 2,
        _ => 1,
    };
    for _ in 0..faults {
        match random.below(10) {
            0..=3 => budget.crashes = 1,
            4..=5 => budget.duplicates = true,
            6 => budget.lost_requests = 1,
            7 => budget.lost_replies = 1,
            8 => budget.errors = 1,
            _ => budget.watch_gaps = 1,
        }
    }
    budget
}

/// What a program may still do, so that it has no bug that every run would show.
struct Drawing<'a> {
    random: &'a mut Random,
    /// The outputs that no state has ensured yet: to ensure one twice is a bug.
    outputs: Vec<Map>,
    /// Whether the state that is drawn has ensured something: to fail after that is a bug.
    ensures: bool,
}

fn program(random: &mut Random, name: &'static str) -> Program {
    let stages = [1, 1, 1, 2, 3][random.below(5) as usize];
    let watches_shared = random.percent(20);
    let mut drawing = Drawing { random, outputs: MAPS.to_vec(), ensures: false };
    let stages = (0..stages).map(|stage| drawing.stage(stage, stages)).collect();
    Program { name, stages, watches_shared }
}

impl Drawing<'_> {
    fn stage(&mut self, stage: usize, stages: usize) -> Vec<Op> {
        self.ensures = false;
        let mut ops = Vec::new();
        for _ in 0..1 + u64::from(self.random.percent(35)) {
            self.push(&mut ops, 0);
        }
        let end = match self.random.below(10) {
            0 => Some(Op::Requeue),
            1 if !self.ensures => Some(Op::Fail),
            _ => None,
        };
        let next = [Stage::Second, Stage::Third].into_iter().take(stages - 1).nth(stage);
        ops.extend(end.or(next.map(Op::To)));
        ops
    }

    /// Adds a step, with the read that it needs.
    fn push(&mut self, ops: &mut Vec<Op>, depth: u32) {
        let map = self.random.pick(&MAPS);
        match self.random.below(14) {
            0..=3 => self.push_output(ops, map),
            4 => ops.push(Op::Create(map, self.source(false))),
            5 => ops.push(Op::Patch(map, self.source(false))),
            6 => ops.push(Op::Delete(map)),
            7 => ops.push(Op::Report(Source::ParentValue)),
            8 => {
                let one = (map, self.source(false));
                ops.push(Op::Both([one, (self.random.pick(&MAPS), self.source(false))]));
            }
            9 if depth == 0 => {
                let test = match self.random.below(2) {
                    0 => Test::ParentIs(self.random.pick(&VALUES)),
                    _ => Test::AtLeast(1 + self.random.below(2) as usize),
                };
                let then = self.branch(depth);
                ops.push(Op::If(test, then));
            }
            _ => self.push_read(ops, map, depth),
        }
    }

    fn push_output(&mut self, ops: &mut Vec<Op>, map: Map) {
        let Some(place) = self.outputs.iter().position(|output| *output == map) else { return };
        self.outputs.remove(place);
        self.ensures = true;
        let fence = [Fence::None, Fence::None, Fence::Forced, Fence::Unchanged, Fence::Absent];
        ops.push(Op::Ensure(map, self.source(false), self.random.pick(&fence)));
    }

    /// A read, and something that depends on it.
    fn push_read(&mut self, ops: &mut Vec<Op>, map: Map, depth: u32) {
        ops.push(if self.random.percent(50) { Op::Get(map) } else { Op::Cached(map) });
        match self.random.below(6) {
            0 => {
                let versioned = self.random.percent(60);
                ops.push(Op::Update { value: self.source(true), versioned });
            }
            1 => ops.push(Op::PatchRead(self.source(true))),
            2 => ops.push(Op::DeleteRead),
            _ if depth == 0 => {
                let test =
                    if self.random.percent(50) { Test::Found } else { Test::ReadIs(self.source(false)) };
                let then = self.branch(depth);
                ops.push(Op::If(test, then));
            }
            _ => ops.push(Op::Update { value: self.source(true), versioned: true }),
        }
    }

    fn branch(&mut self, depth: u32) -> Vec<Op> {
        let mut then = Vec::new();
        match self.random.below(10) {
            0 => then.push(Op::Requeue),
            1 => then.push(Op::Done),
            2 if !self.ensures => then.push(Op::Fail),
            3 if !self.ensures => then.push(Op::FailForGood),
            _ => self.push(&mut then, depth + 1),
        }
        then
    }

    fn source(&mut self, has_read: bool) -> Source {
        match self.random.below(20) {
            0..=7 => Source::Is(self.random.pick(&VALUES)),
            8..=13 => Source::ParentValue,
            14..=15 => Source::ParentGeneration,
            16 => Source::ParentVersion,
            17 => Source::ParentUid,
            18 if has_read && self.random.percent(30) => Source::ReadVersion,
            _ if has_read => Source::ReadValue,
            _ => Source::ParentValue,
        }
    }
}

fn rules(random: &mut Random, names: &[&'static str]) -> Vec<Rule> {
    let mut rules = Vec::new();
    for number in 0..3 + random.below(2) {
        rules.push(match random.below(8) {
            0..=1 => Rule::Always(format!("always {number}"), negated(claim(random, names))),
            2..=4 => Rule::Eventually(format!("eventually {number}"), claim(random, names)),
            5 => Rule::Sometimes(format!("sometimes {number}"), claim(random, names)),
            _ => {
                let before = claim(random, names);
                Rule::NeverBetween(format!("between {number}"), before, claim(random, names))
            }
        });
    }
    rules
}

fn claim(random: &mut Random, names: &[&'static str]) -> Claim {
    let name = random.pick(names);
    match random.below(10) {
        0..=2 => Claim::Exists(name),
        3..=5 => Claim::Has(name, random.pick(&VALUES)),
        6 => Claim::Alike(name, random.pick(names)),
        7..=8 => negated(claim(random, names)),
        _ => Claim::And(Box::new(claim(random, names)), Box::new(claim(random, names))),
    }
}

fn negated(claim: Claim) -> Claim {
    Claim::Not(Box::new(claim))
}
