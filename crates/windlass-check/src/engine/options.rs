//! How a model is to be explored, and what is reported on the way.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::Duration;

use super::simulate::SimulationOptions;

/// Called with the progress of an exploration.
pub type ProgressCallback = dyn Fn(&Progress) + Send + Sync;

/// What `eventually` may take for granted of a run that has left faults behind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fairness {
    /// Every step that is possible again and again is taken again and again. A loop is left if there is a way out of
    /// it, even one that is open now and then only: what a lucky order of things can bring about, it brings about.
    #[default]
    Strong,
    /// Every action that is possible without a break is taken at last, and nothing more. Two controllers that change
    /// each other's work for ever are caught, even if a third could end it at one point of the loop.
    ///
    /// It takes a second exploration without symmetry and partial-order reduction, on one thread.
    Weak,
}

/// How to explore. The default is all of it, on all cores.
#[derive(Clone)]
pub struct Options {
    /// How many threads work.
    pub threads: usize,
    /// After how many states to give up. A few more may be visited.
    pub max_states: usize,
    /// At how many bytes to give up: of the visited states, the steps between them, what is still to be
    /// expanded, and what the model says of itself.
    pub memory_bytes: usize,
    /// Whether states that are alike but for names count as one.
    pub symmetry: bool,
    /// Whether independent actions are explored in one order only (partial-order reduction by ample sets).
    pub partial_order: bool,
    /// Whether states are left out in which no more faults can strike than in others that are alike in all else.
    pub subsumption: bool,
    /// Whether liveness is decided: `eventually` and [`Model::evaluate_end`](super::Model::evaluate_end). It takes
    /// a little time and memory, which a model that asks for neither can do without.
    pub liveness: bool,
    /// What `eventually` may take for granted.
    pub fairness: Fairness,
    /// Ends the check early when it becomes true.
    pub stop: Arc<AtomicBool>,
    /// Called about once a second with the progress.
    pub progress: Option<Arc<ProgressCallback>>,
    /// How to go on with random runs when a limit is reached.
    pub then_simulate: Option<SimulationOptions>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            threads: thread::available_parallelism().map_or(1, usize::from),
            max_states: usize::MAX,
            memory_bytes: usize::MAX,
            symmetry: true,
            partial_order: true,
            subsumption: true,
            liveness: true,
            fairness: Fairness::Strong,
            stop: Arc::default(),
            progress: None,
            then_simulate: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("threads", &self.threads)
            .field("max_states", &self.max_states)
            .field("memory_bytes", &self.memory_bytes)
            .field("symmetry", &self.symmetry)
            .field("partial_order", &self.partial_order)
            .field("subsumption", &self.subsumption)
            .field("liveness", &self.liveness)
            .field("fairness", &self.fairness)
            .field("then_simulate", &self.then_simulate)
            .finish_non_exhaustive()
    }
}

/// How far an exploration is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Distinct states so far.
    pub states: usize,
    /// Steps so far.
    pub transitions: u64,
    /// Steps per second, lately.
    pub rate: f64,
    /// States of the current depth.
    pub frontier: usize,
    /// Steps from the first state.
    pub depth: u32,
    /// Faults that states are now allowed to need.
    pub faults: u32,
    /// Bytes in use.
    pub bytes: usize,
    /// Since the start.
    pub elapsed: Duration,
}
