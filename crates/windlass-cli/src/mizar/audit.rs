//! `windlass mizar audit`: asks every droplet for its tables, and compares them with what the objects say.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use kube::Client;
use serde::Serialize;
use windlass_app::columns::table;
use windlass_app::output::OutputArguments;
use windlass_mizar::api::Droplet;
use windlass_mizar::audit::{Difference, compare};
use windlass_mizar::droplets::{Daemon, DropletClient};
use windlass_mizar::tables::Inventory;

use super::{client, list};

/// The exit code when tables are not what the objects say.
const DIFFERENT: u8 = 3;

/// Compare the tables of all droplets with what the objects say.
///
/// Exits with 3 if they differ, or if a droplet does not answer. While workflows are under way, differences are to be
/// expected: see `windlass workflows`.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass mizar audit
  windlass mizar audit --output json")]
pub(super) struct AuditArguments {
    /// Kubeconfig of the cluster. Default: what kubectl would use or, in a pod, its service account.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    #[command(flatten)]
    output: OutputArguments,
}

/// What came of an audit.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Audit {
    pub(crate) droplets: usize,
    pub(crate) rows: usize,
    differences: Vec<Difference>,
    /// Droplets whose daemons do not answer, and why.
    unreachable: Vec<(String, String)>,
    /// Droplets that are lost: nothing is placed on them, and nothing is compared.
    lost: Vec<String>,
}

pub(super) async fn run(arguments: &AuditArguments) -> anyhow::Result<ExitCode> {
    let kubernetes = client(arguments.kubeconfig.as_ref()).await?;
    let audit = audit_of(&kubernetes).await?;
    if arguments.output.is_json() {
        println!("{}", serde_json::to_string_pretty(&audit)?);
    } else {
        print(&audit);
    }
    Ok(if audit.is_right() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}

impl Audit {
    pub(crate) fn is_right(&self) -> bool {
        self.differences.is_empty() && self.unreachable.is_empty()
    }
}

/// Asks all droplets of a cluster.
pub(crate) async fn audit_of(client: &Client) -> anyhow::Result<Audit> {
    let droplets: Vec<Droplet> = list(client).await?;
    let inventory = Inventory {
        dividers: list(client).await?,
        bouncers: list(client).await?,
        endpoints: list(client).await?,
    };
    Ok(audit(&droplets, &inventory).await)
}

async fn audit(droplets: &[Droplet], inventory: &Inventory) -> Audit {
    let daemons = DropletClient::default();
    let mut audit =
        Audit { droplets: 0, rows: 0, differences: Vec::new(), unreachable: Vec::new(), lost: Vec::new() };
    for droplet in droplets {
        let daemon = Daemon::from(droplet);
        let name = daemon.droplet.clone();
        if droplet.state().lost {
            audit.lost.push(name);
            continue;
        }
        match daemons.rows(&daemon).await {
            Ok(rows) => {
                audit.droplets += 1;
                audit.rows += rows.len();
                audit.differences.extend(compare(&name, &inventory.rows(&name), &rows));
            }
            Err(why) => audit.unreachable.push((name, why)),
        }
    }
    audit
}

fn print(audit: &Audit) {
    let Audit { droplets, rows, differences, unreachable, lost } = audit;
    for (name, why) in unreachable {
        println!("droplet {name} does not answer: {why}");
    }
    for name in lost {
        println!("droplet {name} is lost");
    }
    if differences.is_empty() {
        println!("{droplets} droplets with {rows} rows: all as the objects say");
        return;
    }
    let text = |row: &Option<windlass_mizar::tables::Row>| {
        row.as_ref().and_then(|row| serde_json::to_string(row).ok()).unwrap_or_else(|| "-".to_owned())
    };
    let cells = differences.iter().map(|one| {
        [one.droplet.clone(), one.row.clone(), one.kind.to_string(), text(&one.wanted), text(&one.found)]
    });
    print!("{}", table(["DROPLET", "ROW", "IS", "WANTED", "FOUND"], cells));
    println!("{} differences in {rows} rows of {droplets} droplets", differences.len());
}
