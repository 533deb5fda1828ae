//! `plan`: what a reconcile would change on a live cluster.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use serde_json::Value;
use windlass::model::object;
use windlass::recording::RecordedEnd;
use windlass::{Controller, ObjectRef, ReconcileResult};
use windlass_runtime::{Api, Plan, Planner};

use crate::app::App;
use crate::app_controller::{AppController, names};
use crate::arguments::ManagerArguments;
use crate::output::OutputArguments;

/// The exit code of `--exit-code` when something would be different.
const DIFFERENT: u8 = 2;
/// The same when the plan ends at a call, and nothing is different so far.
const OPEN: u8 = 3;

/// Show what a controller would change on a live cluster, without changing it.
///
/// Every write is a dry run on the API server, so that defaults and refusals are real. Calls to other services are not
/// made: the plan ends at the first. Secrets are not shown. The cluster is the one that kubectl would use. The exit code is
/// 0; with --exit-code it is 2 if an object would be different, and 3 if that depends on a call. It is 2 for bad usage, too,
/// and when the cluster does not answer.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM plan KIND-NAME.yaml                     if this object were applied
  kubectl get KIND-NAME a -o yaml | PROGRAM plan -
  PROGRAM plan KIND-NAME/a -n default             for an object on the cluster
  PROGRAM plan KIND-NAME/a --exit-code            for scripts")]
pub(crate) struct PlanArguments {
    /// File with the parent as YAML or JSON, - for standard input, or KIND/NAME of an object on the cluster.
    #[arg(value_name = "FILE|-|KIND/NAME")]
    parent: String,
    /// Namespace of the parent, if its manifest has none. Default: that of the kubeconfig.
    #[arg(long, short, value_name = "NAME")]
    namespace: Option<String>,
    /// Controller to use, if several reconcile the kind.
    #[arg(long, value_name = "NAME")]
    controller: Option<String>,
    /// Kubeconfig of the cluster. Default: the one that kubectl would use.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Exit with 2 if an object would change, and with 3 if that depends on a call.
    #[arg(long)]
    exit_code: bool,
    #[command(flatten)]
    output: OutputArguments,
}

/// The parent to plan for.
#[derive(Debug, PartialEq)]
enum Parent {
    Given(Value),
    Named { kind: String, name: String },
}

/// Runs the command.
pub(crate) fn run<A: ManagerArguments>(arguments: &PlanArguments, app: &App<A>) -> anyhow::Result<ExitCode> {
    let parent = parent(&arguments.parent)?;
    let controller = controller(app.controllers(), &parent, arguments.controller.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let plan =
        runtime.context("the runtime cannot start")?.block_on(make(arguments, app, parent, controller))?;
    let mut out = std::io::stdout().lock();
    if arguments.output.is_json() {
        writeln!(out, "{:#}", plan.to_value())?;
    } else {
        write!(out, "{plan}")?;
    }
    Ok(match (plan.has_changes(), &plan.end) {
        _ if !arguments.exit_code => ExitCode::SUCCESS,
        (true, _) => ExitCode::from(DIFFERENT),
        (false, None) => ExitCode::from(OPEN),
        (false, Some(_)) => ExitCode::SUCCESS,
    })
}

async fn make<A: ManagerArguments>(
    arguments: &PlanArguments,
    app: &App<A>,
    parent: Parent,
    controller: &Controller,
) -> anyhow::Result<Plan> {
    let config = crate::kubeconfig::config(arguments.kubeconfig.as_deref()).await?;
    let namespace = arguments.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
    let namespace = if controller.declaration().parent().namespaced { namespace } else { String::new() };
    let cluster = config.cluster_url.to_string();
    let client = kube::Client::try_from(config).context("the kubeconfig cannot be used")?;
    let planner = app.redacted(Planner::new(Api::new(client)));
    match parent {
        Parent::Given(mut given) => {
            if object::namespace(&given).is_empty() && !namespace.is_empty() {
                object::set_meta(&mut given, "namespace", namespace);
            }
            Ok(planner.plan_applied(controller, &given).await?)
        }
        Parent::Named { kind, name } => {
            let plan = planner.plan(controller, &ObjectRef::new(&namespace, &name)).await;
            match &plan.end {
                Some(RecordedEnd::Ended { result: ReconcileResult::Gone, .. }) => {
                    bail!(
                        "there is no {kind}/{name} in namespace {namespace:?}: give another with -n, or a file"
                    )
                }
                // It did not come to its first state: the parent could not be read.
                Some(RecordedEnd::Ended {
                    result: ReconcileResult::Failed { message, .. }, path, ..
                }) if path.is_empty() => {
                    bail!("{kind}/{name} cannot be read from {cluster}: {message}")
                }
                _ => Ok(plan),
            }
        }
    }
}

/// What the argument means. A file wins: kinds are rarely named like folders.
fn parent(argument: &str) -> anyhow::Result<Parent> {
    let text = if argument == "-" {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
        text
    } else if Path::new(argument).is_file() {
        std::fs::read_to_string(argument).with_context(|| format!("{argument} cannot be read"))?
    } else {
        return match argument.split_once('/') {
            Some((kind, name)) if !kind.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Parent::Named { kind: kind.to_owned(), name: name.to_owned() })
            }
            _ => bail!("there is no file {argument}: give a file, - or KIND/NAME"),
        };
    };
    let value: Value =
        serde_saphyr::from_str(&text).with_context(|| format!("{argument} is neither YAML nor JSON"))?;
    if value["kind"].is_string() {
        Ok(Parent::Given(value))
    } else {
        bail!("{argument} is no object: it has no kind. Give one object with apiVersion, kind and metadata")
    }
}

/// The controller that reconciles a parent.
fn controller<'a>(
    controllers: &'a [AppController],
    parent: &Parent,
    wanted: Option<&str>,
) -> anyhow::Result<&'a Controller> {
    let called = match parent {
        Parent::Given(value) => value["kind"].as_str().unwrap_or_default(),
        Parent::Named { kind, .. } => kind,
    };
    let found = controllers
        .iter()
        .find(|known| known.has_parents_called(called) && wanted.is_none_or(|wanted| known.name() == wanted));
    found.map(AppController::controller).with_context(|| {
        let wanted = wanted.map(|wanted| format!(" with the name {wanted}")).unwrap_or_default();
        let names = names(controllers);
        format!(
            "no controller{wanted} of this program reconciles {called} (it has {names}): for a controller of another \
             program, use that program's plan"
        )
    })
}

#[cfg(test)]
mod tests {
    use two_configmaps::TwoConfigMaps;
    use web_app::WebApps;

    use super::*;

    #[test]
    fn arguments_are_files_or_names() {
        let named = |kind: &str, name: &str| Parent::Named { kind: kind.to_owned(), name: name.to_owned() };
        assert_eq!(parent("pair/a").expect("a name"), named("pair", "a"));
        for wrong in ["missing.yaml", "a/b/c.yaml", "pair/", "/a"] {
            let message = parent(wrong).expect_err("neither").to_string();
            assert!(message.contains("give a file, - or KIND/NAME"), "{message}");
        }
    }

    #[test]
    fn controllers_are_found_by_kind_and_name() {
        let all = [AppController::new(TwoConfigMaps), AppController::new(WebApps)];
        let pair = Parent::Named { kind: "pairs".to_owned(), name: "a".to_owned() };
        assert_eq!(controller(&all, &pair, None).expect("one").name(), "two-configmaps");
        let app = Parent::Named { kind: "WebApp".to_owned(), name: "a".to_owned() };
        assert_eq!(controller(&all, &app, Some("web-app")).expect("one").name(), "web-app");
        let message = controller(&all, &pair, Some("unknown")).err().expect("none").to_string();
        assert!(
            message.contains(
                "with the name unknown of this program reconciles pairs (it has two-configmaps, web-app"
            ),
            "{message}"
        );
    }
}
