//! The steps of the controller, one by one, against a cluster in memory and the model of lightpeers.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::CustomResourceExt;
use serde_json::{Value, json};
use windlass::local::Local;
use windlass::model::{Cluster, PatchKind, Request, Verb};
use windlass::{
    Ask, Controller, Kind, ObjectRef, ReconcileResult, Reconciled, Service, from_value, to_value,
};

use super::*;

/// A cluster, lightpeers, and the controller.
struct Bench {
    local: Local,
    peers: Arc<Mutex<PeerModel>>,
    controller: Controller,
}

impl Bench {
    fn new() -> Self {
        let mut cluster = Cluster::new();
        let definition = serde_json::to_value(LightNetwork::crd()).expect("it serializes");
        cluster.install_crd(&definition).expect("a CRD");
        let peers = Arc::new(Mutex::new(PeerModel::default()));
        let answering = Arc::clone(&peers);
        let local = Local::new(cluster).service(Lightpeers::NAME, move |request| {
            let request: PeerRequest = serde_json::from_value(request).expect("a request");
            let answer = answering.lock().expect("lock is not poisoned").call(&request);
            Ok(serde_json::to_value(answer).expect("it serializes"))
        });
        Bench { local, peers, controller: Controller::new(LightNetworks::default()) }
    }

    fn request(&mut self, request: Request) -> Value {
        let response = self.local.cluster.request(&request.in_namespace("default"));
        match response.failure() {
            Some(status) => panic!("{}", status.message),
            None => response.as_object().map(|found| (**found).clone()).unwrap_or_default(),
        }
    }

    /// A pod that runs, with a peer of the same name in it.
    fn pod(&mut self, name: &str, network: &str, number: u8) {
        self.pod_without_peer(name, network, number);
        self.happen(PeerEvent::Starts { address: address(number), peer: name.to_owned() });
    }

    fn pod_without_peer(&mut self, name: &str, network: &str, number: u8) {
        self.pod_with(
            name,
            json!({ NETWORK_LABEL: network }),
            json!([{ "name": "lightpeer", "image": "i" }]),
            json!({}),
        );
        self.status(name, json!({ "phase": "Running", "podIP": format!("10.0.0.{number}") }));
    }

    fn pod_with(&mut self, name: &str, labels: Value, containers: Value, annotations: Value) {
        let metadata = json!({ "name": name, "labels": labels, "annotations": annotations });
        let pod = json!({ "metadata": metadata, "spec": { "containers": containers } });
        self.request(Request::new(Verb::Create, Pod::kind_info().resource).with_body(pod));
    }

    fn patch_pod(&mut self, name: &str, patch: Value) {
        let merge = Request::new(Verb::Patch(PatchKind::Merge), Pod::kind_info().resource);
        self.request(merge.named(name).with_body(patch));
    }

    fn status(&mut self, name: &str, status: Value) {
        let mut merge = Request::new(Verb::Patch(PatchKind::Merge), Pod::kind_info().resource).named(name);
        merge.subresource = Some("status".to_owned());
        self.request(merge.with_body(json!({ "status": status })));
    }

    fn delete_pod(&mut self, name: &str) {
        let mut delete = Request::new(Verb::Delete, Pod::kind_info().resource).named(name);
        delete.options.grace_period_seconds = Some(0);
        self.request(delete);
    }

    fn happen(&self, event: PeerEvent) {
        self.peers.lock().expect("lock is not poisoned").happen(event);
    }

    /// One reconcile, as if a pod had changed.
    fn reconcile(&mut self, network: &str) -> Reconciled {
        let target = ObjectRef::new("default", network);
        self.local.reconcile_watched(&self.controller, &target).expect("the framework goes on")
    }

    /// Reconciles until no pod joins any more.
    fn settle(&mut self, network: &str) -> Reconciled {
        loop {
            let ended = self.reconcile(network);
            if !matches!(&ended.result, ReconcileResult::Requeue { after: Duration::ZERO, .. }) {
                return ended;
            }
        }
    }

    fn network(&mut self, name: &str) -> LightNetwork {
        let get = Request::new(Verb::Get, LightNetwork::kind_info().resource).named(name);
        from_value(&self.request(get)).expect("a network")
    }

    /// The pods of the stack, the newest first.
    fn stack(&mut self, network: &str) -> Vec<String> {
        self.network(network).stack().iter().map(|contact| contact.pod.clone()).collect()
    }

    /// Who is connected with whom, as `a+b c`.
    fn networks(&self) -> String {
        let peers = self.peers.lock().expect("lock is not poisoned");
        let joined =
            |network: std::collections::BTreeSet<&str>| network.into_iter().collect::<Vec<_>>().join("+");
        peers.networks().into_iter().map(joined).collect::<Vec<_>>().join(" ")
    }

    /// The joins of the last reconcile, as `joiner->contact`.
    fn joins(&self) -> Vec<String> {
        let asks = self.local.log.iter().map(|(ask, _)| ask);
        let joins = asks.filter_map(|ask| match ask {
            Ask::Call { request, .. } if request["contact"].is_object() => Some(request),
            _ => None,
        });
        let name = |meant: &Value| meant["peer"].as_str().unwrap_or("?").to_owned();
        joins.map(|join| format!("{}->{}", name(&join["joiner"]), name(&join["contact"]))).collect()
    }

    fn condition(&mut self, network: &str, kind: &str) -> (String, String, String) {
        let status = self.network(network).status.unwrap_or_default();
        let found = status.machine.conditions.into_iter().find(|condition| condition.r#type == kind);
        let found = found.expect("the condition is there");
        (found.status, found.reason, found.message)
    }
}

fn address(number: u8) -> String {
    format!("10.0.0.{number}:9081")
}

#[test]
fn the_first_pod_makes_its_network_and_is_pushed() {
    let mut bench = Bench::new();
    bench.pod("a", "My_Net", 1);
    let ended = bench.reconcile("x--my-1-net");
    assert_eq!(ended.result, ReconcileResult::Done { requeue_after: Some(Duration::from_secs(10)) });
    assert_eq!(bench.network("x--my-1-net").spec.network_id, "My_Net");
    assert_eq!(bench.stack("x--my-1-net"), ["a"]);
    assert!(bench.joins().is_empty());
    assert_eq!(bench.condition("x--my-1-net", "Ready").0, "True");
}

#[test]
fn a_new_pod_joins_the_head_and_becomes_it() {
    let mut bench = Bench::new();
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        bench.pod(name, "blue", number as u8);
    }
    assert!(matches!(bench.reconcile("blue").result, ReconcileResult::Requeue { after: Duration::ZERO, .. }));
    assert_eq!(bench.stack("blue"), ["a"]);
    assert_eq!(
        bench.condition("blue", "Joined").2,
        "1 of 3 pods are members; pod b: it is to join next; pod c: it is to join next"
    );
    bench.reconcile("blue");
    assert_eq!(
        (bench.stack("blue"), bench.joins()),
        (vec!["b".to_owned(), "a".to_owned()], vec!["b->a".to_owned()])
    );
    bench.reconcile("blue");
    assert_eq!((bench.stack("blue").join(""), bench.joins()), ("cba".to_owned(), vec!["c->b".to_owned()]));
    assert_eq!(bench.networks(), "a+b+c");
}

#[test]
fn a_pod_that_is_seen_again_does_not_join_again() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.pod("b", "blue", 2);
    bench.settle("blue");
    let before = bench.network("blue");
    bench.reconcile("blue");
    assert!(bench.joins().is_empty());
    assert_eq!(bench.network("blue"), before, "and nothing is written");
}

#[test]
fn a_contact_that_is_dead_when_it_is_needed_is_popped_and_the_next_one_tried() {
    let mut bench = Bench::new();
    for (number, name) in ["a", "b", "c"].into_iter().enumerate() {
        bench.pod(name, "blue", number as u8);
    }
    bench.settle("blue");
    bench.pod("d", "blue", 9);
    // It dies after its health check: when the join comes.
    let peers = Arc::clone(&bench.peers);
    bench.local = std::mem::replace(&mut bench.local, Local::new(Cluster::new())).service(
        Lightpeers::NAME,
        move |request| {
            let request: PeerRequest = serde_json::from_value(request).expect("a request");
            let mut peers = peers.lock().expect("lock is not poisoned");
            let is_contact = |contact: &Option<Meant>| {
                contact.as_ref().is_some_and(|contact| contact.peer.as_deref() == Some("c"))
            };
            if matches!(&request, PeerRequest::Join { contact, .. } if is_contact(contact)) {
                peers.happen(PeerEvent::Dies { address: address(2) });
            }
            Ok(serde_json::to_value(peers.call(&request)).expect("it serializes"))
        },
    );
    let ended = bench.reconcile("blue");
    assert_eq!(bench.joins(), ["d->c", "d->b"]);
    assert_eq!(bench.stack("blue"), ["d", "b", "a"]);
    assert!(
        ended.events.iter().any(|event| event.reason == "ContactLost" && event.message.contains("pod c"))
    );
}

#[test]
fn with_all_contacts_dead_the_network_starts_over() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.settle("blue");
    bench.happen(PeerEvent::Dies { address: address(1) });
    bench.pod("b", "blue", 2);
    bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["b"]);
    assert_eq!(bench.condition("blue", "Joined").2, "1 of 2 pods are members; pod a: no peer is there");
}

#[test]
fn a_joiner_at_fault_neither_pops_a_contact_nor_blocks_others() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.settle("blue");
    bench.pod("b", "blue", 2);
    bench.pod("c", "blue", 3);
    bench.pod("d", "blue", 4);
    bench.happen(PeerEvent::Refuses { address: address(2), stubborn: true });
    bench.happen(PeerEvent::Sickens { address: address(3), sick: true });
    let ended = bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["d", "a"]);
    assert_eq!(
        ended.result,
        ReconcileResult::Requeue { after: Duration::from_secs(2), reason: "PodsNotJoined".to_owned() }
    );
    let (status, reason, message) = bench.condition("blue", "Joined");
    assert_eq!((status.as_str(), reason.as_str()), ("False", "PodsNotJoined"));
    assert!(message.contains("pod b: it cannot join through pod a: it does not want to"), "{message}");
    assert!(message.contains("pod c: it does not serve"), "{message}");
    bench.happen(PeerEvent::Refuses { address: address(2), stubborn: false });
    bench.happen(PeerEvent::Sickens { address: address(3), sick: false });
    bench.settle("blue");
    assert_eq!(bench.networks(), "a+b+c+d");
}

#[test]
fn the_dead_below_the_head_are_forgotten() {
    let mut bench = Bench::new();
    for (number, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        bench.pod(name, "blue", number as u8);
    }
    bench.settle("blue");
    bench.happen(PeerEvent::Dies { address: address(0) });
    bench.delete_pod("c");
    bench.reconcile("blue");
    assert_eq!(bench.stack("blue"), ["d", "b"]);
}

#[test]
fn a_member_that_is_well_again_joins_again() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.pod("b", "blue", 2);
    bench.settle("blue");
    bench.happen(PeerEvent::Sickens { address: address(1), sick: true });
    bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["b"]);
    bench.happen(PeerEvent::Sickens { address: address(1), sick: false });
    bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["a", "b"]);
}

#[test]
fn a_reused_address_does_not_connect_networks() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.settle("blue");
    bench.delete_pod("a");
    bench.pod("z", "red", 1);
    bench.settle("red");
    bench.pod("b", "blue", 2);
    bench.settle("blue");
    assert_eq!((bench.stack("blue"), bench.stack("red")), (vec!["b".to_owned()], vec!["z".to_owned()]));
    assert_eq!(bench.networks(), "b z");
}

#[test]
fn a_restarted_peer_joins_again() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.pod("b", "blue", 2);
    bench.settle("blue");
    bench.happen(PeerEvent::Starts { address: address(1), peer: "a-again".to_owned() });
    assert_eq!(bench.networks(), "a-again b");
    bench.settle("blue");
    bench.settle("blue");
    assert_eq!(bench.networks(), "a-again+b");
}

#[test]
fn pods_that_end_are_not_joined() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.pod("b", "blue", 2);
    bench.pod("c", "blue", 3);
    bench.patch_pod("b", json!({ "metadata": { "finalizers": ["example.com/held"] } }));
    bench.delete_pod("b");
    bench.status("c", json!({ "phase": "Failed" }));
    bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["a"]);
    assert_eq!(bench.condition("blue", "Ready").0, "True");
}

#[test]
fn another_label_is_another_network() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.pod("b", "blue", 2);
    bench.pod("z", "red", 3);
    bench.settle("blue");
    bench.settle("red");
    bench.patch_pod("b", json!({ "metadata": { "labels": { NETWORK_LABEL: "red" } } }));
    bench.settle("blue");
    bench.settle("red");
    assert_eq!(
        (bench.stack("blue").join(""), bench.stack("red").join("")),
        ("a".to_owned(), "bz".to_owned())
    );
}

#[test]
fn pods_that_cannot_be_called_are_named_once() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    let labels = || json!({ NETWORK_LABEL: "blue" });
    bench.pod_with("b", labels(), json!([{ "name": "app", "image": "i" }]), json!({}));
    bench.pod_with(
        "c",
        labels(),
        json!([{ "name": "app", "image": "i" }]),
        json!({ PORT_ANNOTATION: "none" }),
    );
    bench.pod_with("d", labels(), json!([{ "name": "lightpeer", "image": "i" }]), json!({}));
    let ended = bench.settle("blue");
    assert_eq!(bench.stack("blue"), ["a"]);
    let warned: Vec<&str> = ended
        .events
        .iter()
        .filter(|event| event.reason == "PodNotUsable")
        .map(|event| event.message.as_str())
        .collect();
    assert_eq!(warned.len(), 2, "{warned:?}");
    assert!(warned[0].starts_with("pod b: it has no container \"lightpeer\""), "{warned:?}");
    assert!(warned[1].starts_with("pod c: its annotation klightPort is \"none\""), "{warned:?}");
    let (_, reason, message) = bench.condition("blue", "Joined");
    assert_eq!(reason, "PodsNotJoined");
    assert!(message.starts_with("1 of 4 pods are members; pod b: "), "{message}");
    assert!(message.contains("pod d: it is not running yet, but Pending"), "{message}");
    assert!(bench.settle("blue").events.iter().all(|event| event.reason != "PodNotUsable"));
}

#[test]
fn an_object_with_a_name_of_its_own_is_refused() {
    let mut bench = Bench::new();
    let misnamed = LightNetwork::new("other", LightNetworkSpec { network_id: "blue".to_owned() });
    let create = Request::new(Verb::Create, LightNetwork::kind_info().resource);
    bench.request(create.with_body(to_value(&misnamed).expect("it serializes")));
    let ended = bench.reconcile("other");
    assert!(
        matches!(&ended.result, ReconcileResult::Terminal { reason, .. } if reason == "WrongName"),
        "{ended:?}"
    );
}

#[test]
fn a_network_without_pods_is_left_in_peace() {
    let mut bench = Bench::new();
    bench.pod("a", "blue", 1);
    bench.settle("blue");
    bench.delete_pod("a");
    assert_eq!(bench.settle("blue").result, ReconcileResult::Done { requeue_after: None });
    let known = bench.network("blue").status.expect("a status").known;
    assert_eq!(known, Known::default());
}
