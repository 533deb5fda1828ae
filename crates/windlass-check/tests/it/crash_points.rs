//! A crash at every single request of a reconcile with three outputs, a prune and a finalizer: the end is
//! always the same, and nothing leaks.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use kube::{CustomResource, CustomResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass::{
    Controller, Cx, Declaration, Finalizer, Machine, MachineStatus, Outcome, Service, States, done,
    requeue_after, secs, to,
};
use windlass_check::{Check, ClientEvent, Faults, Report, View};

#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.windlass.dev", version = "v1", kind = "Site", namespaced, status = "MachineStatus")]
struct SiteSpec {
    maps: Vec<String>,
}

#[derive(States)]
enum Step {
    #[state(initial, condition = "Registered", next(Maps))]
    Register,
    #[state(condition = "MapsReady")]
    Maps,
}

/// Registers a site with a service and ensures its maps, one of them in another namespace.
struct Sites;

/// The service. A call of a crashed process may arrive after its successor has cleaned up, so names are
/// not enough: the service gets the uid, and never adds one that was removed.
struct Registry;

impl Service for Registry {
    const NAME: &'static str = "registry";
    type Request = (String, String);
    type Response = bool;
}

impl Machine for Sites {
    type Parent = Site;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.output_anywhere::<ConfigMap>();
    }

    async fn run(&self, step: Step, cx: &Cx<Site>) -> Outcome<Step> {
        match step {
            Step::Register => {
                cx.call(Registry, ("add".to_owned(), uid(cx))).await?;
                to(Step::Maps)
            }
            Step::Maps => {
                for name in &cx.parent().spec.maps {
                    cx.ensure(map(name));
                }
                done()
            }
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Site>> {
        Some(Finalizer::new(Unregister))
    }
}

struct Unregister;

#[derive(States)]
enum UnregisterStep {
    #[state(initial, condition = "Unregistered")]
    Remove,
}

impl Machine for Unregister {
    type Parent = Site;
    type State = UnregisterStep;

    async fn run(&self, _: UnregisterStep, cx: &Cx<Site>) -> Outcome<UnregisterStep> {
        let gone = cx.call(Registry, ("remove".to_owned(), uid(cx))).await?;
        if gone { done() } else { requeue_after(secs(1), "StillThere") }
    }
}

fn uid(cx: &Cx<Site>) -> String {
    cx.parent().metadata.uid.clone().unwrap_or_default()
}

/// `far` stands in another namespace, where no owner reference reaches.
fn map(name: &str) -> ConfigMap {
    let namespace = if name == "far" { "kube-public" } else { "default" };
    ConfigMap {
        metadata: ObjectMeta {
            name: Some(name.to_owned()),
            namespace: Some(namespace.to_owned()),
            ..ObjectMeta::default()
        },
        data: Some(BTreeMap::from([("name".to_owned(), name.to_owned())])),
        ..ConfigMap::default()
    }
}

fn site(maps: &[&str]) -> Site {
    Site::new("s", SiteSpec { maps: maps.iter().map(|name| (*name).to_owned()).collect() })
}

fn sites(script: Vec<ClientEvent>) -> Check {
    site_with(&["a", "b", "far"], script)
}

fn site_with(maps: &[&str], script: Vec<ClientEvent>) -> Check {
    Check::new(Controller::new(Sites)).crd(&Site::crd()).given([site(maps)]).client(script).service(
        "registry",
        json!({}),
        |uids, request| {
            let uid = request[1].as_str().unwrap_or_default();
            match (request[0].as_str(), uids.get(uid)) {
                (Some("add"), None) => uids[uid] = json!("there"),
                (Some("remove"), _) => uids[uid] = json!("removed"),
                _ => {}
            }
            Ok(json!(true))
        },
    )
}

fn names(world: &View<'_>) -> BTreeSet<String> {
    world.all::<ConfigMap>().into_iter().filter_map(|map| map.metadata.name).collect()
}

fn registered(world: &View<'_>) -> bool {
    let uids = world.service("registry").and_then(Value::as_object);
    uids.is_some_and(|uids| uids.values().any(|state| state == "there"))
}

fn expect_names(expected: &'static [&'static str]) -> impl Fn(&View<'_>) -> bool {
    move |world| names(world).iter().map(String::as_str).eq(expected.iter().copied())
}

fn change_maps() -> ClientEvent {
    set_maps(&["b", "c", "far"])
}

fn set_maps(maps: &[&str]) -> ClientEvent {
    ClientEvent::patch::<Site>("s", json!({ "spec": { "maps": maps } }))
}

/// Every request that any reconcile of this world makes must have been struck by a crash.
fn assert_struck(report: &Report, requests: &[&str]) {
    for request in requests {
        assert!(
            report.crash_points.iter().any(|point| point.contains(request)),
            "{request}: {:#?}",
            report.crash_points
        );
    }
}

#[test]
fn a_crash_anywhere_leads_to_the_same_end() {
    let report = sites(vec![change_maps()])
        .faults(Faults::none().crashes(1).reorders())
        .eventually("the wanted maps, no others", expect_names(&["b", "c", "far"]))
        .eventually("registered", registered)
        .sometimes("the old maps", expect_names(&["a", "b", "far"]))
        .assert();
    println!("{report}");
    assert_eq!(report.ends.len(), 1, "{:#?}", report.ends);
    assert_struck(
        &report,
        &[
            "get sites default/s",
            "patch sites default/s",
            "call registry [\"add\"",
            "apply configmaps default/a",
            "apply configmaps default/b",
            "apply configmaps default/c",
            "apply configmaps kube-public/far",
            "list configmaps",
            "delete configmaps default/a",
            "patch sites/status default/s",
        ],
    );
}

#[test]
fn a_crash_anywhere_in_a_deletion_leaks_nothing() {
    // What was never registered is not removed.
    let report = sites(vec![change_maps(), ClientEvent::delete::<Site>("s")])
        .service_may_differ("registry")
        .faults(Faults::none().crashes(1).reorders())
        .always("the site outlives its registration", |world| !registered(world) || world.has::<Site>("s"))
        .eventually("nothing is left", |world| {
            names(world).is_empty() && !world.has::<Site>("s") && !registered(world)
        })
        .assert();
    println!("{report}");
    assert_eq!(report.ends.len(), 1, "{:#?}", report.ends);
    assert_struck(
        &report,
        &["call registry [\"remove\"", "delete configmaps kube-public/far", "patch sites default/s"],
    );
}

/// Old requests come again after the spec has changed and after the site is gone: they change things back for a
/// short time, and the controller corrects that.
#[test]
fn duplicates_and_reordering_across_a_change_and_a_deletion_leak_nothing() {
    let report = site_with(&["a", "far"], vec![set_maps(&["far"]), ClientEvent::delete::<Site>("s")])
        .service_may_differ("registry")
        .faults(Faults::none().duplicates().reorders())
        .eventually("nothing is left", |world| {
            names(world).is_empty() && !world.has::<Site>("s") && !registered(world)
        })
        .assert();
    println!("{report}{}", report.parts);
    assert_eq!(report.ends.len(), 1, "{:#?}", report.ends);
}
