//! A world to be checked, as data: machines, objects, clients, faults and rules.

use std::fmt;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use windlass::model::{Key, PatchKind, Propagation, Request, Verb, object};
use windlass::{Ask, Kind, Service, Shortcut, to_value};
use windlass_check::{ClientEvent, Faults};

use crate::machine::{Register, Thing, config_map, thing};
use crate::program::Program;

/// How far a clock jumps, in seconds.
pub(crate) const JUMP: u64 = 3600;

/// Everything that the explorers are given.
#[derive(Clone, Debug)]
pub(crate) struct World {
    /// What it is about, for people.
    pub(crate) theme: String,
    pub(crate) programs: Vec<Program>,
    /// Whether there is a second controller, which copies what the first writes.
    pub(crate) has_copier: bool,
    /// How many processes each has.
    pub(crate) replicas: usize,
    /// How many objects each process reconciles at the same time.
    pub(crate) workers: usize,
    /// The objects that are there from the start.
    pub(crate) given: Vec<Object>,
    /// Whether there is a service.
    pub(crate) has_service: bool,
    pub(crate) scripts: Vec<Vec<Event>>,
    pub(crate) budget: Budget,
    pub(crate) rules: Vec<Rule>,
    /// Whether the rules that are violated are left out.
    pub(crate) keeps_only_rules_that_hold: bool,
}

/// An object: its kind, its name and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object {
    pub(crate) is_parent: bool,
    pub(crate) name: &'static str,
    pub(crate) value: &'static str,
}

/// What a client does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Create(Object),
    Patch(Object),
    Delete(Object),
    /// The service takes this value.
    Put(&'static str),
}

/// What may go wrong, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    pub(crate) crashes: u8,
    pub(crate) lost_requests: u8,
    pub(crate) lost_replies: u8,
    pub(crate) errors: u8,
    pub(crate) watch_gaps: u8,
    pub(crate) partitions: u8,
    pub(crate) clock_jumps: u8,
    pub(crate) duplicates: bool,
    pub(crate) reorders: bool,
    /// By how many writes to one object a cached read may be behind.
    pub(crate) stale: u8,
}

/// A property: its name says of which kind it is.
#[derive(Clone, Debug)]
pub(crate) enum Rule {
    Always(String, Claim),
    Eventually(String, Claim),
    Sometimes(String, Claim),
    /// No step that changes something leads from where the first holds to where the second does.
    NeverBetween(String, Claim, Claim),
}

/// Finds a ConfigMap of a state, in the namespace `default`.
pub(crate) type Find<'a> = &'a dyn Fn(&str) -> Option<Value>;

/// A predicate on the ConfigMaps of a state.
#[derive(Clone, Debug)]
pub(crate) enum Claim {
    Exists(&'static str),
    Has(&'static str, &'static str),
    /// Both have the same value.
    Alike(&'static str, &'static str),
    Not(Box<Claim>),
    And(Box<Claim>, Box<Claim>),
}

impl Rule {
    pub(crate) fn name(&self) -> &str {
        match self {
            Rule::Always(name, _)
            | Rule::Eventually(name, _)
            | Rule::Sometimes(name, _)
            | Rule::NeverBetween(name, ..) => name,
        }
    }
}

impl Claim {
    /// Whether it holds.
    pub(crate) fn holds(&self, find: Find<'_>) -> bool {
        match self {
            Claim::Exists(name) => find(name).is_some(),
            Claim::Has(name, value) => find(name).is_some_and(|map| map["data"]["value"] == *value),
            Claim::Alike(one, other) => match (find(one), find(other)) {
                (Some(one), Some(other)) => one["data"]["value"] == other["data"]["value"],
                (one, other) => one.is_some() == other.is_some(),
            },
            Claim::Not(claim) => !claim.holds(find),
            Claim::And(one, other) => one.holds(find) && other.holds(find),
        }
    }
}

impl Budget {
    /// The same for the checker.
    pub(crate) fn faults(self) -> Faults {
        let faults = Faults::none()
            .crashes(self.crashes)
            .lost_requests(self.lost_requests)
            .lost_replies(self.lost_replies)
            .errors(self.errors)
            .watch_gaps(self.watch_gaps)
            .partitions(self.partitions)
            .clock_jumps(self.clock_jumps, Duration::from_secs(JUMP))
            .stale(self.stale);
        let faults = if self.duplicates { faults.duplicates() } else { faults };
        if self.reorders { faults.reorders() } else { faults }
    }
}

impl Object {
    /// The request that creates it, as a client sends it.
    pub(crate) fn creation(self) -> Request {
        let (mut body, kind) = if self.is_parent {
            (to_value(&thing(self.name, self.value)), Thing::kind_info())
        } else {
            (to_value(&config_map(self.name, self.value)), ConfigMap::kind_info())
        };
        let body = body.as_mut().expect("the objects of these worlds serialize");
        object::set_meta(body, "namespace", "default");
        Request::new(Verb::Create, kind.resource)
            .in_namespace("default")
            .with_body(body.clone())
            .as_manager("client")
    }

    /// What a patch to its value says.
    fn patch(self) -> Value {
        let part = if self.is_parent { "spec" } else { "data" };
        json!({ part: { "value": self.value } })
    }
}

impl Event {
    /// The event for the checker.
    pub(crate) fn for_checker(self) -> ClientEvent {
        match self {
            Event::Create(it) if it.is_parent => ClientEvent::create(thing(it.name, it.value)),
            Event::Create(it) => ClientEvent::create(config_map(it.name, it.value)),
            Event::Patch(it) if it.is_parent => ClientEvent::patch::<Thing>(it.name, it.patch()),
            Event::Patch(it) => ClientEvent::patch::<ConfigMap>(it.name, it.patch()),
            Event::Delete(it) if it.is_parent => ClientEvent::delete::<Thing>(it.name),
            Event::Delete(it) => ClientEvent::delete::<ConfigMap>(it.name),
            Event::Put(value) => ClientEvent::call(Register, &json!({ "put": value })),
        }
    }

    /// What it asks for.
    pub(crate) fn ask(self) -> Ask {
        let named = |verb, it: Object| {
            let kind = if it.is_parent { Thing::kind_info() } else { ConfigMap::kind_info() };
            Request::new(verb, kind.resource).in_namespace("default").named(it.name)
        };
        let request = match self {
            Event::Create(it) => it.creation(),
            Event::Patch(it) => {
                named(Verb::Patch(PatchKind::Merge), it).with_body(it.patch()).as_manager("client")
            }
            Event::Delete(it) => {
                let mut request = named(Verb::Delete, it);
                request.options.propagation = Some(Propagation::Background);
                request
            }
            Event::Put(value) => {
                return Ask::Call { service: Register::NAME.to_owned(), request: json!({ "put": value }) };
            }
        };
        Ask::Api { request: Box::new(request), shortcut: Shortcut::None, detail: windlass::Detail::Whole }
    }
}

/// The key of a ConfigMap in the namespace `default`.
pub(crate) fn config_map_key(name: &str) -> Key {
    Key::new("", "configmaps", "default", name)
}

/// Everything that is needed to read a disagreement, a line per part.
impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "theme: {}", self.theme)?;
        for program in &self.programs {
            let watching = if program.watches_shared { ", watches `shared`" } else { "" };
            writeln!(f, "controller {}{watching}", program.name)?;
            for (number, stage) in program.stages.iter().enumerate() {
                writeln!(f, "  stage {number}: {stage:?}")?;
            }
            program.cleanup.iter().try_for_each(|ops| writeln!(f, "  cleanup: {ops:?}"))?;
        }
        let service = if self.has_service { "with" } else { "without" };
        let copier = if self.has_copier { ", with copier" } else { "" };
        writeln!(f, "workers: {}, replicas: {}, {service} service{copier}", self.workers, self.replicas)?;
        self.given.iter().try_for_each(|object| writeln!(f, "given: {object:?}"))?;
        self.scripts.iter().try_for_each(|script| writeln!(f, "client: {script:?}"))?;
        writeln!(f, "faults: {}", self.budget.faults())?;
        self.rules.iter().try_for_each(|rule| writeln!(f, "rule: {rule:?}"))
    }
}
