//! What requests do to the cluster and to the service, and whom a change concerns.

use std::collections::BTreeSet;
use std::rc::Rc;

use rustc_hash::FxHashMap;
use windlass::model::controllers::{self, Step};
use windlass::model::{Change, Request, Store};
use windlass::{Answer, Ask, ObjectRef, Shortcut};

use super::Explorer;
use super::reconcile::Point;
use super::state::{Known, Past, Snapshot, State};
use crate::machine::respond;

/// What pure functions have returned: the API, the cluster's own controllers, and reconciles.
#[derive(Default)]
pub(super) struct Memory {
    effects: FxHashMap<(Snapshot, Known<Ask>), Rc<Effect>>,
    collections: FxHashMap<Snapshot, Rc<Vec<Collection>>>,
    pub(super) points: FxHashMap<(usize, ObjectRef, Past), Rc<Point>>,
}

/// What one of the cluster's own controllers would do.
pub(super) struct Collection {
    pub(super) controller: &'static str,
    pub(super) ask: Known<Ask>,
}

/// What a request does.
pub(super) struct Effect {
    pub(super) answer: Known<Answer>,
    pub(super) changes: Vec<Change>,
    pub(super) after: Snapshot,
}

impl Explorer<'_> {
    /// What a request to the API does to a cluster.
    pub(super) fn effect(&mut self, cluster: &Snapshot, ask: &Known<Ask>) -> Rc<Effect> {
        let key = (cluster.clone(), ask.clone());
        if let Some(known) = self.memory.effects.get(&key) {
            return known.clone();
        }
        let Ask::Api { request, .. } = &**ask else { panic!("no request to the API: {ask:?}") };
        let effect = cluster.handle(request);
        let after = if effect.changes.is_empty() {
            cluster.clone()
        } else {
            let mut after = (**cluster).clone();
            after.commit(&effect.changes);
            Snapshot::new(after)
        };
        let answer = Known::new(Answer::Api(effect.response));
        let effect = Rc::new(Effect { answer, changes: effect.changes, after });
        self.memory.effects.insert(key, effect.clone());
        effect
    }

    /// A request arrives: what it changes is seen by all from now on, and watches will show it.
    pub(super) fn meet(&mut self, state: &mut State, ask: &Known<Ask>) -> Known<Answer> {
        if let Ask::Call { request, .. } = &**ask {
            let mut after = (*state.service).clone();
            let answer = respond(&mut after, request);
            state.service = Known::new(after);
            return Known::new(Answer::Call(answer));
        }
        let effect = self.effect(&state.cluster, ask);
        state.cluster = effect.after.clone();
        self.observe(state, &effect.changes);
        effect.answer.clone()
    }

    /// The parents that a watch shows when it begins.
    pub(super) fn listed(&self, cluster: &Snapshot, process: usize) -> BTreeSet<ObjectRef> {
        let declaration = self.controllers[process].declaration();
        let objects = cluster.store().all();
        let triggers = objects.flat_map(|(key, found)| declaration.triggers(&key, None, Some(&found)));
        triggers.map(|trigger| trigger.parent).collect()
    }

    /// What the cluster's own controllers would do now.
    pub(super) fn collections(&mut self, cluster: &Snapshot) -> Rc<Vec<Collection>> {
        if let Some(known) = self.memory.collections.get(cluster) {
            return known.clone();
        }
        let steps = controllers::next_requests(cluster.store(), cluster.types(), cluster.now());
        let collection = |step: Step| Collection { controller: step.controller, ask: sent(step.request) };
        let collections: Rc<Vec<Collection>> = Rc::new(steps.into_iter().map(collection).collect());
        self.memory.collections.insert(cluster.clone(), collections.clone());
        collections
    }
}

/// A request that no cache may answer.
fn sent(request: Request) -> Known<Ask> {
    let request = Box::new(request);
    Known::new(Ask::Api { request, shortcut: Shortcut::None, detail: windlass::Detail::Whole })
}
