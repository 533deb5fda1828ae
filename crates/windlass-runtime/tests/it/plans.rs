//! Plans on a live cluster: what they say comes true, and they change nothing.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::ObjectMeta;
use serde_json::{Value, json};
use two_configmaps::{Pair, TwoConfigMaps};
use windlass::recording::RecordedEnd;
use windlass::{
    Controller, Cx, Declaration, Event, Finalizer, Machine, ObjectRef, Outcome, ReconcileResult, Service,
    States, done,
};
use windlass_runtime::{Api, Plan, PlannedAction, Planner, plan};

use crate::support::{Cluster, Embedded, Rig, Tap};

fn summary(plan: &Plan) -> Vec<String> {
    plan.changes.iter().map(|change| format!("{} {} {}", change.action, change.kind, change.object)).collect()
}

fn difference<'a>(plan: &'a Plan, name: &str) -> &'a str {
    let found = plan.changes.iter().find(|change| change.object.name == name);
    &found.unwrap_or_else(|| panic!("{name} is not in {plan}")).difference
}

/// Plans through a tap, and makes sure that nothing but reads and dry runs goes through.
async fn planned(cluster: &Cluster, controller: &Controller, name: &str) -> Plan {
    let tap = Tap::new();
    let api = Api::new(tap.on(&cluster.client));
    let plan = plan(&api, controller, &ObjectRef::new(&cluster.namespace, name)).await;
    let real: Vec<_> = tap
        .take()
        .into_iter()
        .filter(|sent| sent.is_write() && !sent.target.contains("dryRun=All"))
        .collect();
    // A delete says it in its body.
    assert!(real.iter().all(|sent| sent.method == "DELETE"), "{real:?}");
    plan
}

#[tokio::test]
async fn what_a_plan_says_comes_true() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let controller = Controller::new(TwoConfigMaps);
    assert!(matches!(
        planned(cluster, &controller, "a").await.end,
        Some(RecordedEnd::Ended { result: ReconcileResult::Gone, .. })
    ));
    cluster.create_pair("a").await;
    let before = cluster.pairs().get("a").await.expect("a pair");
    let first = planned(cluster, &controller, "a").await;
    let expected = [
        "change Pair.example.windlass.dev test/a",
        "create ConfigMap test/a-cm1",
        "create ConfigMap test/a-cm2",
    ];
    let mut changes = summary(&first);
    changes.sort();
    assert_eq!(changes, expected, "{first}");
    assert!(difference(&first, "a-cm1").contains("+ data:\n+   value: \"hello\"\n"), "{first}");
    assert!(difference(&first, "a").contains("FirstReady"), "conditions are part of it: {first}");
    assert!(first.to_string().ends_with("it would be done (First -> Second)\n"), "{first}");
    assert_eq!(cluster.pairs().get("a").await.expect("a pair"), before, "nothing was written");
    assert_eq!(cluster.value_of("a-cm1").await, None);

    let rig = Rig::start(cluster).await;
    cluster.until_ready("a").await;
    rig.until_idle().await;
    rig.running.stop().await;
    let settled = planned(cluster, &controller, "a").await;
    assert!(!settled.has_changes(), "{settled}");
    assert!(settled.to_string().contains("no object would be different"), "{settled}");

    cluster.merge_pair("a", json!({"spec": {"value": "other"}})).await;
    let changed = planned(cluster, &controller, "a").await;
    assert_eq!(difference(&changed, "a-cm2"), "  data:\n-   value: \"hello\"\n+   value: \"other\"\n");
}

#[tokio::test]
async fn a_parent_that_is_not_there_yet_can_be_planned() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let controller = Controller::new(TwoConfigMaps);
    let planner = Planner::new(Api::new(cluster.client.clone()));
    let pair = json!({
        "apiVersion": "example.windlass.dev/v1", "kind": "Pair",
        "metadata": {"name": "new", "namespace": "test", "uid": "of-elsewhere"}, "spec": {"value": "v"},
    });
    let plan = planner.plan_applied(&controller, &pair).await.expect("a plan");
    assert!(summary(&plan).contains(&"create ConfigMap test/new-cm2".to_owned()), "{plan}");
    assert!(cluster.pairs().get_opt("new").await.expect("an answer").is_none());
    let invalid = json!({"apiVersion": "example.windlass.dev/v1", "kind": "Pair",
        "metadata": {"name": "new", "namespace": "test"}, "spec": {"value": 7}});
    let message = planner.plan_applied(&controller, &invalid).await.expect_err("refused").to_string();
    assert!(message.starts_with("the API server refuses the object"), "{message}");
    let other = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}});
    let message = planner.plan_applied(&controller, &other).await.expect_err("another kind").to_string();
    assert!(message.contains("is a v1 ConfigMap, and two-configmaps looks after"), "{message}");
}

/// Makes a Secret and a copy of it, calls a service, has a finalizer, and makes fewer things for `less`.
struct Everything;

struct Registry;

impl Service for Registry {
    const NAME: &'static str = "registry";
    type Request = String;
    type Response = Value;
}

#[derive(States)]
enum Step {
    #[state(initial, condition = "Made")]
    Make,
}

const PASSWORD: &str = "correct horse battery";

impl Machine for Everything {
    type Parent = Pair;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("everything").output::<Secret>().output::<ConfigMap>();
    }

    async fn run(&self, _: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        let metadata = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let password = ByteString(PASSWORD.as_bytes().to_vec());
        cx.ensure(Secret {
            metadata: metadata("login"),
            data: Some(BTreeMap::from([("password".to_owned(), password)])),
            ..Secret::default()
        });
        if cx.parent().spec.value != "less" {
            cx.ensure(ConfigMap {
                metadata: metadata("copy"),
                data: Some(BTreeMap::from([("url".to_owned(), format!("postgres://me:{PASSWORD}@host"))])),
                ..ConfigMap::default()
            });
        }
        cx.event(Event::normal("Made", format!("with {PASSWORD}")));
        done()
    }

    fn finalizer(&self) -> Option<Finalizer<Pair>> {
        Some(Finalizer::new(Farewell))
    }
}

struct Farewell;

impl Machine for Farewell {
    type Parent = Pair;
    type State = Step;

    async fn run(&self, _: Step, cx: &Cx<Pair>) -> Outcome<Step> {
        if cx.parent().spec.value != "quiet" {
            cx.call(Registry, format!("forget {}", cx.name())).await?;
        }
        done()
    }
}

#[tokio::test]
async fn secrets_prunings_calls_and_finalizers_are_planned() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let controller = Controller::new(Everything);
    cluster.create_pair("a").await;
    let first = planned(cluster, &controller, "a").await;
    let text = format!("{first}\n{:#}", first.to_value());
    assert!(!text.contains(PASSWORD) && !text.contains("Y29ycmVjdCBob3JzZSBiYXR0ZXJ5"), "{text}");
    assert!(difference(&first, "copy").contains("url: \"postgres://me:redacted-"), "{first}");
    assert!(difference(&first, "a").contains("finalizers"), "a later write sees the earlier: {first}");
    assert!(difference(&first, "a").contains("observedGeneration"), "{first}");
    assert!(text.contains("event Normal Made: with redacted-"), "{text}");

    let tap = Tap::new();
    let manager = crate::support::manager(cluster, &tap);
    let running = manager.controller(Everything).start().await.expect("it starts");
    crate::support::eventually("it is made", async || cluster.is_ready("a").await).await;
    running.stop().await;
    cluster.merge_pair("a", json!({"spec": {"value": "less"}})).await;
    let pruned = planned(cluster, &controller, "a").await;
    let copy = pruned.changes.iter().find(|change| change.object.name == "copy").expect("it is pruned");
    assert_eq!(copy.action, PlannedAction::Delete, "{pruned}");
    assert!(cluster.config_maps().get_opt("copy").await.expect("an answer").is_some(), "it is still there");

    cluster.pairs().delete("a", &Default::default()).await.expect("it goes");
    let held = planned(cluster, &controller, "a").await;
    assert_eq!(held.calls, [("registry".to_owned(), json!("forget a"))]);
    assert_eq!(held.end, None, "what comes next depends on the answer");
    assert!(held.changes.is_empty() && held.events.is_empty(), "{held}");
    assert!(held.to_string().contains("a plan calls nothing outside the cluster"), "{held}");
    cluster.merge_pair("a", json!({"spec": {"value": "quiet"}})).await;
    let gone = planned(cluster, &controller, "a").await;
    assert_eq!(summary(&gone), ["delete Pair.example.windlass.dev test/a"], "{gone}");
    assert!(cluster.pairs().get_opt("a").await.expect("an answer").is_some());
}
