//! What properties see of a state.

use std::sync::Arc;

use serde_json::Value;
use windlass::ObjectRef;
use windlass_model::{Cluster, Key, Store, object};

use super::canonical::visit_observed;
use super::renumber::{other_cluster, other_services};
use super::{CLUSTER, ENVIRONMENT, Words, World};
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
}

impl Seen {
    /// Whether a property could tell the two apart by more than the numbers of versions and generations, which are
    /// given anew when nobody has them in hand any more.
    pub(crate) fn looks_like(&self, other: &Seen) -> bool {
        self.clocks == other.clocks
            && self.services == other.services
            && (Arc::ptr_eq(&self.cluster, &other.cluster)
                || without_numbers(&self.cluster) == without_numbers(&other.cluster))
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

/// All objects, without the numbers that only count writes.
fn without_numbers(cluster: &Cluster) -> Vec<(Key, Value)> {
    let objects = cluster.store().all().map(|(key, found)| {
        let mut found = (*found).clone();
        object::remove_meta(&mut found, "resourceVersion");
        object::remove_meta(&mut found, "generation");
        visit_observed(&mut found, &mut |number| *number = 0);
        (key, found)
    });
    objects.collect()
}

impl World {
    /// The words of a state that properties can see.
    pub(crate) fn visible(state: &Words) -> (u32, u32) {
        (state[CLUSTER], state[ENVIRONMENT])
    }

    /// Whether predicates are tried on other versions, generations and uids: until one is found that depends on them.
    pub(crate) fn tries_other_numbers(&self) -> bool {
        self.renumbers() && self.parts().steps.depends_on_numbers.is_none()
    }

    /// Notes that something depends on the very numbers of versions, so that states must not be renumbered.
    pub(crate) fn note_dependence(&self, what: &str) {
        let words = format!("{what} depends on the number of a resource version, a generation or a uid");
        self.parts().steps.depends_on_numbers.get_or_insert(words);
    }

    pub(crate) fn seen(&self, state: &Words) -> Seen {
        let parts = self.parts();
        let environment = parts.environments.get(state[ENVIRONMENT]);
        let clocks = environment.clocks.iter();
        Seen {
            cluster: parts.database.cluster(state[CLUSTER]).clone(),
            services: parts.services.states.get(environment.services).clone(),
            clocks: clocks.map(|(job, clock)| (parts.jobs.get(*job).target.clone(), *clock)).collect(),
            clock_limit: self.clock_limit,
        }
    }
}
