//! Small models for the tests of the engine.

use std::sync::Arc;

use crate::trace::TraceStep;

use super::model::{Model, Next, Property};

/// A step in words, with what is needed to take it again.
fn step(text: String, is_fault: bool) -> TraceStep {
    let fault = is_fault.then(|| "fault".to_owned());
    TraceStep { action: text.clone(), actor: "model".to_owned(), text, fault, ..TraceStep::default() }
}

/// Whether a step leads somewhere, is a fault that does, or is forbidden.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    Fair,
    Fault,
    Forbidden,
    ForbiddenFault,
}
pub(super) use How::{Fair, Fault, Forbidden, ForbiddenFault};

/// A graph that is written down. States are numbers; the first is 0.
#[derive(Clone)]
pub(super) struct Graph {
    pub(super) edges: Vec<(u32, u32, How)>,
    pub(super) properties: Vec<Property<Graph>>,
    /// An end with this state is objected to.
    pub(super) bad_end: Option<u32>,
}

impl Graph {
    pub(super) fn new(edges: &[(u32, u32, How)]) -> Self {
        Graph { edges: edges.to_vec(), properties: Vec::new(), bad_end: None }
    }

    pub(super) fn with(mut self, property: Property<Graph>) -> Self {
        self.properties.push(property);
        self
    }

    pub(super) fn always_not(self, state: u32) -> Self {
        self.with(Property::always("always", move |_, at| *at != state))
    }

    pub(super) fn eventually_in(self, states: &'static [u32]) -> Self {
        self.with(Property::eventually("eventually", move |_, at| states.contains(at)))
    }
}

impl Model for Graph {
    type State = u32;
    type Action = (u32, u32, How);

    fn width(&self) -> usize {
        1
    }

    fn encode(&mut self, state: &u32, words: &mut [u32]) {
        words[0] = *state;
    }

    fn decode(&mut self, words: &[u32]) -> u32 {
        words[0]
    }

    fn initial(&mut self) -> Vec<u32> {
        vec![0]
    }

    fn actions(&mut self, state: &u32, actions: &mut Vec<Self::Action>) {
        actions.extend(self.edges.iter().filter(|(from, _, _)| from == state));
    }

    fn next(&mut self, _: &u32, (_, to, how): &Self::Action) -> Next<u32> {
        match how {
            Fair | Fault => Next::State(*to),
            Forbidden | ForbiddenFault => Next::Violation(format!("wrong {to}")),
        }
    }

    fn properties(&self) -> Vec<Property<Self>> {
        self.properties.clone()
    }

    fn describe(&mut self, _: &u32, action: &Self::Action) -> TraceStep {
        step(format!("{}-{}", action.0, action.1), self.is_fault(action))
    }

    fn is_fault(&self, (_, _, how): &Self::Action) -> bool {
        matches!(how, Fault | ForbiddenFault)
    }

    fn evaluate_end(&mut self, states: &mut dyn Iterator<Item = u32>) -> Option<(usize, String)> {
        let bad = self.bad_end?;
        let index = states.enumerate().find(|(_, state)| *state == bad)?.0;
        Some((index, format!("ends in {bad}")))
    }
}

/// A rule on the counters, by the indexes of actors.
type Rule = Arc<dyn Fn(&[u32]) -> bool + Send + Sync>;

/// Actors that each go from 0 up to a height, and may fall back to 0 a few times altogether.
///
/// It has everything: faults, actors that are alike, and steps that no property sees.
#[derive(Clone)]
pub(super) struct Climbers {
    pub(super) actors: usize,
    pub(super) height: u32,
    pub(super) falls: u32,
    /// Every step up is in two: the first, which no property sees, is an ample action.
    pub(super) prepares: bool,
    /// Whether who is at the top starts again at the bottom.
    pub(super) again: bool,
    pub(super) always: Option<Rule>,
    pub(super) eventually: Option<Rule>,
    pub(super) sometimes: Option<Rule>,
    /// An end that has such a state is objected to.
    pub(super) bad_end: Option<Rule>,
    /// Panics where all actors are so high.
    pub(super) panics_at: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Climb {
    Prepare(usize),
    Up(usize),
    Fall(usize),
}

impl Climbers {
    pub(super) fn new(actors: usize, height: u32) -> Self {
        Climbers {
            actors,
            height,
            falls: 0,
            prepares: false,
            again: false,
            always: None,
            eventually: None,
            sometimes: None,
            bad_end: None,
            panics_at: None,
        }
    }

    pub(super) fn always(mut self, rule: impl Fn(&[u32]) -> bool + Send + Sync + 'static) -> Self {
        self.always = Some(Arc::new(rule));
        self
    }

    pub(super) fn eventually(mut self, rule: impl Fn(&[u32]) -> bool + Send + Sync + 'static) -> Self {
        self.eventually = Some(Arc::new(rule));
        self
    }

    pub(super) fn sometimes(mut self, rule: impl Fn(&[u32]) -> bool + Send + Sync + 'static) -> Self {
        self.sometimes = Some(Arc::new(rule));
        self
    }
}

/// The heights, whether each is prepared, and the falls that are left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heights {
    pub(super) at: Vec<u32>,
    pub(super) prepared: Vec<bool>,
    pub(super) falls: u32,
}

impl Model for Climbers {
    type State = Heights;
    type Action = Climb;

    fn width(&self) -> usize {
        self.actors + 1
    }

    fn encode(&mut self, state: &Heights, words: &mut [u32]) {
        for (word, (at, prepared)) in words.iter_mut().zip(state.at.iter().zip(&state.prepared)) {
            *word = at << 1 | u32::from(*prepared);
        }
        words[self.actors] = state.falls;
    }

    fn decode(&mut self, words: &[u32]) -> Heights {
        Heights {
            at: words[..self.actors].iter().map(|word| word >> 1).collect(),
            prepared: words[..self.actors].iter().map(|word| word & 1 != 0).collect(),
            falls: words[self.actors],
        }
    }

    fn initial(&mut self) -> Vec<Heights> {
        vec![Heights { at: vec![0; self.actors], prepared: vec![false; self.actors], falls: self.falls }]
    }

    fn actions(&mut self, state: &Heights, actions: &mut Vec<Climb>) {
        for actor in 0..self.actors {
            if self.panics_at.is_some_and(|height| state.at.iter().all(|at| *at == height)) {
                panic!("a model that breaks");
            }
            if state.at[actor] < self.height || self.again {
                let ready = state.prepared[actor] || !self.prepares;
                actions.push(if ready { Climb::Up(actor) } else { Climb::Prepare(actor) });
            }
            if state.falls > 0 {
                actions.push(Climb::Fall(actor));
            }
        }
    }

    fn next(&mut self, state: &Heights, action: &Climb) -> Next<Heights> {
        let mut next = state.clone();
        match *action {
            Climb::Prepare(actor) => next.prepared[actor] = true,
            Climb::Up(actor) => {
                next.prepared[actor] = false;
                next.at[actor] = (next.at[actor] + 1) % (self.height + 1);
            }
            // To fall from the ground changes nothing.
            Climb::Fall(actor) if next.at[actor] == 0 => return Next::Impossible,
            Climb::Fall(actor) => {
                next.at[actor] = 0;
                next.falls -= 1;
            }
        }
        Next::State(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = Vec::new();
        if let Some(rule) = self.always.clone() {
            properties.push(Property::always("always", move |_, state: &Heights| rule(&state.at)));
        }
        if let Some(rule) = self.eventually.clone() {
            properties.push(Property::eventually("eventually", move |_, state: &Heights| rule(&state.at)));
        }
        if let Some(rule) = self.sometimes.clone() {
            properties.push(Property::sometimes("sometimes", move |_, state: &Heights| rule(&state.at)));
        }
        properties
    }

    fn describe(&mut self, _: &Heights, action: &Climb) -> TraceStep {
        step(format!("{action:?}"), self.is_fault(action))
    }

    fn is_fault(&self, action: &Climb) -> bool {
        matches!(action, Climb::Fall(_))
    }

    fn kinds(&self) -> &'static [&'static str] {
        &["prepare", "up", "fall"]
    }

    fn kind(&self, action: &Climb) -> usize {
        match action {
            Climb::Prepare(_) => 0,
            Climb::Up(_) => 1,
            Climb::Fall(_) => 2,
        }
    }

    fn actor(&self, action: &Climb) -> usize {
        match action {
            Climb::Prepare(actor) | Climb::Up(actor) | Climb::Fall(actor) => *actor,
        }
    }

    fn ample_action(&mut self, _: &Heights, actions: &[Climb]) -> Option<usize> {
        actions.iter().position(|action| matches!(action, Climb::Prepare(_)))
    }

    /// All rotations: a group, as it must be.
    fn symmetries(&self) -> usize {
        self.actors - 1
    }

    fn permute(&mut self, state: &Heights, symmetry: usize) -> Heights {
        let mut permuted = state.clone();
        permuted.at.rotate_left(symmetry + 1);
        permuted.prepared.rotate_left(symmetry + 1);
        permuted
    }

    fn evaluate_end(&mut self, states: &mut dyn Iterator<Item = Heights>) -> Option<(usize, String)> {
        let rule = self.bad_end.clone()?;
        let index = states.enumerate().find(|(_, state)| rule(&state.at))?.0;
        Some((index, "a bad end".to_owned()))
    }
}
