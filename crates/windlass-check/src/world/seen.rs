//! What properties see of a state.

use std::sync::Arc;

use windlass::ObjectRef;
use windlass_model::Cluster;

use super::renumber::{other_cluster, other_services};
use super::{State, Visible, World};
use crate::host::service::ServiceStates;
use crate::view::View;

/// The visible parts of a state.
pub(crate) struct Seen {
    cluster: Arc<Cluster>,
    services: Arc<ServiceStates>,
    clocks: Vec<(ObjectRef, u32)>,
    clock_limit: u32,
}

impl Seen {
    pub(crate) fn view(&self) -> View<'_> {
        View {
            cluster: &self.cluster,
            clocks: &self.clocks,
            clock_limit: self.clock_limit,
            services: &self.services,
        }
    }

    /// The same with other versions, generations and uids.
    pub(crate) fn with_other_numbers(&self) -> Self {
        Seen {
            cluster: Arc::new(other_cluster(&self.cluster)),
            services: Arc::new(other_services(&self.services)),
            clocks: self.clocks.clone(),
            clock_limit: self.clock_limit,
        }
    }
}

impl World {
    /// The words of a state that properties can see.
    pub(crate) fn visible(state: &State) -> Visible {
        (state.cluster, state.environment)
    }

    /// Whether predicates are tried on other versions, generations and uids: until one is found that depends on them.
    pub(crate) fn tries_other_numbers(&self) -> bool {
        self.renumbers() && self.parts().tries_other_numbers()
    }

    /// Notes that something depends on the very numbers of versions, so that states must not be renumbered.
    pub(crate) fn note_dependence(&self, what: &str) {
        self.parts().note_dependence(what);
    }

    pub(crate) fn seen(&self, state: &State) -> Seen {
        self.seen_at(World::visible(state))
    }

    pub(super) fn seen_at(&self, (cluster, environment): Visible) -> Seen {
        let parts = self.parts();
        let environment = parts.environments.get(environment);
        let clocks = environment.clocks.iter();
        Seen {
            cluster: parts.database.cluster(cluster).clone(),
            services: parts.services.states.get(environment.services).clone(),
            clocks: clocks.map(|(job, clock)| (parts.jobs.get(*job).target.clone(), *clock)).collect(),
            clock_limit: self.clock_limit,
        }
    }
}
