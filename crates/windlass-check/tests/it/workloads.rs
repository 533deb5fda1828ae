//! Controllers that wait for what the cluster's own workload controllers do.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use serde_json::{Value, json};
use windlass::{
    Cx, Declaration, Machine, Outcome, States, Verb, done, done_and_requeue_after, requeue_after, secs, to,
};
use windlass_check::{ClientEvent, Faults, Oracle, Reductions, Report, Violation, check};

use crate::things::{Only, Thing, map, thing};

fn typed<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).expect("a valid object")
}

fn spec(replicas: i32, image: &str) -> Value {
    let labels = json!({ "app": "web" });
    let containers = json!([{ "name": "main", "image": image }]);
    json!({
        "replicas": replicas, "selector": { "matchLabels": labels },
        "template": { "metadata": { "labels": labels }, "spec": { "containers": containers } },
    })
}

fn deployment(replicas: i32, image: &str) -> Deployment {
    typed(json!({ "metadata": { "name": "web" }, "spec": spec(replicas, image) }))
}

fn stateful_set(replicas: i32, image: &str) -> StatefulSet {
    let mut spec = spec(replicas, image);
    spec["serviceName"] = json!("web");
    typed(json!({ "metadata": { "name": "web" }, "spec": spec }))
}

#[derive(States)]
enum Rollout {
    #[state(initial, condition = "Deployed", next(Wait))]
    Deploy,
    #[state(condition = "Available", next(Publish))]
    Wait,
    #[state(condition = "Published")]
    Publish,
}

/// Deploys, waits until the Deployment is available, and then makes a ConfigMap.
struct PublishesWhenAvailable;

impl Machine for PublishesWhenAvailable {
    type Parent = Thing;
    type State = Rollout;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<Deployment>();
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, step: Rollout, cx: &Cx<Thing>) -> Outcome<Rollout> {
        match step {
            Rollout::Deploy => {
                cx.ensure(deployment(1, "web:1"));
                to(Rollout::Wait)
            }
            Rollout::Wait if !is_available(cx.get::<Deployment>("web").await?) => {
                requeue_after(secs(5), "RollingOut")
            }
            Rollout::Wait => to(Rollout::Publish),
            Rollout::Publish => {
                cx.ensure(map("endpoint"));
                done()
            }
        }
    }
}

fn is_available(found: Option<Deployment>) -> bool {
    let Some(found) = found else { return false };
    let status = found.status.unwrap_or_default();
    status.observed_generation == found.metadata.generation && status.available_replicas == Some(1)
}

fn has_ready_pod(pods: &[Pod]) -> bool {
    let conditions = |pod: &Pod| pod.status.clone().unwrap_or_default().conditions.unwrap_or_default();
    pods.iter().any(|pod| conditions(pod).iter().any(|it| it.type_ == "Ready" && it.status == "True"))
}

#[test]
fn a_deployment_becomes_available_only_with_workloads() {
    let published = |check: windlass_check::Check| {
        check.given([thing("t")]).eventually("published", |world| world.has::<ConfigMap>("endpoint"))
    };
    let report = published(check(PublishesWhenAvailable)).run();
    assert!(matches!(report.violation, Some(Violation::Eventually { .. })), "{report}");
    let report = published(check(PublishesWhenAvailable).workloads())
        .faults(Faults::none().crashes(1))
        .always("nothing is published without a pod that is ready", |world| {
            !world.has::<ConfigMap>("endpoint") || has_ready_pod(&world.all::<Pod>())
        })
        .assert();
    assert!(report.unfinished_scripts.is_empty(), "{report}");
}

#[test]
fn a_deleted_parent_takes_the_pods_along() {
    let report = check(PublishesWhenAvailable)
        .workloads()
        .given([thing("t")])
        .client([
            ClientEvent::wait_for::<ConfigMap>("endpoint", |_| true),
            ClientEvent::delete::<Thing>("t"),
            ClientEvent::wait_for_deletion::<Deployment>("web"),
        ])
        .eventually("no pods are left", |world| world.all::<Pod>().is_empty())
        .sometimes("a pod was ready", |world| has_ready_pod(&world.all::<Pod>()))
        .assert();
    assert!(report.unfinished_scripts.is_empty(), "{report}");
}

#[derive(States)]
enum Forgetful {
    #[state(initial, condition = "Deployed")]
    Deploy,
}

/// Deploys as its own doing, so that nothing is deleted with the parent.
struct Forgets;

impl Machine for Forgets {
    type Parent = Thing;
    type State = Forgetful;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<Deployment>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Forgetful, cx: &Cx<Thing>) -> Outcome<Forgetful> {
        if cx.get::<Deployment>("web").await?.is_none() {
            cx.create(&deployment(1, "web:1")).await?;
        }
        done()
    }
}

#[test]
fn a_status_that_the_cluster_wrote_hides_no_orphan() {
    let report = check(Forgets)
        .workloads()
        .given([thing("t")])
        .client([
            ClientEvent::wait_for::<Deployment>("web", |web| is_available(Some(web.clone()))),
            ClientEvent::delete::<Thing>("t"),
        ])
        .run();
    let Some(Violation::AtRest { message, trace, .. }) = &report.violation else { panic!("{report}") };
    assert!(message.contains("no orphans") && message.contains("deployments default/web"), "{report}");
    let text = trace.to_string();
    assert!(text.contains("create pods default/web-"), "{report}");
    for actor in ["deployment controller", "replicaset controller", "scheduler", "kubelet"] {
        assert!(text.contains(actor), "{actor} is missing: {report}");
    }
    assert!(text.contains("has waited for deployments web"), "{report}");
}

#[derive(States)]
enum Upgrade {
    #[state(initial, condition = "Applied")]
    Apply,
}

/// Keeps a StatefulSet at the image that a ConfigMap names.
struct FollowsImage;

impl Machine for FollowsImage {
    type Parent = Thing;
    type State = Upgrade;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<StatefulSet>().may::<ConfigMap>([Verb::Get]);
    }

    async fn run(&self, _: Upgrade, cx: &Cx<Thing>) -> Outcome<Upgrade> {
        let new = cx.get::<ConfigMap>("upgrade").await?.is_some();
        cx.ensure(stateful_set(2, if new { "web:2" } else { "web:1" }));
        match new {
            true => done(),
            false => done_and_requeue_after(secs(60)),
        }
    }
}

fn image_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.containers.first()?.image.clone()
}

fn is_rolled_out(set: &StatefulSet, image: &str) -> bool {
    let template = set.spec.template.spec.as_ref();
    let wanted = template.and_then(|spec| spec.containers.first()?.image.clone());
    let status = set.status.clone().unwrap_or_default();
    wanted.as_deref() == Some(image)
        && status.observed_generation == set.metadata.generation
        && status.ready_replicas == Some(2)
        && status.current_revision == status.update_revision
}

fn upgrade(scripts: impl Fn(windlass_check::Check) -> windlass_check::Check) -> Report {
    let check = check(FollowsImage).workloads().given([thing("t")]).client([
        ClientEvent::wait_for::<StatefulSet>("web", |set| is_rolled_out(set, "web:1")),
        ClientEvent::create(map("upgrade")),
        ClientEvent::wait_for::<StatefulSet>("web", |set| is_rolled_out(set, "web:2")),
    ]);
    scripts(check).run()
}

#[test]
fn a_stateful_set_is_upgraded_from_the_last_pod_to_the_first() {
    let report = upgrade(|check| {
        check
            .never_between("the first pod is upgraded before the last", |step| {
                let image = |name: &str| step.after.get::<Pod>(name).and_then(|pod| image_of(&pod));
                image("web-0").as_deref() == Some("web:2") && image("web-1").as_deref() != Some("web:2")
            })
            .eventually("both pods are upgraded", |world| {
                let pods = world.all::<Pod>();
                pods.len() == 2 && pods.iter().all(|pod| image_of(pod).as_deref() == Some("web:2"))
            })
            .sometimes("both run at once", |world| {
                let pods = world.all::<Pod>();
                pods.len() == 2 && image_of(&pods[0]) != image_of(&pods[1])
            })
    });
    assert!(report.holds() && report.unfinished_scripts.is_empty(), "{report}");
}

#[test]
fn a_script_that_waits_for_ever_is_named() {
    let report = check(PublishesWhenAvailable)
        .workloads()
        .given([thing("t")])
        .client([
            ClientEvent::wait_until("pigs that fly", |world| world.has::<ConfigMap>("wings")),
            ClientEvent::delete::<Thing>("t"),
        ])
        .eventually("published", |world| world.has::<ConfigMap>("endpoint"))
        .assert();
    assert_eq!(report.unfinished_scripts, ["client script 1 waits for ever for pigs that fly"]);
    assert!(
        report.to_string().contains("note: client script 1 waits for ever for pigs that fly"),
        "{report}"
    );
}

#[test]
fn reductions_change_no_verdict_of_a_rollout() {
    let rollout = |reductions| {
        check(PublishesWhenAvailable)
            .workloads()
            .given([thing("t")])
            .reductions(reductions)
            .eventually("published", |world| world.has::<ConfigMap>("endpoint"))
            .run()
    };
    let all = rollout(Reductions::default());
    let none = rollout(Reductions { versions: false, ..Reductions::none() });
    assert!(all.holds() && none.holds(), "{all}{none}");
    assert!(all.states() <= none.states());
}

/// Upgrades a Deployment when its spec asks for it, and announces that once the rollout is over. The hasty one looks only at how
/// many replicas are available.
struct Announces {
    hasty: bool,
}

impl Machine for Announces {
    type Parent = Thing;
    type State = Rollout;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<Deployment>();
        declaration.output::<ConfigMap>();
    }

    async fn run(&self, step: Rollout, cx: &Cx<Thing>) -> Outcome<Rollout> {
        match step {
            Rollout::Deploy => {
                let new = cx.get::<ConfigMap>("upgrade").await?.is_some();
                cx.ensure(deployment(1, if new { "web:2" } else { "web:1" }));
                to(Rollout::Wait)
            }
            Rollout::Wait => {
                let found = cx.get::<Deployment>("web").await?.unwrap_or_default();
                let containers = found.spec.template.spec.unwrap_or_default().containers;
                let status = found.status.unwrap_or_default();
                let is_over = [status.replicas, status.updated_replicas] == [Some(1); 2]
                    && status.observed_generation == found.metadata.generation;
                if status.available_replicas != Some(1) || !is_over && !self.hasty {
                    return requeue_after(secs(5), "RollingOut");
                }
                match containers.first().and_then(|container| container.image.as_deref()) {
                    Some("web:2") => to(Rollout::Publish),
                    _ => done_and_requeue_after(secs(60)),
                }
            }
            Rollout::Publish => {
                cx.ensure(map("announced"));
                done()
            }
        }
    }
}

fn announces(hasty: bool) -> Report {
    check(Announces { hasty })
        .workloads()
        .given([thing("t")])
        .client([
            ClientEvent::wait_for::<Deployment>("web", |web| is_available(Some(web.clone()))),
            ClientEvent::create(map("upgrade")),
        ])
        .always("what is announced runs", |world| {
            let pods = world.all::<Pod>();
            let new: Vec<Pod> =
                pods.into_iter().filter(|pod| image_of(pod).as_deref() == Some("web:2")).collect();
            !world.has::<ConfigMap>("announced") || has_ready_pod(&new)
        })
        .eventually("it is announced", |world| world.has::<ConfigMap>("announced"))
        .run()
}

#[test]
fn a_rollout_is_not_over_as_long_as_the_old_pods_are_available() {
    let hasty = announces(true);
    assert!(matches!(hasty.violation, Some(Violation::Always { .. })), "{hasty}");
    let careful = announces(false);
    assert!(careful.holds(), "{careful}");
}

/// Does nothing.
struct Idle;

impl Machine for Idle {
    type Parent = Thing;
    type State = Only;

    async fn run(&self, _: Only, _: &Cx<Thing>) -> Outcome<Only> {
        done()
    }
}

#[test]
fn a_trace_says_which_of_two_controllers_made_a_pod() {
    let named = |name: &str| {
        let mut made: Value = serde_json::to_value(deployment(1, "web:1")).expect("it serializes");
        made["metadata"]["name"] = json!(name);
        for path in ["/spec/selector/matchLabels/app", "/spec/template/metadata/labels/app"] {
            *made.pointer_mut(path).expect("it is there") = json!(name);
        }
        typed::<Deployment>(made)
    };
    let owned = |pods: &[Pod], name: &str| {
        let label = |pod: &Pod| pod.metadata.labels.as_ref()?.get("app").cloned();
        pods.iter().any(|pod| label(pod).as_deref() == Some(name))
    };
    let check = check(Idle).workloads().given([named("a"), named("b")]).never_between(
        "the second one makes the first pod",
        move |step| {
            let both = step.before.all::<ReplicaSet>().len() == 2;
            both && step.before.all::<Pod>().is_empty() && owned(&step.after.all::<Pod>(), "b")
        },
    );
    let report = check.run();
    let found = check.counterexample("second", &report).unwrap_or_else(|| panic!("{report}"));
    let last = found.steps.last().unwrap_or_else(|| panic!("{report}"));
    assert_eq!(last.actor, "replicaset controller", "{report}");
    assert!(last.text.starts_with("create pods default/b-"), "{report}");
    assert!(check.replay(&found).is_reproduced(), "{report}");
}

#[derive(States)]
enum Many {
    #[state(initial, condition = "Deployed")]
    Deploy,
}

/// Deploys under the name of its parent, which is also in the template.
struct DeploysByName;

impl Machine for DeploysByName {
    type Parent = Thing;
    type State = Many;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output::<Deployment>();
    }

    async fn run(&self, _: Many, cx: &Cx<Thing>) -> Outcome<Many> {
        let mut web = deployment(0, "web:1");
        web.metadata.name = Some(cx.name().to_owned());
        let template = &mut web.spec.template;
        template.metadata.get_or_insert_default().annotations =
            Some([("for".to_owned(), cx.name().to_owned())].into());
        cx.ensure(web);
        done()
    }
}

#[test]
fn names_that_are_in_a_template_are_not_permuted() {
    let deployed = |symmetry| {
        check(DeploysByName)
            .workloads()
            .given([thing("a"), thing("b")])
            .reductions(Reductions { symmetry, ..Reductions::default() })
            .without(Oracle::SameObject)
            .eventually("both have a ReplicaSet", |world| world.all::<ReplicaSet>().len() == 2)
            .run()
    };
    let (with, without) = (deployed(true), deployed(false));
    assert!(with.holds() && without.holds(), "{with}{without}");
    // The hash of the template depends on the name, so nothing may be left out.
    assert_eq!(with.states(), without.states());
}
