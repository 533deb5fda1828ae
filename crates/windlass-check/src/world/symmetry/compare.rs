//! Whether the code treats alike what is permuted: found out, not trusted.
//!
//! Every permuted history is run, and must ask for the permuted requests; every request is answered for the permuted cluster
//! too, and must lead to the permuted result. Where that is not so, the check is run again without symmetry.

use crate::host::database::Collection;
use crate::ids::{AskId, ClusterId, NodeId, ServicesId};
use crate::index::PermutationIndex;
use crate::steps::NodeNext;
use crate::world::parts::Parts;

impl Parts {
    /// The permuted history must ask for the permuted requests.
    pub(super) fn compare_nodes(&mut self, permutation: PermutationIndex, node: NodeId, permuted: NodeId) {
        let expected = match self.steps.node(node).next.clone() {
            NodeNext::Ask(asked) => {
                let asked = asked.iter().map(|ask| self.permute_ask(permutation, *ask)).collect();
                Some(NodeNext::Ask(asked))
            }
            // What its end says is for people; whether it ends there is what counts.
            NodeNext::End(_) | NodeNext::Bug(_) => None,
        };
        let same = match (&expected, &self.steps.node(permuted).next) {
            (Some(expected), found) => expected == found,
            (None, found) => !matches!(found, NodeNext::Ask(_)),
        };
        if !same {
            self.permutations.note_asymmetry(permutation);
        }
    }

    /// What a request does to a cluster must be, permuted, what the permuted request does to the permuted cluster.
    pub(crate) fn compare_effects(&mut self, cluster: ClusterId, ask: AskId) {
        let after = self.effect_of(cluster, ask).cluster;
        self.learn_uids(after);
        for permutation in PermutationIndex::all(self.permutations.all.len()) {
            let (there, asked) =
                (self.permute_cluster(permutation, cluster), self.permute_ask(permutation, ask));
            let (here, there) = (self.effect_of(cluster, ask), self.effect_of(there, asked));
            self.learn_uids(there.cluster);
            let marks = self.permute_marks(permutation, here.marks);
            let same = self.permute_cluster(permutation, here.cluster) == there.cluster
                && self.permute_changes(permutation, here.changes) == there.changes
                && self.permute_answer(permutation, here.answer) == there.answer
                && marks == there.marks;
            if !same {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }

    /// What the cluster's own controllers would do must be, permuted, what they would do to the permuted cluster. The
    /// names that some of them make up depend on all of a template, the names in it included.
    pub(crate) fn compare_collections(&mut self, cluster: ClusterId, wanted: &[Collection]) {
        for permutation in PermutationIndex::all(self.permutations.all.len()) {
            let there = self.permute_cluster(permutation, cluster);
            let there = self.database.collections(there, &mut self.asks);
            let mut expected = Vec::new();
            for Collection { actor, ask } in wanted {
                expected.push((*actor, self.permute_ask(permutation, *ask)));
            }
            let mut found: Vec<_> = there.iter().map(|Collection { actor, ask }| (*actor, *ask)).collect();
            expected.sort_unstable();
            found.sort_unstable();
            if expected != found {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }

    /// The same for a call of a service.
    pub(crate) fn compare_calls(&mut self, services: ServicesId, ask: AskId) {
        for permutation in PermutationIndex::all(self.permutations.all.len()) {
            let (there, asked) =
                (self.permute_services(permutation, services), self.permute_ask(permutation, ask));
            let (after, answer) = self.services.apply(services, ask, &self.asks, &mut self.answers);
            let expected =
                (self.permute_services(permutation, after), self.permute_answer(permutation, answer));
            if self.services.apply(there, asked, &self.asks, &mut self.answers) != expected {
                self.permutations.note_asymmetry(permutation);
            }
        }
    }
}
