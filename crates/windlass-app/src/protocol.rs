//! A protocol that `check` explores: any model of the checker's engine.

use std::sync::{Arc, Mutex, PoisonError};

use windlass_check::engine::{Exploration, Model, Options, Simulation, SimulationOptions, explore, simulate};

/// One world of a protocol: how many take part, and what can go wrong.
#[derive(Clone)]
pub struct ProtocolWorld {
    /// Its name, behind that of the protocol.
    pub(crate) name: &'static str,
    /// What can happen in it, in one line.
    pub(crate) about: String,
    /// Whether it takes minutes, and is explored only on request.
    pub(crate) is_large: bool,
    /// How many states it must have.
    pub(crate) states: Option<usize>,
    pub(crate) explore: Arc<dyn Fn(&Options) -> Exploration + Send + Sync>,
    pub(crate) simulate: Arc<dyn Fn(&SimulationOptions) -> Simulation + Send + Sync>,
}

impl ProtocolWorld {
    /// A world of a protocol.
    pub fn new(name: &'static str, about: impl Into<String>, model: impl Model) -> Self {
        // A model fills its caches while it is explored, so that each run has one of its own.
        let model = Arc::new(Mutex::new(model));
        let other = Arc::clone(&model);
        ProtocolWorld {
            name,
            about: about.into(),
            is_large: false,
            states: None,
            explore: Arc::new(move |options| explore(&copy(&model), options)),
            simulate: Arc::new(move |options| simulate(&copy(&other), options)),
        }
    }

    /// Says how many states it has, with all reductions. Another number fails the check: something can no longer happen, or
    /// something new can.
    #[must_use]
    pub fn states(self, states: usize) -> Self {
        ProtocolWorld { states: Some(states), ..self }
    }

    /// Marks it as one that takes minutes: it is explored only with `--large`, or by its name.
    #[must_use]
    pub fn large(self) -> Self {
        ProtocolWorld { is_large: true, ..self }
    }
}

fn copy<M: Clone>(model: &Mutex<M>) -> M {
    model.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
