//! Runs the controller: without arguments, once against a cluster in memory; with `run`, on the cluster of the kubeconfig.

use std::net::SocketAddr;

use kube::CustomResourceExt;
use serde_json::json;
use tokio::net::TcpListener;
use web_app::{Dns, HttpDns, WebApp, WebApps, Zone, toy_dns, web_app};
use windlass::local::Local;
use windlass::model::{Cluster, Request, Verb};
use windlass::{Controller, Kind, ObjectRef, Service, to_value};
use windlass_runtime::Manager;

const USAGE: &str = "usage:
  web-app                  reconcile one app on a cluster in memory, and end
  web-app dns ADDRESS      a DNS to try it with, such as 127.0.0.1:8053; GET / shows its records
  web-app run URL          the controller, on the current kubeconfig, with the DNS at http://ADDRESS";

type AnyError = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), AnyError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        [] => try_locally(),
        ["dns", address] => serve_dns(address.parse()?).await,
        ["run", url] => run(url).await,
        _ => Err(USAGE.into()),
    }
}

async fn run(dns_url: &str) -> Result<(), AnyError> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    Manager::new().controller(WebApps).service(Dns, HttpDns::new(dns_url)).run().await?;
    Ok(())
}

async fn serve_dns(address: SocketAddr) -> Result<(), AnyError> {
    let listener = TcpListener::bind(address).await?;
    println!("ready http://{}", listener.local_addr()?);
    Ok(toy_dns::serve(listener, toy_dns::SharedZone::default()).await?)
}

/// No Kubernetes, no network: the same machine, and the model of the DNS.
fn try_locally() -> Result<(), AnyError> {
    let mut cluster = Cluster::new();
    let definition = serde_json::to_value(WebApp::crd())?;
    cluster.install_crd(&definition).map_err(|status| status.message)?;
    let mut app = web_app("shop");
    app.spec.exposed = true;
    let create = Request::new(Verb::Create, WebApp::kind_info().resource).in_namespace("default");
    if let Some(status) = cluster.request(&create.with_body(to_value(&app)?)).failure() {
        return Err(status.message.clone().into());
    }
    let mut zone = json!({ "owners": {} });
    let answer = move |request| {
        let answer = Zone::answer(&mut zone, &request);
        println!("the DNS holds: {zone}");
        answer
    };
    let mut local = Local::new(cluster).service(Dns::NAME, answer);
    let ended = local.reconcile(&Controller::new(WebApps), &ObjectRef::new("default", "shop"))?;
    println!("states: {}", ended.path.join(" -> "));
    println!("result: {:?}", ended.result);
    Ok(())
}
