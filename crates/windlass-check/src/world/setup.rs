//! What a world is set up with.

use std::collections::BTreeMap;
use std::sync::Arc;

use windlass::{Ask, Controller};
use windlass_model::Cluster;

use super::state::MAX_PROCESSES;
use crate::fault::{Budget, Faults};
use crate::host::client::ClientEvent;
use crate::host::service::{IsRead, Respond, ServiceStates};
use crate::index::ProcessIndex;
use crate::reductions::Reductions;

/// What a world is made of.
#[derive(Clone)]
pub(crate) struct Setup {
    /// One per process: a controller with several replicas is there several times.
    pub(crate) processes: Vec<Controller>,
    pub(crate) faults: Faults,
    pub(crate) cluster: Cluster,
    pub(crate) scripts: Vec<Vec<ClientEvent>>,
    pub(crate) services: BTreeMap<String, Respond>,
    pub(crate) service_states: ServiceStates,
    /// Which requests to a service change nothing.
    pub(crate) reads: BTreeMap<String, IsRead>,
    pub(crate) clock_limit: u32,
    /// How many objects a process reconciles at the same time.
    pub(crate) workers: usize,
    pub(crate) reductions: Reductions,
    /// Names of objects that are alike.
    pub(crate) alike: Vec<Vec<String>>,
    /// Whether the controllers of workloads are part of the world.
    pub(crate) workloads: bool,
}

impl Setup {
    /// Whether states are renumbered after every step. Views that are behind hold on to old numbers, so with them
    /// nothing is.
    pub(crate) fn renumbers(&self) -> bool {
        self.reductions.versions && self.faults.stale == 0
    }

    /// The controller of a process, and which of its processes it is, from 0.
    pub(crate) fn controller_of(&self, process: ProcessIndex) -> (String, usize) {
        let name = self.processes[process.index()].name();
        let alike = self.processes[..process.index()].iter().filter(|earlier| earlier.name() == name).count();
        (name.to_owned(), alike)
    }

    /// Whether this is a call that changes nothing.
    pub(super) fn is_read(&self, ask: &Ask) -> bool {
        match ask {
            Ask::Call { service, request } => self.reads.get(service).is_some_and(|is_read| is_read(request)),
            _ => false,
        }
    }
}

/// What hot paths must know of the setup, so that they need not ask for the lock of the parts.
pub(crate) struct SetupFacts {
    /// How many controller processes there are.
    pub(crate) processes: usize,
    pub(crate) faults: Faults,
    pub(crate) clock_limit: u32,
    /// How many objects a process reconciles at the same time.
    pub(crate) workers: usize,
    /// How many peers a controller has: the API server and the services.
    pub(crate) peers: usize,
    /// How many events each client's script has.
    pub(crate) script_lengths: Arc<[usize]>,
    /// Whether states are renumbered after every step.
    pub(crate) renumbers: bool,
    /// Whether there are faults of which states could have more or less left.
    pub(crate) has_faults: bool,
}

impl SetupFacts {
    pub(super) fn of(setup: &Setup) -> Self {
        assert!(
            setup.processes.len() <= MAX_PROCESSES,
            "a world has at most {MAX_PROCESSES} controller processes, not {}",
            setup.processes.len()
        );
        SetupFacts {
            processes: setup.processes.len(),
            faults: setup.faults.clone(),
            clock_limit: setup.clock_limit,
            workers: setup.workers,
            peers: 1 + setup.services.len(),
            script_lengths: setup.scripts.iter().map(Vec::len).collect(),
            renumbers: setup.renumbers(),
            has_faults: setup.faults.duplicates || setup.faults.most != Budget::default(),
        }
    }
}
