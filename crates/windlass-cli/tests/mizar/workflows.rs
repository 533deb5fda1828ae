//! Each workflow of Mizar's documents, step by step: in the watch history, and in the calls that daemons have answered.

use serde_json::{Value, json};
use windlass_mizar::api::{Endpoint, Subnet, Vpc};

use crate::cluster::{Cluster, until};
use crate::droplets::Droplets;
use crate::journal::{Journal, Sighting, now};
use crate::manager::Manager;
use crate::networks::{delete_defaults, end, names, pod, subnet, vpc};
use crate::steps::{
    CREATE_BOUNCER, CREATE_DIVIDER, CREATE_DROPLET, CREATE_ENDPOINT, CREATE_NETWORK, CREATE_SCALED_ENDPOINT,
    CREATE_VPC, DELETE_BOUNCER, DELETE_DIVIDER, DELETE_DROPLET, DELETE_ENDPOINT, DELETE_NETWORK,
    DELETE_SCALED_ENDPOINT, DELETE_VPC, Sees, Step, UPDATE_SCALED_ENDPOINT,
};

/// How much later than it was written something may be seen: a call may be answered by then. What is seen of objects
/// alone, and what follows from a call, is ordered exactly.
const LAG_MICROSECONDS: i64 = 500_000;

struct Observed<'a> {
    cluster: &'a Cluster,
    droplets: &'a Droplets,
    journal: &'a Journal,
}

/// All workflows, with a cluster that has nothing but nodes.
pub(crate) async fn follow_the_documents(cluster: &Cluster) {
    let journal = Journal::start(cluster);
    let mut droplets = Droplets::start(cluster, names(4)).await;
    let begun = now();
    let manager = Manager::start(cluster);
    cluster.until_ready("Subnet", "net0").await;
    let observed = Observed { cluster, droplets: &droplets, journal: &journal };
    // Nodes are older than the operators.
    observed.saw("create droplet", CREATE_DROPLET, begun).await;
    creations(&observed).await;
    deletions(&observed).await;
    lose_a_droplet(cluster, &mut droplets, &journal).await;
    let observed = Observed { cluster, droplets: &droplets, journal: &journal };
    network_and_vpc_are_deleted(&observed).await;
    delete_defaults(cluster).await;
    journal.assert_phases_are_moved_by_their_operators();
    droplets.end(cluster, names(4)).await;
    end(cluster, manager).await;
}

fn counted(mut object: Value, field: &str, count: u32) -> Value {
    object["spec"][field] = count.into();
    object
}

fn w(dividers: u32) -> Value {
    counted(vpc("w", "10.1.0.0", json!(16)), "dividers", dividers)
}

fn n(bouncers: u32) -> Value {
    counted(subnet("n", "10.1.1.0", json!(24), "w"), "bouncers", bouncers)
}

fn annotations() -> Value {
    json!({ "mizar.com/vpc": "w", "mizar.com/subnet": "n" })
}

fn service() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "s", "annotations": annotations() },
        "spec": { "ports": [{ "port": 80 }] },
    })
}

fn slice(pods: &[&str]) -> Value {
    let endpoint = |pod: &&str| {
        json!({
            "addresses": ["1.2.3.4"], "targetRef": { "kind": "Pod", "name": pod, "namespace": "default" },
        })
    };
    json!({
        "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
        "metadata": { "name": "s-1", "labels": { "kubernetes.io/service-name": "s" } },
        "addressType": "IPv4", "endpoints": pods.iter().map(endpoint).collect::<Vec<_>>(),
        "ports": [{ "port": 8080, "protocol": "TCP" }],
    })
}

async fn creations(observed: &Observed<'_>) {
    let cluster = observed.cluster;
    observed.after("create VPC", CREATE_VPC, cluster.apply(w(1))).await;
    observed.after("create network", CREATE_NETWORK, cluster.apply(n(1))).await;
    // On droplets without the bouncer, so that what each of them learns can be distinguished.
    let bouncer = observed.journal.place_of("Bouncer/n-b-1").expect("it is placed");
    let others: Vec<String> = names(4).into_iter().filter(|node| *node != bouncer).collect();
    let created = cluster.apply(pod("a", &others[0], annotations()));
    observed.after("create endpoint", CREATE_ENDPOINT, created).await;
    observed.after("create scaled endpoint", CREATE_SCALED_ENDPOINT, cluster.apply(service())).await;
    observed.after("update scaled endpoint", UPDATE_SCALED_ENDPOINT, cluster.apply(slice(&["a"]))).await;
    observed.after("create divider", CREATE_DIVIDER, cluster.apply(w(2))).await;
    observed.after("create bouncer", CREATE_BOUNCER, cluster.apply(n(2))).await;
    cluster.apply(pod("b", &others[1], annotations())).await;
    cluster.until_ready("Endpoint", "p-b").await;
    cluster.until_tables_match(observed.droplets).await;
}

async fn deletions(observed: &Observed<'_>) {
    let cluster = observed.cluster;
    observed.after("delete scaled endpoint", DELETE_SCALED_ENDPOINT, cluster.delete(service())).await;
    let deleted = cluster.delete(pod("b", "", json!({})));
    observed.after("delete endpoint", DELETE_ENDPOINT, deleted).await;
    observed.after("delete bouncer", DELETE_BOUNCER, cluster.apply(n(1))).await;
    observed.after("delete divider", DELETE_DIVIDER, cluster.apply(w(1))).await;
    cluster.delete(slice(&[])).await;
    cluster.until_tables_match(observed.droplets).await;
}

async fn lose_a_droplet(cluster: &Cluster, droplets: &mut Droplets, journal: &Journal) {
    let lost = journal.place_of("Bouncer/n-b-1").expect("it is placed");
    let begun = now();
    droplets.lose(&lost).await;
    Observed { cluster, droplets, journal }.saw("delete droplet", DELETE_DROPLET, begun).await;
    cluster.until_tables_match(droplets).await;
}

/// Both wait for what is in them.
async fn network_and_vpc_are_deleted(observed: &Observed<'_>) {
    let cluster = observed.cluster;
    let begun = now();
    cluster.delete(w(1)).await;
    cluster.delete(n(1)).await;
    until("both say what they wait for", async || {
        let reason = async |kind, name| cluster.ready(kind, name).await.1;
        reason("Vpc", "w").await == "NetworksLeft" && reason("Subnet", "n").await == "EndpointsLeft"
    })
    .await;
    assert!(cluster.get::<Endpoint>("p-a").await.is_some());
    cluster.delete(pod("a", "", json!({}))).await;
    until("both are gone", async || {
        cluster.get::<Vpc>("w").await.is_none() && cluster.get::<Subnet>("n").await.is_none()
    })
    .await;
    observed.saw("delete network", DELETE_NETWORK, begun).await;
    observed.saw("delete VPC", DELETE_VPC, begun).await;
}

impl Observed<'_> {
    /// After what a user does, all steps are seen in their order.
    async fn after(&self, workflow: &str, steps: &[Step], cause: impl Future<Output = ()>) {
        let begun = now();
        cause.await;
        self.saw(workflow, steps, begun).await;
    }

    async fn saw(&self, workflow: &str, steps: &[Step], since: i64) {
        let mut missing = String::new();
        let all_seen = async || self.missing(steps, since).is_none();
        let wait = tokio::time::timeout(std::time::Duration::from_secs(60), async {
            until(workflow, all_seen).await;
        });
        if wait.await.is_err() {
            missing = self.missing(steps, since).unwrap_or_default();
        }
        assert!(missing.is_empty(), "{workflow}: {missing}\n{:#?}", self.history(since));
    }

    fn history(&self, since: i64) -> Vec<String> {
        let mut all = self.journal.objects(since);
        all.extend(Journal::calls(self.droplets, since));
        all.sort_by_key(|sighting| sighting.at);
        all.into_iter().map(|sighting| format!("{:>9} {}", sighting.at - since, sighting.what)).collect()
    }

    /// The first step that is not seen in its place.
    fn missing(&self, steps: &[Step], since: i64) -> Option<String> {
        let (objects, calls) = (self.journal.objects(since), Journal::calls(self.droplets, since));
        let mut seen: Vec<(u32, Step, i64)> = Vec::new();
        for step in steps {
            let before = match step.after {
                Some(number) => seen.iter().rev().find(|(of, ..)| *of == number),
                None => seen.last(),
            };
            let found = match step.sees {
                Sees::Object(object, what) => {
                    let from = before.map_or(since, |(.., at)| *at);
                    first(&objects, from, |seen| *seen == format!("{object} {what}"))
                }
                Sees::Call(object, call) => {
                    let from = match before {
                        Some((_, Step { sees: Sees::Call(..), .. }, at)) => *at,
                        before => before.map_or(since, |(.., at)| at - LAG_MICROSECONDS),
                    };
                    let place = self.journal.place_of(object).unwrap_or_default();
                    first(&calls, from, |seen| seen.starts_with(&format!("{place} {call} ")))
                }
            };
            let Some(at) = found else {
                return Some(format!("step {} is missing: {:?}", step.number, step.sees));
            };
            seen.push((step.number, *step, at));
        }
        None
    }
}

fn first(all: &[Sighting], from: i64, is_it: impl Fn(&String) -> bool) -> Option<i64> {
    all.iter().find(|one| one.at >= from && is_it(&one.what)).map(|one| one.at)
}
