//! What it takes to play the runs of a check against real processes: the world's parts, schedules as data, and the
//! final states that are possible.

mod event;
mod final_state;
mod final_states;
mod recorder;
mod walk;

use windlass::{Ask, Controller};
use windlass_model::{Cluster, Request};

use crate::check::Check;
use crate::fault::Faults;

pub use event::Event;
pub use final_state::FinalState;
pub use final_states::FinalStates;

/// What the world of a check is made of, for whoever builds it from real processes.
#[derive(Clone)]
pub struct Stage {
    /// The controller of each process. One with several replicas is there several times.
    pub processes: Vec<Controller>,
    /// How many objects each process reconciles at the same time.
    pub workers: usize,
    /// All objects and definitions as they are at first.
    pub cluster: Cluster,
    /// The requests of each client script; `None` where it waits for something, or calls a service.
    pub scripts: Vec<Vec<Option<Request>>>,
    /// The names of the external services that the check has models of.
    pub services: Vec<String>,
    /// What may go wrong.
    pub faults: Faults,
}

/// A run of a world, as data.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// What happens, in order, as far as it can be seen from outside the processes.
    pub events: Vec<Event>,
    /// All objects after the last event.
    pub reached: FinalState,
    /// Whether nothing more happens then, unless a fault strikes.
    pub at_rest: bool,
}

impl Check {
    /// The parts of this check's world.
    pub fn stage(&self) -> Stage {
        let subject = self.subject();
        let setup = subject.world.parts().setup.clone();
        let request = |ask: &Ask| match ask {
            Ask::Api { request, .. } => Some((**request).clone()),
            _ => None,
        };
        let scripts = setup.scripts.iter();
        let scripts =
            scripts.map(|script| script.iter().map(|event| event.ask().and_then(request)).collect());
        Stage {
            scripts: scripts.collect(),
            processes: setup.processes,
            workers: setup.workers,
            cluster: setup.cluster,
            services: setup.services.into_keys().collect(),
            faults: setup.faults,
        }
    }
}
