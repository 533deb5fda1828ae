//! What machines declare, on any API server: selectors, predicates, metadata, looking again, triggers from outside.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::channel::mpsc;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use two_configmaps::{Pair, PairSpec};
use windlass::{
    Cx, Declaration, Machine, ObjectRef, Outcome, Select, States, changed, done, watching, watching_metadata,
};
use windlass_runtime::{Manager, StartError};

use crate::support::{Cluster, Embedded, Rig, Sent, Tap, eventually, manager, on_both_servers};

#[derive(States)]
pub(crate) enum Only {
    #[state(initial, condition = "Seen")]
    Only,
}

/// For each pair, how often it ran, and which ConfigMaps it saw in the network of that name.
type Entries = BTreeMap<String, (u64, Vec<String>)>;

#[derive(Clone, Default)]
pub(crate) struct Diary(Arc<Mutex<Entries>>);

impl Diary {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Entries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn runs(&self, pair: &str) -> u64 {
        self.lock().get(pair).map_or(0, |(runs, _)| *runs)
    }

    async fn until_seen(&self, pair: &str, members: &[&str]) {
        let seen = || self.lock().get(pair).is_some_and(|(_, seen)| *seen == members);
        eventually(&format!("{pair} sees {members:?}"), async || seen()).await;
    }

    async fn until_run_after(&self, pair: &str, runs: u64) {
        eventually(&format!("{pair} runs again"), async || self.runs(pair) > runs).await;
    }
}

/// Declares what a test gives it, and keeps a diary.
pub(crate) struct Probe<F> {
    pub(crate) declare: F,
    /// Whether it lists the ConfigMaps of its network.
    pub(crate) lists: bool,
    pub(crate) diary: Diary,
}

impl<F: Fn(&mut Declaration) + Send + Sync + 'static> Machine for Probe<F> {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        (self.declare)(declaration.name("probe"));
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let mut names = Vec::new();
        if self.lists {
            let members = Select::all().labels(&format!("net={}", cx.name()));
            let members = cx.list_cached::<ConfigMap>(members).await?;
            names = members.into_iter().filter_map(|member| member.metadata.name).collect();
        }
        let mut diary = self.diary.lock();
        let (runs, seen) = diary.entry(cx.name().to_owned()).or_default();
        (*runs, *seen) = (*runs + 1, names);
        drop(diary);
        done()
    }
}

/// A probe on a tapped wire.
async fn probe(
    cluster: &Cluster,
    lists: bool,
    declare: impl Fn(&mut Declaration) + Send + Sync + 'static,
) -> (Rig, Diary) {
    let (tap, diary) = (Tap::new(), Diary::default());
    let machine = Probe { declare, lists, diary: diary.clone() };
    let running = manager(cluster, &tap).controller(machine).start().await.expect("it starts");
    (Rig { running, tap }, diary)
}

/// The pair whose network an object is in.
pub(crate) fn network(metadata: &ObjectMeta) -> Vec<ObjectRef> {
    let name = metadata.labels.as_ref().and_then(|labels| labels.get("net"));
    let namespace = metadata.namespace.as_deref().unwrap_or_default();
    name.map(|name| ObjectRef::new(namespace, name)).into_iter().collect()
}

/// The pair of the same name.
fn namesake(metadata: &ObjectMeta) -> Vec<ObjectRef> {
    let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
    vec![ObjectRef::new(namespace.unwrap_or_default(), name.unwrap_or_default())]
}

impl Cluster {
    pub(crate) async fn create_member(&self, name: &str, network: Option<&str>, data: &str) {
        let labels = network.map(|network| [("net".to_owned(), network.to_owned())].into());
        let metadata = ObjectMeta { name: Some(name.to_owned()), labels, ..ObjectMeta::default() };
        let data = Some([("data".to_owned(), data.to_owned())].into());
        let member = ConfigMap { metadata, data, ..ConfigMap::default() };
        self.config_maps().create(&PostParams::default(), &member).await.expect("a ConfigMap");
    }

    async fn move_member(&self, name: &str, network: Value) {
        let patch = Patch::Merge(json!({"metadata": {"labels": {"net": network}}}));
        self.config_maps().patch(name, &PatchParams::default(), &patch).await.expect("a ConfigMap");
    }

    fn deployments(&self) -> Api<Deployment> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    async fn create_deployment(&self, name: &str) {
        let labels = json!({"app": name});
        let template =
            json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "a", "image": "a"}]}});
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        let deployment = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}));
        let deployment: Deployment = deployment.expect("a Deployment");
        self.deployments().create(&PostParams::default(), &deployment).await.expect("a Deployment");
    }
}

/// A read that is no part of a watch.
fn is_read(sent: &Sent) -> bool {
    sent.is_work() && !sent.is_write()
}

/// Only selected objects are sent; an object that is no longer selected is reported once more; and lists within the
/// selection cost no request.
pub(crate) async fn a_selective_watch_reports_what_comes_and_goes(cluster: &Cluster) {
    cluster.create_member("m1", Some("one"), "").await;
    cluster.create_member("outside", None, "").await;
    let (rig, diary) = probe(cluster, true, |declaration| {
        declaration
            .watch(watching::<ConfigMap>().labels("net,net!=hidden"), |member| network(&member.metadata));
    })
    .await;
    for pair in ["one", "two"] {
        cluster.create_pair(pair).await;
    }
    diary.until_seen("one", &["m1"]).await;
    diary.until_seen("two", &[]).await;
    cluster.create_member("m2", Some("two"), "").await;
    diary.until_seen("two", &["m2"]).await;
    cluster.move_member("m2", json!("one")).await;
    diary.until_seen("two", &[]).await;
    diary.until_seen("one", &["m1", "m2"]).await;
    cluster.move_member("m1", json!(null)).await;
    diary.until_seen("one", &["m2"]).await;
    cluster.move_member("m2", json!("hidden")).await;
    diary.until_seen("one", &[]).await;
    cluster.move_member("outside", json!("two")).await;
    diary.until_seen("two", &["outside"]).await;
    cluster.delete_config_map("outside").await;
    diary.until_seen("two", &[]).await;
    rig.until_idle().await;
    let of_members = |sent: &Sent| sent.target.contains("/configmaps?");
    let selective = |sent: &Sent| sent.target.contains("labelSelector=net");
    assert_eq!(rig.tap.count(|sent| of_members(sent) && !selective(sent)), 0);
    assert_eq!(rig.tap.count(is_read), 0, "the watch knows it all");
    rig.running.stop().await;
}

/// A status may be no trigger, but that something is gone is one.
pub(crate) async fn a_predicate_leaves_out_a_status_but_no_deletion(cluster: &Cluster) {
    let (rig, diary) = probe(cluster, false, |declaration| {
        let deployments = watching::<Deployment>().when(changed::generation);
        declaration.watch(deployments, |deployment| namesake(&deployment.metadata));
    })
    .await;
    for name in ["one", "two"] {
        cluster.create_pair(name).await;
        cluster.create_deployment(name).await;
        diary.until_run_after(name, 0).await;
    }
    rig.until_idle().await;
    let (one, two) = (diary.runs("one"), diary.runs("two"));
    let status = Patch::Merge(json!({"status": {"replicas": 3, "readyReplicas": 3}}));
    let params = PatchParams::default();
    cluster.deployments().patch_status("one", &params, &status).await.expect("a status");
    // Events come in order, so after this one the status has been observed.
    let spec = Patch::Merge(json!({"spec": {"replicas": 7}}));
    cluster.deployments().patch("two", &params, &spec).await.expect("a Deployment");
    diary.until_run_after("two", two).await;
    rig.until_idle().await;
    assert_eq!(diary.runs("one"), one, "the status counted");
    cluster.deployments().delete("one", &DeleteParams::default()).await.expect("it is there");
    diary.until_run_after("one", one).await;
    rig.running.stop().await;
}

/// What a controller writes about a parent itself need not be a trigger; and only selected parents are reconciled.
pub(crate) async fn parents_are_selected_and_their_status_left_out(cluster: &Cluster) {
    let (rig, diary) = probe(cluster, false, |declaration| {
        let pairs = watching::<Pair>().labels("!not-mine").when(changed::generation_or_metadata);
        declaration.parents(pairs);
    })
    .await;
    cluster.create_pair("one").await;
    diary.until_run_after("one", 0).await;
    rig.until_idle().await;
    assert_eq!(diary.runs("one"), 1, "the status counted");
    cluster.merge_pair("one", json!({"metadata": {"labels": {"not-mine": "1"}}})).await;
    cluster.create_pair("two").await;
    diary.until_run_after("two", 0).await;
    cluster.touch("one", "unseen").await;
    cluster.touch("two", "seen").await;
    diary.until_run_after("two", 1).await;
    rig.until_idle().await;
    assert_eq!(diary.runs("one"), 1, "it is not selected");
    cluster.merge_pair("one", json!({"metadata": {"labels": {"not-mine": null}}})).await;
    diary.until_run_after("one", 1).await;
    rig.running.stop().await;
}

/// Even if nothing changes.
pub(crate) async fn parents_are_requeued_by_resync(cluster: &Cluster) {
    let (rig, diary) = probe(cluster, false, |declaration| {
        declaration.resync(Duration::from_millis(30));
    })
    .await;
    cluster.create_pair("one").await;
    for runs in 0..5 {
        diary.until_run_after("one", runs).await;
    }
    assert!(rig.trigger_count("timer") >= 2);
    rig.running.stop().await;
}

/// By the handle of a manager, and by a stream.
pub(crate) async fn triggers_come_from_outside(cluster: &Cluster) {
    let (tap, diary, (sender, receiver)) = (Tap::new(), Diary::default(), mpsc::unbounded());
    let declare = |declaration: &mut Declaration| {
        declaration.create_missing(|parent| Pair::new(&parent.name, PairSpec { value: "made".to_owned() }));
    };
    let machine = Probe { declare, lists: false, diary: diary.clone() };
    let manager = manager(cluster, &tap).controller(machine).source("probe", "a bell", receiver);
    let rig = Rig { running: manager.start().await.expect("it starts"), tap };
    let pair = |name: &str| ObjectRef::new(&cluster.namespace, name);
    cluster.create_pair("one").await;
    diary.until_run_after("one", 0).await;
    rig.until_idle().await;
    assert_eq!(rig.trigger_count("source"), 0);
    let runs = diary.runs("one");
    sender.unbounded_send(pair("one")).expect("somebody listens");
    diary.until_run_after("one", runs).await;
    assert!(rig.running.handle().trigger("probe", pair("two"), "a hunch"));
    diary.until_run_after("two", 0).await;
    assert!(!rig.running.handle().trigger("unknown", pair("two"), "a hunch"));
    rig.until_idle().await;
    assert_eq!(rig.trigger_count("source"), 2);
    let causes =
        rig.running.handle().recordings("probe").iter().map(|kept| format!("{kept:?}")).collect::<String>();
    assert!(causes.contains("a bell") && causes.contains("a hunch"), "{causes}");
    rig.running.stop().await;
}

/// Large objects are neither sent nor kept.
pub(crate) async fn a_metadata_watch_sends_nothing_else(cluster: &Cluster) {
    let large = "x".repeat(500_000);
    cluster.create_member("m1", Some("one"), &large).await;
    let (rig, diary) = probe(cluster, false, |declaration| {
        declaration.watch(watching_metadata::<ConfigMap>().labels("net"), |member| {
            assert!(member.metadata.managed_fields.is_none(), "they are not needed");
            network(&member.metadata)
        });
    })
    .await;
    cluster.create_pair("one").await;
    diary.until_run_after("one", 0).await;
    rig.until_idle().await;
    let runs = diary.runs("one");
    cluster.create_member("m2", Some("one"), &large).await;
    diary.until_run_after("one", runs).await;
    rig.until_idle().await;
    let runs = diary.runs("one");
    cluster.delete_config_map("m1").await;
    diary.until_run_after("one", runs).await;
    assert!(rig.tap.received() < 100_000, "{} bytes were received", rig.tap.received());
    assert_eq!(rig.sum_of("controller_runtime_reconcile_panics_total"), 0);
    rig.running.stop().await;
}

on_both_servers! {
    a_selective_watch_reports_what_comes_and_goes
    a_predicate_leaves_out_a_status_but_no_deletion
    parents_are_selected_and_their_status_left_out
    parents_are_requeued_by_resync
    triggers_come_from_outside
    a_metadata_watch_sends_nothing_else
}

#[tokio::test]
async fn a_watch_of_more_serves_for_less() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    let (rig, diary) = probe(cluster, true, |declaration| {
        declaration
            .watch(watching::<ConfigMap>().labels("net"), |member| network(&member.metadata))
            .watch(watching_metadata::<ConfigMap>().labels("net=two"), |member| {
                assert!(member.metadata.managed_fields.is_none(), "they are not needed");
                vec![ObjectRef::new(member.metadata.namespace.as_deref().unwrap_or_default(), "three")]
            })
            .output::<ConfigMap>();
    })
    .await;
    for pair in ["one", "two", "three"] {
        cluster.create_pair(pair).await;
        diary.until_run_after(pair, 0).await;
    }
    rig.until_idle().await;
    let (two, three) = (diary.runs("two"), diary.runs("three"));
    cluster.create_member("m1", Some("one"), "").await;
    diary.until_seen("one", &["m1"]).await;
    rig.until_idle().await;
    assert_eq!((diary.runs("two"), diary.runs("three")), (two, three), "they are not triggered");
    cluster.move_member("m1", json!("two")).await;
    diary.until_seen("one", &[]).await;
    diary.until_seen("two", &["m1"]).await;
    diary.until_run_after("three", three).await;
    let lists = rig.tap.count(|sent| sent.is_list() && sent.target.contains("/configmaps?"));
    assert_eq!((lists, rig.tap.count(is_read)), (1, 0));
    rig.running.stop().await;
}

#[tokio::test]
async fn rejects_a_source_for_an_unknown_controller() {
    let embedded = Embedded::start().await;
    let machine = Probe { declare: |_: &mut Declaration| {}, lists: false, diary: Diary::default() };
    let manager = Manager::new().client(embedded.cluster.client.clone()).controller(machine);
    let started = manager.source("prob", "a bell", futures::stream::empty()).start().await;
    assert!(matches!(started.err(), Some(StartError::NoSuchController { name }) if name == "prob"));
}
