//! The controller: which pods are contacts of a network, and the status of the network.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use windlass::{
    Cx, Declaration, Error, Event, Machine, ObjectRef, Outcome, Select, States, changed, done,
    done_and_requeue_after, fail_for_good, to, waiting, watching,
};

use super::mistake::Mistake;
use super::name::{network_id, network_name};
use super::pod::{NETWORK_LABEL, network_of};
use super::resource::{Contact, Known, LightNetwork, Waiting};
use super::round::Round;
use super::service::Health;

/// Joins the pods of each network, one after the other, through the newest member.
///
/// The stack of members is kept in the status of the [`LightNetwork`] and nowhere else. In one reconcile at most one pod
/// joins, and it is recorded before the next one does: a crash repeats that one join at most, which a lightpeer that is a
/// member already ignores. No peer is ever disconnected.
pub struct LightNetworks {
    settings: NetworkSettings,
    mistake: Option<Mistake>,
    /// For the mistake of keeping it here.
    memory: Mutex<BTreeMap<String, Known>>,
}

/// What the controller does by itself, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkSettings {
    /// How often the health of all contacts is checked.
    pub check_interval: Duration,
    /// How soon a pod that could not join is tried again.
    pub retry_interval: Duration,
    /// Whether a network is made when the first pod names it; otherwise nothing happens until somebody makes it.
    pub makes_networks: bool,
}

impl Default for NetworkSettings {
    fn default() -> Self {
        NetworkSettings {
            check_interval: Duration::from_secs(10),
            retry_interval: Duration::from_secs(2),
            makes_networks: true,
        }
    }
}

/// The steps of a reconcile.
#[derive(States)]
pub enum Step {
    /// Contacts whose pod is gone, or that do not answer, are forgotten: at the head and below it.
    #[state(
        initial,
        condition = "ContactsHealthy",
        when_true = "Every contact is a running pod and answers its health check",
        next(Joins)
    )]
    Contacts,
    /// The next pod joins.
    #[state(condition = "Joined", when_true = "Every pod of the network is a member")]
    Joins(Round),
}

impl Default for LightNetworks {
    fn default() -> Self {
        LightNetworks::new(NetworkSettings::default())
    }
}

impl LightNetworks {
    /// The controller.
    pub fn new(settings: NetworkSettings) -> Self {
        LightNetworks { settings, mistake: None, memory: Mutex::default() }
    }

    /// The same with a mistake, for the check that must find it.
    #[must_use]
    pub fn with_mistake(self, mistake: Mistake) -> Self {
        LightNetworks { mistake: Some(mistake), ..self }
    }

    /// The same, but only networks that are there already are looked after.
    #[must_use]
    pub fn without_making_networks(mut self) -> Self {
        self.settings.makes_networks = false;
        self
    }

    pub(super) fn has(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }
}

impl Machine for LightNetworks {
    type Parent = LightNetwork;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("klight")
            // A status that the controller has written itself does not trigger it.
            .parents(watching::<LightNetwork>().when(changed::generation_or_metadata))
            .watch(watching::<Pod>().labels(NETWORK_LABEL), |pod| network_of(pod).into_iter().collect());
        if self.settings.makes_networks {
            declaration.create_missing(first_sight);
        }
    }

    async fn run(&self, step: Step, cx: &Cx<LightNetwork>) -> Outcome<Step> {
        match step {
            Step::Contacts => self.contacts(cx).await,
            Step::Joins(round) => self.joins(cx, round).await,
        }
    }
}

/// The network that a pod was the first to name.
fn first_sight(target: &ObjectRef) -> LightNetwork {
    // Only names that `network_of` has made come here.
    LightNetwork::with_id(&network_id(&target.name).unwrap_or_default())
}

impl LightNetworks {
    async fn contacts(&self, cx: &Cx<LightNetwork>) -> Outcome<Step> {
        let id = &cx.parent().spec.network_id;
        let name = network_name(id);
        if name != cx.name() {
            let message =
                format!("the network {id:?} has the name {name:?}, and this object another: delete it");
            return fail_for_good("WrongName", message);
        }
        let of_network = Select::all().labels(&format!("{NETWORK_LABEL}={id}"));
        let pods: Vec<Pod> = cx.list_cached(of_network).await?;
        let mut round = Round::new(&self.recorded(cx), &pods, self.mistake);
        self.forget_the_dead(cx, &mut round).await?;
        to(Step::Joins(round))
    }

    /// Checks the health of all contacts at once.
    async fn forget_the_dead(&self, cx: &Cx<LightNetwork>, round: &mut Round) -> Result<(), Error> {
        let checked = if self.has(Mistake::LeavesTheDeadBelowTheHead) { 1 } else { round.stack.len() };
        let asked = cx.all(round.stack.iter().take(checked).map(|contact| Health::of(cx, contact, false)));
        let answers: Vec<Health> = asked.await.into_iter().collect::<Result<_, _>>()?;
        let mut answers = answers.iter();
        for contact in std::mem::take(&mut round.stack) {
            match answers.next().and_then(|health| health.problem_of(&contact)) {
                None => round.stack.push(contact),
                Some(why) => lose(cx, round, &contact, why),
            }
        }
        Ok(())
    }

    /// Lets the next pod join, and says how the network stands.
    async fn joins(&self, cx: &Cx<LightNetwork>, mut round: Round) -> Outcome<Step> {
        let before = self.recorded(cx);
        let untried = self.join_one(cx, &mut round).await?;
        for unusable in round.unusable.iter().filter(|unusable| !before.waiting.contains(unusable)) {
            cx.event(Event::warning("PodNotUsable", format!("pod {}: {}", unusable.pod, unusable.why)));
        }
        let (some_failed, more_to_join) = (!round.failed.is_empty(), round.joined && !untried.is_empty());
        let others = [round.unusable, round.starting, untried, round.failed].concat();
        let known = Known::new(round.stack, &others);
        cx.report(&known)?;
        self.remember(cx, &known);
        if others.is_empty() {
            let alone = known.stack.is_empty();
            return if alone { done() } else { done_and_requeue_after(self.settings.check_interval) };
        }
        let message = summary(&known, &others);
        if more_to_join {
            return waiting(Duration::ZERO, "Joining", message);
        }
        // A wait for the pod itself needs no timer: its change is a trigger.
        let requeue_after =
            if some_failed { self.settings.retry_interval } else { self.settings.check_interval };
        waiting(requeue_after, "PodsNotJoined", message)
    }

    fn recorded(&self, cx: &Cx<LightNetwork>) -> Known {
        if self.has(Mistake::RemembersInMemory) {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            return memory.get(cx.name()).cloned().unwrap_or_default();
        }
        cx.parent().status.as_ref().map(|status| status.known.clone()).unwrap_or_default()
    }

    fn remember(&self, cx: &Cx<LightNetwork>, known: &Known) {
        if self.has(Mistake::RemembersInMemory) {
            let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            memory.insert(cx.name().to_owned(), known.clone());
        }
    }
}

/// A contact is dead. Its pod may still be there, and be healthy again one day.
pub(super) fn lose(cx: &Cx<LightNetwork>, round: &mut Round, contact: &Contact, why: String) {
    cx.event(Event::warning("ContactLost", format!("pod {}: {why}", contact.pod)));
    round.fail(contact, why);
}

/// `3 of 4 pods are members; pod x: it has no IP address yet`.
fn summary(known: &Known, others: &[Waiting]) -> String {
    const MAX_SHOWN: usize = 3;
    let members = known.stack.len();
    let mut text = format!("{members} of {} pods are members", members + others.len());
    for Waiting { pod, why } in others.iter().take(MAX_SHOWN) {
        text.push_str(&format!("; pod {pod}: {why}"));
    }
    if others.len() > MAX_SHOWN {
        text.push_str(&format!("; and {} more", others.len() - MAX_SHOWN));
    }
    text
}
