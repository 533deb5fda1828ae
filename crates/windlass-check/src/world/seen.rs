//! What properties see of a state.

use std::sync::Arc;

use windlass::ObjectRef;
use windlass_model::Cluster;

use super::canonical::other_numbers::{other_cluster, other_services};
use super::parts::Parts;
use super::state::Visible;
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
    pub(super) fn of(parts: &Parts, (cluster, environment): Visible) -> Self {
        let environment = parts.environments.get(environment);
        let clocks = environment.clocks.iter();
        Seen {
            cluster: parts.database.cluster(cluster).clone(),
            services: parts.services.states.get(environment.services).clone(),
            clocks: clocks.map(|(job, clock)| (parts.jobs.get(*job).target.clone(), *clock)).collect(),
            clock_limit: parts.setup.clock_limit,
        }
    }

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
