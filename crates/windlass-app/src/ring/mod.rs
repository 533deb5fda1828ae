//! `ring`: who owns which slots, what moves and why.

mod show;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use windlass_runtime::Api;
use windlass_runtime::sharding::{OverviewError, RingOverview, ring_overviews};

use crate::kubeconfig::config;
use crate::output::OutputArguments;
use crate::watching;

/// How often the rings are read with --watch.
const EVERY: Duration = Duration::from_millis(500);

/// Print the rings of sharded controllers: who is alive, who owns which slots, what moves and why.
///
/// Whether an instance is alive is decided by its Lease. Rings in etcd are read with --registry.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  PROGRAM ring
  PROGRAM ring CONTROLLER --watch
  PROGRAM ring CONTROLLER --output json")]
pub(crate) struct RingArguments {
    /// Name of a controller. Default: all rings.
    name: Option<String>,
    /// Print it again whenever something changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Namespace of the instances' Leases. Default: all.
    #[arg(long)]
    namespace: Option<String>,
    /// Kubeconfig of the cluster. Default: what kubectl would use or, in a pod, its service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// Where the rings are: `api`, the Kubernetes API, or `etcd://HOST:PORT[,HOST:PORT][/PREFIX]`.
    #[cfg(feature = "etcd")]
    #[arg(long, value_name = "api|etcd://HOST:PORT", default_value = "api")]
    registry: String,
    #[cfg(feature = "etcd")]
    #[command(flatten)]
    etcd: crate::etcd_registry::EtcdArguments,
    #[command(flatten)]
    output: OutputArguments,
}

/// Where the rings are.
enum Source {
    Api(Box<Api>),
    #[cfg(feature = "etcd")]
    Etcd(crate::etcd_registry::EtcdRegistries),
}

pub(crate) fn run(arguments: &RingArguments, program: &str) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start a runtime")?.block_on(print(arguments, program))?;
    Ok(ExitCode::SUCCESS)
}

async fn print(arguments: &RingArguments, program: &str) -> anyhow::Result<()> {
    let source = source(arguments).await?;
    let differ = |before: &Vec<RingOverview>, after: &Vec<RingOverview>| show::differ(before, after);
    let watch = arguments.watch.then_some(EVERY);
    let text = |rings: &Vec<RingOverview>| text(rings, arguments, program);
    watching::print(watch, async || read(&source, arguments, program).await, differ, text).await
}

async fn source(arguments: &RingArguments) -> anyhow::Result<Source> {
    #[cfg(feature = "etcd")]
    if arguments.registry.starts_with("etcd") {
        return Ok(Source::Etcd(arguments.etcd.connect(&arguments.registry)?));
    }
    #[cfg(feature = "etcd")]
    if arguments.registry != "api" {
        bail!("--registry is api or etcd://HOST:PORT, not {:?}", arguments.registry);
    }
    let config = config(arguments.kubeconfig.as_deref()).await?;
    let client = kube::Client::try_from(config).context("the kubeconfig cannot be used")?;
    Ok(Source::Api(Box::new(Api::new(client))))
}

async fn read(
    source: &Source,
    arguments: &RingArguments,
    program: &str,
) -> anyhow::Result<Vec<RingOverview>> {
    let name = arguments.name.as_deref();
    let rings = match source {
        Source::Api(api) => match ring_overviews(api, name, arguments.namespace.as_deref()).await {
            Err(OverviewError::NoDefinition) => bail!(
                "the cluster has no rings: install their definition with `{program} crd --sharding | kubectl apply \
                 -f -`, and start controllers with `{program} run --shard`"
            ),
            read => read?,
        },
        #[cfg(feature = "etcd")]
        Source::Etcd(registries) => registries.overviews(name).await?,
    };
    match name {
        Some(name) if rings.is_empty() => {
            bail!("there is no ring {name:?}: start its controller with `{program} run {name} --shard`")
        }
        _ => Ok(rings),
    }
}

fn text(rings: &[RingOverview], arguments: &RingArguments, program: &str) -> anyhow::Result<String> {
    if arguments.output.is_json() {
        return Ok(format!("{}\n", serde_json::to_string_pretty(rings)?));
    }
    if rings.is_empty() {
        return Ok(format!("There are no rings: start controllers with `{program} run --shard`.\n"));
    }
    Ok(rings.iter().map(show::ring).collect::<Vec<_>>().join("\n"))
}
