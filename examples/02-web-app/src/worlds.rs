//! The worlds in which web apps are checked: what users do, what goes wrong, and what must hold all the same.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use kube::CustomResourceExt;
use kube::core::ObjectMeta;
use serde_json::json;
use windlass::Service as _;
use windlass_check::{Check, ClientEvent, Faults, Reductions, View, check};

use crate::{Dns, Record, WAITING_APP_LABEL, WebApp, WebApps, Zone, web_app};

/// An app that is exposed, and hidden again, loses its name and its Service.
pub fn hidden_again() -> Check {
    world()
        .given([exposed_app()])
        .client([ClientEvent::patch::<WebApp>("shop", json!({ "spec": { "exposed": false } }))])
        .eventually("the Service is pruned", |world| {
            !world.has::<Service>("shop") && world.has::<Deployment>("shop")
        })
        .eventually("it is ready without a name", |world| {
            world.get::<WebApp>("shop").is_some_and(|app| is_ready(&app)) && records(world).is_empty()
        })
        .sometimes("it has a name", |world| !records(world).is_empty())
}

/// An app that needs a Secret which somebody makes later starts nothing before it is there.
pub fn waiting_for_a_secret() -> Check {
    world()
        .given([waiting_app()])
        .client([ClientEvent::create(secret())])
        .always("no Deployment without the Secret", |world| {
            !world.has::<Deployment>("shop") || world.has::<Secret>("database")
        })
        .eventually("it is ready", |world| world.get::<WebApp>("shop").is_some_and(|app| is_ready(&app)))
        .sometimes("it waits", |world| world.has::<ConfigMap>("shop") && !world.has::<Secret>("database"))
}

/// An app that is deleted leaves nothing, neither in the cluster nor in the DNS.
pub fn deleted() -> Check {
    world()
        .given([exposed_app()])
        .client([ClientEvent::delete::<WebApp>("shop")])
        // The DNS remembers every owner that it has seen, and an app may be gone before its first call.
        .may_differ(["/owners"])
        .eventually("nothing is left", |world| {
            !world.has::<WebApp>("shop") && !world.has::<Deployment>("shop") && records(world).is_empty()
        })
        .sometimes("it had a name", |world| !records(world).is_empty())
}

/// What must hold whatever users do, with one crash, duplicates and reordering.
fn world() -> Check {
    check(WebApps)
        .crd(&WebApp::crd())
        .faults(Faults::none().crashes(1).duplicates().reorders())
        // The DNS receives generations and remembers them, so they must not be renumbered.
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
