//! Draws what a machine does.

use crate::generate::VALUES;
use crate::program::{Call, Fence, MAX_VALUE, Map, Op, Program, Source, Test};
use crate::random::Random;

/// What kind of machine is wanted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Draft {
    pub(crate) most_stages: u64,
    /// How many parts a stage has at most, each of them one to three steps.
    pub(crate) most_parts: u64,
    /// Whether it takes few requests: there are several that run side by side.
    pub(crate) is_light: bool,
    /// Whether it keeps versions, generations and uids in what it writes.
    pub(crate) keeps_numbers: bool,
    /// Whether it asks for the time.
    pub(crate) asks_time: bool,
    /// Whether it calls the service.
    pub(crate) calls: bool,
    /// Whether it mostly works on what others work on, too.
    pub(crate) shares: bool,
    /// Whether it has something to do before its parent goes.
    pub(crate) cleans_up: bool,
    /// What it does first.
    pub(crate) shape: Shape,
}

/// What a machine does first: what a theme is about and chance alone would seldom draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Anything.
    Any,
    /// It reads from its caches, also after a read from the API and after a write of its own.
    ReadsCaches,
    /// It makes what is its own.
    Makes,
    /// It makes what is missing and deletes what is there, with more to do in between.
    Toggles,
    /// It counts its runs, and keeps the count.
    Counts,
    /// It uses what the answer to a write says.
    UsesAnswers,
    /// It writes what others follow.
    Leads,
}

/// A machine of this kind.
pub(crate) fn program(random: &mut Random, name: &'static str, draft: Draft) -> Program {
    let stages = 1 + random.below(draft.most_stages);
    let watches_shared = random.percent(if draft.shares { 50 } else { 15 });
    let mut drawing = Drawing { random, draft, free: vec![Map::X, Map::Y, Map::Shared], ensures: false };
    if let Some(ops) = drawing.shaped() {
        return Program { name, stages: vec![ops], cleanup: None, watches_shared: false };
    }
    let all = (0..stages).map(|stage| drawing.stage(stage + 1 < stages, stage as usize)).collect();
    let cleanup = draft.cleans_up.then(|| drawing.cleanup());
    let all: Vec<Vec<Op>> = all;
    let watches_shared = watches_shared && !all.iter().any(|ops| contends(ops));
    Program { name, stages: all, cleanup, watches_shared }
}

/// Whether each parent writes its own name where others write theirs, whatever is there: if all of them watch it, this goes on
/// for ever.
fn contends(ops: &[Op]) -> bool {
    ops.iter().any(|op| match op {
        Op::If(Test::Missing | Test::ReadIs(Source::Is(_)), _) => false,
        Op::If(_, then) => contends(then),
        Op::Ensure(Map::Shared, Source::ParentName, Fence::Absent) => false,
        Op::Ensure(Map::Shared, source, _) | Op::Patch(Map::Shared, source) => *source == Source::ParentName,
        Op::Update { value, .. } | Op::PatchRead(value) => *value == Source::ParentName,
        Op::Both(patches) => patches.contains(&(Map::Shared, Source::ParentName)),
        _ => false,
    })
}

/// What a program may still do, so that it has no bug that every run would show.
struct Drawing<'a> {
    random: &'a mut Random,
    draft: Draft,
    /// The ConfigMaps that nothing in the program writes yet. One that two parts write in two ways is written for ever,
    /// and with its version the number of states grows for ever.
    free: Vec<Map>,
    /// Whether the state that is drawn has ensured something: to fail after that is a bug.
    ensures: bool,
}

impl Drawing<'_> {
    fn stage(&mut self, has_next: bool, stage: usize) -> Vec<Op> {
        self.ensures = false;
        let mut ops = Vec::new();
        for _ in 0..1 + self.random.below(self.draft.most_parts) {
            self.push(&mut ops, 0);
        }
        let end = match self.random.below(20) {
            0 => Some(Op::Requeue),
            1 if !self.ensures => Some(Op::Fail),
            _ => None,
        };
        ops.extend(end.or(has_next.then_some(Op::To(stage + 1))));
        ops
    }

    fn shaped(&mut self) -> Option<Vec<Op>> {
        match self.draft.shape {
            Shape::Any => None,
            Shape::ReadsCaches => Some(self.reads_caches()),
            Shape::Makes => Some(match self.random.below(3) {
                0 => vec![Op::Create(Map::X, Source::ParentValue)],
                1 => vec![Op::Ensure(Map::X, Source::ParentName, Fence::None)],
                _ => vec![
                    Op::Cached(Map::X),
                    Op::If(Test::Missing, vec![Op::Create(Map::X, Source::ParentName)]),
                ],
            }),
            Shape::Toggles => Some(self.toggles()),
            Shape::Counts => Some(self.counts()),
            Shape::UsesAnswers => Some(self.uses_answers()),
            Shape::Leads => Some(match self.random.below(3) {
                0 => vec![Op::Delete(Map::Shared)],
                1 => vec![Op::Create(Map::Shared, Source::ParentValue)],
                _ => vec![Op::Patch(Map::Shared, Source::ParentValue)],
            }),
        }
    }

    /// Clients of such worlds mostly change `p-x` and the parent.
    fn reads_caches(&mut self) -> Vec<Op> {
        let other = self.random.pick(&[Map::Y, Map::Shared]);
        let read_again = vec![
            Op::Get(Map::X),
            Op::Patch(Map::Y, Source::ReadValue),
            Op::Cached(Map::X),
            Op::Patch(Map::Shared, Source::ReadValue),
        ];
        let toggle = |map| {
            let missing = Op::If(Test::Missing, vec![Op::Create(map, Source::ParentValue)]);
            vec![Op::Cached(map), missing, Op::If(Test::Found, vec![Op::DeleteRead])]
        };
        match self.random.below(10) {
            0..=3 => read_again,
            4 => vec![Op::Cached(Map::X), Op::Patch(other, Source::ReadValue)],
            5 => vec![Op::Cached(Map::Shared), Op::Update { value: Source::Next, versioned: true }],
            6 => vec![Op::Cached(Map::Shared), Op::PatchRead(Source::ParentName)],
            7 => toggle(other),
            8 => {
                let fence = self.random.pick(&[Fence::None, Fence::Forced, Fence::Unchanged]);
                vec![Op::Ensure(other, Source::ParentValue, fence)]
            }
            _ => vec![Op::Patch(other, Source::ParentValue)],
        }
    }

    fn toggles(&mut self) -> Vec<Op> {
        let map = self.random.pick(&[Map::X, Map::Shared]);
        let mut make = vec![Op::Create(map, Source::ParentValue)];
        if self.random.percent(25) {
            make.push(Op::Create(Map::Y, Source::ParentName));
        }
        vec![Op::Get(map), Op::If(Test::Missing, make), Op::If(Test::Found, vec![Op::DeleteRead])]
    }

    fn counts(&mut self) -> Vec<Op> {
        let count = Op::Call(Call::Add(2 + self.random.below(3) as u32));
        let keep = match self.random.below(3) {
            0 => Op::Ensure(Map::X, Source::Answer, Fence::Forced),
            1 => Op::Report(Source::Answer),
            _ => Op::Patch(Map::Shared, Source::Answer),
        };
        match self.random.percent(30) {
            true => vec![Op::Ensure(Map::Y, Source::ParentValue, Fence::None), count, keep],
            false => vec![count, keep],
        }
    }

    fn uses_answers(&mut self) -> Vec<Op> {
        let map = self.random.pick(&[Map::X, Map::Shared]);
        let write = match self.random.below(3) {
            0 => Op::PatchRead(self.source(true)),
            _ => Op::Update { value: self.source(true), versioned: self.random.percent(50) },
        };
        let then = match self.random.below(3) {
            0 => Op::PatchRead(Source::Is("0")),
            1 => Op::Report(Source::ReadValue),
            _ => Op::Ensure(Map::Y, Source::ReadValue, Fence::Forced),
        };
        vec![Op::Get(map), write, then]
    }

    fn cleanup(&mut self) -> Vec<Op> {
        self.ensures = true;
        let map = self.random.pick(&[Map::X, Map::Shared]);
        match self.random.below(4) {
            0 => vec![Op::Get(map), Op::DeleteRead],
            1 => vec![Op::Delete(map)],
            2 => vec![Op::Get(map), Op::If(Test::Found, vec![Op::DeleteRead, Op::Requeue])],
            _ => vec![Op::Patch(Map::Shared, Source::ParentName)],
        }
    }

    /// A ConfigMap to write, if one is left.
    fn take_free(&mut self) -> Option<Map> {
        let shared = self.free.iter().position(|map| *map == Map::Shared);
        let chance = if self.draft.shares { 75 } else { 30 };
        match shared.filter(|_| self.random.percent(chance)) {
            Some(index) => Some(self.free.remove(index)),
            None if self.free.is_empty() => None,
            None => {
                let index = self.random.below(self.free.len() as u64) as usize;
                Some(self.free.remove(index))
            }
        }
    }

    /// Adds something to do.
    fn push(&mut self, ops: &mut Vec<Op>, depth: u32) {
        if self.draft.asks_time && depth == 0 && self.random.percent(50) {
            let then = self.branch(depth);
            ops.push(Op::If(Test::ClockAhead, then));
            return;
        }
        if self.draft.calls && self.random.percent(60) {
            self.push_call(ops, depth);
            return;
        }
        let Some(map) = self.take_free() else { return };
        let first = if self.draft.is_light { 5 } else { 0 };
        match first + self.random.below(16 - first) {
            0..=4 => self.push_output(ops, map),
            5 => ops.push(Op::Create(map, self.source(false))),
            6 => ops.push(Op::Patch(map, self.source(false))),
            7 => ops.push(Op::Delete(map)),
            8 => {
                let other = self.take_free().unwrap_or(map);
                ops.push(Op::Both([(map, self.source(false)), (other, self.source(false))]));
            }
            9 if depth == 0 => {
                self.free.push(map);
                let test = match self.random.below(2) {
                    0 => Test::ParentIs(self.random.pick(&VALUES)),
                    _ => Test::AtLeast(1 + self.random.below(2) as usize),
                };
                let then = self.branch(depth);
                ops.push(Op::If(test, then));
            }
            10 => {
                self.free.push(map);
                ops.push(Op::Report(self.source(false)));
            }
            _ => self.push_read(ops, map, depth),
        }
    }

    fn push_output(&mut self, ops: &mut Vec<Op>, map: Map) {
        self.ensures = true;
        let fences = [Fence::None, Fence::Forced, Fence::Unchanged, Fence::Absent, Fence::SinceRead];
        let fence = self.random.pick(&fences);
        if fence == Fence::SinceRead {
            ops.push(Op::Get(map));
        }
        ops.push(Op::Ensure(map, self.source(fence == Fence::SinceRead), fence));
    }

    /// A read, perhaps something in between, and something that depends on what was read.
    fn push_read(&mut self, ops: &mut Vec<Op>, map: Map, depth: u32) {
        ops.push(if self.random.percent(50) { Op::Get(map) } else { Op::Cached(map) });
        if self.random.percent(if self.draft.is_light { 10 } else { 35 }) {
            ops.push(Op::Pause);
        }
        match self.random.below(8) {
            0..=1 => {
                let versioned = self.random.percent(60);
                ops.push(Op::Update { value: self.source(true), versioned });
            }
            2 => ops.push(Op::PatchRead(self.source(true))),
            3 => ops.push(Op::DeleteRead),
            4 => ops.push(Op::If(Test::Missing, vec![Op::Create(map, self.source(false))])),
            5 => ops.push(Op::If(Test::ReadIs(Source::Is("0")), vec![Op::Patch(map, self.source(true))])),
            _ if depth == 0 => {
                let test = match self.random.below(3) {
                    0 => Test::Found,
                    1 => Test::Missing,
                    _ => Test::ReadIs(self.source(false)),
                };
                let then = self.branch(depth);
                ops.push(Op::If(test, then));
            }
            _ => ops.push(Op::Update { value: self.source(true), versioned: true }),
        }
    }

    /// A call, and something that depends on the answer.
    fn push_call(&mut self, ops: &mut Vec<Op>, depth: u32) {
        ops.push(Op::Call(match self.random.below(4) {
            0 => Call::Read,
            1 => Call::Put(self.source(false)),
            _ => Call::Add(MAX_VALUE),
        }));
        match self.random.below(4) {
            0 => ops.push(Op::Report(Source::Answer)),
            1 if depth == 0 => {
                let then = self.branch(depth);
                ops.push(Op::If(Test::AnswerIs(self.random.pick(&VALUES)), then));
            }
            2 => {
                if let Some(map) = self.take_free() {
                    self.ensures = true;
                    ops.push(Op::Ensure(map, Source::Answer, Fence::Forced));
                }
            }
            _ => {}
        }
    }

    fn branch(&mut self, depth: u32) -> Vec<Op> {
        let mut then = Vec::new();
        match self.random.below(12) {
            0 => then.push(Op::Requeue),
            1 => then.push(Op::Done),
            2 if !self.ensures => then.push(Op::Fail),
            3 if !self.ensures => then.push(Op::FailForGood),
            _ => self.push(&mut then, depth + 1),
        }
        then
    }

    fn source(&mut self, has_read: bool) -> Source {
        if has_read && self.random.percent(60) {
            return if self.random.percent(70) { Source::Next } else { Source::ReadValue };
        }
        if self.draft.keeps_numbers && self.random.percent(60) {
            let numbers = [
                Source::ParentGeneration,
                Source::ParentGeneration,
                Source::ParentVersion,
                Source::ParentUid,
                Source::ReadVersion,
            ];
            return self.random.pick(&numbers);
        }
        match self.random.below(10) {
            0..=3 => Source::Is(self.random.pick(&VALUES)),
            4..=5 => Source::ParentName,
            _ => Source::ParentValue,
        }
    }
}
