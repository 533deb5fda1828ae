//! The simplest driver: one process, one in-memory cluster, no network. For tests, examples and the demo.

use std::collections::BTreeMap;

use serde_json::Value;
use windlass_model::{Cluster, Response, Timestamp};

use crate::ask::{Answer, Ask};
use crate::bug::Bug;
use crate::coroutine::CoroutineState;
use crate::kind::ObjectRef;
use crate::machine::Controller;
use crate::outcome::CallError;
use crate::random::RandomBytes;
use crate::reconcile_result::Reconciled;

/// What answers calls to external services.
pub type ServiceModel = Box<dyn FnMut(Value) -> Result<Value, CallError> + Send>;

/// Drives reconciles against a cluster in memory.
pub struct Local {
    /// The cluster.
    pub cluster: Cluster,
    services: BTreeMap<String, ServiceModel>,
    now: Timestamp,
    /// How many random values were drawn: each is another, and the same in every run.
    draws: u64,
    /// Every ask of the last reconcile with its answer.
    pub log: Vec<(Ask, Answer)>,
}

impl Local {
    /// A driver for this cluster.
    pub fn new(cluster: Cluster) -> Self {
        Local { cluster, services: BTreeMap::new(), now: Timestamp::default(), draws: 0, log: Vec::new() }
    }

    /// Answers the calls to a service.
    #[must_use]
    pub fn service(
        mut self,
        name: &str,
        model: impl FnMut(Value) -> Result<Value, CallError> + Send + 'static,
    ) -> Self {
        self.services.insert(name.to_owned(), Box::new(model));
        self
    }

    /// Sets the clock.
    pub fn set_now(&mut self, now: Timestamp) {
        self.now = now;
        self.cluster.set_now(now);
    }

    /// Runs one reconcile to its end, as if the parent itself had changed.
    ///
    /// # Errors
    /// When the framework's own part of the reconcile cannot go on, or a state asks for what the controller may not do.
    pub fn reconcile(&mut self, controller: &Controller, target: &ObjectRef) -> Result<Reconciled, Bug> {
        self.drive(controller, target, false)
    }

    /// Runs one reconcile to its end, as if a watched object had named the parent: one that does not exist is
    /// made, if the machine says how.
    ///
    /// # Errors
    /// When the framework's own part of the reconcile cannot go on, or a state asks for what the controller may not do.
    pub fn reconcile_watched(
        &mut self,
        controller: &Controller,
        target: &ObjectRef,
    ) -> Result<Reconciled, Bug> {
        self.drive(controller, target, true)
    }

    fn drive(
        &mut self,
        controller: &Controller,
        target: &ObjectRef,
        create_missing: bool,
    ) -> Result<Reconciled, Bug> {
        self.log.clear();
        let mut coroutine = controller.reconcile(target, create_missing);
        let mut answers = Vec::new();
        loop {
            match coroutine.resume(std::mem::take(&mut answers)) {
                CoroutineState::End(ended) => return Ok(ended),
                CoroutineState::Bug(bug) => return Err(bug),
                CoroutineState::Ask(asks) => {
                    for ask in asks {
                        if let Ask::Api { request, .. } = &ask {
                            controller.check_permitted(coroutine.state(), request)?;
                        }
                        let answer = self.perform(&ask);
                        self.log.push((ask, answer.clone()));
                        answers.push(answer);
                    }
                }
            }
        }
    }

    /// Performs one ask. With this, a test can drive a coroutine by hand and stop it wherever it likes.
    pub fn perform(&mut self, ask: &Ask) -> Answer {
        match ask {
            Ask::Api { request, .. } => {
                let response: Response = self.cluster.request(request);
                Answer::Api(response)
            }
            Ask::Now => Answer::Now(self.now),
            Ask::Random { .. } => {
                self.draws += 1;
                Answer::Random(RandomBytes::numbered(self.draws))
            }
            Ask::Call { service, request } => Answer::Call(match self.services.get_mut(service) {
                Some(model) => model(request.clone()),
                None => Err(CallError::Unavailable {
                    service: service.clone(),
                    message: "no such service is configured".to_owned(),
                }),
            }),
        }
    }
}
