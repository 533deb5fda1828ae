//! What a request does: to the cluster or to a service, and what it is answered.

use std::sync::Arc;

use windlass::{Answer, Ask, CallError};
use windlass_model::{Reason, Response, Status, object};

use super::views::NO_CHANGES;
use super::{NO_MARKS, Parts};
use crate::host::database::{Collection, key_of};
use crate::ids::{AnswerId, AskId, ChangeListId, ClusterId, MarksId, MessageId, ServicesId, ViolationId};
use crate::index::ScriptIndex;
use crate::world::canonical::other_numbers;
use crate::world::ops::StepViolation;

/// What a request does, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Effect {
    /// The cluster afterwards.
    pub(crate) cluster: ClusterId,
    pub(crate) answer: AnswerId,
    /// Which jobs of which controllers it concerns.
    pub(crate) marks: MarksId,
    /// The number of the list of what changed, if views can be behind.
    pub(crate) changes: ChangeListId,
    /// Whether anything changed.
    pub(crate) changed: bool,
}

impl Parts {
    /// What a request does to a cluster, for the first time.
    pub(crate) fn effect(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        if !self.permutations.all.is_empty() {
            self.compare_effects(cluster, ask);
        }
        self.effect_of(cluster, ask)
    }

    pub(crate) fn effect_of(&mut self, cluster: ClusterId, ask: AskId) -> Effect {
        let applied = self.database.apply(cluster, ask, &self.asks, &mut self.answers);
        let marks = if applied.changes.is_empty() { NO_MARKS } else { self.marks_of(&applied.changes) };
        let changes =
            if self.setup.faults.can_lag() { self.views.list(&applied.changes) } else { NO_CHANGES };
        Effect {
            cluster: applied.cluster,
            answer: applied.answer,
            marks,
            changes,
            changed: !applied.changes.is_empty(),
        }
    }

    /// What the cluster's own controllers would do.
    pub(crate) fn collections(&mut self, cluster: ClusterId) -> Arc<[Collection]> {
        let wanted = self.database.collections(cluster, &mut self.asks);
        if self.setup.workloads {
            self.compare_collections(cluster, &wanted);
        }
        wanted
    }

    /// What a call does to the services: their states afterwards, and the answer.
    pub(crate) fn call(&mut self, services: ServicesId, ask: AskId) -> (ServicesId, AnswerId) {
        self.compare_calls(services, ask);
        let effect = self.services.apply(services, ask, &self.asks, &mut self.answers);
        if self.tries_other_numbers() && !self.is_same_with_other_uids(services, ask, effect) {
            self.note_dependence(&format!("what `{}` does", crate::show::ask(self.asks.get(ask))));
        }
        effect
    }

    /// Whether a service does the same when all uids that it knows, and is sent, are others.
    fn is_same_with_other_uids(
        &self,
        services: ServicesId,
        ask: AskId,
        (after, answer): (ServicesId, AnswerId),
    ) -> bool {
        let mut states = other_numbers::other_services(self.services.states.get(services));
        let answered = self.services.respond(&mut states, &other_numbers::other_ask(self.asks.get(ask)));
        let expected = other_numbers::other_answer(self.setup.cluster.types(), self.answers.get(answer));
        states == other_numbers::other_services(self.services.states.get(after))
            && Answer::Call(answered) == expected
    }

    /// Whether a message, delivered now, changes another object than the one that its sender decided on.
    pub(crate) fn hits_another_object(
        &mut self,
        cluster: ClusterId,
        message: MessageId,
    ) -> Option<ViolationId> {
        let message = self.messages.get(message).clone();
        let decided_on = message.decided_on.as_ref()?;
        let applied = self.database.apply(cluster, message.ask, &self.asks, &mut self.answers);
        let Ask::Api { request, .. } = &**self.asks.get(message.ask) else { return None };
        let key = key_of(request)?;
        let hit = applied.changes.iter().find(|change| change.key == key)?.before.clone()?;
        if object::uid(&hit) == &**decided_on {
            return None;
        }
        let controller = self.setup.processes[message.sender.index()].name().to_owned();
        let request = crate::show::request(request);
        Some(self.violations.id(StepViolation::AnotherObject { controller, request }))
    }

    /// The answer to a message that went astray.
    pub(crate) fn timeout_answer(&mut self, message: MessageId) -> AnswerId {
        let ask = self.asks.get(self.messages.get(message).ask).clone();
        let answer = match &*ask {
            Ask::Call { service, .. } => Answer::Call(Err(CallError::Timeout { service: service.clone() })),
            _ => Answer::Api(Response::status(Status::failure(
                504,
                Reason::Timeout,
                "no answer in time: whether the request had an effect is not known",
            ))),
        };
        self.answers.id(answer)
    }

    /// The answer of a peer that cannot just now.
    pub(crate) fn unavailable_answer(&mut self, message: MessageId) -> AnswerId {
        let ask = self.asks.get(self.messages.get(message).ask).clone();
        let message = "the server is currently unable to handle the request";
        let answer = match &*ask {
            Ask::Call { service, .. } => Answer::Call(Err(CallError::Unavailable {
                service: service.clone(),
                message: message.to_owned(),
            })),
            _ => Answer::Api(Response::status(Status::failure(503, Reason::ServiceUnavailable, message))),
        };
        self.answers.id(answer)
    }

    /// Notes whether an event of a script has ever succeeded.
    pub(crate) fn note_event(&mut self, script: ScriptIndex, event: usize, answer: AnswerId) {
        let refusal = match &**self.answers.get(answer) {
            Answer::Api(response) => response.failure().map(|status| status.message.clone()),
            Answer::Call(Err(error)) => Some(error.to_string()),
            _ => None,
        };
        let noted = self.refused_events.entry((script, event)).or_insert_with(|| refusal.clone());
        *noted = noted.take().and(refusal);
    }
}
