//! Elections against the embedded server, and against an API that fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use windlass::model::{Cluster, Reason, Request, ResourceId, Response, Status, Timestamp};

use crate::operations::leader::election::LeaseRequest;
use crate::operations::leader::lease::{Lease, to_api};
use crate::operations::leader::{LeaderSettings, Leadership, SettingsError, Timing};
use crate::operations::metrics::Metrics;
use crate::operations::perform::Perform;
use crate::operations::test_server::TestServer;

fn settings(identity: &str) -> LeaderSettings {
    LeaderSettings {
        namespace: "default".to_owned(),
        name: "windlass".to_owned(),
        identity: identity.to_owned(),
        timing: Timing::default(),
    }
}

/// Short times, for tests that have to wait for them.
fn quick(identity: &str) -> LeaderSettings {
    let timing = Timing {
        lease_duration: Duration::from_secs(2),
        renew_deadline: Duration::from_secs(1),
        retry_period: Duration::from_millis(50),
    };
    LeaderSettings { timing, ..settings(identity) }
}

fn start(api: &Arc<impl Perform>, settings: LeaderSettings) -> Leadership {
    Leadership::start(api.clone(), settings, Metrics::new()).expect("these settings work")
}

async fn spec(server: &TestServer) -> Value {
    let leases = server.list(ResourceId::new("coordination.k8s.io", "v1", "leases")).await;
    leases.iter().find(|lease| lease["metadata"]["name"] == "windlass").expect("the lease is there")["spec"]
        .clone()
}

#[tokio::test]
async fn one_leads_and_hands_over_when_it_ends() {
    let server = TestServer::start().await;
    let first = start(&server.admin, quick("first"));
    first.leading().begin().await;
    assert_eq!(spec(&server).await["holderIdentity"], "first");
    let second = start(&server.admin, quick("second"));
    let mut waiting = second.leading();
    // It knows who leads, and so does not.
    while waiting.holder() != "first" {
        waiting.changed().await;
    }
    assert!(first.leading().now() && !waiting.now());
    first.shutdown().await;
    waiting.begin().await;
    let lease = spec(&server).await;
    assert_eq!((&lease["holderIdentity"], &lease["leaseTransitions"]), (&json!("second"), &json!(1)));
    assert_eq!(lease["leaseDurationSeconds"], 2);
    second.shutdown().await;
    let lease = spec(&server).await;
    assert_eq!((&lease["holderIdentity"], &lease["leaseDurationSeconds"]), (&json!(""), &json!(1)));
    server.shutdown().await;
}

#[tokio::test]
async fn a_leader_that_died_is_followed_when_its_lease_is_over() {
    let server = TestServer::start().await;
    let body = json!({
        "metadata": { "name": "windlass" },
        "spec": { "holderIdentity": "dead", "leaseDurationSeconds": 1, "leaseTransitions": 4,
                  "renewTime": "2999-01-01T00:00:00.000000Z" },
    });
    server.create(ResourceId::new("coordination.k8s.io", "v1", "leases"), "default", body).await;
    let next = start(&server.admin, quick("next"));
    // What the dead one took for the time does not matter.
    next.leading().begin().await;
    assert_eq!(spec(&server).await["leaseTransitions"], 5);
    next.shutdown().await;
    server.shutdown().await;
}

/// A cluster in memory that can be out of reach.
struct Flaky {
    cluster: Mutex<Cluster>,
    fails: AtomicBool,
}

impl Flaky {
    fn new() -> Arc<Self> {
        Arc::new(Flaky { cluster: Mutex::new(Cluster::new()), fails: AtomicBool::new(false) })
    }
}

impl Perform for Flaky {
    fn perform<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Response> {
        Box::pin(async move {
            if self.fails.load(Ordering::Relaxed) {
                return Response::status(Status::failure(503, Reason::ServiceUnavailable, "out of reach"));
            }
            self.cluster.lock().await.request(request)
        })
    }

    fn document<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Value, Status>> {
        Box::pin(async { Err(Status::internal("documents are not served here")) })
    }
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops_in_time_and_comes_back() {
    let api = Flaky::new();
    let metrics = Metrics::new();
    let leader =
        Leadership::start(api.clone(), settings("first"), metrics.clone()).expect("these settings work");
    let mut leading = leader.leading();
    leading.begin().await;
    assert!(metrics.text().contains("leader_election_master_status{name=\"windlass\"} 1\n"));
    api.fails.store(true, Ordering::Relaxed);
    let before = tokio::time::Instant::now();
    leading.end().await;
    let Timing { lease_duration, renew_deadline, .. } = Timing::default();
    assert!(before.elapsed() <= renew_deadline && renew_deadline < lease_duration);
    assert!(!leading.now());
    api.fails.store(false, Ordering::Relaxed);
    leading.begin().await;
    leader.shutdown().await;
    assert!(!leading.now());
    assert!(metrics.text().contains("leader_election_master_status{name=\"windlass\"} 0\n"));
}

#[tokio::test(start_paused = true)]
async fn a_leader_stays_while_it_can_renew() {
    let api = Flaky::new();
    let (one, other) = (start(&api, settings("one")), start(&api, settings("other")));
    let (mut first, mut second) = (one.leading(), other.leading());
    tokio::select! {
        () = first.begin() => {}
        () = second.begin() => std::mem::swap(&mut first, &mut second),
    }
    let change = async {
        tokio::select! {
            () = first.end() => "the leader stopped",
            () = second.begin() => "another leads",
        }
    };
    // An hour of paused time is hundreds of renewals.
    assert!(tokio::time::timeout(Duration::from_secs(3_600), change).await.is_err());
    one.shutdown().await;
    other.shutdown().await;
}

#[test]
fn a_renewal_keeps_what_a_takeover_changes() {
    let object = json!({
        "metadata": { "name": "windlass", "resourceVersion": "7", "labels": { "a": "b" } },
        "spec": { "holderIdentity": "first", "leaseDurationSeconds": 15, "leaseTransitions": 2,
                  "acquireTime": "2020-01-01T00:00:00.000000Z", "renewTime": "2020-01-01T00:00:00.000000Z" },
    });
    let lease = Lease::of(Arc::new(object));
    let body = |identity: &str| {
        let hold = LeaseRequest::Hold(lease.clone());
        let now = Timestamp::from_unix_seconds(1_700_000_000);
        to_api(&settings(identity), &hold, now).body.expect("an update has a body")
    };
    for (identity, transitions, acquired) in
        [("first", 2, "2020-01-01T00:00:00.000000Z"), ("second", 3, "2023-11-14T22:13:20.000000Z")]
    {
        let body = body(identity);
        assert_eq!(
            body["metadata"], lease.object["metadata"],
            "others' labels stay, and the version is checked"
        );
        assert_eq!(body["spec"]["holderIdentity"], identity);
        assert_eq!(body["spec"]["leaseTransitions"], transitions);
        assert_eq!(body["spec"]["acquireTime"], acquired);
        assert_eq!(body["spec"]["renewTime"], "2023-11-14T22:13:20.000000Z");
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let with = |lease: u64, renew: u64, retry: u64| {
        let timing = Timing {
            lease_duration: Duration::from_millis(lease),
            renew_deadline: Duration::from_millis(renew),
            retry_period: Duration::from_millis(retry),
        };
        LeaderSettings { timing, ..settings("a") }.check()
    };
    assert_eq!(with(15_000, 10_000, 2_000), Ok(()));
    assert!(matches!(with(10_000, 10_000, 2_000), Err(SettingsError::LeaseTooShort { .. })));
    assert!(matches!(with(15_000, 2_000, 2_000), Err(SettingsError::RenewTooShort { .. })));
    assert!(matches!(with(15_000, 10_000, 0), Err(SettingsError::RenewTooShort { .. })));
    assert!(matches!(with(15_500, 10_000, 2_000), Err(SettingsError::NotSeconds { .. })));
    assert_eq!(settings("").check(), Err(SettingsError::NoIdentity));
}
