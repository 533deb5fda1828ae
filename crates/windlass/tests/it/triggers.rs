//! Which parents a change triggers: selectors, predicates, metadata, and resync.

#![allow(clippy::unwrap_used, reason = "a test that cannot set up its world should panic")]

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use serde_json::{Value, json};
use windlass::model::{Cluster, Key};
use windlass::{
    Cause, Controller, Cx, Declaration, Machine, ObjectRef, Outcome, ReconcileResult, States, Trigger,
    changed, done, done_and_requeue_after, secs, watching, watching_metadata,
};

#[derive(States)]
enum Only {
    #[state(initial)]
    Only,
}

/// Declares what a test gives it.
struct Declares<F>(F);

impl<F: Fn(&mut Declaration) + Send + Sync + 'static> Machine for Declares<F> {
    type Parent = Namespace;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        (self.0)(declaration.name("declares"));
    }

    async fn run(&self, _: Only, cx: &Cx<Namespace>) -> Outcome<Only> {
        if cx.name() == "soon" { done_and_requeue_after(secs(1)) } else { done() }
    }
}

fn controller(declare: impl Fn(&mut Declaration) + Send + Sync + 'static) -> Controller {
    Controller::new(Declares(declare))
}

fn pod(uid: &str, label: Option<&str>) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "ns", "uid": uid, "labels": label.map(|value| json!({"net": value}))},
        "spec": {"nodeName": "node", "containers": []},
    })
}

/// The names of the parents that a change of the pod triggers.
fn triggered(controller: &Controller, before: Option<&Value>, after: Option<&Value>) -> Vec<String> {
    let triggers = controller.declaration().triggers(&Key::new("", "pods", "ns", "p"), before, after);
    assert!(triggers.iter().all(|trigger| trigger.cause == Cause::Watched));
    triggers.into_iter().map(|trigger| trigger.parent.name).collect()
}

/// The network that a pod is in.
fn network(pod: &Pod) -> Vec<ObjectRef> {
    let labels = pod.metadata.labels.as_ref();
    labels.and_then(|labels| labels.get("net")).map(|name| ObjectRef::new("", name)).into_iter().collect()
}

#[test]
fn an_object_that_loses_its_label_triggers_once_more() {
    let controller = controller(|declaration| {
        declaration.watch(watching::<Pod>().labels("net,net!=secret").fields("spec.nodeName=node"), network);
    });
    let (one, two, none) = (pod("1", Some("one")), pod("1", Some("two")), pod("1", None));
    assert_eq!(triggered(&controller, None, Some(&one)), ["one"]);
    assert_eq!(triggered(&controller, Some(&one), Some(&two)), ["one", "two"]);
    assert_eq!(triggered(&controller, Some(&one), Some(&none)), ["one"]);
    assert_eq!(triggered(&controller, Some(&none), Some(&two)), ["two"]);
    assert_eq!(triggered(&controller, Some(&one), Some(&pod("1", Some("secret")))), ["one"]);
    assert!(triggered(&controller, Some(&none), Some(&none)).is_empty());
    let mut elsewhere = two.clone();
    elsewhere["spec"]["nodeName"] = json!("other");
    assert_eq!(triggered(&controller, Some(&one), Some(&elsewhere)), ["one"]);
    assert!(triggered(&controller, None, Some(&elsewhere)).is_empty());
}

#[test]
fn predicates_see_both_sides_as_the_watch_selects_them() {
    let controller = controller(|declaration| {
        let moved = |before: Option<&Pod>, after: Option<&Pod>| before.map(network) != after.map(network);
        let both = |before: Option<&Pod>, after: Option<&Pod>| before.is_some() && after.is_some();
        declaration
            .watch(watching::<Pod>().labels("net").when(moved), network)
            .watch(watching::<Pod>().labels("net").when(moved).when(both), |_| {
                vec![ObjectRef::new("", "both")]
            });
    });
    let (one, two, none) = (pod("1", Some("one")), pod("1", Some("two")), pod("1", None));
    assert!(triggered(&controller, Some(&one), Some(&one)).is_empty());
    assert_eq!(triggered(&controller, Some(&one), Some(&two)), ["both", "one", "two"]);
    assert_eq!(triggered(&controller, Some(&one), Some(&none)), ["one"]);
    // Another object of the same name: one went, one came.
    assert_eq!(triggered(&controller, Some(&one), Some(&pod("2", Some("one")))), ["one"]);
}

#[test]
fn a_status_can_be_left_out_but_no_deletion() {
    let controller = controller(|declaration| {
        declaration.watch(watching::<Deployment>().when(changed::generation), |deployment| {
            vec![ObjectRef::new("", deployment.metadata.name.as_deref().unwrap_or_default())]
        });
    });
    let deployment = |generation: u64, status: u64| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "d", "namespace": "ns", "uid": "u", "generation": generation},
            "status": {"replicas": status}})
    };
    let triggers = |before: Option<&Value>, after: Option<&Value>| {
        controller.declaration().triggers(&Key::new("apps", "deployments", "ns", "d"), before, after).len()
    };
    assert_eq!(triggers(Some(&deployment(1, 0)), Some(&deployment(1, 3))), 0);
    assert_eq!(triggers(Some(&deployment(1, 0)), Some(&deployment(2, 0))), 1);
    assert_eq!(triggers(Some(&deployment(1, 3)), None), 1);
    assert_eq!(triggers(None, Some(&deployment(1, 3))), 1);
}

#[test]
fn a_metadata_watch_shows_nothing_else() {
    let controller = controller(|declaration| {
        let all = watching::<Pod>().labels("net");
        declaration.watch(all, |pod| {
            assert!(pod.spec.is_some());
            vec![ObjectRef::new("", "all")]
        });
        let metadata = watching_metadata::<Pod>().fields("spec.nodeName=node");
        declaration.watch(metadata, |pod| {
            assert!(pod.metadata.managed_fields.is_none());
            vec![ObjectRef::new("", pod.metadata.uid.as_deref().unwrap_or_default())]
        });
    });
    let mut one = pod("1", Some("one"));
    one["metadata"]["managedFields"] = json!([{"manager": "m"}]);
    assert_eq!(triggered(&controller, None, Some(&one)), ["1", "all"]);
    let metadata =
        controller.declaration().watched().find(|watch| watch.metadata_only).expect("it is declared");
    let observed = metadata.selected(&one).expect("it is selected").into_owned();
    assert_eq!(observed["kind"], "PartialObjectMetadata");
    assert_eq!((observed.get("spec"), &observed["metadata"]["name"]), (None, &json!("p")));
}

/// Triggers by a change of the parent itself.
fn of_parent(controller: &Controller, before: &Value, after: &Value) -> Vec<Trigger> {
    controller.declaration().triggers(&Key::new("", "namespaces", "", "a"), Some(before), Some(after))
}

#[test]
fn whatever_counts_suspension_and_deletion_do() {
    let controller = controller(|declaration| {
        declaration.parents(watching::<Namespace>().when(|_, _| false));
    });
    let parent = |metadata: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata});
    let old = parent(json!({"name": "a"}));
    let touched = parent(json!({"name": "a", "annotations": {"touched": "1"}}));
    let suspended = parent(json!({"name": "a", "annotations": {"windlass.dev/suspend": ""}}));
    let deleting = parent(json!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"}));
    assert_eq!(of_parent(&controller, &old, &touched).len(), 0);
    for new in [&suspended, &deleting] {
        assert_eq!(of_parent(&controller, &old, new).len(), 1);
    }
    assert_eq!(of_parent(&controller, &suspended, &touched).len(), 1);
}

#[test]
fn a_parent_that_is_not_selected_is_left_alone() {
    let mut local = windlass::local::Local::new(Cluster::new());
    let default = ObjectRef::new("", "default");
    let all = controller(|_| {});
    let selective = controller(|declaration| {
        declaration.parents(watching::<Namespace>().labels("team=a")).output_anywhere::<ConfigMap>();
    });
    assert_eq!(
        local.reconcile(&all, &default).unwrap().result,
        ReconcileResult::Done { requeue_after: None }
    );
    assert_eq!(local.reconcile(&selective, &default).unwrap().result, ReconcileResult::Idle);
    // It was read, and nothing else.
    assert_eq!(local.log.len(), 1);
}

#[test]
fn every_parent_is_requeued_by_resync() {
    let mut local = windlass::local::Local::new(Cluster::new());
    let often = controller(|declaration| {
        declaration.resync(secs(30));
    });
    let result = local.reconcile(&often, &ObjectRef::new("", "default")).unwrap().result;
    assert_eq!(result, ReconcileResult::Done { requeue_after: Some(secs(30)) });
    let soon = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "soon"}});
    let create = windlass::model::Request::new(
        windlass::model::Verb::Create,
        windlass::model::ResourceId::new("", "v1", "namespaces"),
    );
    local.cluster.request(&create.with_body(soon));
    let result = local.reconcile(&often, &ObjectRef::new("", "soon")).unwrap().result;
    assert_eq!(result, ReconcileResult::Done { requeue_after: Some(secs(1)) });
}

#[test]
#[should_panic(expected = "the label selector \"a b\" of the watch of Pod cannot be read")]
fn a_label_selector_that_cannot_be_read_is_named() {
    controller(|declaration| {
        declaration.watch(watching::<Pod>().labels("a b"), network);
    });
}

#[test]
#[should_panic(expected = "the field selector \"a\" of the watch of Deployment.apps cannot be read")]
fn a_field_selector_that_cannot_be_read_is_named() {
    controller(|declaration| {
        declaration.watch(watching::<Deployment>().fields("a"), |_| Vec::new());
    });
}

#[test]
#[should_panic(expected = "parents(..) is about Pod, but the parents are of the kind Namespace")]
fn parents_of_another_kind_are_refused() {
    controller(|declaration| {
        declaration.parents(watching::<Pod>());
    });
}

#[test]
#[should_panic(expected = "a reconcile needs all")]
fn parents_are_needed_whole() {
    controller(|declaration| {
        declaration.parents(watching_metadata::<Namespace>());
    });
}

#[test]
fn labels_whose_values_vary_are_indexed() {
    let controller = controller(|declaration| {
        let selector = "a,b in (1,2),c=1,!d,e!=1";
        declaration.watch(watching::<Pod>().labels(selector).indexed_by("f"), network);
    });
    let watch = controller.declaration().watched().next().expect("it is declared");
    assert_eq!(watch.indexed_labels().collect::<Vec<&str>>(), ["a", "b", "e", "f"]);
}
