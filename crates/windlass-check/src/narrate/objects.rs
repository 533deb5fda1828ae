//! Which objects a step reads and writes: what it changes, and which object each name in its text means.

use std::sync::Arc;

use serde_json::Value;
use windlass::{Answer, Ask};
use windlass_model::{Body, Key, Request, Store, object};

use super::Story;
use crate::action::{Action, SlotIndex};
use crate::host::database::key_written;
use crate::ids::{AnswerId, AskId};
use crate::show;
use crate::trace::{ObjectChange, ObjectMention};

impl Story<'_> {
    /// What the step does to objects.
    pub(super) fn changes(&self) -> Vec<ObjectChange> {
        let Some((cluster, ask)) = self.step.met else { return Vec::new() };
        let mut parts = self.transitions.parts();
        let parts = &mut *parts;
        // A view is read, never written.
        let written = cluster == self.before.cluster && self.step.state.cluster != cluster;
        if !written || !matches!(&**parts.asks.get(ask), Ask::Api { .. }) {
            return Vec::new();
        }
        let applied = parts.database.apply(cluster, ask, &parts.asks, &mut parts.answers);
        applied.changes.iter().map(show::object_change).collect()
    }

    /// The objects that the text of the step names.
    pub(super) fn mentions(&mut self, text: &str) -> Vec<ObjectMention> {
        let Some(request) = self.api_request() else { return Vec::new() };
        let mut mentions = Vec::new();
        let mut mention = |after: &str, key: &Key, uid: &str, listed: bool| {
            let at = text.find(after).map(|found| found + after.len());
            let object = show::object_name(key);
            mentions.extend(at.map(|at| ObjectMention { object, uid: uid.to_owned(), at, listed }));
        };
        if let Some(key) = key_written(&request).filter(|key| !key.name.is_empty())
            && let Some(uid) = self.meant(&request, &key)
        {
            mention(&show::request(&request), &key, &uid, false);
        }
        if let Some(Answer::Api(response)) = self.step.answer.map(|answer| self.given(answer)).as_deref()
            && let Body::List(list) = &response.body
        {
            let counted = show::answer(&Answer::Api(response.clone()));
            for item in &list.items {
                mention(&counted, &key_of_item(&request, item), object::uid(item), true);
            }
        }
        if let Some((key, uid)) = self.replaced_by() {
            mention(&show::by_now_another(&key), &key, &uid, false);
        }
        if let Some((key, uid)) = self.decided_on() {
            mention(&show::decided_on(&key), &key, &uid, false);
        }
        mentions
    }

    /// The API request that the text is about.
    fn api_request(&mut self) -> Option<Box<Request>> {
        let ask = match self.action {
            Action::LoseRequest { slot }
            | Action::LoseReply { slot }
            | Action::Error { slot }
            | Action::Timeout { slot } => self.ask_number(slot),
            _ => self.step.met?.1,
        };
        match &**self.transitions.parts().asks.get(ask) {
            Ask::Api { request, .. } => Some(request.clone()),
            _ => None,
        }
    }

    /// Which object of a name a request means: the one that it insists on, else the one that it meets or makes.
    fn meant(&self, request: &Request, key: &Key) -> Option<String> {
        let in_body = request.body.as_ref().map(object::uid).filter(|uid| !uid.is_empty());
        if let Some(uid) = request.options.preconditions.uid.as_deref().or(in_body) {
            return Some(uid.to_owned());
        }
        let cluster = self.step.met?.0;
        let met = self.transitions.parts().database.cluster(cluster).store().get(key);
        let made = || match &*self.given(self.step.answer?) {
            Answer::Api(response) => object_of(&response.body).cloned(),
            _ => None,
        };
        met.or_else(made).map(|found| object::uid(&found).to_owned()).filter(|uid| !uid.is_empty())
    }

    /// The object that by now has the name of the one that a stale read returned, if it is another.
    pub(super) fn replaced_by(&mut self) -> Option<(Key, String)> {
        let Action::Deliver { slot, .. } = self.action else { return None };
        let (stale, real) = self.stale_and_real(slot)?;
        let (Answer::Api(stale), Answer::Api(real)) = (&*stale, &*real) else { return None };
        let (stale, real) = (object_of(&stale.body)?, object_of(&real.body)?);
        let key = key_written(&*self.api_request()?)?;
        (object::uid(stale) != object::uid(real)).then(|| (key, object::uid(real).to_owned()))
    }

    /// A stale answer, and what the database would have said.
    pub(super) fn stale_and_real(&mut self, slot: SlotIndex) -> Option<(Arc<Answer>, Arc<Answer>)> {
        let waiting = *self.transitions.menu_slot(self.before, slot);
        if !self.transitions.is_stale(self.before, slot.process(), &waiting) {
            return None;
        }
        let ask = waiting.ask;
        let real = self.transitions.cache.effect(self.before.cluster, ask).answer;
        Some((self.given(self.step.answer?), self.given(real)))
    }

    /// The object that a write was decided on, if it hits another one of that name.
    pub(super) fn decided_on(&mut self) -> Option<(Key, Arc<str>)> {
        if self.step.state.cluster == self.before.cluster {
            return None;
        }
        let message = self.transitions.message_of(self.before, self.action)?;
        self.transitions.cache.hits_another_object(self.before.cluster, message)?;
        let key = key_written(&*self.api_request()?)?;
        let uid = self.transitions.parts().messages.get(message).decided_on.clone()?;
        Some((key, uid))
    }

    pub(super) fn ask_number(&mut self, slot: SlotIndex) -> AskId {
        self.transitions.menu_slot(self.before, slot).ask
    }

    fn given(&self, answer: AnswerId) -> Arc<Answer> {
        self.transitions.parts().answers.get(answer).clone()
    }
}

fn object_of(body: &Body) -> Option<&Arc<Value>> {
    match body {
        Body::Object(found) => Some(found),
        _ => None,
    }
}

fn key_of_item(request: &Request, item: &Value) -> Key {
    let resource = &request.resource;
    Key::new(&resource.group, &resource.plural, object::namespace(item), object::name(item))
}
