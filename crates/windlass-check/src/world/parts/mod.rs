//! The parts: everything that a state can be made of, interned, and what hosts do with it.
//!
//! All workers share one [`Parts`]. It is asked only for what a worker has not met before. What it does stands in one file
//! for each concept; what is remembered of it here depends on nothing but the parts, so that it never becomes untrue.

mod coverage;
mod host_ops;
mod menu;
mod own_write;
mod reconciles;
mod requests;
mod triggers;
mod views;

use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use windlass::{Answer, Ask};
use windlass_model::Timestamp;

pub(crate) use menu::MenuSlot;
pub(super) use menu::{Menu, MessageFacts};
pub(super) use requests::Effect;
pub(crate) use views::NOTHING_UNSEEN;

use super::canonical::Renumbering;
use super::ops::{HostOp, HostStep, StepViolation};
use super::setup::Setup;
use super::state::State;
use super::symmetry::Permutations;
use crate::host::client::ClientEvent;
use crate::host::controller::Host;
use crate::host::database::Database;
use crate::host::environment::Environment;
use crate::host::network::{Message, Network, NetworkOp};
use crate::host::service::Services;
use crate::ids::{AnswerId, AskId, HostId, JobId, JobSetId, MarksId, MessageId, NetworkId};
use crate::index::{ProcessIndex, ScriptIndex};
use crate::intern::Interner;
use crate::steps::{Job, Steps};
use views::Views;

/// The message that stands for a question about the time.
pub(crate) const NO_MESSAGE: MessageId = MessageId::FIRST;
/// The marks of a change that concerns no process.
pub(crate) const NO_MARKS: MarksId = MarksId::FIRST;

/// All parts, and what was worked out about them.
pub(crate) struct Parts {
    pub(crate) setup: Setup,
    pub(crate) database: Database,
    pub(crate) services: Services,
    pub(crate) steps: Steps,
    pub(crate) asks: Interner<Ask>,
    pub(crate) answers: Interner<Answer>,
    /// What is looked at of answers of which no more than the identity of objects is.
    identities: FxHashMap<AnswerId, AnswerId>,
    pub(crate) jobs: Interner<Job>,
    pub(crate) job_sets: Interner<Vec<JobId>>,
    /// Per process, the number of a set of jobs.
    pub(crate) marks: Interner<Vec<JobSetId>>,
    pub(crate) messages: Interner<Message>,
    pub(crate) hosts: Interner<Host>,
    /// What steps did to controllers, by process: two that know the same may watch different kinds.
    host_steps: FxHashMap<(HostId, ProcessIndex, HostOp), HostStep>,
    pub(crate) networks: Interner<Network>,
    pub(crate) environments: Interner<Environment>,
    pub(crate) violations: Interner<StepViolation>,
    /// What the clients' scripts do, as numbers of asks; `None` where they wait.
    pub(crate) scripts: Vec<Vec<Option<AskId>>>,
    /// Where in a reconcile crashes struck: the state, and the request that was under way.
    pub(crate) crash_points: BTreeSet<String>,
    /// By script and event: the last refusal, as long as the event has never succeeded; `None` once it has.
    pub(crate) refused_events: BTreeMap<(ScriptIndex, usize), Option<String>>,
    pub(crate) renumbering: Renumbering,
    pub(crate) permutations: Permutations,
    pub(crate) views: Views,
    now: Timestamp,
}

impl Parts {
    pub(crate) fn new(setup: Setup) -> Self {
        let mut asks = Interner::new();
        let mut number = |event: &ClientEvent| event.ask().map(|ask| asks.id(ask.clone()));
        let scripts = setup.scripts.iter().map(|script| script.iter().map(&mut number).collect()).collect();
        let no_message = Message { sender: ProcessIndex::new(0), ask: AskId::INVALID, decided_on: None };
        Parts {
            steps: Steps::new(
                setup.processes.clone(),
                setup.renumbers().then(|| setup.cluster.types().clone()),
            ),
            database: Database::new(setup.reductions.versions, setup.workloads),
            services: Services::new(setup.services.clone()),
            asks,
            answers: Interner::new(),
            identities: FxHashMap::default(),
            jobs: Interner::new(),
            job_sets: Interner::new(),
            marks: Interner::beginning_with(Vec::new()),
            messages: Interner::beginning_with(no_message),
            hosts: Interner::new(),
            host_steps: FxHashMap::default(),
            networks: Interner::new(),
            environments: Interner::new(),
            violations: Interner::new(),
            scripts,
            crash_points: BTreeSet::new(),
            refused_events: BTreeMap::new(),
            renumbering: Renumbering::new(),
            permutations: Permutations::default(),
            views: Views::new(&setup.processes),
            now: setup.cluster.now(),
            setup,
        }
    }

    /// The first state.
    pub(crate) fn initial(&mut self) -> State {
        let cluster = self.database.id(self.setup.cluster.clone());
        let environment = Environment {
            left: self.setup.faults.most,
            scripts: vec![0; self.scripts.len()],
            services: self.services.states.id(self.setup.service_states.clone()),
            ..Environment::default()
        };
        let mut state = State {
            cluster,
            network: self.networks.id(Network::default()),
            environment: self.environments.id(environment),
            hosts: Default::default(),
        };
        for process in ProcessIndex::all(self.setup.processes.len()) {
            let listed = self.relist(cluster, process);
            let fresh = (**self.job_sets.get(listed)).clone();
            state.hosts[process.index()] = self.hosts.id(Host { fresh, ..Host::default() });
        }
        self.find_symmetries(&state);
        state
    }

    /// Whether user code is run again on other versions, generations and uids: until something depends on them.
    pub(super) fn tries_other_numbers(&self) -> bool {
        self.setup.renumbers() && self.steps.depends_on_numbers.is_none()
    }

    /// Notes that something depends on the very numbers of versions, so that states must not be renumbered.
    pub(super) fn note_dependence(&mut self, what: &str) {
        let words = format!("{what} depends on the number of a resource version, a generation or a uid");
        self.steps.depends_on_numbers.get_or_insert(words);
    }

    /// What a step does to the network.
    pub(crate) fn network_op(&mut self, network: NetworkId, op: NetworkOp) -> NetworkId {
        let is_dead =
            |cluster, message| self.database.is_dead(cluster, self.asks.get(self.messages.get(message).ask));
        let after = self.networks.get(network).after(op, is_dead);
        self.networks.id(after)
    }

    /// Whether a random value was asked for, so that not even the same order of things leads to the same objects.
    pub(crate) fn draws(&self) -> bool {
        self.steps.draws
    }

    /// Bytes that all of this takes, about: what is counted is what there is most of.
    pub(crate) fn bytes(&self) -> usize {
        let hosts = self.hosts.len() * 400 + self.networks.len() * 120 + self.environments.len() * 160;
        hosts + self.database.len() * 2_000 + self.steps.len() * 400 + self.answers.len() * 1_500
    }

    /// How many distinct parts of each kind there are, for the curious.
    pub(crate) fn sizes(&self) -> String {
        format!(
            "{} stores, {} networks, {} environments, {} hosts, {} messages, {} answers, {} points of reconciles",
            self.database.len(),
            self.networks.len(),
            self.environments.len(),
            self.hosts.len(),
            self.messages.len() - 1,
            self.answers.len(),
            self.steps.len()
        )
    }
}
