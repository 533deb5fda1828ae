//! The ten-line test: a machine, some objects, some faults, some properties.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use windlass::{CallError, Controller, Kind, KindInfo, Machine};
use windlass_model::{Cluster, FeatureGates, PatchKind, Request, Store, Timestamp, Verb, object, workloads};

use crate::between::Between;
use crate::engine::{self, Fairness, Options, PropertyKind, Simulation, SimulationOptions};
use crate::fault::Faults;
use crate::host::client::{ClientEvent, creation};
use crate::host::service::{IsRead, Respond, ServiceStates};
use crate::oracle::Oracle;
use crate::progress;
use crate::reductions::Reductions;
use crate::report::{self, Report};
use crate::rules::{Rules, StateRule, StepRule};
use crate::show;
use crate::subject::Subject;
use crate::view::View;
use crate::world::canonical::other_numbers::says_a_number;
use crate::world::{Asymmetry, Setup};

/// How many random runs are drawn when a limit is reached.
const RUNS_AFTER_A_LIMIT: u64 = 50;
/// How many states are looked at, after each of them, to see where it ends.
const END_STATES_AFTER_A_LIMIT: usize = 200;
/// Checks stop, undecided, when they have seen more states than this; see [`Check::max_states`].
const DEFAULT_MAX_STATES: usize = 20_000_000;
/// After a violation, those of other rules are looked for in this many states, or in this many times the states that
/// the first took.
const FURTHER_STATES: usize = 20_000;
const FURTHER_TIMES: usize = 2;
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
#[derive(Clone)]
pub struct Check {
    controllers: Vec<Controller>,
    replicas: usize,
    workers: usize,
    cluster: Cluster,
    faults: Faults,
    scripts: Vec<Vec<ClientEvent>>,
    services: BTreeMap<String, Respond>,
    service_states: ServiceStates,
    reads: BTreeMap<String, IsRead>,
    rules: Rules,
    clock_limit: u32,
    options: Options,
    reductions: Reductions,
    objects: usize,
    workloads: bool,
    /// The given objects, by what they are without their names.
    given: BTreeMap<String, Vec<String>>,
    /// What the verdict is to say beside the result.
    notes: Vec<String>,
    /// Whether to end with the first violation.
    only_first: bool,
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
            replicas: 1,
            workers: 1,
            cluster,
            faults: Faults::none(),
            scripts: Vec::new(),
            services: BTreeMap::new(),
            service_states: ServiceStates::new(),
            reads: BTreeMap::new(),
            rules: Rules::default(),
            clock_limit: 0,
            options: Options {
                max_states: DEFAULT_MAX_STATES,
                then_simulate: Some(SimulationOptions {
                    runs: Some(RUNS_AFTER_A_LIMIT),
                    end_states: END_STATES_AFTER_A_LIMIT,
                    ..SimulationOptions::default()
                }),
                ..Options::default()
            },
            reductions: Reductions::default(),
            objects: 0,
            workloads: false,
            given: BTreeMap::new(),
            notes: Vec::new(),
            only_first: false,
        };
        check.and(controller)
    }

    /// Adds another controller to the same world, as a process of its own.
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

    /// Number of processes of each controller that run side by side, as after a botched leader election. Default: 1.
    ///
    /// # Panics
    /// If there is to be none.
    #[must_use]
    pub fn replicas(mut self, processes: usize) -> Self {
        assert!(processes > 0, "a controller without a process does nothing");
        self.replicas = processes;
        self
    }

    /// Maximum number of objects that a process reconciles at the same time, as in production; never one object twice.
    ///
    /// # Panics
    /// If there is to be none.
    #[must_use]
    pub fn workers(mut self, most: usize) -> Self {
        assert!(most > 0, "a process without a worker does nothing");
        self.workers = most;
        self
    }

    /// Makes the cluster's own workload controllers part of the world: pods are scheduled and become ready, Deployments,
    /// StatefulSets and DaemonSets roll out, Jobs complete, claims are bound. Without it, nothing does that.
    ///
    /// Each of them does one thing at a time, at any time. What they make is no output of a controller, so the
    /// built-in rules ignore it. The world gets a node and a default class of storage, so call this before
    /// [`Check::given`] if claims are given. What is simpler than on a cluster is said in [`windlass_model::workloads`].
    #[must_use]
    pub fn workloads(mut self) -> Self {
        for request in workloads::first_requests(self.cluster.store(), self.cluster.now()) {
            self.perform_given(&request);
        }
        self.workloads = true;
        self
    }

    /// Opens the feature gate `MutatingAdmissionPolicy`, which Kubernetes 1.35 has closed by default: the world then has
    /// MutatingAdmissionPolicies, and what the controllers write is changed by those that are given. Call it before
    /// [`Check::given`] gives one.
    ///
    /// ```
    /// use k8s_openapi::api::admissionregistration::v1beta1::{
    ///     MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding,
    /// };
    /// use serde_json::{from_value, json};
    /// use windlass_check::Check;
    ///
    /// /// Each new ConfigMap gets a label.
    /// fn with_teams(check: Check) -> serde_json::Result<Check> {
    ///     let policy: MutatingAdmissionPolicy = from_value(json!({
    ///         "metadata": { "name": "team" },
    ///         "spec": {
    ///             "reinvocationPolicy": "Never",
    ///             "matchConstraints": { "resourceRules": [{
    ///                 "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
    ///             }] },
    ///             "mutations": [{
    ///                 "patchType": "ApplyConfiguration",
    ///                 "applyConfiguration": { "expression": "Object{metadata: Object.metadata{labels: {'team': 'a'}}}" },
    ///             }],
    ///         },
    ///     }))?;
    ///     let binding: MutatingAdmissionPolicyBinding =
    ///         from_value(json!({ "metadata": { "name": "team" }, "spec": { "policyName": "team" } }))?;
    ///     Ok(check.mutating_admission_policies().given([policy]).given([binding]))
    /// }
    /// ```
    #[must_use]
    pub fn mutating_admission_policies(mut self) -> Self {
        self.cluster.open_gates(FeatureGates { mutating_admission_policy: true, ..FeatureGates::default() });
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

    /// Objects that are there from the start, with the status that they have, if they have one.
    ///
    /// # Panics
    /// If an object is refused.
    #[must_use]
    pub fn given<K: Kind>(mut self, objects: impl IntoIterator<Item = K>) -> Self {
        self.install(&K::kind_info());
        for typed in objects {
            let request = creation(typed);
            self.perform_given(&request);
            self.give_status(&request);
            self.objects += 1;
            let mut nameless = request.body.unwrap_or_default();
            let name = object::remove_meta(&mut nameless, "name").unwrap_or_default();
            let alike =
                self.given.entry(format!("{} {nameless}", K::kind_info().resource.plural)).or_default();
            alike.extend(name.as_str().map(str::to_owned));
        }
        self
    }

    fn perform_given(&mut self, request: &Request) {
        if let Some(status) = self.cluster.request(request).failure() {
            panic!("a given object was refused: {}", status.message);
        }
    }

    /// A status that comes with the creation is dropped, as by any API server, so it is written afterwards.
    fn give_status(&mut self, creation: &Request) {
        let body = creation.body.as_ref().unwrap_or(&Value::Null);
        let has_status = self.cluster.types().get(&creation.resource).is_some_and(|info| info.has_status);
        if body["status"].is_object() && has_status {
            let mut request =
                creation.clone().named(object::name(body)).with_body(json!({ "status": body["status"] }));
            request.verb = Verb::Patch(PatchKind::Merge);
            request.subresource = Some("status".to_owned());
            self.perform_given(&request);
        }
    }

    /// What a user does, in this order, at any time. Scripts run side by side.
    #[must_use]
    pub fn client(mut self, script: impl IntoIterator<Item = ClientEvent>) -> Self {
        let script: Vec<ClientEvent> = script.into_iter().collect();
        self.objects += script.iter().filter(|event| event.creates()).count();
        self.scripts.push(script);
        self
    }

    /// A model of an external service: from its state and a request to its new state and an answer.
    #[must_use]
    pub fn service(
        mut self,
        name: &str,
        initial: Value,
        respond: impl Fn(&mut Value, &Value) -> Result<Value, CallError> + Send + Sync + 'static,
    ) -> Self {
        self.service_states.insert(name.to_owned(), initial);
        self.services.insert(name.to_owned(), Arc::new(respond));
        self
    }

    /// Which requests to a service only ask and change nothing. That one of these comes late or twice makes no
    /// difference then, so there are fewer states; that it really changes nothing is not checked.
    #[must_use]
    pub fn service_reads(
        mut self,
        name: &str,
        is_read: impl Fn(&Value) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.reads.insert(name.to_owned(), Arc::new(is_read));
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
    pub fn always(self, name: &str, predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.rule(PropertyKind::Always, name, predicate)
    }

    /// Once faults have stopped and clients are done, every fair run must get where this holds, and stay. Which runs
    /// are fair is said by [`Check::fairness`].
    #[must_use]
    pub fn eventually(
        self,
        name: &str,
        predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rule(PropertyKind::Eventually, name, predicate)
    }

    /// Must hold in at least one state: shows that the check is not vacuous.
    #[must_use]
    pub fn sometimes(
        self,
        name: &str,
        predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rule(PropertyKind::Sometimes, name, predicate)
    }

    /// Must not happen in any step: a rule on what is before and what is after, such as "replicas shrink", and on who
    /// acts, with which request ([`Between::actor`], [`Between::request`]). Only steps that change an object, a service or
    /// a clock count.
    #[must_use]
    pub fn never_between(
        mut self,
        name: &str,
        predicate: impl Fn(&Between<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rules.steps.push(StepRule { name: name.to_owned(), predicate: Arc::new(predicate) });
        self
    }

    /// Switches off a rule that is checked by default.
    #[must_use]
    pub fn without(mut self, oracle: Oracle) -> Self {
        self.rules.oracles.remove(&oracle);
        self
    }

    /// Names fields, as JSON pointers into objects and into the states of services, in which two ends may differ:
    /// see [`Oracle::OneResult`].
    ///
    /// ```
    /// # use windlass_check::Check;
    /// # fn of(check: Check) -> Check {
    /// check.may_differ(["/data/drawnAt", "/metadata/annotations/example.com~1port"])
    /// # }
    /// ```
    #[must_use]
    pub fn may_differ<'a>(mut self, pointers: impl IntoIterator<Item = &'a str>) -> Self {
        self.rules.may_differ.extend(pointers.into_iter().map(str::to_owned));
        self
    }

    /// Lets two ends differ in the state of a service, such as one that keeps a log: see [`Oracle::OneResult`].
    #[must_use]
    pub fn service_may_differ(mut self, name: &str) -> Self {
        self.rules.services_may_differ.push(name.to_owned());
        self
    }

    /// Maximum number of states. Beyond it the check stops, undecided. Default: 20 million.
    #[must_use]
    pub fn max_states(mut self, most: usize) -> Self {
        self.options.max_states = most;
        self
    }

    /// What `eventually` may take for granted of a run without faults: by default, that every step which is possible
    /// again and again is taken again and again.
    #[must_use]
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.options.fairness = fairness;
        self
    }

    /// How to explore: threads, memory, progress, what to do when a limit is reached.
    #[must_use]
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Chooses what may be left out of the search because it makes no difference. All of it is, by default.
    #[must_use]
    pub fn reductions(mut self, reductions: Reductions) -> Self {
        self.reductions = reductions;
        self
    }

    /// Switches off reductions that are not among these. What the check itself has switched off stays off: for whoever
    /// runs a check that somebody else has written.
    #[must_use]
    pub fn reductions_among(mut self, allowed: Reductions) -> Self {
        self.reductions = self.reductions.and(allowed);
        self
    }

    /// Runs the check. A violation is shown with as few faults as possible, and then with as few steps.
    ///
    /// Every rule that is violated is reported, those of the user first: after each violation the rest is checked
    /// without that rule. [`Check::only_first_violation`] ends with the first.
    pub fn run(&self) -> Report {
        let mut report = self.run_once();
        if !self.only_first {
            self.find_further(&mut report);
            report.put_users_first();
        }
        report
    }

    /// Looks for violations of rules other than the one that was found first. The world beyond that may have no end,
    /// so it is looked at only so far.
    fn find_further(&self, report: &mut Report) {
        let most = FURTHER_STATES.max(report.states() * FURTHER_TIMES).min(self.options.max_states);
        let mut check = self.clone().max_states(most);
        check.options.then_simulate = None;
        while let Some(last) = report.further.last().or(report.violation.as_ref())
            && let Some(rest) = check.rules.without(last)
        {
            check.rules = rest;
            let next = check.run_once();
            match next.violation {
                Some(violation) => report.further.push(violation),
                None if next.holds() => break,
                None => {
                    let note =
                        format!("whether other rules are violated was looked at in {most} states only");
                    report.notes.push(note);
                    break;
                }
            }
        }
    }

    /// Ends with the first violation that is found, instead of looking for those of other rules.
    #[must_use]
    pub fn only_first_violation(mut self) -> Self {
        self.only_first = true;
        self
    }

    fn run_once(&self) -> Report {
        let check = self.without_known_misfits();
        let subject = check.subject();
        let Reductions { symmetry, replicas, partial_order, subsumption, .. } = check.reductions;
        let symmetry = symmetry || replicas;
        let mut options = Options { symmetry, partial_order, subsumption, ..check.options.clone() };
        options.progress.get_or_insert_with(|| progress::on_stderr(&check.names()));
        let exploration = engine::explore(&subject, &options);
        match check.without_misfit(&subject) {
            None => Report::new(&subject, check.objects, &options, exploration, check.notes),
            Some(less) => less.run_once(),
        }
    }

    /// Draws random runs instead of exploring everything. What they do not find may be violated all the same.
    pub fn simulate(&self, options: &SimulationOptions) -> Simulation {
        self.with_sound_reductions(|subject| engine::simulate(subject, options))
    }

    /// Does something with the world of this check; again without a reduction if that turns out not to fit its code.
    pub(crate) fn with_sound_reductions<T>(&self, act: impl Fn(&Subject) -> T) -> T {
        let check = self.without_known_misfits();
        let subject = check.subject();
        let result = act(&subject);
        match check.without_misfit(&subject) {
            None => result,
            Some(less) => less.with_sound_reductions(act),
        }
    }

    /// The same check without the reductions that its scripts do not allow: one that says a version or a generation
    /// means that very number.
    fn without_known_misfits(&self) -> Check {
        let mut asks = self.scripts.iter().flatten().filter_map(ClientEvent::ask);
        match asks.find(|ask| self.reductions.versions && says_a_number(ask)) {
            None => self.clone(),
            Some(ask) => self.not_renumbered(&format!(
                "a script says the number of a resource version, a generation or a uid in `{}`",
                show::ask(ask)
            )),
        }
    }

    /// The same check with fewer reductions, if what was explored has shown that one does not fit the code: it
    /// treats names in its own way, or depends on the very numbers of versions. Its verdict is worth nothing then.
    fn without_misfit(&self, subject: &Subject) -> Option<Check> {
        let parts = subject.world.parts();
        match (&parts.steps.depends_on_numbers, &parts.permutations.broken) {
            (Some(why), _) => Some(self.not_renumbered(why)),
            (None, Some(Asymmetry::Names)) => {
                Some(self.clone().reductions(Reductions { symmetry: false, ..self.reductions }))
            }
            (None, Some(Asymmetry::Processes)) => {
                Some(self.clone().reductions(Reductions { replicas: false, ..self.reductions }))
            }
            (None, None) => None,
        }
    }

    /// The states of external services at the start.
    pub(crate) fn service_states(&self) -> &ServiceStates {
        &self.service_states
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.controllers.iter().map(Controller::name).collect();
        names.join(", ")
    }

    fn not_renumbered(&self, why: &str) -> Check {
        let mut less = self.clone().reductions(Reductions { versions: false, ..self.reductions });
        less.notes.push(format!(
            "{why}, so states that differ in such numbers only are counted apart (Reductions::versions is off)"
        ));
        less
    }

    /// The bounds in words: `2 objects, <= 2 crashes, any reordering`.
    pub fn bounds(&self) -> String {
        report::bounds(self.objects, &self.faults)
    }

    /// The world and its rules, for the engine.
    ///
    /// # Panics
    /// If a controller wants to watch by a field that the API server cannot select by: it would never be notified.
    pub(crate) fn subject(&self) -> Subject {
        self.controllers.iter().for_each(|controller| self.check_fields(controller));
        let alike = |controller: &Controller| std::iter::repeat_n(controller.clone(), self.replicas);
        let setup = Setup {
            processes: self.controllers.iter().flat_map(alike).collect(),
            faults: self.faults.clone(),
            cluster: self.cluster.clone(),
            scripts: self.scripts.clone(),
            services: self.services.clone(),
            service_states: self.service_states.clone(),
            reads: self.reads.clone(),
            clock_limit: self.clock_limit,
            workers: self.workers,
            reductions: self.reductions,
            workloads: self.workloads,
            alike: self.given.values().filter(|names| names.len() > 1).cloned().collect(),
        };
        Subject::new(setup, self.rules.clone())
    }

    fn check_fields(&self, controller: &Controller) {
        for watch in controller.declaration().all_watches() {
            let Some(info) = self.cluster.types().get(&watch.kind.resource) else { continue };
            if let Err(message) = watch.fields.check_supported(info) {
                let (name, kind) = (controller.name(), watch.kind.qualified());
                panic!(
                    "{name} cannot watch {kind} by these fields: {message}; see selectableFields of its CRD"
                );
            }
        }
    }

    fn rule(
        mut self,
        kind: PropertyKind,
        name: &str,
        predicate: impl Fn(&View<'_>) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.rules.states.push(StateRule { kind, name: name.to_owned(), predicate: Arc::new(predicate) });
        self
    }

    /// Runs the check and panics with the trace if anything is violated, or if it could not be decided.
    ///
    /// # Panics
    /// If something is violated.
    pub fn assert(&self) -> Report {
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
