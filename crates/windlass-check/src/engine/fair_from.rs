//! A model from one state on, without faults: for where fair runs from there end up.

use crate::trace::TraceStep;

use super::model::{Model, Next, Property};

/// The rest of a model.
#[derive(Clone)]
pub(super) struct FairFrom<M> {
    pub(super) model: M,
    /// The words of the state.
    pub(super) start: Vec<u32>,
}

impl<M: Model> Model for FairFrom<M> {
    type State = M::State;
    type Action = M::Action;

    fn width(&self) -> usize {
        self.model.width()
    }

    fn encode(&mut self, state: &Self::State, words: &mut [u32]) {
        self.model.encode(state, words);
    }

    fn decode(&mut self, words: &[u32]) -> Self::State {
        self.model.decode(words)
    }

    fn initial(&mut self) -> Vec<Self::State> {
        vec![self.model.decode(&self.start)]
    }

    fn actions(&mut self, state: &Self::State, actions: &mut Vec<Self::Action>) {
        self.model.actions(state, actions);
        actions.retain(|action| !self.model.is_fault(action));
    }

    fn next(&mut self, state: &Self::State, action: &Self::Action) -> Next<Self::State> {
        self.model.next(state, action)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let rules = self.model.properties().into_iter();
        let wrapped = rules.map(|rule| Property {
            kind: rule.kind,
            name: rule.name,
            holds: std::sync::Arc::new(move |rest: &mut Self, state: &Self::State| {
                (rule.holds)(&mut rest.model, state)
            }),
        });
        wrapped.collect()
    }

    fn describe(&mut self, state: &Self::State, action: &Self::Action) -> TraceStep {
        self.model.describe(state, action)
    }

    fn name(&mut self, state: &Self::State, action: &Self::Action) -> String {
        self.model.name(state, action)
    }

    fn kinds(&self) -> &'static [&'static str] {
        self.model.kinds()
    }

    fn kind(&self, action: &Self::Action) -> usize {
        self.model.kind(action)
    }

    fn evaluate_end(&mut self, states: &mut dyn Iterator<Item = Self::State>) -> Option<(usize, String)> {
        self.model.evaluate_end(states)
    }
}
