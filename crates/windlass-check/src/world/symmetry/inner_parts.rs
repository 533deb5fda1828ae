//! What the parts of a state are made of, permuted: jobs, messages, asks, answers, histories of reconciles, changes.

use std::sync::Arc;

use serde_json::Value;
use windlass::{Answer, Ask, ObjectRef};
use windlass_model::{Body, Change, History, MemoryStore, object};

use super::state_parts::sorted;
use crate::host::network::Message;
use crate::ids::{
    AnswerId, AskId, BacklogId, ChangeId, ChangeListId, ClusterId, JobId, JobSetId, MarksId, MessageId,
    NodeId, ServicesId,
};
use crate::index::{PermutationIndex, ProcessIndex};
use crate::steps::Job;
use crate::world::parts::{NO_MESSAGE, Parts};

/// The group of objects that define kinds. They are not about other objects, but full of prose, in which a name
/// may be a word like any other.
const DEFINITIONS: &str = "apiextensions.k8s.io";

impl Parts {
    pub(super) fn permute_backlog(&mut self, permutation: PermutationIndex, backlog: BacklogId) -> BacklogId {
        if !self.permutations.all[permutation.index()].moves_names() {
            return backlog;
        }
        let backlog = self.views.backlogs.get(backlog).clone();
        let permuted = backlog.map(|change| self.permute_change(permutation, change));
        self.views.backlogs.id(permuted)
    }

    pub(super) fn permute_change(&mut self, permutation: PermutationIndex, change: ChangeId) -> ChangeId {
        let change = self.views.changes.get(change).clone();
        let side = |side: &Option<Arc<Value>>| {
            side.as_ref().map(|found| Arc::new(self.permutations.value(permutation, found)))
        };
        let (before, after) = (side(&change.before), side(&change.after));
        let key = self.permutations.key(permutation, &change.key);
        self.views.changes.id(Change { key, before, after, version: change.version })
    }

    pub(super) fn permute_job(&mut self, permutation: PermutationIndex, job: JobId) -> JobId {
        if let Some(known) = self.permutations.jobs.get(&(permutation, job)) {
            return *known;
        }
        let old = self.jobs.get(job).clone();
        let target = ObjectRef::new(
            &self.permutations.text(permutation, &old.target.namespace),
            &self.permutations.text(permutation, &old.target.name),
        );
        let controller = self.permutations.all[permutation.index()].process(old.controller);
        let permuted = self.jobs.id(Job { controller, target, ..(*old).clone() });
        self.permutations.jobs.insert((permutation, job), permuted);
        permuted
    }

    pub(super) fn permute_message(&mut self, permutation: PermutationIndex, message: MessageId) -> MessageId {
        if message == NO_MESSAGE {
            return message;
        }
        if let Some(known) = self.permutations.messages.get(&(permutation, message)) {
            return *known;
        }
        let old = self.messages.get(message).clone();
        let ask = self.permute_ask(permutation, old.ask);
        let decided_on = old.decided_on.as_ref().map(|uid| self.permutations.text(permutation, uid).into());
        let sender = self.permutations.all[permutation.index()].process(old.sender);
        let permuted = self.messages.id(Message { sender, ask, decided_on });
        self.permutations.messages.insert((permutation, message), permuted);
        permuted
    }

    /// The point of a reconcile that permuted answers lead to: the code is run with them.
    pub(super) fn permute_node(&mut self, permutation: PermutationIndex, node: NodeId) -> NodeId {
        if let Some(known) = self.permutations.nodes.get(&(permutation, node)) {
            return *known;
        }
        let permuted = match self.steps.before(node) {
            None => {
                let job = self.steps.job(node).clone();
                let job = self.jobs.id((*job).clone());
                let job = self.permute_job(permutation, job);
                let job = self.jobs.get(job).clone();
                self.steps.start(&job, &mut self.asks, &self.answers)
            }
            Some((before, answers)) => {
                let before = self.permute_node(permutation, before);
                // It has asked for something else by now: there are no answers to go on with.
                if self.permutations.broken.is_some() {
                    return node;
                }
                let given = answers.iter().map(|answer| self.permute_answer(permutation, *answer)).collect();
                self.steps.follow(before, given, &mut self.asks, &self.answers)
            }
        };
        self.compare_nodes(permutation, node, permuted);
        self.permutations.nodes.insert((permutation, node), permuted);
        permuted
    }

    pub(super) fn permute_ask(&mut self, permutation: PermutationIndex, ask: AskId) -> AskId {
        if !self.permutations.all[permutation.index()].moves_names() {
            return ask;
        }
        if let Some(known) = self.permutations.asks.get(&(permutation, ask)) {
            return *known;
        }
        let permuted = match &**self.asks.get(ask) {
            Ask::Api { request, shortcut, detail } => {
                let request = Box::new(self.permutations.request(permutation, request));
                Ask::Api { request, shortcut: *shortcut, detail: *detail }
            }
            Ask::Call { service, request } => {
                let request = self.permutations.value(permutation, request);
                Ask::Call { service: service.clone(), request }
            }
            other @ (Ask::Now | Ask::Random { .. }) => other.clone(),
        };
        let permuted = self.asks.id(permuted);
        self.permutations.asks.insert((permutation, ask), permuted);
        permuted
    }

    pub(super) fn permute_answer(&mut self, permutation: PermutationIndex, answer: AnswerId) -> AnswerId {
        if !self.permutations.all[permutation.index()].moves_names() {
            return answer;
        }
        if let Some(known) = self.permutations.answers.get(&(permutation, answer)) {
            return *known;
        }
        let mut permuted = (**self.answers.get(answer)).clone();
        match &mut permuted {
            Answer::Api(response) => match &mut response.body {
                Body::Object(found) => *found = Arc::new(self.permutations.value(permutation, found)),
                Body::List(list) => {
                    for item in &mut list.items {
                        *item = Arc::new(self.permutations.value(permutation, item));
                    }
                    let sort_key = |item: &Arc<Value>| {
                        (object::namespace(item).to_owned(), object::name(item).to_owned())
                    };
                    list.items.sort_by_key(sort_key);
                }
                Body::Status(status) => {
                    status.message = self.permutations.text(permutation, &status.message);
                    if let Some(name) = status.details.as_mut().and_then(|details| details.name.as_mut()) {
                        *name = self.permutations.text(permutation, name);
                    }
                }
            },
            Answer::Call(Ok(value)) => *value = self.permutations.value(permutation, value),
            Answer::Call(Err(_)) | Answer::Now(_) | Answer::Random(_) => {}
        }
        let permuted = self.answers.id(permuted);
        self.permutations.answers.insert((permutation, answer), permuted);
        permuted
    }

    pub(super) fn permute_services(
        &mut self,
        permutation: PermutationIndex,
        services: ServicesId,
    ) -> ServicesId {
        if !self.permutations.all[permutation.index()].moves_names() {
            return services;
        }
        if let Some(known) = self.permutations.services.get(&(permutation, services)) {
            return *known;
        }
        let states = self.services.states.get(services).clone();
        let states =
            states.iter().map(|(name, state)| (name.clone(), self.permutations.value(permutation, state)));
        let permuted = self.services.states.id(states.collect());
        self.permutations.services.insert((permutation, services), permuted);
        permuted
    }

    pub(super) fn permute_cluster(&mut self, permutation: PermutationIndex, cluster: ClusterId) -> ClusterId {
        if !self.permutations.all[permutation.index()].moves_names() {
            return cluster;
        }
        if let Some(known) = self.permutations.clusters.get(&(permutation, cluster)) {
            return *known;
        }
        let old = self.database.cluster(cluster).clone();
        let mut store = MemoryStore::default();
        for (key, history) in old.store().history() {
            if &*key.group == DEFINITIONS {
                store.rewrite(key, history);
                continue;
            }
            let object = history.object.map(|found| Arc::new(self.permutations.value(permutation, found)));
            let history = History { object: object.as_ref(), ..history };
            store.rewrite(&self.permutations.key(permutation, key), history);
        }
        let permuted = self.database.id(old.with_store(store));
        self.permutations.clusters.insert((permutation, cluster), permuted);
        permuted
    }

    /// The jobs that a change concerns, by process, with names and processes permuted.
    pub(super) fn permute_marks(&mut self, permutation: PermutationIndex, marks: MarksId) -> MarksId {
        let marks = self.marks.get(marks).clone();
        let mut permuted = (*marks).clone();
        for (process, jobs) in ProcessIndex::all(marks.len()).zip(marks.iter()) {
            let other = self.permutations.all[permutation.index()].process(process);
            permuted[other.index()] = self.permute_job_set(permutation, *jobs);
        }
        self.marks.id(permuted)
    }

    /// A list of changes with names permuted.
    pub(super) fn permute_changes(
        &mut self,
        permutation: PermutationIndex,
        changes: ChangeListId,
    ) -> ChangeListId {
        if !self.setup.faults.can_lag() || !self.permutations.all[permutation.index()].moves_names() {
            return changes;
        }
        let changes = self.views.change_lists.get(changes).clone();
        let permuted = changes.iter().map(|change| self.permute_change(permutation, *change)).collect();
        self.views.change_lists.id(permuted)
    }

    pub(super) fn permute_job_set(&mut self, permutation: PermutationIndex, jobs: JobSetId) -> JobSetId {
        let jobs = self.job_sets.get(jobs).clone();
        let permuted = sorted(jobs.iter().map(|job| self.permute_job(permutation, *job)));
        self.job_sets.id(permuted)
    }
}
