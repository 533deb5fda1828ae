//! Owner references: what the collector deletes, keeps, orphans and waits for.

use std::slice;

use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_model::{Change, Cluster, Propagation, Request, controllers};

fn child(name: &str, owners: &[&Value]) -> Value {
    let references: Vec<Value> = owners.iter().map(|owner| owned_by(owner)).collect();
    with_meta(config_map(name), "ownerReferences", json!(references))
}

fn blocking_child(name: &str, owner: &Value) -> Value {
    let mut reference = owned_by(owner);
    reference["blockOwnerDeletion"] = true.into();
    with_meta(config_map(name), "ownerReferences", json!([reference]))
}

fn remove(cluster: &mut Cluster, plural: &str, name: &str, propagation: Propagation) {
    let mut request = delete(plural, name);
    request.options.propagation = Some(propagation);
    ok(cluster, &request);
}

#[test]
fn dependents_follow_their_last_owner() {
    let mut cluster = cluster();
    let one = ok(&mut cluster, &create("widgets", widget("one")));
    let two = ok(&mut cluster, &create("widgets", widget("two")));
    ok(&mut cluster, &create("configmaps", child("both", &[&one, &two])));
    ok(&mut cluster, &create("configmaps", child("single", &[&one])));
    let single = found(&mut cluster, "configmaps", "single");
    ok(&mut cluster, &create("configmaps", child("grandchild", &[&single])));
    assert!(requests_of_controllers(&cluster).is_empty(), "all owners are there");

    remove(&mut cluster, "widgets", "one", Propagation::Background);
    assert!(cluster.settle());
    assert!(
        !exists(&mut cluster, "configmaps", "single") && !exists(&mut cluster, "configmaps", "grandchild")
    );
    let both = found(&mut cluster, "configmaps", "both");
    assert_eq!(
        both["metadata"]["ownerReferences"],
        json!([owned_by(&two)]),
        "the dangling reference is dropped"
    );

    remove(&mut cluster, "widgets", "two", Propagation::Background);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "configmaps", "both"));
}

#[test]
fn deletes_carry_preconditions() {
    let mut cluster = cluster();
    let owner = ok(&mut cluster, &create("widgets", widget("owner")));
    let dependent = ok(&mut cluster, &create("configmaps", child("a", &[&owner])));
    ok(&mut cluster, &delete("widgets", "owner"));
    let requests = requests_of_controllers(&cluster);
    assert_eq!(requests.len(), 1);
    let options = &requests[0].options;
    assert_eq!(options.preconditions.uid.as_deref(), dependent["metadata"]["uid"].as_str());
    assert_eq!(
        options.preconditions.resource_version.as_deref(),
        dependent["metadata"]["resourceVersion"].as_str()
    );
    assert_eq!(options.propagation, Some(Propagation::Background));
    // A change in between makes the delete fail, so that a new owner is never overlooked.
    ok(&mut cluster, &merge("configmaps", "a", json!({ "metadata": { "ownerReferences": null } })));
    refused(&cluster.request(&requests[0]), 409, "Conflict", "The object might have been modified");
    assert!(cluster.settle() && exists(&mut cluster, "configmaps", "a"));
}

#[test]
fn an_owner_is_known_by_uid_and_namespace() {
    let mut cluster = cluster();
    ok(&mut cluster, &create("namespaces", namespace("other")));
    let owner = ok(&mut cluster, &create("widgets", widget("owner")));
    let mut reborn = owned_by(&owner);
    reborn["uid"] = "00000000-0000-4000-8000-000000000000".into();
    ok(
        &mut cluster,
        &create("configmaps", with_meta(config_map("stranger"), "ownerReferences", json!([reborn]))),
    );
    ok(&mut cluster, &create("configmaps", child("abroad", &[&owner])).in_namespace("other"));
    let namespace = found(&mut cluster, "namespaces", "other");
    ok(&mut cluster, &create("configmaps", child("of-cluster-owner", &[&namespace])));
    let mut unknown = owned_by(&owner);
    unknown["kind"] = "Gadget".into();
    ok(
        &mut cluster,
        &create("configmaps", with_meta(config_map("unknown"), "ownerReferences", json!([unknown]))),
    );
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "configmaps", "stranger"), "another uid is another object");
    assert_eq!(cluster.request(&get("configmaps", "abroad").in_namespace("other")).code, 404);
    assert!(exists(&mut cluster, "configmaps", "of-cluster-owner"));
    assert!(exists(&mut cluster, "configmaps", "unknown"), "an owner of an unknown type may exist");
}

#[test]
fn an_orphaning_delete_frees_the_dependents() {
    let mut cluster = cluster();
    let owner = ok(&mut cluster, &create("widgets", widget("owner")));
    ok(&mut cluster, &create("configmaps", child("a", &[&owner])));
    ok(
        &mut cluster,
        &create("widgets", with_meta(widget("b"), "ownerReferences", json!([owned_by(&owner)]))),
    );
    remove(&mut cluster, "widgets", "owner", Propagation::Orphan);
    assert!(exists(&mut cluster, "widgets", "owner"), "it waits for the collector");
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "widgets", "owner"));
    for (plural, name) in [("configmaps", "a"), ("widgets", "b")] {
        assert!(found(&mut cluster, plural, name)["metadata"].get("ownerReferences").is_none());
    }
}

#[test]
fn a_foreground_delete_waits_for_those_that_block() {
    let mut cluster = cluster();
    let owner = ok(&mut cluster, &create("widgets", widget("owner")));
    let mut held = blocking_child("held", &owner);
    held["metadata"]["finalizers"] = json!(["x.io/y"]);
    ok(&mut cluster, &create("configmaps", held));
    ok(&mut cluster, &create("configmaps", blocking_child("free", &owner)));
    remove(&mut cluster, "widgets", "owner", Propagation::Foreground);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "configmaps", "free"));
    assert!(found(&mut cluster, "configmaps", "held")["metadata"]["deletionTimestamp"].is_string());
    assert!(exists(&mut cluster, "widgets", "owner"), "its dependent is not gone");
    ok(&mut cluster, &merge("configmaps", "held", json!({ "metadata": { "finalizers": null } })));
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "widgets", "owner"));
}

#[test]
fn a_foreground_delete_does_not_wait_for_others() {
    let mut cluster = cluster();
    let owner = ok(&mut cluster, &create("widgets", widget("owner")));
    ok(
        &mut cluster,
        &create("configmaps", with_meta(child("held", &[&owner]), "finalizers", json!(["x.io/y"]))),
    );
    remove(&mut cluster, "widgets", "owner", Propagation::Foreground);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "widgets", "owner"));
    assert!(found(&mut cluster, "configmaps", "held")["metadata"]["deletionTimestamp"].is_string());
}

#[test]
fn foreground_spreads_to_dependents_that_have_dependents() {
    let mut cluster = cluster();
    let top = ok(&mut cluster, &create("widgets", widget("top")));
    let middle = ok(&mut cluster, &create("configmaps", blocking_child("middle", &top)));
    let mut leaf = blocking_child("leaf", &middle);
    leaf["metadata"]["finalizers"] = json!(["x.io/y"]);
    ok(&mut cluster, &create("configmaps", leaf));
    remove(&mut cluster, "widgets", "top", Propagation::Foreground);
    assert!(cluster.settle());
    let middle = found(&mut cluster, "configmaps", "middle");
    assert_eq!(middle["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    ok(&mut cluster, &merge("configmaps", "leaf", json!({ "metadata": { "finalizers": null } })));
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "configmaps", "middle") && !exists(&mut cluster, "widgets", "top"));
}

#[test]
fn a_circle_of_waiting_objects_is_cut() {
    let mut cluster = cluster();
    let one = ok(&mut cluster, &create("configmaps", config_map("one")));
    let two = ok(&mut cluster, &create("configmaps", blocking_child("two", &one)));
    let back = blocking_child("one", &two)["metadata"]["ownerReferences"].clone();
    ok(&mut cluster, &merge("configmaps", "one", json!({ "metadata": { "ownerReferences": back } })));
    remove(&mut cluster, "configmaps", "one", Propagation::Foreground);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "configmaps", "one") && !exists(&mut cluster, "configmaps", "two"));
}

#[test]
fn an_owner_that_waits_loses_to_one_that_stays() {
    let mut cluster = cluster();
    let going = ok(&mut cluster, &create("widgets", widget("going")));
    let staying = ok(&mut cluster, &create("widgets", widget("staying")));
    let mut both = child("both", &[&going, &staying]);
    both["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = true.into();
    ok(&mut cluster, &create("configmaps", both));
    remove(&mut cluster, "widgets", "going", Propagation::Foreground);
    assert!(cluster.settle());
    assert!(!exists(&mut cluster, "widgets", "going"));
    assert_eq!(
        found(&mut cluster, "configmaps", "both")["metadata"]["ownerReferences"],
        json!([owned_by(&staying)])
    );
}

/// A step of a random history of five objects.
#[derive(Clone, Debug)]
enum Step {
    /// Creates an object, or gives it other owners: of which numbers, and whether it blocks them.
    Own(usize, Vec<(usize, bool)>),
    Delete(usize, Propagation),
    /// Adds a finalizer or takes all away.
    Finalize(usize, bool),
    /// Lets the collector do the first thing that it would do.
    Collect,
}

fn step() -> impl Strategy<Value = Step> {
    let propagation =
        prop_oneof![Just(Propagation::Orphan), Just(Propagation::Foreground), Just(Propagation::Background)];
    prop_oneof![
        3 => (0..5usize, prop::collection::vec((0..5usize, any::<bool>()), 0..3))
            .prop_map(|(which, owners)| Step::Own(which, owners)),
        2 => (0..5usize, propagation).prop_map(|(which, propagation)| Step::Delete(which, propagation)),
        1 => (0..5usize, any::<bool>()).prop_map(|(which, add)| Step::Finalize(which, add)),
        2 => Just(Step::Collect),
    ]
}

fn request_of(step: &Step, cluster: &mut Cluster, uids: &[Value; 5]) -> Option<Request> {
    let plural = |which: usize| if which.is_multiple_of(2) { "configmaps" } else { "widgets" };
    let name = |which: usize| format!("n{which}");
    Some(match step {
        Step::Own(which, owners) => {
            let mut object =
                if which.is_multiple_of(2) { config_map(&name(*which)) } else { widget(&name(*which)) };
            let reference = |(owner, blocks): &(usize, bool)| {
                // Also to owners that are gone, or were never there.
                let mut owner_object = if owner.is_multiple_of(2) { config_map("") } else { widget("") };
                owner_object["metadata"]["name"] = name(*owner).into();
                owner_object["metadata"]["uid"] = uids[*owner].clone();
                let mut reference = owned_by(&owner_object);
                reference["blockOwnerDeletion"] = (*blocks).into();
                reference
            };
            let references: Vec<Value> = owners.iter().map(reference).collect();
            object["metadata"]["ownerReferences"] = json!(references);
            if exists(cluster, plural(*which), &name(*which)) {
                let metadata = json!({ "metadata": { "ownerReferences": references } });
                merge(plural(*which), &name(*which), metadata)
            } else {
                create(plural(*which), object)
            }
        }
        Step::Delete(which, propagation) => {
            let mut request = delete(plural(*which), &name(*which));
            request.options.propagation = Some(*propagation);
            request
        }
        Step::Finalize(which, add) => {
            let finalizers = if *add { json!(["x.io/y"]) } else { Value::Null };
            merge(plural(*which), &name(*which), json!({ "metadata": { "finalizers": finalizers } }))
        }
        Step::Collect => {
            return requests_of_controllers(cluster).into_iter().next();
        }
    })
}

proptest! {
    #[test]
    fn only_objects_that_a_change_concerns_need_to_be_looked_at(steps in prop::collection::vec(step(), 1..40)) {
        let mut cluster = cluster();
        let mut uids: [Value; 5] = std::array::from_fn(|number| format!("never-{number}").into());
        let mut changes: Vec<Change> = Vec::new();
        for step in &steps {
            let Some(request) = request_of(step, &mut cluster, &uids) else { continue };
            let effect = cluster.handle(&request);
            cluster.commit(&effect.changes);
            for change in &effect.changes {
                if let (Some(after), Some(number)) = (&change.after, change.key.name.strip_prefix('n')) {
                    uids[number.parse::<usize>().unwrap()] = after["metadata"]["uid"].clone();
                }
            }
            changes.extend(effect.changes);
            let (store, types, now) = (cluster.store(), cluster.types(), cluster.now());
            let after = controllers::requests_after(store, types, now, &changes);
            prop_assert_eq!(after, controllers::next_requests(store, types, now));
            // What nothing is to be done about need not be looked at again before it changes.
            changes.retain(|change| {
                !controllers::requests_after(store, types, now, slice::from_ref(change)).is_empty()
            });
        }
    }
}
