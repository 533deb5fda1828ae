//! The four parts of a state, permuted: cluster, network, environment, hosts.

use crate::host::controller::{Active, Host, Slot};
use crate::host::environment::Environment;
use crate::host::network::Network;
use crate::ids::{ClusterId, EnvironmentId, HostId, JobId, MessageId, NetworkId};
use crate::index::{PeerIndex, PermutationIndex, ProcessIndex};
use crate::intern::Id;
use crate::world::parts::Parts;

impl Parts {
    // Once something is found not to be alike, the check is to be run again: nothing is permuted any more.

    pub(super) fn permuted_cluster(
        &mut self,
        permutation: PermutationIndex,
        cluster: ClusterId,
    ) -> ClusterId {
        if self.permutations.broken.is_some() { cluster } else { self.permute_cluster(permutation, cluster) }
    }

    pub(super) fn permuted_network(
        &mut self,
        permutation: PermutationIndex,
        network: NetworkId,
    ) -> NetworkId {
        if self.permutations.broken.is_some() {
            return network;
        }
        let permuted = self.permute_network(permutation, &self.networks.get(network).clone());
        self.networks.id(permuted)
    }

    pub(super) fn permuted_environment(
        &mut self,
        permutation: PermutationIndex,
        environment: EnvironmentId,
    ) -> EnvironmentId {
        if self.permutations.broken.is_some() {
            return environment;
        }
        let permuted = self.permute_environment(permutation, &self.environments.get(environment).clone());
        self.environments.id(permuted)
    }

    pub(super) fn permuted_host(&mut self, permutation: PermutationIndex, host: HostId) -> HostId {
        if self.permutations.broken.is_some() {
            return host;
        }
        let permuted = self.permute_host(permutation, &self.hosts.get(host).clone());
        self.hosts.id(permuted)
    }

    fn permute_network(&mut self, permutation: PermutationIndex, network: &Network) -> Network {
        let mut late: Vec<MessageId> =
            network.late.iter().map(|message| self.permute_message(permutation, *message)).collect();
        late.sort_unstable();
        let copies = sorted(network.copies.iter().map(|message| self.permute_message(permutation, *message)));
        let awaited =
            sorted(network.awaited.iter().map(|message| self.permute_message(permutation, *message)));
        Network { late, copies, awaited }
    }

    fn permute_environment(
        &mut self,
        permutation: PermutationIndex,
        environment: &Environment,
    ) -> Environment {
        let clocks = environment.clocks.iter();
        let mut clocks: Vec<(JobId, u32)> =
            clocks.map(|(job, clock)| (self.permute_job(permutation, *job), *clock)).collect();
        clocks.sort_unstable();
        let cuts = environment.cuts.iter();
        let mut cuts: Vec<(ProcessIndex, PeerIndex)> = cuts
            .map(|(process, peer)| (self.permutations.all[permutation.index()].process(*process), *peer))
            .collect();
        cuts.sort_unstable();
        let oldest = self.permute_backlog(permutation, environment.oldest);
        let services = self.permute_services(permutation, environment.services);
        Environment { clocks, cuts, oldest, services, ..environment.clone() }
    }

    fn permute_host(&mut self, permutation: PermutationIndex, host: &Host) -> Host {
        let mut jobs = |jobs: &[JobId]| {
            jobs.iter().map(|job| self.permute_job(permutation, *job)).collect::<Vec<JobId>>()
        };
        let queue = jobs(&host.queue);
        let [fresh, observed, timers] =
            [&host.fresh, &host.observed, &host.timers].map(|set| sorted(jobs(set)));
        let unseen = self.permute_backlog(permutation, host.unseen);
        let mut permuted =
            Host { fresh, observed, timers, queue, unseen, active: Vec::new(), ..host.clone() };
        for active in &host.active {
            let active = Active {
                job: self.permute_job(permutation, active.job),
                node: self.permute_node(permutation, active.node),
                slots: active.slots.iter().map(|slot| self.permute_slot(permutation, slot)).collect(),
            };
            permuted.activate(active);
        }
        permuted
    }

    fn permute_slot(&mut self, permutation: PermutationIndex, slot: &Slot) -> Slot {
        Slot {
            message: self.permute_message(permutation, slot.message),
            replies: sorted(slot.replies.iter().map(|answer| self.permute_answer(permutation, *answer))),
            answer: slot.answer.map(|answer| self.permute_answer(permutation, answer)),
            ..slot.clone()
        }
    }
}

pub(super) fn sorted<T>(numbers: impl IntoIterator<Item = Id<T>>) -> Vec<Id<T>> {
    let mut numbers: Vec<Id<T>> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers
}
