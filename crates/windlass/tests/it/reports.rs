//! Status fields of a machine's own: written with the conditions, in one request, and only if they change.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its world should panic")]

use std::collections::BTreeMap;

use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass::local::Local;
use windlass::model::{Cluster, PatchKind, Request, Verb};
use windlass::{
    Controller, Cx, Kind, Machine, MachineStatus, ObjectRef, Outcome, ReconcileResult, Reconciled, States,
    done, requeue_after, secs, to, to_value,
};

#[derive(CustomResource, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "test.windlass.dev",
    version = "v1",
    kind = "Gauge",
    namespaced,
    status = "GaugeStatus",
    derive = "Default"
)]
struct GaugeSpec {
    /// What the machine reports, as JSON.
    report: String,
    #[serde(default)]
    wait: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct GaugeStatus {
    #[serde(flatten)]
    machine: MachineStatus,
    needle: Option<i64>,
    #[serde(default)]
    marks: BTreeMap<String, String>,
}

#[derive(States)]
enum Step {
    #[state(initial, condition = "Shown", next(Wait))]
    Show,
    #[state(condition = "Waited")]
    Wait,
}

struct Gauges;

impl Machine for Gauges {
    type Parent = Gauge;
    type State = Step;

    async fn run(&self, step: Step, cx: &Cx<Gauge>) -> Outcome<Step> {
        match step {
            Step::Show => {
                cx.report(&serde_json::from_str::<Value>(&cx.parent().spec.report).unwrap())?;
                to(Step::Wait)
            }
            Step::Wait if cx.parent().spec.wait => requeue_after(secs(1), "Waiting"),
            Step::Wait => done(),
        }
    }
}

struct Rig {
    local: Local,
    controller: Controller,
    key: ObjectRef,
}

impl Rig {
    fn new() -> Self {
        let mut cluster = Cluster::new();
        cluster.install_crd(&serde_json::to_value(Gauge::crd()).unwrap()).unwrap();
        let local = Local::new(cluster);
        let key = ObjectRef::new("default", "g");
        Rig { local, controller: Controller::new(Gauges), key }
    }

    /// Reconciles a gauge that reports this, and returns its status.
    fn show(&mut self, report: &Value, wait: bool) -> (Reconciled, Value) {
        let spec = GaugeSpec { report: report.to_string(), wait };
        let mut body = to_value(&Gauge::new("g", spec)).unwrap();
        body.as_object_mut().unwrap().remove("status");
        let apply = gauges(Verb::Patch(PatchKind::Apply)).with_body(body).as_manager("somebody");
        assert!(self.local.cluster.request(&apply).failure().is_none());
        let ended = self.local.reconcile(&self.controller, &self.key).unwrap();
        let gauge = self.local.cluster.request(&gauges(Verb::Get));
        (ended, gauge.as_object().unwrap()["status"].clone())
    }
}

fn gauges(verb: Verb) -> Request {
    Request::new(verb, Gauge::kind_info().resource).in_namespace("default").named("g")
}

#[test]
fn fields_are_written_with_the_conditions_and_replaced_whole() {
    let mut rig = Rig::new();
    let (_, status) = rig.show(&json!({ "needle": 1, "marks": { "a": "x", "b": "y" } }), false);
    assert_eq!(status["needle"], 1);
    assert_eq!(status["conditions"].as_array().unwrap().len(), 3);
    let (_, status) = rig.show(&json!({ "marks": { "b": "z" } }), false);
    assert_eq!(status["marks"], json!({ "b": "z" }), "what is not there any more goes");
    assert_eq!(status["needle"], 1, "what is not reported stays");
    let (_, status) = rig.show(&json!({ "needle": null, "marks": {} }), false);
    assert_eq!(status["needle"], Value::Null);
}

#[test]
fn fields_are_written_however_the_reconcile_ends() {
    let mut rig = Rig::new();
    let (ended, status) = rig.show(&json!({ "needle": 7 }), true);
    assert!(matches!(ended.result, ReconcileResult::Requeue { .. }));
    assert_eq!(status["needle"], 7);
}

#[test]
fn what_is_so_already_is_not_written() {
    let mut rig = Rig::new();
    rig.show(&json!({ "needle": 7, "marks": { "a": "x" } }), false);
    let before = rig.local.cluster.request(&gauges(Verb::Get));
    rig.local.reconcile(&rig.controller, &rig.key).unwrap();
    assert_eq!(rig.local.cluster.request(&gauges(Verb::Get)), before);
}

#[test]
fn a_report_that_cannot_be_stored_is_a_terminal_error() {
    for (report, reason) in [
        (json!({ "conditions": [] }), "UnusableReport"),
        (json!([1]), "UnusableReport"),
        (json!({ "unknown": 1 }), "StatusNotStored"),
    ] {
        let (ended, _) = Rig::new().show(&report, false);
        assert!(
            matches!(&ended.result, ReconcileResult::Terminal { reason: reported, .. } if reported == reason),
            "{ended:?}"
        );
    }
}
