//! A pool whose lease is lost and won again, at the worst times.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use kube::client::Body;
use windlass::model::Status;
use windlass::{Cause, Controller, Cx, Machine, ObjectRef, Outcome, States, done};

use super::*;
use crate::Api;
use crate::informer::Informers;
use crate::operations::leader::Leading;
use crate::operations::metrics::Metrics;
use crate::ownership::Everything;
use crate::queue::{Backoff, Priority, QueueSettings, Reason};
use crate::recorder::{FlightRecorder, RecorderSettings};

struct Nothing;

#[derive(States)]
enum Step {
    #[state(initial)]
    Only,
}

impl Machine for Nothing {
    type Parent = k8s_openapi::api::core::v1::ConfigMap;
    type State = Step;

    async fn run(&self, _: Step, _: &Cx<Self::Parent>) -> Outcome<Step> {
        done()
    }
}

/// The parents that were read: a reconcile begins with that.
type Read = Arc<Mutex<BTreeSet<String>>>;

/// An API in which there is nothing.
fn empty_api() -> (Api, Read) {
    let read = Read::default();
    let reads = Arc::clone(&read);
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let name = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let status = Status::not_found("", "configmaps", &name).to_value().to_string();
        reads.lock().expect("lock is not poisoned").insert(name);
        async { http::Response::builder().status(404).body(Body::from(status.into_bytes())) }
    });
    (Api::new(kube::Client::new(service, "default")), read)
}

fn pool(api: Api, leading: Leading, stopping: watch::Receiver<bool>) -> WorkerPool {
    let controller = Controller::new(Nothing);
    let metrics = Metrics::new().controller(controller.name());
    let backoff = Backoff { initial: Duration::from_millis(1), max: Duration::from_millis(1) };
    let settings = QueueSettings { backoff, ..QueueSettings::default() };
    let recorder = FlightRecorder::new(controller.name(), &RecorderSettings::default(), Arc::default());
    let informers = Arc::new(Informers::new(api));
    let driver = Driver::new(informers, Arc::default(), Duration::from_secs(60), Default::default());
    let context = Arc::new(ControllerContext::new(controller, settings, metrics));
    WorkerPool {
        enqueuer: Arc::new(Enqueuer::new(Arc::clone(&context), Arc::new(Everything))),
        context,
        driver,
        informers: Vec::new(),
        events: None,
        records: Records { recorder: Arc::new(recorder), folder: None },
        leading: Some(leading),
        workers: watch::channel(32).1,
        stopping,
    }
}

fn trigger(context: &ControllerContext, name: &str) {
    let what = String::new();
    let reason = Reason { cause: Cause::Source, what, priority: Priority::Live, spec_changed: false };
    context.queue.add([(ObjectRef::new("default", name), reason)]);
}

/// On one thread, a task that was spawned is polled only after the pool has looked at everything else. So the lease is
/// often lost between taking an object and the first poll of its task.
#[tokio::test(start_paused = true)]
async fn reconciles_all_objects_after_the_lease_was_lost_and_won_again() {
    let (api, read) = empty_api();
    let (lease, leading) = Leading::controlled();
    let (stop, stopping) = watch::channel(false);
    let pool = pool(api, leading, stopping);
    let context = Arc::clone(&pool.context);
    let working = tokio::spawn(pool.work());
    let mut names = BTreeSet::new();
    for cycle in 0..50 {
        lease.win();
        tokio::task::yield_now().await;
        for object in 0..10 {
            let name = format!("{cycle}-{object}");
            trigger(&context, &name);
            names.insert(name);
        }
        lease.lose();
        tokio::task::yield_now().await;
    }
    lease.win();
    let is_empty = || {
        let counts = context.queue.counts();
        counts.active + counts.live + counts.delayed == 0
    };
    let all_read = async {
        while !is_empty() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(60), all_read).await;
    assert!(waited.is_ok(), "still in the queue: {:?}", context.queue.counts());
    assert_eq!(*read.lock().expect("lock is not poisoned"), names);
    stop.send_replace(true);
    working.await.expect("it ends");
}
