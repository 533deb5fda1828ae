//! The ten-line test: a machine, some objects, some faults, some properties.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::{Value, json};
use windlass::{CallError, Controller, Kind, KindInfo, Machine};
use windlass_model::{Cluster, Request, Store, Timestamp, Verb, object};

use crate::explore::{Goals, Search};
use crate::faults::Faults;
use crate::host::client::ClientEvent;
use crate::host::service::{Respond, ServiceStates};
use crate::property::Property;
use crate::report::{Report, Violation};
use crate::view::View;
use crate::world::{Setup, World};

/// Checks stop, undecided, when they have seen more states than this; see [`Check::max_states`].
const DEFAULT_MAX_STATES: usize = 20_000_000;
/// How many times the states of a violation may be searched for one with fewer faults, and at least how many.
const SIMPLER_TRACE_EFFORT: usize = 10;
const SIMPLER_TRACE_STATES: usize = 100_000;
/// When it is in a check: the model's clock stands still unless something moves it.
const START: i64 = 1_767_225_600;

/// Starts the check of a machine.
///
/// # Panics
/// If the machine's parent kind cannot be installed.
pub fn check<M: Machine>(machine: M) -> Check {
    Check::new(Controller::new(machine))
}

/// A check to be filled in and run.
pub struct Check {
    controllers: Vec<Controller>,
    cluster: Cluster,
    faults: Faults,
    scripts: Vec<Vec<ClientEvent>>,
    services: BTreeMap<String, Respond>,
    service_states: ServiceStates,
    always: Vec<Property>,
    eventually: Vec<Property>,
    sometimes: Vec<Property>,
    clock_limit: u32,
    max_states: usize,
    objects: usize,
}

impl Check {
    /// A check of a controller.
    ///
    /// # Panics
    /// If the controller's parent kind cannot be installed.
    pub fn new(controller: Controller) -> Self {
        let mut cluster = Cluster::new();
        cluster.set_now(Timestamp::from_unix_seconds(START));
        let check = Check {
            controllers: Vec::new(),
            cluster,
            faults: Faults::none(),
            scripts: Vec::new(),
            services: BTreeMap::new(),
            service_states: ServiceStates::new(),
            always: Vec::new(),
            eventually: Vec::new(),
            sometimes: Vec::new(),
            clock_limit: 0,
            max_states: DEFAULT_MAX_STATES,
            objects: 0,
        };
        check.and(controller)
    }

    /// Adds another controller to the same world. Each is a process of its own, and reconciles one object at a time.
    ///
    /// # Panics
    /// If the controller's parent kind cannot be installed, or its name is taken.
    #[must_use]
    pub fn and(mut self, controller: Controller) -> Self {
        let taken = self.controllers.iter().any(|known| known.name() == controller.name());
        assert!(
            !taken,
            "two controllers are named {:?}: they would take each other's outputs",
            controller.name()
        );
        self.install(controller.declaration().parent());
        for output in controller.declaration().outputs() {
            self.install(&output.kind);
        }
        self.controllers.push(controller);
        self
    }

    /// Installs a CRD. Without it, a kind that is not built in gets one that accepts everything.
    ///
    /// # Panics
    /// If the definition is refused.
    #[must_use]
    pub fn crd(mut self, definition: &impl serde::Serialize) -> Self {
        let definition = serde_json::to_value(definition).expect("a CRD serializes");
        self.install_definition(&definition);
        self
    }

    /// Objects that are there from the start.
    ///
    /// # Panics
    /// If an object is refused.
    #[must_use]
    pub fn given<K: Kind>(mut self, objects: impl IntoIterator<Item = K>) -> Self {
        self.install(&K::kind_info());
        for typed in objects {
            let ClientEvent(request) = ClientEvent::create(typed);
            let response = self.cluster.request(&request);
            if let Some(status) = response.failure() {
                panic!("a given object was refused: {}", status.message);
            }
            self.objects += 1;
        }
        self
    }

    /// What a user does, in this order, at any time. Scripts run side by side.
    #[must_use]
    pub fn client(mut self, script: impl IntoIterator<Item = ClientEvent>) -> Self {
        let script: Vec<ClientEvent> = script.into_iter().collect();
        self.objects += script.iter().filter(|event| event.0.verb == Verb::Create).count();
        self.scripts.push(script);
        self
    }

    /// A model of an external service: from its state and a request to its new state and an answer.
    #[must_use]
    pub fn service(
        mut self,
        name: &str,
        initial: Value,
        respond: impl Fn(&mut Value, &Value) -> Result<Value, CallError> + 'static,
    ) -> Self {
        self.service_states.insert(name.to_owned(), initial);
        self.services.insert(name.to_owned(), Rc::new(respond));
        self
    }

    /// What may go wrong.
    #[must_use]
    pub fn faults(mut self, faults: Faults) -> Self {
        self.faults = faults;
        self
    }

    /// Counts the reconciles of each parent that end with all states done, up to a limit, for [`View::clock`].
    #[must_use]
    pub fn clock(mut self, limit: u32) -> Self {
        self.clock_limit = limit;
        self
    }

    /// Must hold in every state.
    #[must_use]
    pub fn always(mut self, name: &str, predicate: impl Fn(&View<'_>) -> bool + 'static) -> Self {
        self.always.push(Property::new(name, predicate));
        self
    }

    /// Once faults have stopped and clients are done, every fair run must get where this holds, and stay.
    #[must_use]
    pub fn eventually(mut self, name: &str, predicate: impl Fn(&View<'_>) -> bool + 'static) -> Self {
        self.eventually.push(Property::new(name, predicate));
        self
    }

    /// Must hold in at least one state: shows that the check is not vacuous.
    #[must_use]
    pub fn sometimes(mut self, name: &str, predicate: impl Fn(&View<'_>) -> bool + 'static) -> Self {
        self.sometimes.push(Property::new(name, predicate));
        self
    }

    /// Gives up, undecided, after so many states.
    #[must_use]
    pub fn max_states(mut self, most: usize) -> Self {
        self.max_states = most;
        self
    }

    /// Runs the check. What is wrong is shown with as few faults as it takes, and then in as few steps.
    pub fn run(self) -> Report {
        let report = self.search(&self.faults, self.max_states, &self.sometimes);
        if matches!(report.violation, None | Some(Violation::Never { .. })) {
            return report;
        }
        // Fewer faults make fewer states, but not always few: a search for a simpler trace must not take long.
        let limit = (report.states as usize).saturating_mul(SIMPLER_TRACE_EFFORT).max(SIMPLER_TRACE_STATES);
        // What must be seen sometimes may well need a fault to be seen.
        let mut simpler = self.faults.weaker().into_iter().map(|faults| self.search(&faults, limit, &[]));
        simpler.find(|report| report.violation.is_some()).unwrap_or(report)
    }

    fn search(&self, faults: &Faults, max_states: usize, sometimes: &[Property]) -> Report {
        let setup = Setup {
            controllers: self.controllers.clone(),
            faults: faults.clone(),
            cluster: self.cluster.clone(),
            scripts: self.scripts.clone(),
            services: self.services.clone(),
            service_states: self.service_states.clone(),
            clock_limit: self.clock_limit,
        };
        let (world, initial) = World::new(setup);
        let afresh = |properties: &[Property]| properties.iter().map(Property::afresh).collect();
        let goals = Goals {
            always: afresh(&self.always),
            eventually: afresh(&self.eventually),
            sometimes: afresh(sometimes),
            max_states,
            clock_limit: self.clock_limit,
        };
        Report { objects: self.objects, ..Search::new(world, &initial, goals).run() }
    }

    /// Runs the check and panics with the trace if anything is wrong, or if it could not be decided.
    ///
    /// # Panics
    /// If something is wrong.
    pub fn assert(self) -> Report {
        let report = self.run();
        assert!(report.holds(), "{report}");
        report
    }

    /// A kind that is not served yet gets a definition that accepts everything.
    fn install(&mut self, kind: &KindInfo) {
        if self.cluster.types().get(&kind.resource).is_none() {
            self.install_definition(&open_definition(kind));
        }
    }

    fn install_definition(&mut self, definition: &Value) {
        let (group, plural) = (&definition["spec"]["group"], &definition["spec"]["names"]["plural"]);
        let (group, plural) = (group.as_str().unwrap_or(""), plural.as_str().unwrap_or(""));
        assert!(
            self.cluster.store().scan(group, plural, None, None).next().is_none(),
            "the CRD {} comes too late: call .crd(...) before .given(...), or the objects would go with the old one",
            object::name(definition)
        );
        // A definition given by hand replaces the one that accepts everything.
        let existing = Request::new(Verb::Delete, definition_resource()).named(object::name(definition));
        self.cluster.request(&existing);
        self.cluster.settle();
        if let Err(status) = self.cluster.install_crd(definition) {
            panic!("the CRD {} was refused: {}", object::name(definition), status.message);
        }
    }
}

fn definition_resource() -> windlass_model::ResourceId {
    windlass_model::ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions")
}

fn open_definition(kind: &KindInfo) -> Value {
    let resource = &kind.resource;
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", resource.plural, resource.group) },
        "spec": {
            "group": resource.group,
            "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
            "names": { "kind": kind.kind, "plural": resource.plural, "singular": kind.kind.to_lowercase() },
            "versions": [{
                "name": resource.version,
                "served": true,
                "storage": true,
                "subresources": { "status": {} },
                "schema": {
                    "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
                },
            }],
        },
    })
}
