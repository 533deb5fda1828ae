//! `windlass mizar` and `windlass workflows`: what the operators of virtual networks have done, and what they wait for.

mod audit;
mod workflows;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Subcommand};
use kube::Client;
use kube::api::{Api, ListParams};
use serde::de::DeserializeOwned;

pub(crate) use audit::audit_of;
pub(crate) use workflows::WorkflowsArguments;

/// Look at virtual networks.
#[derive(Args, Debug)]
pub(crate) struct MizarArguments {
    #[command(subcommand)]
    command: MizarCommand,
}

#[derive(Debug, Subcommand)]
enum MizarCommand {
    Audit(audit::AuditArguments),
}

pub(crate) fn run(arguments: &MizarArguments) -> anyhow::Result<ExitCode> {
    let MizarCommand::Audit(arguments) = &arguments.command;
    runtime()?.block_on(audit::run(arguments))
}

pub(crate) fn run_workflows(arguments: &WorkflowsArguments) -> anyhow::Result<ExitCode> {
    runtime()?.block_on(workflows::run(arguments))?;
    Ok(ExitCode::SUCCESS)
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build().context("cannot start a runtime")
}

async fn client(kubeconfig: Option<&PathBuf>) -> anyhow::Result<Client> {
    let config = windlass_app::config(kubeconfig.map(PathBuf::as_path)).await?;
    Client::try_from(config).context("the kubeconfig cannot be used")
}

/// All objects of a kind, in all namespaces.
async fn list<K>(client: &Client) -> anyhow::Result<Vec<K>>
where
    K: kube::Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
{
    let plural = K::plural(&());
    let listed = Api::<K>::all(client.clone()).list(&ListParams::default()).await;
    let objects = listed.with_context(|| {
        format!(
            "cannot list {plural}: install the definitions with `windlass crd mizar | kubectl apply -f -`"
        )
    })?;
    Ok(objects.items)
}
