//! Machines that do what the example does not: fail, panic, call services, finalize, and make their parents.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::sync::Barrier;
use two_configmaps::{Pair, PairSpec, config_map};
use windlass::{
    CallError, Cx, Declaration, Finalizer, Machine, ObjectRef, Outcome, Service, States, done, fail,
};
use windlass_runtime::{Ownership, ServiceClient};

use crate::support::{Cluster, Embedded, Rig, Tap, eventually, manager};

#[derive(States)]
enum Only {
    #[state(initial, condition = "Made")]
    Only,
}

async fn condition(cluster: &Cluster, name: &str) -> String {
    let status = cluster.pairs().get(name).await.expect("a pair").status.unwrap_or_default();
    let made = status.conditions.into_iter().find(|condition| condition.r#type == "Made");
    made.map(|condition| format!("{} {}", condition.status, condition.reason)).unwrap_or_default()
}

/// Fails for ever, or panics, for some pairs.
struct Picky;

impl Machine for Picky {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        match cx.name() {
            "poisoned" => fail("Poisoned", "it fails for ever"),
            "panics" => panic!("on purpose"),
            _ => {
                cx.ensure(config_map("made", cx.parent()));
                done()
            }
        }
    }
}

#[tokio::test]
async fn those_that_fail_do_not_hold_up_the_others() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).workers(1).controller(Picky).start().await.expect("it starts");
    let rig = Rig { running, tap };
    for name in ["poisoned", "panics", "a", "b", "c"] {
        cluster.create_pair(name).await;
    }
    for name in ["a", "b", "c"] {
        eventually(name, async || condition(cluster, name).await == "True Done").await;
    }
    eventually("it says why", async || condition(cluster, "poisoned").await == "False Poisoned").await;
    eventually("it says why", async || condition(cluster, "panics").await == "False Panicked").await;
    eventually("it is tried again", async || rig.sum_of("workqueue_retries_total") >= 3).await;
    // A mistake in the code is not tried again until the object changes.
    assert_eq!(rig.sum_of("controller_runtime_reconcile_panics_total"), 1);
    rig.running.stop().await;
}

#[tokio::test]
async fn many_changes_are_one_reconcile() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).controller(Picky).start().await.expect("it starts");
    let rig = Rig { running, tap };
    cluster.create_pair("a").await;
    eventually("a", async || condition(cluster, "a").await == "True Done").await;
    rig.until_idle().await;
    rig.running.handle().set_workers("picky", 0);
    let before = rig.reconciles();
    for change in 1..=300 {
        cluster.touch("a", &change.to_string()).await;
    }
    // Events come in order, so that of a pair made last comes last.
    cluster.create_pair("b").await;
    eventually("all have come", async || rig.sum_of("workqueue_depth") == 2).await;
    rig.running.handle().set_workers("picky", 1);
    eventually("b", async || condition(cluster, "b").await == "True Done").await;
    rig.until_idle().await;
    // One of a; of b one, and one after its own writes.
    assert!(rig.reconciles() - before <= 4, "{}", rig.reconciles() - before);
    rig.running.stop().await;
}

/// The request and the response of a bell.
#[derive(Serialize, Deserialize)]
struct Ring {
    for_whom: String,
}

/// A service that writes down who called.
struct Bell;

impl Service for Bell {
    const NAME: &'static str = "bell";
    type Request = Ring;
    type Response = usize;
}

#[derive(Clone)]
struct BellClient {
    rung: Arc<Mutex<Vec<String>>>,
    together: Arc<Barrier>,
}

impl BellClient {
    fn new(together: usize) -> Self {
        BellClient { rung: Arc::default(), together: Arc::new(Barrier::new(together)) }
    }

    fn rung(&self) -> Vec<String> {
        self.rung.lock().expect("lock is not poisoned").clone()
    }
}

impl ServiceClient<Bell> for BellClient {
    async fn call(&self, request: Ring) -> Result<usize, CallError> {
        self.together.wait().await;
        let mut rung = self.rung.lock().expect("lock is not poisoned");
        rung.push(request.for_whom);
        Ok(rung.len())
    }
}

/// Rings three bells at once, and one more at the end.
struct Ringer;

impl Machine for Ringer {
    type Parent = Pair;
    type State = Only;

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let calls = ["x", "y", "z"].map(|name| cx.call(Bell, Ring { for_whom: name.to_owned() }));
        for answer in cx.all(calls).await {
            answer?;
        }
        done()
    }

    fn finalizer(&self) -> Option<Finalizer<Pair>> {
        Some(Finalizer::new(Parting))
    }
}

struct Parting;

impl Machine for Parting {
    type Parent = Pair;
    type State = Only;

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let calls =
            ["1", "2", "3"].map(|name| cx.call(Bell, Ring { for_whom: format!("{} {name}", cx.name()) }));
        for answer in cx.all(calls).await {
            answer?;
        }
        done()
    }
}

#[tokio::test]
async fn services_are_called_side_by_side_and_finalizers_run() {
    let embedded = Embedded::start().await;
    let (cluster, tap, bell) = (&embedded.cluster, Tap::new(), BellClient::new(3));
    // Each call waits for two others: one after the other they would wait for ever.
    let running = manager(cluster, &tap).service(Bell, bell.clone()).controller(Ringer).start().await;
    let rig = Rig { running: running.expect("it starts"), tap };
    cluster.create_pair("a").await;
    eventually("a", async || condition(cluster, "a").await == "True Done").await;
    rig.until_idle().await;
    let finalizers = cluster.pairs().get("a").await.expect("a pair").metadata.finalizers;
    assert_eq!(finalizers.as_deref(), Some(&["windlass.dev/ringer".to_owned()][..]));
    cluster.pairs().delete("a", &DeleteParams::default()).await.expect("it is there");
    eventually("a is gone", async || cluster.pairs().get_opt("a").await.expect("an answer").is_none()).await;
    let mut last = bell.rung().split_off(bell.rung().len() - 3);
    last.sort();
    assert_eq!(last, ["a 1", "a 2", "a 3"]);
    rig.until_idle().await;
    rig.running.stop().await;
}

#[tokio::test]
async fn a_service_without_a_client_is_named() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).controller(Ringer).start().await.expect("it starts");
    cluster.create_pair("a").await;
    let message = async || {
        let status = cluster.pairs().get("a").await.expect("a pair").status.unwrap_or_default();
        status.conditions.first().map(|condition| condition.message.clone()).unwrap_or_default()
    };
    let expected = "bell cannot be reached: no client answers for it; give Manager::service one";
    eventually("it says what to do", async || message().await == expected).await;
    running.stop().await;
}

/// Makes a pair for each ConfigMap with a label, and panics about some of them.
struct Labelled;

impl Machine for Labelled {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches(|config_map: &ConfigMap| {
            let labels = config_map.metadata.labels.clone().unwrap_or_default();
            let namespace = config_map.metadata.namespace.clone().unwrap_or_default();
            assert!(!labels.contains_key("panic"), "on purpose");
            labels.get("pair").map(|pair| ObjectRef::new(&namespace, pair)).into_iter().collect()
        });
        declaration.create_missing(|parent| Pair::new(&parent.name, PairSpec { value: "made".to_owned() }));
    }

    async fn run(&self, _: Only, _: &Cx<Pair>) -> Outcome<Only> {
        done()
    }
}

#[tokio::test]
async fn a_watched_object_makes_its_parent_and_a_panic_ends_no_watch() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).controller(Labelled).start().await.expect("it starts");
    let rig = Rig { running, tap };
    for (name, label) in [("bad", "panic"), ("good", "pair")] {
        let labels = Some(BTreeMap::from([(label.to_owned(), "p".to_owned())]));
        let metadata = ObjectMeta { name: Some(name.to_owned()), labels, ..ObjectMeta::default() };
        let config_map = ConfigMap { metadata, ..ConfigMap::default() };
        cluster.config_maps().create(&PostParams::default(), &config_map).await.expect("a ConfigMap");
    }
    eventually("p is made", async || cluster.pairs().get_opt("p").await.expect("an answer").is_some()).await;
    eventually("p", async || condition(cluster, "p").await == "True Done").await;
    assert_eq!(rig.sum_of("controller_runtime_reconcile_panics_total"), 1);
    rig.running.stop().await;
}

/// Asks for a quantity in other words than the server's.
struct Limited;

impl Machine for Limited {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<Deployment>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let labels = json!({"app": cx.name()});
        let container = json!({"name": "main", "image": "image", "resources": {"limits": {"cpu": "1000m"}}});
        let template = json!({"metadata": {"labels": labels}, "spec": {"containers": [container]}});
        let spec = json!({"selector": {"matchLabels": labels}, "template": template});
        let deployment = json!({"metadata": {"name": cx.name()}, "spec": spec});
        cx.ensure(serde_json::from_value::<Deployment>(deployment).expect("a Deployment"));
        done()
    }
}

#[tokio::test]
async fn what_the_server_writes_in_other_words_is_sent_once() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).controller(Limited).start().await.expect("it starts");
    let rig = Rig { running, tap };
    cluster.create_pair("a").await;
    eventually("a", async || condition(cluster, "a").await == "True Done").await;
    rig.until_idle().await;
    let before = rig.reconciles();
    cluster.touch("a", "1").await;
    rig.until_reconciled_after(before).await;
    assert_eq!(rig.tap.count(|sent| sent.is_write() && sent.is_work()), 2, "the Deployment and the status");
    rig.running.stop().await;
    // The next process does not know that it was sent before, and sends it once.
    let tap = Tap::new();
    let running = manager(cluster, &tap).controller(Limited).start().await.expect("it starts");
    let rig = Rig { running, tap };
    for value in ["2", "3"] {
        let before = rig.reconciles();
        cluster.touch("a", value).await;
        rig.until_reconciled_after(before).await;
    }
    assert_eq!(rig.tap.count(|sent| sent.is_write() && sent.is_work()), 1);
    rig.running.stop().await;
}

/// One of two processes: that of the pairs whose names begin so.
struct Beginning(&'static str);

impl Ownership for Beginning {
    fn is_mine(&self, controller: &str, parent: &ObjectRef) -> bool {
        controller == "picky" && parent.name.starts_with(self.0)
    }
}

#[tokio::test]
async fn what_is_not_this_process_s_is_left_alone() {
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let start = async |beginning| {
        let running = manager(cluster, &tap).ownership(Beginning(beginning)).controller(Picky).start().await;
        Rig { running: running.expect("it starts"), tap: tap.clone() }
    };
    let one = start("a").await;
    for name in ["b1", "a1"] {
        cluster.create_pair(name).await;
    }
    eventually("a1", async || condition(cluster, "a1").await == "True Done").await;
    one.until_idle().await;
    assert_eq!(condition(cluster, "b1").await, "");
    let two = start("b").await;
    eventually("b1", async || condition(cluster, "b1").await == "True Done").await;
    one.running.stop().await;
    two.running.stop().await;
}
