//! External services: a pure model that answers what the real service would.

use std::collections::BTreeMap;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde_json::Value;
use windlass::{Answer, Ask, CallError};

use crate::ids::{AnswerId, AskId, ServicesId};
use crate::intern::Interner;

/// What a service does with a request: changes its state, and answers.
pub(crate) type Respond = Arc<dyn Fn(&mut Value, &Value) -> Result<Value, CallError> + Send + Sync>;

/// Whether a request to a service changes nothing.
pub(crate) type IsRead = Arc<dyn Fn(&Value) -> bool + Send + Sync>;

/// The state of each service, by its name.
pub(crate) type ServiceStates = BTreeMap<String, Value>;

/// The modelled services, and all that they have answered so far.
pub(crate) struct Services {
    pub(crate) models: BTreeMap<String, Respond>,
    pub(crate) states: Interner<ServiceStates>,
    effects: FxHashMap<(ServicesId, AskId), (ServicesId, AnswerId)>,
}

impl Services {
    pub(crate) fn new(models: BTreeMap<String, Respond>) -> Self {
        Services { models, states: Interner::new(), effects: FxHashMap::default() }
    }

    /// Performs a call: the states afterwards, and the answer.
    pub(crate) fn apply(
        &mut self,
        states: ServicesId,
        ask: AskId,
        asks: &Interner<Ask>,
        answers: &mut Interner<Answer>,
    ) -> (ServicesId, AnswerId) {
        if let Some(known) = self.effects.get(&(states, ask)) {
            return *known;
        }
        let mut after = (**self.states.get(states)).clone();
        let answer = self.respond(&mut after, asks.get(ask));
        let result = (self.states.id(after), answers.id(Answer::Call(answer)));
        self.effects.insert((states, ask), result);
        result
    }

    /// What a call does to the states of the services, and the answer. Remembers nothing.
    pub(crate) fn respond(&self, states: &mut ServiceStates, ask: &Ask) -> Result<Value, CallError> {
        let Ask::Call { service, request } = ask else {
            unreachable!("only calls reach a service, not {ask:?}")
        };
        match (self.models.get(service), states.get_mut(service)) {
            (Some(respond), Some(state)) => respond(state, request),
            _ => Err(CallError::Unavailable {
                service: service.clone(),
                message: "the check has no model of it: add one with .service(...)".to_owned(),
            }),
        }
    }
}
