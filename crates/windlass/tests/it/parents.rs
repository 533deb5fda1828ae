//! Parents: made on first sight, shared by two controllers, of a kind that has no room for a status.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its world should panic")]

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::core::ObjectMeta;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass::local::Local;
use windlass::model::{Cluster, Key, PatchKind, Request, Store, Verb};
use windlass::{
    Cause, Controller, Cx, Declaration, Kind, Machine, MachineStatus, ObjectRef, Outcome, Output,
    ReconcileResult, States, done, requeue_after, secs, to_value,
};

#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "test.windlass.dev",
    version = "v1",
    kind = "Gadget",
    namespaced,
    status = "MachineStatus",
    derive = "Default"
)]
struct GadgetSpec {
    #[serde(default)]
    wait: bool,
}

/// The same kind, with a status that has no room for the inventory.
#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "test.windlass.dev",
    version = "v1",
    kind = "Cramped",
    plural = "cramped",
    namespaced,
    status = "CrampedStatus"
)]
struct CrampedSpec {}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct CrampedStatus {
    note: Option<String>,
}

#[derive(States)]
enum Only {
    #[state(initial, condition = "FirstDone")]
    Run,
}

#[derive(States)]
enum Other {
    #[state(initial, condition = "SecondDone")]
    Run,
}

fn map(name: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        ..ConfigMap::default()
    }
}

struct First;

impl Machine for First {
    type Parent = Gadget;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .output::<ConfigMap>()
            .watches::<Namespace>(|namespace| {
                vec![ObjectRef::new(namespace.metadata.name.as_deref().unwrap_or(""), "g")]
            })
            .create_missing(|_| Gadget::new("g", GadgetSpec::default()));
    }

    async fn run(&self, _: Only, cx: &Cx<Gadget>) -> Outcome<Only> {
        cx.ensure(map("out"));
        done()
    }
}

struct Second;

impl Machine for Second {
    type Parent = Gadget;
    type State = Other;

    async fn run(&self, _: Other, cx: &Cx<Gadget>) -> Outcome<Other> {
        if cx.parent().spec.wait { requeue_after(secs(1), "ToldToWait") } else { done() }
    }
}

/// Says that a parent that waits is complete.
struct Once;

impl Machine for Once {
    type Parent = Gadget;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>().completed(|gadget: &Gadget| gadget.spec.wait);
    }

    async fn run(&self, _: Only, cx: &Cx<Gadget>) -> Outcome<Only> {
        cx.ensure(map("out"));
        done()
    }
}

struct OnCramped;

impl Machine for OnCramped {
    type Parent = Cramped;
    type State = Only;

    async fn run(&self, _: Only, _: &Cx<Cramped>) -> Outcome<Only> {
        done()
    }
}

struct OnNamespaces;

impl Machine for OnNamespaces {
    type Parent = Namespace;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output_anywhere::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Namespace>) -> Outcome<Only> {
        let mut out = map("out");
        out.metadata.namespace = Some(cx.name().to_owned());
        if cx.name() == "kube-public" {
            cx.ensure(Output::from(out).untied());
        } else {
            cx.ensure(out);
        }
        done()
    }
}

struct BadName;

impl Machine for BadName {
    type Parent = Gadget;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("My Controller");
    }

    async fn run(&self, _: Only, _: &Cx<Gadget>) -> Outcome<Only> {
        done()
    }
}

fn local() -> Local {
    let mut cluster = Cluster::new();
    for definition in [Gadget::crd(), Cramped::crd()] {
        cluster.install_crd(&serde_json::to_value(definition).unwrap()).unwrap();
    }
    Local::new(cluster)
}

fn gadget(local: &Local) -> Option<Value> {
    let found = local.cluster.store().get(&Key::new("test.windlass.dev", "gadgets", "default", "g"));
    found.map(|object| (*object).clone())
}

fn ready(local: &Local) -> String {
    let status = gadget(local).unwrap()["status"].clone();
    let conditions = status["conditions"].as_array().unwrap().clone();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready").unwrap();
    format!("{} {}", ready["status"].as_str().unwrap(), ready["reason"].as_str().unwrap())
}

fn target() -> ObjectRef {
    ObjectRef::new("default", "g")
}

#[test]
fn only_a_watched_object_makes_a_missing_parent() {
    let mut local = local();
    let first = Controller::new(First);
    assert_eq!(local.reconcile(&first, &target()).unwrap().result, ReconcileResult::Gone);
    assert_eq!(gadget(&local), None);
    local.reconcile_watched(&first, &target()).unwrap();
    assert!(gadget(&local).is_some());

    // Deleted by the user: neither its own event nor that of its output brings it back.
    let declaration = first.declaration();
    let key = |plural, name| {
        Key::new(if plural == "gadgets" { "test.windlass.dev" } else { "" }, plural, "default", name)
    };
    let output = local.cluster.store().get(&key("configmaps", "out")).unwrap();
    let causes = |key: &Key, object: &Value| {
        declaration.triggers(key, Some(object), None).iter().map(|t| t.cause).collect::<Vec<_>>()
    };
    assert_eq!(causes(&key("configmaps", "out"), &output), [Cause::Output]);
    assert_eq!(causes(&key("gadgets", "g"), &gadget(&local).unwrap()), [Cause::Parent]);
    let namespace = local.cluster.store().get(&Key::new("", "namespaces", "", "default")).unwrap();
    assert_eq!(causes(&Key::new("", "namespaces", "", "default"), &namespace), [Cause::Watched]);
}

#[test]
fn two_controllers_of_one_parent_share_ready() {
    let mut local = local();
    let (first, second) = (Controller::new(First), Controller::new(Second));
    local.reconcile_watched(&first, &target()).unwrap();
    local.reconcile(&second, &target()).unwrap();
    assert_eq!(ready(&local), "True AllDone");

    let wait = json!({ "spec": { "wait": true } });
    let patch =
        Request::new(Verb::Patch(PatchKind::Merge), Gadget::kind_info().resource).in_namespace("default");
    local.cluster.request(&patch.named("g").with_body(wait));
    local.reconcile(&first, &target()).unwrap();
    assert_eq!(ready(&local), "False Pending", "the second has not seen the change");
    assert_eq!(gadget(&local).unwrap()["status"]["observedGeneration"], 1);
    local.reconcile(&second, &target()).unwrap();
    assert_eq!(ready(&local), "False ToldToWait");
    assert_eq!(gadget(&local).unwrap()["status"]["observedGeneration"], 2);

    // And they come to rest: neither corrects what the other wrote.
    local.reconcile(&first, &target()).unwrap();
    let rest = local.cluster.store().clone();
    local.reconcile(&second, &target()).unwrap();
    local.reconcile(&first, &target()).unwrap();
    assert!(*local.cluster.store() == rest, "they write for ever");
}

#[test]
fn a_status_without_room_for_the_inventory_is_a_clear_error() {
    let mut local = local();
    let create = Request::new(Verb::Create, Cramped::kind_info().resource).in_namespace("default");
    let body = to_value(&Cramped::new("c", CrampedSpec {})).unwrap();
    assert_eq!(local.cluster.request(&create.with_body(body)).failure(), None);
    let ended = local.reconcile(&Controller::new(OnCramped), &ObjectRef::new("default", "c")).unwrap();
    let ReconcileResult::Terminal { reason, message } = &ended.result else { panic!("{ended:?}") };
    assert_eq!(reason, "StatusNotStored");
    assert!(message.contains("windlass::MachineStatus"), "{message}");
}

#[test]
fn a_status_that_cannot_hold_conditions_is_a_clear_error() {
    let mut local = Local::new(Cluster::new());
    let mut definition = serde_json::to_value(Gadget::crd()).unwrap();
    let status = "/spec/versions/0/schema/openAPIV3Schema/properties/status/properties";
    definition.pointer_mut(status).unwrap().as_object_mut().unwrap().remove("conditions");
    local.cluster.install_crd(&definition).unwrap();
    let ended = local.reconcile_watched(&Controller::new(First), &target()).unwrap();
    let ReconcileResult::Terminal { reason, message } = &ended.result else { panic!("{ended:?}") };
    assert_eq!(reason, "StatusNotStored");
    assert!(message.contains("cannot hold `conditions`"), "{message}");
}

#[test]
fn a_built_in_parent_gets_outputs_and_no_status() {
    let mut local = local();
    let controller = Controller::new(OnNamespaces);
    let ended = local.reconcile(&controller, &ObjectRef::new("", "default")).unwrap();
    assert_eq!(ended.result, ReconcileResult::Done { requeue_after: None });
    assert!(local.cluster.store().get(&Key::new("", "configmaps", "default", "out")).is_some());
    let bug = local.reconcile(&controller, &ObjectRef::new("", "kube-public")).unwrap().bug.unwrap();
    assert!(bug.to_string().contains("has no room for an inventory"), "{bug}");
}

#[test]
#[should_panic(expected = "the controller name \"My Controller\" cannot be used")]
fn a_name_that_no_label_can_carry_is_refused_at_once() {
    Controller::new(BadName);
}

#[test]
fn completed_parent_is_left_alone_until_its_deletion() {
    let controller = Controller::new(Once);
    let declaration = controller.declaration();
    let mut gadget = to_value(&Gadget::new("g", GadgetSpec { wait: true })).unwrap();
    gadget["metadata"]["namespace"] = json!("default");
    let gadgets = Key::new("test.windlass.dev", "gadgets", "default", "g");
    assert!(declaration.triggers(&gadgets, None, Some(&gadget)).is_empty());
    let mut local = local();
    local.cluster.request(
        &Request::new(Verb::Create, Gadget::kind_info().resource)
            .in_namespace("default")
            .with_body(gadget.clone()),
    );
    assert_eq!(local.reconcile(&controller, &target()).unwrap().result, ReconcileResult::Idle);
    assert!(
        local.cluster.store().get(&Key::new("", "configmaps", "default", "out")).is_none(),
        "nothing is left to do for it"
    );
    gadget["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert!(!declaration.is_completed(&gadget), "it may have a finalizer to run");
    assert_eq!(declaration.triggers(&gadgets, None, Some(&gadget)).len(), 1);
}
