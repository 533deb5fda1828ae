//! What must hold of web apps, on every interleaving of what users do and what goes wrong.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::CustomResourceExt;
use kube::core::ObjectMeta;
use serde_json::{Value, json};
use web_app::{Dns, Record, WAITING_APP_LABEL, WebApp, WebApps, Zone, web_app};
use windlass::Service as _;
use windlass_check::{Check, ClientEvent, Faults, Reductions, View, Violation, check};

fn exposed_app() -> WebApp {
    let mut app = web_app("shop");
    app.spec.exposed = true;
    app
}

fn waiting_app() -> WebApp {
    let mut app = web_app("shop");
    app.spec.database_secret = Some("database".to_owned());
    app
}

fn secret() -> Secret {
    let labels = [(WAITING_APP_LABEL.to_owned(), "shop".to_owned())].into();
    let metadata = ObjectMeta {
        name: Some("database".to_owned()),
        namespace: Some("default".to_owned()),
        labels: Some(labels),
        ..ObjectMeta::default()
    };
    Secret { metadata, ..Secret::default() }
}

fn records(world: &View<'_>) -> Vec<Record> {
    let zone = world.service(Dns::NAME).cloned().unwrap_or_default();
    let zone: Zone = serde_json::from_value(zone).expect("the model's own state");
    zone.records().into_iter().cloned().collect()
}

/// Ready, and about the app as it is now.
fn is_ready(app: &WebApp) -> bool {
    let Some(status) = &app.status else { return false };
    let ready = status.conditions.iter().any(|c| c.r#type == "Ready" && c.status == "True");
    ready && status.observed_generation == app.metadata.generation
}

fn all_is_there(world: &View<'_>, app: &WebApp) -> bool {
    let secret_is_there = app.spec.database_secret.as_ref().is_none_or(|name| world.has::<Secret>(name));
    let named = records(world).len() == usize::from(app.spec.exposed);
    let served = !app.spec.exposed || world.has::<Service>("shop");
    world.has::<ConfigMap>("shop") && world.has::<Deployment>("shop") && secret_is_there && served && named
}

/// What must hold whatever users do.
fn with_properties(check: Check) -> Check {
    check
        .crd(&WebApp::crd())
        // The DNS is told generations and remembers them, so they must not be numbered anew on the way.
        .reductions(Reductions { versions: false, ..Reductions::default() })
        .service(Dns::NAME, json!({ "owners": {} }), Zone::answer)
        .always("ready only when all is there", |world| {
            world.get::<WebApp>("shop").is_none_or(|app| !is_ready(&app) || all_is_there(world, &app))
        })
        .always("a name only for an app that exists", |world| {
            records(world).is_empty() || world.has::<WebApp>("shop")
        })
        .always("a name only for a Service that exists", |world| {
            let deleting = |app: &WebApp| app.metadata.deletion_timestamp.is_some();
            world
                .get::<WebApp>("shop")
                .is_none_or(|app| deleting(&app) || records(world).is_empty() || world.has::<Service>("shop"))
        })
}

fn faults() -> Faults {
    Faults::none().crashes(1).duplicates().reorders()
}

#[test]
fn an_app_that_is_hidden_again_loses_its_name_and_its_service() {
    let report = with_properties(check(WebApps))
        .given([exposed_app()])
        .client([ClientEvent::patch::<WebApp>("shop", json!({ "spec": { "exposed": false } }))])
        .faults(faults())
        .eventually("the Service is pruned", |world| {
            !world.has::<Service>("shop") && world.has::<Deployment>("shop")
        })
        .eventually("it is ready without a name", |world| {
            world.get::<WebApp>("shop").is_some_and(|app| is_ready(&app)) && records(world).is_empty()
        })
        .sometimes("it has a name", |world| !records(world).is_empty())
        .assert();
    println!("{report}");
}

#[test]
fn nothing_starts_before_the_secret_is_there() {
    let report = with_properties(check(WebApps))
        .given([waiting_app()])
        .client([ClientEvent::create(secret())])
        .faults(faults())
        .always("no Deployment without the Secret", |world| {
            !world.has::<Deployment>("shop") || world.has::<Secret>("database")
        })
        .eventually("it is ready", |world| world.get::<WebApp>("shop").is_some_and(|app| is_ready(&app)))
        .sometimes("it waits", |world| world.has::<ConfigMap>("shop") && !world.has::<Secret>("database"))
        .assert();
    println!("{report}");
}

#[test]
fn a_deleted_app_leaves_nothing() {
    let report = with_properties(check(WebApps))
        .given([exposed_app()])
        .client([ClientEvent::delete::<WebApp>("shop")])
        .faults(faults())
        .eventually("nothing is left", |world| {
            !world.has::<WebApp>("shop") && !world.has::<Deployment>("shop") && records(world).is_empty()
        })
        .sometimes("it had a name", |world| !records(world).is_empty())
        .assert();
    println!("{report}");
}

/// A DNS that believes whoever spoke last lets a late call bring a name back: the generation is not there for show.
#[test]
fn a_dns_without_memory_is_caught() {
    let forgetful = |zone: &mut Value, request: &Value| {
        let mut request = request.clone();
        request["generation"] = json!(0);
        Zone::answer(zone, &request)
    };
    let report = with_properties(check(WebApps))
        .service(Dns::NAME, json!({ "owners": {} }), forgetful)
        .given([exposed_app()])
        .client([ClientEvent::delete::<WebApp>("shop")])
        .faults(faults())
        .run();
    let Some(Violation::Always { property, trace }) = &report.violation else {
        panic!("it was not caught: {report}");
    };
    assert_eq!(property, "a name only for an app that exists", "{trace}");
}
