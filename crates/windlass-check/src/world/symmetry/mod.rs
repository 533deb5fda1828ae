//! Symmetry reduction: states that differ only in a permutation of equal objects, or of the processes of one controller,
//! are the same.
//!
//! A permutation of names is carried through everything that a state is made of: keys, contents and uids of objects,
//! requests, answers, and with them the histories of reconciles. A permutation of processes is carried through whatever
//! says whose it is: jobs, messages, partitions.
//!
//! Whether the code treats the names alike is checked, not trusted: see `compare`.

mod compare;
mod inner_parts;
mod permutation;
mod state_parts;
mod text;

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use windlass_model::{Key, object};

pub(super) use permutation::Permutation;

use super::parts::Parts;
use super::shared::Locked;
use super::state::{State, Visible};
use crate::ids::{
    AnswerId, AskId, ClusterId, EnvironmentId, HostId, JobId, MessageId, NetworkId, NodeId, ServicesId,
};
use crate::index::{PermutationIndex, ProcessIndex};
use crate::reductions::Reductions;
use permutation::permutations;

/// What is not treated alike after all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asymmetry {
    Names,
    Processes,
}

/// The permutations, and what they make of each part, as far as it was worked out.
#[derive(Default)]
pub(crate) struct Permutations {
    pub(crate) all: Vec<Permutation>,
    /// Where a uid comes from.
    uids: BTreeMap<String, (Key, u64)>,
    asks: FxHashMap<(PermutationIndex, AskId), AskId>,
    answers: FxHashMap<(PermutationIndex, AnswerId), AnswerId>,
    messages: FxHashMap<(PermutationIndex, MessageId), MessageId>,
    nodes: FxHashMap<(PermutationIndex, NodeId), NodeId>,
    jobs: FxHashMap<(PermutationIndex, JobId), JobId>,
    clusters: FxHashMap<(PermutationIndex, ClusterId), ClusterId>,
    services: FxHashMap<(PermutationIndex, ServicesId), ServicesId>,
    /// What was found not to be alike.
    pub(crate) broken: Option<Asymmetry>,
}

/// Permutes states, and remembers, for one worker, what each permutation makes of each part.
pub(super) struct Permuter {
    parts: Locked<Parts>,
    permutations: Arc<[Permutation]>,
    processes: usize,
    clusters: FxHashMap<(PermutationIndex, ClusterId), ClusterId>,
    networks: FxHashMap<(PermutationIndex, NetworkId), NetworkId>,
    environments: FxHashMap<(PermutationIndex, EnvironmentId), EnvironmentId>,
    hosts: FxHashMap<(PermutationIndex, HostId), HostId>,
}

impl Permuter {
    pub(super) fn new(parts: Locked<Parts>, permutations: Arc<[Permutation]>, processes: usize) -> Self {
        Permuter {
            parts,
            permutations,
            processes,
            clusters: FxHashMap::default(),
            networks: FxHashMap::default(),
            environments: FxHashMap::default(),
            hosts: FxHashMap::default(),
        }
    }

    /// What a process becomes.
    pub(super) fn process(&self, process: ProcessIndex, permutation: PermutationIndex) -> ProcessIndex {
        self.permutations[permutation.index()].process(process)
    }

    /// What an ask becomes.
    pub(super) fn permute_ask(&self, ask: AskId, permutation: PermutationIndex) -> AskId {
        self.parts.lock().permute_ask(permutation, ask)
    }

    /// The state with names and processes permuted.
    pub(super) fn permute(&mut self, state: &State, permutation: PermutationIndex) -> State {
        let (cluster, environment) = self.permute_visible(state.visible(), permutation);
        let mut permuted = State {
            cluster,
            network: self.permute_network(state.network, permutation),
            environment,
            ..*state
        };
        // What a host knows names no process but by its jobs and messages, so it moves to the process's new place.
        for process in ProcessIndex::all(self.processes) {
            let other = self.process(process, permutation);
            permuted.hosts[other.index()] = self.permute_host(state.host(process), permutation);
        }
        permuted
    }

    /// What properties see of it.
    pub(super) fn permute_visible(
        &mut self,
        (cluster, environment): Visible,
        permutation: PermutationIndex,
    ) -> Visible {
        let parts = &self.parts;
        let clusters = self.clusters.entry((permutation, cluster));
        let environments = self.environments.entry((permutation, environment));
        (
            *clusters.or_insert_with(|| parts.lock().permuted_cluster(permutation, cluster)),
            *environments.or_insert_with(|| parts.lock().permuted_environment(permutation, environment)),
        )
    }

    fn permute_network(&mut self, network: NetworkId, permutation: PermutationIndex) -> NetworkId {
        let parts = &self.parts;
        let known = self.networks.entry((permutation, network));
        *known.or_insert_with(|| parts.lock().permuted_network(permutation, network))
    }

    fn permute_host(&mut self, host: HostId, permutation: PermutationIndex) -> HostId {
        let parts = &self.parts;
        let known = self.hosts.entry((permutation, host));
        *known.or_insert_with(|| parts.lock().permuted_host(permutation, host))
    }
}

impl Parts {
    /// Finds the symmetries: the permutations that leave the start, by its words, as it is.
    pub(crate) fn find_symmetries(&mut self, start: &State) {
        let Reductions { symmetry, replicas, .. } = self.setup.reductions;
        let names = if symmetry { self.setup.alike.clone() } else { Vec::new() };
        let processes = self.processes_by_controller(replicas);
        self.permutations.all = permutations(&names, &processes);
        self.learn_uids(start.cluster);
        let all = PermutationIndex::all(self.permutations.all.len());
        let unchanged: Vec<bool> = all.map(|permutation| self.leaves_unchanged(permutation, start)).collect();
        // What leaves the start as it is can be done twice, and undone: nothing that belongs to it is missing.
        let found = std::mem::take(&mut self.permutations);
        let kept = found.all.into_iter().zip(unchanged);
        let all = kept.filter_map(|(permutation, is_kept)| is_kept.then_some(permutation)).collect();
        self.permutations = Permutations { all, uids: found.uids, ..Permutations::default() };
    }

    /// The processes of each controller; each by itself if they are not to be permuted.
    fn processes_by_controller(&self, replicas: bool) -> Vec<Vec<ProcessIndex>> {
        let mut groups: Vec<Vec<ProcessIndex>> = Vec::new();
        let processes = &self.setup.processes;
        for (process, controller) in ProcessIndex::all(processes.len()).zip(processes) {
            let is_alike = |group: &&mut Vec<ProcessIndex>| {
                self.setup.processes[group[0].index()].name() == controller.name()
            };
            match groups.iter_mut().find(is_alike).filter(|_| replicas) {
                Some(group) => group.push(process),
                None => groups.push(vec![process]),
            }
        }
        groups
    }

    fn leaves_unchanged(&mut self, permutation: PermutationIndex, start: &State) -> bool {
        let scripts: Vec<Option<AskId>> = self.scripts.iter().flatten().copied().collect();
        let moves_names = self.permutations.all[permutation.index()].moves_names();
        self.permute_cluster(permutation, start.cluster) == start.cluster
            && self.permuted_environment(permutation, start.environment) == start.environment
            && ProcessIndex::all(self.setup.processes.len()).all(|process| {
                let other = self.permutations.all[permutation.index()].process(process);
                self.permuted_host(permutation, start.host(process)) == start.host(other)
            })
            // What a script waits for may be about one of the names in particular.
            && (!moves_names
                || scripts.iter().all(|ask| ask.is_some_and(|ask| self.permute_ask(permutation, ask) == ask)))
    }

    /// Remembers where the uids of a cluster come from.
    fn learn_uids(&mut self, cluster: ClusterId) {
        for (key, history) in self.database.cluster(cluster).store().history() {
            if let Some(found) = history.object
                && !self.permutations.uids.contains_key(object::uid(found))
            {
                let origin = (key.clone(), history.incarnation);
                self.permutations.uids.insert(object::uid(found).to_owned(), origin);
            }
        }
    }
}

impl Permutations {
    /// Notes that something comes out differently once it is permuted.
    fn note_asymmetry(&mut self, permutation: PermutationIndex) {
        let moves_names = self.all[permutation.index()].moves_names();
        self.broken.get_or_insert(if moves_names { Asymmetry::Names } else { Asymmetry::Processes });
    }
}
