//! Code that keeps a generation or a version where only it knows it: states must not be renumbered then.
//!
//! Each of these had the wrong verdict as long as every state was renumbered: the first controller below wipes a claim
//! and "held" in 17 states, its repaired twin was "violated".

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use windlass::{Cx, Declaration, Machine, ObjectRef, Outcome, Service, Verb, done};
use windlass_check::{Check, ClientEvent, Faults, Oracle, Reductions, Report, View, check};

use crate::things::{Only, Thing, ThingSpec};

const APPLIED: &str = "applied-generation";

/// Wipes its claim when the parent changes, and notes the generation for which it has done so.
struct Wipes {
    /// Whether it takes any note for the one of this generation.
    careless: bool,
}

impl Machine for Wipes {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Get, Verb::Update]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let generation = cx.parent().metadata.generation.unwrap_or(0);
        let Some(mut claim) = cx.get::<ConfigMap>("claim").await? else { return done() };
        let notes = claim.metadata.annotations.get_or_insert_default();
        let noted = notes.get(APPLIED).and_then(|noted| noted.parse::<i64>().ok());
        let is_new = match self.careless {
            // It was meant to say "other than", and a generation only grows.
            true => noted.is_some_and(|noted| noted + 1 < generation),
            false => noted != Some(generation),
        };
        if is_new || noted.is_none() {
            notes.insert(APPLIED.to_owned(), generation.to_string());
            let data = claim.data.get_or_insert_default();
            data.insert("wiped-for".to_owned(), cx.parent().spec.value.clone());
            cx.update(&claim).await?;
        }
        done()
    }
}

fn claim() -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some("claim".to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::new()),
        ..ConfigMap::default()
    }
}

fn change(value: &str) -> ClientEvent {
    ClientEvent::patch::<Thing>("a", json!({ "spec": { "value": value } }))
}

fn wiping(careless: bool) -> Check {
    let wiped_for = |world: &View<'_>, value: &str| {
        let claim = world.get::<ConfigMap>("claim");
        claim
            .and_then(|claim| claim.data)
            .is_some_and(|data| data.get("wiped-for").is_some_and(|is| is == value))
    };
    check(Wipes { careless })
        .given([Thing::new("a", ThingSpec { value: "1".to_owned() })])
        .given([claim()])
        .client([change("2"), change("3")])
        .faults(Faults::none().crashes(1))
        .without(Oracle::OneResult)
        .eventually("the claim is as of the last change", move |world| wiped_for(world, "3"))
}

fn noted(report: &Report) -> bool {
    report.notes.iter().any(|note| note.contains("Reductions::versions is off"))
}

#[test]
fn a_generation_in_an_annotation_switches_renumbering_off() {
    let broken = wiping(true).run();
    assert!(broken.violation.is_some() && noted(&broken), "{broken}");
    let right = wiping(false).assert();
    assert!(noted(&right), "{right}");
    // With no reduction there is nothing to note, and the verdicts are the same.
    let broken = wiping(true).reductions(Reductions::none()).run();
    assert!(broken.violation.is_some() && broken.notes.is_empty(), "{broken}");
    assert!(wiping(false).reductions(Reductions::none()).assert().notes.is_empty());
}

/// Ensures nothing, sees nothing.
struct Idle;

impl Machine for Idle {
    type Parent = Thing;
    type State = Only;

    async fn run(&self, _: Only, _: &Cx<Thing>) -> Outcome<Only> {
        done()
    }
}

fn idle() -> Check {
    check(Idle)
        .given([Thing::new("a", ThingSpec { value: "1".to_owned() })])
        .client([change("2"), change("3")])
}

#[test]
fn a_property_that_asks_for_a_number_switches_renumbering_off() {
    let generation = |world: &View<'_>| world.get::<Thing>("a").and_then(|thing| thing.metadata.generation);
    let report = idle().sometimes("it has changed twice", move |world| generation(world) == Some(3)).assert();
    assert!(noted(&report), "{report}");
    let report = idle().always("it has not changed twice", move |world| generation(world) != Some(3)).run();
    assert!(report.violation.is_some() && noted(&report), "{report}");
    let report = idle().never_between("the third", move |step| generation(&step.after) == Some(3)).run();
    assert!(report.violation.is_some() && noted(&report), "{report}");
}

#[test]
fn a_script_that_says_a_number_switches_renumbering_off() {
    let observed = ClientEvent::patch_status::<Thing>("a", json!({ "status": { "observedGeneration": 2 } }));
    let report = idle().client([observed]).assert();
    assert!(noted(&report), "{report}");
    assert!(!noted(&idle().assert()));
}

/// Names a child after the uid of its parent.
struct NamesByUid;

impl Machine for NamesByUid {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        let uid = cx.parent().metadata.uid.clone().unwrap_or_default();
        let mut child = claim();
        child.metadata.name = Some(format!("child-{}", &uid[..8]));
        if cx.get::<ConfigMap>(child.metadata.name.as_deref().unwrap_or_default()).await?.is_none() {
            cx.create(&child).await?;
        }
        done()
    }
}

#[test]
fn a_name_made_of_a_uid_switches_renumbering_off() {
    let report = check(NamesByUid)
        .given([Thing::new("a", ThingSpec { value: "1".to_owned() })])
        .without(Oracle::NoOrphans)
        .assert();
    assert!(noted(&report), "{report}");
}

/// Reconciles when a ConfigMap changes, but only if its version is even.
struct OddWatch;

impl Machine for OddWatch {
    type Parent = Thing;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.watches::<ConfigMap>(|map| {
            let version = map.metadata.resource_version.as_deref().and_then(|version| version.parse().ok());
            let is_even = version.is_some_and(|version: u64| version.is_multiple_of(2));
            if is_even { vec![ObjectRef::new("default", "a")] } else { Vec::new() }
        });
    }

    async fn run(&self, _: Only, _: &Cx<Thing>) -> Outcome<Only> {
        done()
    }
}

#[test]
fn a_watch_that_maps_by_the_number_of_a_version_is_noticed() {
    let report = check(OddWatch)
        .given([Thing::new("a", ThingSpec { value: "1".to_owned() })])
        .given([claim()])
        .client([1, 2, 3].map(|value| {
            ClientEvent::patch::<ConfigMap>("claim", json!({ "data": { "value": value.to_string() } }))
        }))
        .run();
    assert!(noted(&report), "{report}");
    assert!(report.to_string().contains("which parents controller `odd-watch` reconciles"), "{report}");
}

/// A service that looks into the uid that it is sent.
struct FirstDigit;

impl Service for FirstDigit {
    const NAME: &'static str = "first-digit";
    type Request = Value;
    type Response = Value;
}

/// Sends the uid of its parent.
struct SendsUid;

impl Machine for SendsUid {
    type Parent = Thing;
    type State = Only;

    async fn run(&self, _: Only, cx: &Cx<Thing>) -> Outcome<Only> {
        cx.call(FirstDigit, json!(cx.parent().metadata.uid)).await?;
        done()
    }
}

#[test]
fn a_service_that_depends_on_the_digits_of_a_uid_is_noticed() {
    let keeps = |state: &mut Value, request: &Value| {
        *state = request.clone();
        Ok(json!(true))
    };
    let looks = |state: &mut Value, request: &Value| {
        *state = json!(request.as_str().and_then(|uid| uid.chars().next()));
        Ok(json!(true))
    };
    let sending = || check(SendsUid).given([Thing::new("a", ThingSpec { value: "1".to_owned() })]);
    let kept = sending().service(FirstDigit::NAME, json!(null), keeps).run();
    assert!(!noted(&kept), "to keep a uid is not to look into it: {kept}");
    let looked = sending().service(FirstDigit::NAME, json!(null), looks).run();
    assert!(noted(&looked), "{looked}");
}
