//! `crd` and `manifests`: what is applied to a cluster.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use windlass_runtime::managers::{self, ManagerConfig};
use windlass_runtime::manifests::{ENDPOINTS_PORT, Installation, yaml};

use crate::app::App;
use crate::app_controller::{AppController, named, namespaces};
use crate::arguments::ManagerArguments;
use crate::given_arguments::GivenArguments;
use crate::managed_arguments::ManagedArguments;

/// Print the custom resource definitions of the controllers.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM crd CONTROLLER | kubectl apply -f -
  PROGRAM crd --sharding | kubectl apply -f -           the kinds of controller managers and rings")]
pub(crate) struct CrdArguments {
    /// Name of a controller. Default: all.
    name: Option<String>,
    /// Print those of controller managers and rings instead, which `run --manager-type` and sharding need.
    #[arg(long, conflicts_with = "name")]
    sharding: bool,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
}

/// Print everything that installs the controllers: CRDs, service account, RBAC roles, Deployment.
///
/// The roles allow just what the controllers declare.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM manifests CONTROLLER --image registry.example/PROGRAM:1 --namespace operators | kubectl apply -f -
  PROGRAM manifests CONTROLLER --sharded 5              a StatefulSet whose pods share the objects
  PROGRAM manifests -- --workers 8 --json-logs          further flags of `run`")]
pub(crate) struct ManifestsArguments<A: ManagerArguments> {
    /// Names of the controllers, which run in one process. Default: all.
    names: Vec<String>,
    /// Container image of this program. Default: its name, with the tag `latest`.
    #[arg(long)]
    image: Option<String>,
    /// Namespace that the process runs in. Default: the name of the controller, or of this program if there are several.
    #[arg(long)]
    namespace: Option<String>,
    /// Watch only this namespace; may be repeated. Default: what each controller says, or all namespaces.
    #[arg(long, value_name = "NAMESPACE")]
    watch_namespace: Vec<String>,
    /// Watch all namespaces.
    #[arg(long, conflicts_with = "watch_namespace")]
    all_namespaces: bool,
    /// Number of replicas, of which one is the leader.
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    replicas: u32,
    /// Share the objects of each controller between this number of instances: a StatefulSet, the definition of rings, and
    /// a policy that refuses late writes of earlier owners. With `-- --registry etcd://...` there are no rings in the
    /// cluster, and so neither definition nor policy.
    #[arg(
        long, value_name = "NUMBER", conflicts_with_all = ["replicas", "leader_election"],
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    sharded: Option<u32>,
    /// Use leader election even with a single replica.
    #[arg(long)]
    leader_election: bool,
    #[command(flatten)]
    manager: GivenArguments<A>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Yaml)]
    output: Format,
    /// Further flags for `run`, after `--`.
    #[arg(last = true, value_name = "FLAGS")]
    run_flags: Vec<String>,
    #[command(flatten)]
    managed: GivenArguments<ManagedArguments>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Yaml,
    /// One `List`, which kubectl applies as well.
    Json,
}

pub(crate) fn run_crd(arguments: &CrdArguments, controllers: &[AppController]) -> anyhow::Result<ExitCode> {
    if arguments.sharding {
        return print(&managers::definitions(), arguments.output);
    }
    let names: Vec<String> = arguments.name.iter().cloned().collect();
    let definitions = definitions(&named(controllers, &names)?);
    if definitions.is_empty() {
        bail!(
            "there is no custom resource to define: give a controller its CRD with AppController::definition"
        );
    }
    print(&definitions, arguments.output)
}

pub(crate) fn run<A: ManagerArguments>(
    arguments: &ManifestsArguments<A>,
    app: &App<A>,
) -> anyhow::Result<ExitCode> {
    print(&installation(arguments, app)?.objects(), arguments.output)
}

/// The CRDs, each once: several controllers may share a parent kind.
fn definitions(controllers: &[&AppController]) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::new();
    for definition in controllers.iter().filter_map(|controller| controller.custom_resource()) {
        if !all.contains(definition) {
            all.push(definition.clone());
        }
    }
    all
}

fn installation<A: ManagerArguments>(
    arguments: &ManifestsArguments<A>,
    app: &App<A>,
) -> anyhow::Result<Installation> {
    let controllers = named(app.controllers(), &arguments.names)?;
    let name = match arguments.names.as_slice() {
        [name] => name,
        _ => app.name(),
    };
    let image = arguments.image.clone().unwrap_or_else(|| format!("{}:latest", app.name()));
    let leader_election = arguments.leader_election || arguments.replicas > 1;
    let namespace = arguments.namespace.clone().unwrap_or_else(|| name.to_owned());
    let mut container_arguments = vec!["run".to_owned()];
    container_arguments.extend(arguments.names.iter().cloned());
    container_arguments.extend(["--endpoints".to_owned(), format!("0.0.0.0:{ENDPOINTS_PORT}")]);
    if arguments.sharded.is_some() {
        container_arguments.extend(["--shard".to_owned(), "--shard-namespace".to_owned(), namespace.clone()]);
    }
    if leader_election {
        container_arguments.extend(["--lease".to_owned(), format!("{namespace}/{name}")]);
    }
    let watched = namespaces(&controllers, &arguments.watch_namespace, arguments.all_namespaces);
    container_arguments
        .extend(watched.iter().flat_map(|namespace| ["--namespace".to_owned(), namespace.clone()]));
    if arguments.all_namespaces {
        container_arguments.push("--all-namespaces".to_owned());
    }
    container_arguments.extend(arguments.manager.to_arguments());
    container_arguments.extend(arguments.managed.to_arguments());
    container_arguments.extend(arguments.run_flags.iter().cloned());
    let manager_config = arguments.managed.flags().config()?;
    let mut definitions = definitions(&controllers);
    if let Some(ManagerConfig::Api(_)) = manager_config {
        definitions.extend(managers::manager_definitions());
    }
    let rings_in_cluster = !names_etcd(&arguments.run_flags);
    if arguments.sharded.is_some() && rings_in_cluster {
        definitions.push(managers::ring_definition());
    }
    Ok(Installation {
        namespace,
        arguments: container_arguments,
        replicas: arguments.sharded.unwrap_or(arguments.replicas),
        sharded: arguments.sharded.is_some(),
        rings_in_cluster,
        leader_election,
        watched_namespaces: watched,
        definitions,
        manager_config,
        ..Installation::new(
            name,
            &image,
            controllers.iter().map(|known| known.controller().clone()).collect(),
        )
    })
}

/// Whether flags of `run` say that rings are in etcd.
fn names_etcd(run_flags: &[String]) -> bool {
    let after = |flag: &String| run_flags.iter().skip_while(|other| *other != flag).nth(1);
    let value = |flag: &String| match flag.strip_prefix("--registry") {
        Some("") => after(flag).cloned(),
        Some(value) => value.strip_prefix('=').map(str::to_owned),
        None => None,
    };
    run_flags.iter().filter_map(value).any(|registry| registry.starts_with("etcd"))
}

fn print(objects: &[Value], format: Format) -> anyhow::Result<ExitCode> {
    let text = match format {
        Format::Yaml => yaml(objects)?,
        Format::Json => {
            let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
            format!("{}\n", serde_json::to_string_pretty(&list).context("the list cannot be written")?)
        }
    };
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_is_found_among_flags() {
        let flags = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for text in ["--registry etcd://a:2379", "--json-logs --registry=etcds://a:2379 --leave"] {
            assert!(names_etcd(&flags(text)), "{text}");
        }
        for text in ["", "--registry", "--registry api", "--registry=api", "--shard-lease 6"] {
            assert!(!names_etcd(&flags(text)), "{text}");
        }
    }
}
