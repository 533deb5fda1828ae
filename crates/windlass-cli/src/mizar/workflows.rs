//! `windlass workflows`: which workflows are under way, and what they wait for.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::Client;
use windlass_app::columns::table;
use windlass_app::output::OutputArguments;
use windlass_app::watching;
use windlass_mizar::api::{Bouncer, Divider, Droplet, Endpoint, Subnet, Vpc};
use windlass_mizar::workflows::{Progress, Tracked, progress};

use super::{client, list};

/// How often the objects are read with --watch.
const EVERY: Duration = Duration::from_millis(500);

/// Print the workflows of virtual networks: which step is under way, what it waits for, and since when.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass workflows
  windlass workflows --all
  windlass workflows --watch
  windlass workflows --output json")]
pub(crate) struct WorkflowsArguments {
    /// Print workflows that have come to their end, too.
    #[arg(long)]
    all: bool,
    /// Print them again whenever something changes, until Ctrl-C.
    #[arg(long)]
    watch: bool,
    /// Kubeconfig of the cluster. Default: what kubectl would use or, in a pod, its service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

pub(super) async fn run(arguments: &WorkflowsArguments) -> anyhow::Result<()> {
    let kubernetes = client(arguments.kubeconfig.as_ref()).await?;
    let watch = arguments.watch.then_some(EVERY);
    let text = |all: &Vec<Progress>| text(all, arguments);
    watching::print(watch, async || read(&kubernetes, arguments.all).await, |one, other| one != other, text)
        .await
}

async fn read(client: &Client, all: bool) -> anyhow::Result<Vec<Progress>> {
    let mut found = Vec::new();
    add(&mut found, &list::<Vpc>(client).await?);
    add(&mut found, &list::<Subnet>(client).await?);
    add(&mut found, &list::<Divider>(client).await?);
    add(&mut found, &list::<Bouncer>(client).await?);
    add(&mut found, &list::<Droplet>(client).await?);
    add(&mut found, &list::<Endpoint>(client).await?);
    found.retain(|progress| all || !progress.finished);
    Ok(found)
}

fn add<K: Tracked>(found: &mut Vec<Progress>, objects: &[K]) {
    found.extend(objects.iter().filter_map(progress));
}

fn text(all: &[Progress], arguments: &WorkflowsArguments) -> anyhow::Result<String> {
    if arguments.output.is_json() {
        return Ok(format!("{}\n", serde_json::to_string_pretty(all)?));
    }
    if all.is_empty() {
        return Ok("No workflow is under way.\n".to_owned());
    }
    Ok(table(
        ["NAMESPACE", "OBJECT", "WORKFLOW", "STEP", "OPERATOR", "WAITS-FOR", "SINCE"],
        all.iter().map(cells),
    ))
}

fn cells(progress: &Progress) -> [String; 7] {
    let Progress { namespace, object, workflow, step, steps, .. } = progress;
    let step = if progress.finished { "done".to_owned() } else { format!("{} of {steps}", step.min(steps)) };
    let or_dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    [
        namespace.clone(),
        object.clone(),
        (*workflow).to_owned(),
        step,
        or_dash(progress.operator),
        or_dash(&progress.waits_for),
        progress.since.clone().unwrap_or_else(|| "-".to_owned()),
    ]
}
