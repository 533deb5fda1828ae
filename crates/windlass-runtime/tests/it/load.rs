//! Much at once: a full queue, an object that never succeeds, and more events than anybody could handle one by one.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::{StreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use serde_json::json;
use tokio::sync::Semaphore;
use two_configmaps::{Pair, config_map};
use windlass::{CallError, Cx, Declaration, Machine, ObjectRef, Outcome, Service, States, done, fail};
use windlass_runtime::ServiceClient;
use windlass_runtime::queue::{Backoff, QueueSettings};

use crate::support::{Cluster, Embedded, Rig, Tap, eventually, manager};

#[derive(States)]
enum Only {
    #[state(initial, condition = "Made")]
    Only,
}

/// Maximum number of concurrent requests of the test.
const SIDE_BY_SIDE: usize = 32;

async fn create_pairs(cluster: &Cluster, count: usize) {
    let create = |number: usize| async move { cluster.create_pair(&format!("p{number}")).await };
    stream::iter(0..count).for_each_concurrent(SIDE_BY_SIDE, create).await;
}

/// How many pairs are ready as they are now.
async fn count_ready(cluster: &Cluster) -> usize {
    let pairs = cluster.pairs().list(&ListParams::default()).await.expect("pairs").items;
    let is_ready = |pair: &&Pair| {
        let conditions = pair.status.iter().flat_map(|status| &status.conditions);
        let mut ready = conditions.filter(|condition| condition.r#type == "Ready");
        ready.any(|ready| {
            ready.status == "True" && Some(ready.observed_generation) == pair.metadata.generation
        })
    };
    pairs.iter().filter(is_ready).count()
}

/// Has nothing to do.
struct Idle;

impl Machine for Idle {
    type Parent = Pair;
    type State = Only;

    async fn run(&self, _: Only, _: &Cx<Pair>) -> Outcome<Only> {
        done()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_loses_nothing() {
    const PAIRS: usize = 5_000;
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let running = manager(cluster, &tap).workers(0).events(false).controller(Idle).start().await;
    let rig = Rig { running: running.expect("it starts"), tap };
    create_pairs(cluster, PAIRS).await;
    eventually("all are due", async || rig.sum_of("workqueue_depth") == PAIRS as u64).await;
    assert_eq!(rig.reconciles(), 0, "there are no workers");
    rig.running.handle().set_workers("idle", 1);
    // In steps, since a busy machine needs a while for all.
    for some in (0..=PAIRS as u64).step_by(500) {
        eventually("more are reconciled", async || rig.reconciles() >= some).await;
    }
    rig.until_idle().await;
    assert_eq!(count_ready(cluster).await, PAIRS);
    let writes = rig.tap.count(|sent| sent.is_write());
    assert_eq!(writes, PAIRS, "one status each");
    rig.running.stop().await;
}

/// Counts how often it ran for each pair, and always fails for one.
#[derive(Clone, Default)]
struct Poisoned {
    runs: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl Poisoned {
    fn runs(&self, name: &str) -> usize {
        self.runs.lock().expect("lock is not poisoned").get(name).copied().unwrap_or_default()
    }
}

impl Machine for Poisoned {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches(|config_map: &ConfigMap| {
            let namespace = config_map.metadata.namespace.as_deref().unwrap_or_default();
            vec![ObjectRef::new(namespace, "poisoned")]
        });
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        *self.runs.lock().expect("lock is not poisoned").entry(cx.name().to_owned()).or_default() += 1;
        if cx.name() == "poisoned" && cx.parent().spec.value != "cured" {
            return fail("Poisoned", "it fails for ever");
        }
        done()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_object_waits_for_its_backoff_and_blocks_no_others() {
    const OTHERS: usize = 300;
    let embedded = Embedded::start().await;
    let (cluster, tap, machine) = (&embedded.cluster, Tap::new(), Poisoned::default());
    // Longer than this test takes: a run before that ignores the backoff.
    let backoff = Backoff { initial: Duration::from_secs(600), max: Duration::from_secs(600) };
    let settings = QueueSettings { backoff, ..QueueSettings::default() };
    let running = manager(cluster, &tap).queue(settings).workers(1).controller(machine.clone()).start().await;
    let rig = Rig { running: running.expect("it starts"), tap };
    cluster.create_pair("poisoned").await;
    eventually("it has failed", async || machine.runs("poisoned") == 1).await;
    create_pairs(cluster, OTHERS).await;
    for number in 0..50 {
        cluster.create_config_map(&format!("event-{number}")).await;
    }
    eventually("all others are ready", async || count_ready(cluster).await == OTHERS).await;
    rig.until_idle().await;
    assert_eq!(machine.runs("poisoned"), 1, "events do not shorten its backoff");
    // What may fix it is tried at once.
    cluster.merge_pair("poisoned", json!({"spec": {"value": "cured"}})).await;
    eventually("it is ready as well", async || count_ready(cluster).await == OTHERS + 1).await;
    rig.running.stop().await;
}

/// A service that answers when the test opens it.
struct Barrier;

impl Service for Barrier {
    const NAME: &'static str = "barrier";
    type Request = ();
    type Response = ();
}

#[derive(Clone)]
struct BarrierClient {
    reached: Arc<Semaphore>,
    open: Arc<Semaphore>,
}

impl ServiceClient<Barrier> for BarrierClient {
    async fn call(&self, _: ()) -> Result<(), CallError> {
        self.reached.add_permits(1);
        self.open.acquire().await.expect("it is never closed").forget();
        Ok(())
    }
}

/// Copies the value of a pair, after the barrier has opened.
struct Gated;

impl Machine for Gated {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        if cx.name() == "a" {
            cx.call(Barrier, ()).await?;
        }
        cx.ensure(config_map("made", cx.parent()));
        done()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_events_are_one_reconcile() {
    const EVENTS: usize = 10_000;
    let embedded = Embedded::start().await;
    let (cluster, tap) = (&embedded.cluster, Tap::new());
    let gate = BarrierClient { reached: Arc::new(Semaphore::new(0)), open: Arc::new(Semaphore::new(0)) };
    let running = manager(cluster, &tap)
        .timeout(Duration::from_secs(600))
        .service(Barrier, gate.clone())
        .controller(Gated)
        .start()
        .await;
    let rig = Rig { running: running.expect("it starts"), tap };
    cluster.create_pair("a").await;
    gate.reached.acquire().await.expect("it is never closed").forget();
    // The first reconcile is under way, and knows nothing of what happens now.
    let change = |number: usize| async move {
        cluster.merge_pair("a", json!({"spec": {"value": number.to_string()}})).await;
    };
    stream::iter(1..EVENTS).for_each_concurrent(SIDE_BY_SIDE, change).await;
    cluster.merge_pair("a", json!({"spec": {"value": "last"}})).await;
    // Events come in order, so that of a pair made last comes last.
    cluster.create_pair("b").await;
    eventually("all have come", async || cluster.is_ready("b").await).await;
    gate.open.add_permits(EVENTS);
    eventually("the last state wins", async || {
        cluster.value_of("a-made").await.as_deref() == Some("last") && cluster.is_ready("a").await
    })
    .await;
    rig.until_idle().await;
    // The one that was under way wrote an outdated status; one after the events; one after its own writes. As many
    // for b.
    assert!(rig.reconciles() <= 8, "{} reconciles", rig.reconciles());
    rig.running.stop().await;
}
