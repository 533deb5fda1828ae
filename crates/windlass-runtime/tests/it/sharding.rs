//! Several managers that share the objects of one controller, on real API servers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use two_configmaps::{Pair, PairSpec, TwoConfigMaps};
use windlass::model::selector::ShardSelector;
use windlass::{Controller, Declaration, watching};
use windlass_runtime::Running;
use windlass_runtime::manifests::fencing_policy;
use windlass_runtime::operations::endpoints::Health;
use windlass_runtime::sharding::{SLOT_LABEL, ShardSettings, Timing, WRITER_ANNOTATION, last_write};

use crate::declared::{Diary, Probe, network};
use crate::support::{
    Cluster, Embedded, Fault, Sent, Tap, eventually, install_rings, manager, on_both_servers, rings,
};

/// An instance of the example's controller, and the tap on its wire.
struct Member {
    running: Running,
    tap: Tap,
}

/// Short times, for quick tests.
fn quick() -> Timing {
    Timing { lease_ms: 2_000, renew_ms: 1_300, request_ms: 600, retry_ms: 200, drift_ms: 20, settle_ms: 50 }
}

async fn member(cluster: &Cluster, name: &str) -> Member {
    member_with(cluster, name, |settings| settings).await
}

async fn member_with(
    cluster: &Cluster,
    name: &str,
    change: impl FnOnce(ShardSettings) -> ShardSettings,
) -> Member {
    member_of(cluster, name, Controller::new(TwoConfigMaps), change).await
}

async fn member_of(
    cluster: &Cluster,
    name: &str,
    controller: Controller,
    change: impl FnOnce(ShardSettings) -> ShardSettings,
) -> Member {
    member_behind(cluster, Tap::new(), name, controller, change).await
}

async fn member_behind(
    cluster: &Cluster,
    tap: Tap,
    name: &str,
    controller: Controller,
    change: impl FnOnce(ShardSettings) -> ShardSettings,
) -> Member {
    // Rings are cluster-scoped, and all scenarios share a cluster: each has a controller, and so a ring, of its own.
    let settings = ShardSettings::new(name).in_namespace(&cluster.namespace).slots(64).timing(quick());
    let running = manager(cluster, &tap)
        .with_controller(controller)
        .sharded(change(settings))
        .start()
        .await
        .expect("it starts");
    Member { running, tap }
}

/// A gauge of a member.
fn gauge(member: &Member, name: &str) -> u64 {
    let text = member.running.handle().metrics().text();
    let series = text.lines().filter(|line| line.starts_with(&format!("{name}{{")));
    series.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

async fn until_serving(member: &Member, slots: u64) {
    eventually(&format!("{slots} slots are served"), async || {
        gauge(member, "windlass_shard_slots_served") == slots
    })
    .await;
}

/// Whether a member that is not ready says so.
fn explains(member: &Member, words: &str) -> bool {
    member.running.handle().readiness().iter().any(|check| format!("{check:?}").contains(words))
}

async fn children(cluster: &Cluster) -> Vec<ConfigMap> {
    let all = cluster.config_maps().list(&ListParams::default().labels(SLOT_LABEL)).await.expect("a list");
    all.items
}

/// The epoch and the instance of the last write of a child.
fn written_by(child: &ConfigMap) -> (u64, String) {
    let (epoch, writer) = last_write(&child.annotations()[WRITER_ANNOTATION]).expect("an epoch and a writer");
    (epoch, writer.to_owned())
}

/// The instances that wrote the children last.
fn writers(children: &[ConfigMap]) -> BTreeSet<String> {
    let writer = |child: &ConfigMap| written_by(child).1;
    children.iter().map(writer).collect()
}

const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"];

async fn create_pairs(cluster: &Cluster) {
    for name in NAMES {
        cluster.create_pair(name).await;
    }
}

async fn until_all_ready(cluster: &Cluster) {
    for name in NAMES {
        cluster.until_ready(name).await;
    }
}

/// The hashes that a member's last watch of parents selects, of all 2^64; none if it watches all.
fn watched_by_shards(member: &Member) -> Option<f64> {
    let is_of_parents = |sent: &Sent| sent.is_watch() && sent.target.contains("/pairs?");
    let target = member.tap.last(is_of_parents)?.target;
    let (_, selector) = target.split_once("shardSelector=")?;
    let selector = ShardSelector::parse(&decoded(selector.split('&').next()?)).expect("a selector");
    let width = |(first, last): &(u64, u64)| (*last - *first) as f64 + 1.0;
    Some(selector.ranges().iter().map(width).sum::<f64>() / 2f64.powi(64))
}

/// A part of a query without its escapes.
fn decoded(text: &str) -> String {
    let mut parts = text.split('%');
    let mut decoded = parts.next().unwrap_or_default().replace('+', " ");
    for part in parts {
        let code = u8::from_str_radix(&part[..2], 16).expect("two digits");
        decoded.push(char::from(code));
        decoded.push_str(&part[2..].replace('+', " "));
    }
    decoded
}

/// Each parent has one owner, and what it makes says who made it.
async fn two_members_share_the_parents(cluster: &Cluster) {
    install_rings(cluster).await;
    let (first, second) = (member(cluster, "first").await, member(cluster, "second").await);
    until_serving(&first, 32).await;
    until_serving(&second, 32).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    let children = children(cluster).await;
    assert_eq!(children.len(), 2 * NAMES.len());
    assert_eq!(writers(&children), BTreeSet::from(["first/1".to_owned(), "second/1".to_owned()]));
    let mut slots: BTreeMap<String, BTreeSet<(u64, String)>> = BTreeMap::new();
    for child in &children {
        slots.entry(child.labels()[SLOT_LABEL].clone()).or_default().insert(written_by(child));
    }
    assert!(slots.values().all(|writers| writers.len() == 1), "{slots:#?}");
    let owned = || [&first, &second].map(|member| gauge(member, "windlass_shard_objects_owned"));
    eventually("all are known to their owners", async || owned().iter().sum::<u64>() == 12).await;
    // Who cannot select its own knows all.
    let tracked = || gauge(&first, "windlass_shard_objects_tracked");
    let knows_own_alone = watched_by_shards(&first).is_some();
    let expected = || if knows_own_alone { owned()[0] } else { 12 };
    eventually("it knows what it watches", async || tracked() == expected()).await;
    first.running.stop().await;
    second.running.stop().await;
}

/// A process that vanishes is replaced, and its objects are reconciled again.
async fn objects_of_a_killed_member_are_taken_over(cluster: &Cluster) {
    install_rings(cluster).await;
    let (first, second) = (member(cluster, "first").await, member(cluster, "second").await);
    until_serving(&second, 32).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    drop(first);
    for name in NAMES {
        cluster.merge_pair(name, json!({"spec": {"value": "later"}})).await;
    }
    for name in NAMES {
        eventually("the new value", async || {
            cluster.value_of(&format!("{name}-cm1")).await.as_deref() == Some("later")
        })
        .await;
    }
    until_serving(&second, 64).await;
    until_all_ready(cluster).await;
    second.running.stop().await;
}

/// A member that leaves hands over its slots, and nothing is written again because of it.
async fn member_that_leaves_hands_over(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member_with(cluster, "first", |settings| settings.leave_when_stopped(true)).await;
    let second = member(cluster, "second").await;
    until_serving(&second, 32).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    second.tap.take();
    first.running.stop().await;
    until_serving(&second, 64).await;
    eventually("all are looked at", async || gauge(&second, "windlass_shard_objects_owned") == 12).await;
    let is_child = |sent: &&Sent| sent.is_write() && sent.target.contains("/configmaps/");
    let sent = second.tap.take();
    let written: Vec<&Sent> = sent.iter().filter(is_child).collect();
    assert!(written.is_empty(), "{written:#?}");
    second.running.stop().await;
}

/// A process that restarts under its name has its slots again, at a later epoch.
async fn member_that_restarts_keeps_its_slots(cluster: &Cluster) {
    install_rings(cluster).await;
    let (first, second) = (member(cluster, "first").await, member(cluster, "second").await);
    until_serving(&second, 32).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    drop(first);
    let first = member(cluster, "first").await;
    until_serving(&first, 32).await;
    for name in NAMES {
        cluster.merge_pair(name, json!({"spec": {"value": "later"}})).await;
    }
    for name in NAMES {
        eventually("the new value", async || {
            cluster.value_of(&format!("{name}-cm1")).await.as_deref() == Some("later")
        })
        .await;
    }
    until_all_ready(cluster).await;
    assert_eq!(
        writers(&children(cluster).await),
        BTreeSet::from(["first/2".to_owned(), "second/1".to_owned()])
    );
    first.running.stop().await;
    second.running.stop().await;
}

/// However often slots come and go, who has them at last sees what happens to their outputs.
async fn outputs_are_watched_after_slots_came_and_went(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    for _ in 0..4 {
        let second = member_with(cluster, "second", |settings| settings.leave_when_stopped(true)).await;
        eventually("it gains slots", async || gauge(&second, "windlass_shard_slots_owned") > 0).await;
        second.running.stop().await;
    }
    until_serving(&first, 64).await;
    for name in NAMES {
        cluster.delete_config_map(&format!("{name}-cm1")).await;
    }
    for name in NAMES {
        let output = format!("{name}-cm1");
        eventually(&format!("{output} is back"), async || cluster.value_of(&output).await.is_some()).await;
    }
    first.running.stop().await;
}

/// A second process of the same name does nothing as long as the first one lives, and says why.
async fn second_process_of_a_name_is_refused(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    let second = member(cluster, "first").await;
    let explains = || explains(&second, "another process runs as instance first");
    eventually("it says why it is not ready", async || explains()).await;
    assert_eq!(gauge(&second, "windlass_shard_slots_owned"), 0);
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    assert_eq!(writers(&children(cluster).await), BTreeSet::from(["first/1".to_owned()]));
    first.running.stop().await;
    until_serving(&second, 64).await;
    assert!(!explains(), "it is over");
    second.running.stop().await;
}

/// A ring that somebody has edited is explained in its conditions, and everybody keeps what they have.
async fn edited_ring_is_explained(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    let rings = rings(cluster);
    let good = rings.get("two-configmaps").await.expect("it is there").data["status"]["slots"].clone();
    let edit = async |slots: &Value| {
        let patch = json!({"status": {"slots": slots}});
        rings
            .patch_status("two-configmaps", &PatchParams::default(), &Patch::Merge(patch))
            .await
            .expect("a ring");
    };
    edit(&json!([{"from": 0, "to": 9, "owner": 7, "epoch": 1, "phase": "Owned", "clean": true}])).await;
    let message = async || {
        let ring = rings.get("two-configmaps").await.expect("it is there");
        ring.data["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned()
    };
    eventually("it is explained", async || message().await.contains("the owner of the run from slot 0"))
        .await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    edit(&good).await;
    // The next change of the ring removes the condition.
    let second = member(cluster, "second").await;
    until_serving(&second, 32).await;
    assert_eq!(message().await, "");
    first.running.stop().await;
    second.running.stop().await;
}

/// A ring that makes sense, but cannot come after the one before, is not believed: its slots would have two owners.
async fn ring_whose_epochs_went_back_is_refused(cluster: &Cluster) {
    install_rings(cluster).await;
    let (first, second) = (member(cluster, "first").await, member(cluster, "second").await);
    until_serving(&first, 32).await;
    until_serving(&second, 32).await;
    let rings = rings(cluster);
    let good = rings.get("two-configmaps").await.expect("it is there").data["status"]["slots"].clone();
    let write = async |slots: &Value| {
        let patch = Patch::Merge(json!({"status": {"slots": slots}}));
        rings.patch_status("two-configmaps", &PatchParams::default(), &patch).await.expect("a ring");
    };
    let mut edited = good.clone();
    for run in edited.as_array_mut().expect("runs") {
        run["owner"] = json!(1 - run["owner"].as_u64().expect("a number"));
    }
    write(&edited).await;
    for member in [&first, &second] {
        eventually("it says why", async || explains(member, "its epoch must grow with each owner")).await;
        assert_eq!(gauge(member, "windlass_shard_slots_served"), 32);
    }
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    write(&good).await;
    for member in [&first, &second] {
        eventually("it is good again", async || !explains(member, "its epoch must grow")).await;
    }
    first.running.stop().await;
    second.running.stop().await;
}

/// Whoever makes a ring again that somebody has deleted begins above all its epochs, and not at once.
async fn deleted_ring_is_made_again_above_its_epochs(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    let rings = rings(cluster);
    let epoch = async || {
        let ring = rings.get_opt("two-configmaps").await.expect("an answer");
        ring.and_then(|ring| ring.data["status"]["epoch"].as_u64())
    };
    let before = epoch().await.expect("an epoch");
    // Each renewal of a Lease notes it.
    let leases: Api<Lease> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let noted = async || {
        let lease = leases.get("two-configmaps-first").await.expect("it is there");
        lease.annotations().get("windlass.dev/epoch").cloned()
    };
    eventually("the epoch is noted", async || noted().await == Some(before.to_string())).await;
    first.running.stop().await;
    rings.delete("two-configmaps", &DeleteParams::default()).await.expect("it is there");
    let second = member(cluster, "second").await;
    eventually("there is a ring", async || epoch().await.is_some()).await;
    assert!(epoch().await > Some(before));
    assert_eq!(gauge(&second, "windlass_shard_slots_served"), 0, "the first one might act still");
    until_serving(&second, 64).await;
    second.running.stop().await;
}

/// Two instances that would conclude different things from the same ring do not share one.
async fn members_of_other_settings_are_refused(cluster: &Cluster) {
    install_rings(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    let slower = |settings: ShardSettings| settings.timing(Timing { lease_ms: 3_000, ..quick() });
    let elsewhere = |settings: ShardSettings| settings.in_namespace("default");
    let (slow, other) =
        (member_with(cluster, "slow", slower).await, member_with(cluster, "other", elsewhere).await);
    eventually("it is notified", async || explains(&slow, "has leases of 2000 ms")).await;
    eventually("it is notified", async || explains(&other, "has leases in namespace")).await;
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    assert_eq!(gauge(&slow, "windlass_shard_slots_owned") + gauge(&other, "windlass_shard_slots_owned"), 0);
    for member in [slow, other, first] {
        member.running.stop().await;
    }
}

/// An instance that lives, owns slots and never loads them is noticed by the others: no one looks after its objects.
async fn objects_that_no_one_serves_are_counted(cluster: &Cluster) {
    install_rings(cluster).await;
    create_pairs(cluster).await;
    let first = member(cluster, "first").await;
    until_serving(&first, 64).await;
    until_all_ready(cluster).await;
    let unowned = || gauge(&first, "windlass_objects_unowned");
    assert_eq!(unowned(), 0);
    let tap = Tap::new();
    tap.rule(|sent: &Sent| {
        let is_list_of_slots = sent.is_list() && decoded(&sent.target).contains("windlass.dev/slot in (");
        match is_list_of_slots {
            true => Fault::Answer { code: 500, retry_after: None, body: json!({"message": "it fails"}) },
            false => Fault::None,
        }
    });
    let second =
        member_behind(cluster, tap, "second", Controller::new(TwoConfigMaps), |settings| settings).await;
    eventually("it owns slots", async || gauge(&second, "windlass_shard_slots_owned") == 32).await;
    eventually("objects are missed", async || unowned() > 0).await;
    assert_eq!(unowned() + gauge(&first, "windlass_shard_objects_owned"), 12);
    assert_eq!(gauge(&first, "windlass_objects_doubly_owned"), 0);
    second.tap.no_rule();
    until_serving(&second, 32).await;
    eventually("none is missed", async || unowned() == 0).await;
    first.running.stop().await;
    second.running.stop().await;
}

/// A namespace that does not exist is named, and not asked for all the time.
async fn missing_namespace_of_leases_is_named(cluster: &Cluster) {
    install_rings(cluster).await;
    let member = member_with(cluster, "first", |settings| settings.in_namespace("no-such")).await;
    eventually("it is named", async || explains(&member, "cannot be created: namespaces")).await;
    let is_lease = |sent: &Sent| sent.method == "POST" && sent.target.contains("/leases");
    let before = member.tap.count(is_lease);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let tries = member.tap.count(is_lease) - before;
    assert!((1..=10).contains(&tries), "{tries} in a second");
    member.running.stop().await;
}

/// Outputs that were made before the controller was sharded get their slot, and are found when they are to go.
async fn outputs_of_before_are_adopted(cluster: &Cluster) {
    install_rings(cluster).await;
    let before = manager(cluster, &Tap::new()).controller(TwoConfigMaps).start().await.expect("it starts");
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    before.stop().await;
    assert_eq!(children(cluster).await.len(), 0);
    let member = member(cluster, "first").await;
    eventually("all have a slot", async || children(cluster).await.len() == 2 * NAMES.len()).await;
    member.running.stop().await;
}

/// What an earlier owner sent, and what arrives late, is refused; others change outputs as they please.
async fn late_writes_are_refused(cluster: &Cluster) {
    install_rings(cluster).await;
    let review: Api<SelfSubjectReview> = Api::all(cluster.client.clone());
    let review =
        review.create(&PostParams::default(), &SelfSubjectReview::default()).await.expect("a review");
    let user = review.status.and_then(|status| status.user_info?.username).expect("a user");
    let policy = fencing_policy(&Controller::new(TwoConfigMaps), &user);
    apply(cluster, "validatingadmissionpolicies", &policy[0]).await;
    apply(cluster, "validatingadmissionpolicybindings", &policy[1]).await;
    let member = member(cluster, "first").await;
    until_serving(&member, 64).await;
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    let child = cluster.config_maps().get("a-cm1").await.expect("it is there");
    let epoch = written_by(&child).0;
    let with_epoch = async |epoch: u64| {
        let patch = json!({"metadata": {"annotations": {WRITER_ANNOTATION: format!("{epoch} late/1")}}});
        let config_maps = cluster.config_maps();
        config_maps.patch("a-cm1", &PatchParams::default(), &Patch::Merge(patch)).await
    };
    // The parameters of a policy reach a server by a watch, and so do policies.
    eventually(
        "an earlier epoch is refused",
        async || matches!(with_epoch(epoch - 1).await, Err(kube::Error::Api(status)) if status.code == 403),
    )
    .await;
    with_epoch(epoch + 1).await.expect("a later epoch is fine");
    member.running.stop().await;
    for (plural, object) in
        [("validatingadmissionpolicybindings", &policy[1]), ("validatingadmissionpolicies", &policy[0])]
    {
        let name = object["metadata"]["name"].as_str().expect("a name");
        of_plural(cluster, plural, object).delete(name, &DeleteParams::default()).await.expect("it is there");
    }
}

fn of_plural(cluster: &Cluster, plural: &str, object: &Value) -> Api<DynamicObject> {
    let resource = ApiResource {
        group: "admissionregistration.k8s.io".to_owned(),
        version: "v1".to_owned(),
        api_version: "admissionregistration.k8s.io/v1".to_owned(),
        kind: object["kind"].as_str().expect("a kind").to_owned(),
        plural: plural.to_owned(),
    };
    Api::all_with(cluster.client.clone(), &resource)
}

async fn apply(cluster: &Cluster, plural: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().expect("a name");
    let params = PatchParams::apply("test").force();
    of_plural(cluster, plural, object)
        .patch(name, &params, &Patch::Apply(object))
        .await
        .expect("it is applied");
}

on_both_servers! {
    late_writes_are_refused
    outputs_are_watched_after_slots_came_and_went
    second_process_of_a_name_is_refused
    ring_whose_epochs_went_back_is_refused
    deleted_ring_is_made_again_above_its_epochs
    members_of_other_settings_are_refused
    missing_namespace_of_leases_is_named
    objects_that_no_one_serves_are_counted
    edited_ring_is_explained
    two_members_share_the_parents
    objects_of_a_killed_member_are_taken_over
    member_that_leaves_hands_over
    member_that_restarts_keeps_its_slots
    outputs_of_before_are_adopted
}

/// Performs scenarios on servers that cannot select by shards: every instance watches all parents.
macro_rules! without_shard_selectors {
    ($($name:ident)*) => {
        mod without_shard_selectors {
            $(
                #[tokio::test]
                async fn $name() {
                    let embedded = crate::support::Embedded::start_without_shards().await;
                    super::$name(&embedded.cluster).await;
                }
            )*
        }
    };
}

without_shard_selectors! {
    objects_that_no_one_serves_are_counted
    two_members_share_the_parents
    objects_of_a_killed_member_are_taken_over
    member_that_leaves_hands_over
    member_that_restarts_keeps_its_slots
    outputs_of_before_are_adopted
}

/// An instance receives its own parents, and no others.
#[tokio::test]
async fn parents_of_others_are_not_received() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    install_rings(cluster).await;
    let (first, second) = (member(cluster, "first").await, member(cluster, "second").await);
    until_serving(&first, 32).await;
    until_serving(&second, 32).await;
    // The first had all slots before the second came.
    for member in [&first, &second] {
        eventually("watches of half of the slots", async || watched_by_shards(member) == Some(0.5)).await;
        member.tap.listen();
    }
    create_pairs(cluster).await;
    until_all_ready(cluster).await;
    let children = children(cluster).await;
    for name in NAMES {
        let child = children.iter().find(|child| child.name_any() == format!("{name}-cm1")).expect("a child");
        let owner = written_by(child).1;
        let receives = |member: &Member| {
            let named = format!(r#""name":"{name}""#);
            let heard = member.tap.heard();
            heard.lines().any(|line| {
                line.contains(r#""kind":"Pair""#)
                    && line.contains(&named)
                    && !line.contains(r#""ownerReferences""#)
            })
        };
        let received = (receives(&first), receives(&second));
        assert_eq!(received, (owner == "first/1", owner == "second/1"), "{name}");
    }
    first.running.stop().await;
    second.running.stop().await;
}

/// A controller that makes the parents which ConfigMaps name.
fn maker(diary: &Diary) -> Controller {
    let declare = |declaration: &mut Declaration| {
        let made =
            |parent: &windlass::ObjectRef| Pair::new(&parent.name, PairSpec { value: "made".to_owned() });
        declaration.create_missing(made);
        declaration.watch(watching::<ConfigMap>().labels("net"), |member| network(&member.metadata));
    };
    Controller::new(Probe { declare, lists: false, diary: diary.clone() })
}

async fn until_made(cluster: &Cluster) {
    for name in NAMES {
        eventually(&format!("{name} is made"), async || {
            cluster.pairs().get_opt(name).await.expect("an answer").is_some()
        })
        .await;
    }
}

/// What names them may have been there before any instance was: its events were dropped while no one served their slots.
#[tokio::test]
async fn missing_parents_of_before_are_made() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    install_rings(cluster).await;
    for name in NAMES {
        cluster.create_member(&format!("member-{name}"), Some(name), "").await;
    }
    let diaries = [Diary::default(), Diary::default()];
    let first = member_of(cluster, "first", maker(&diaries[0]), |settings| settings).await;
    let second = member_of(cluster, "second", maker(&diaries[1]), |settings| settings).await;
    until_made(cluster).await;
    first.running.stop().await;
    second.running.stop().await;
}

/// A slot that is assigned begins as a watch does: what the controller's predicate leaves out of a list is left out.
async fn parents_that_are_not_ready_are_left_alone(cluster: &Cluster) {
    install_rings(cluster).await;
    for name in NAMES {
        let value = if name == "a" { "ready" } else { "not yet" };
        let pair = Pair::new(name, PairSpec { value: value.to_owned() });
        cluster.pairs().create(&PostParams::default(), &pair).await.expect("a pair");
    }
    let diary = Diary::default();
    let declare = |declaration: &mut Declaration| {
        let is_ready =
            |_: Option<&Pair>, after: Option<&Pair>| after.is_none_or(|pair| pair.spec.value == "ready");
        declaration.parents(watching::<Pair>().when(is_ready));
    };
    let probe = Controller::new(Probe { declare, lists: false, diary: diary.clone() });
    let member = member_of(cluster, "one", probe, |settings| settings).await;
    until_serving(&member, 64).await;
    let seen = || diary.lock().keys().cloned().collect::<Vec<_>>();
    eventually("the pair that is ready is reconciled", async || !seen().is_empty()).await;
    let made_ready = json!({ "spec": { "value": "ready" } });
    let patch = Patch::Merge(made_ready);
    cluster.pairs().patch("b", &PatchParams::default(), &patch).await.expect("it is patched");
    eventually("the other is, once it is ready", async || seen().len() == 2).await;
    assert_eq!(seen(), ["a", "b"]);
    member.running.stop().await;
}

#[tokio::test]
async fn parents_that_are_not_ready_are_left_alone_with_and_without_selectors() {
    parents_that_are_not_ready_are_left_alone(&Embedded::start().await.cluster).await;
    parents_that_are_not_ready_are_left_alone(&Embedded::start_without_shards().await.cluster).await;
}

/// The API server may fail just when it is asked whose a parent is. No one else knows of what triggered it.
#[tokio::test]
async fn parent_that_could_not_be_read_is_read_again() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    install_rings(cluster).await;
    let member = member_of(cluster, "first", maker(&Diary::default()), |settings| settings).await;
    until_serving(&member, 64).await;
    let mut failed = BTreeSet::new();
    member.tap.rule(move |sent: &Sent| {
        let is_read = sent.method == "GET" && sent.target.contains("/pairs/");
        if is_read && failed.insert(sent.target.clone()) {
            return Fault::Answer { code: 500, retry_after: None, body: json!({"message": "it fails"}) };
        }
        Fault::None
    });
    for name in NAMES {
        cluster.create_member(&format!("member-{name}"), Some(name), "").await;
    }
    until_made(cluster).await;
    member.running.stop().await;
}

/// A parent that does not exist has the slot of its name, and gets another one with its uid: it is made once, and is its
/// owner's from then on.
#[tokio::test]
async fn missing_parents_are_made_once() {
    let embedded = Embedded::start().await;
    let cluster = &embedded.cluster;
    install_rings(cluster).await;
    let diaries = [Diary::default(), Diary::default()];
    let first = member_of(cluster, "first", maker(&diaries[0]), |settings| settings).await;
    let second = member_of(cluster, "second", maker(&diaries[1]), |settings| settings).await;
    until_serving(&first, 32).await;
    until_serving(&second, 32).await;
    for name in NAMES {
        cluster.create_member(&format!("member-{name}"), Some(name), "").await;
    }
    for name in NAMES {
        eventually("the pair is seen", async || {
            cluster.pairs().get_opt(name).await.expect("an answer").is_some_and(|pair| pair.status.is_some())
        })
        .await;
    }
    let owned =
        || gauge(&first, "windlass_shard_objects_owned") + gauge(&second, "windlass_shard_objects_owned");
    eventually("all are known to their owners", async || owned() == 12).await;
    let busy = |member| gauge(member, "workqueue_depth") + gauge(member, "controller_runtime_active_workers");
    let idle = async || eventually("nothing is due", async || busy(&first) + busy(&second) == 0).await;
    idle().await;
    let runs = || NAMES.map(|name| [&diaries[0], &diaries[1]].map(|diary| diary.runs(name)));
    let before = runs();
    for name in NAMES {
        cluster.delete_config_map(&format!("member-{name}")).await;
    }
    let has_run =
        |place: usize, runs: &[[u64; 2]; 12]| [0, 1].map(|one| runs[place][one] > before[place][one]);
    eventually("all run again", async || {
        let now = runs();
        (0..NAMES.len()).all(|place| has_run(place, &now).contains(&true))
    })
    .await;
    idle().await;
    let now = runs();
    for (place, name) in NAMES.iter().enumerate() {
        assert_ne!(has_run(place, &now), [true, true], "{name} has two owners");
    }
    let is_made = |sent: &Sent| sent.method == "POST" && sent.target.contains("/pairs");
    assert_eq!(first.tap.count(is_made) + second.tap.count(is_made), NAMES.len());
    first.running.stop().await;
    second.running.stop().await;
}
