//! Commands to a running daemon: `show`, `fail`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use anyhow::anyhow;
use clap::Subcommand;
use serde_json::json;
use windlass_app::columns::table;
use windlass_app::output::OutputArguments;
use windlass_mizar::daemon::Failure;
use windlass_mizar::droplets::{Daemon, DropletClient};
use windlass_mizar::tables::{Key, Row};
use windlass_mizar::wire::messages::{Fault, fault};

use super::{failure, milliseconds};

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Print the tables of a daemon.
    #[command(after_help = "Examples:
  windlass droplet show 127.0.0.1:50051
  windlass droplet show 127.0.0.1:50051 --output json")]
    Show {
        /// Address of the daemon.
        address: String,
        #[command(flatten)]
        output: OutputArguments,
    },
    /// Let a daemon fail from now on: for tests and drills.
    #[command(after_help = "Examples:
  windlass droplet fail 127.0.0.1:50051 hang
  windlass droplet fail 127.0.0.1:50051 slow=500ms
  windlass droplet fail 127.0.0.1:50051 restart    it loses its tables
  windlass droplet fail 127.0.0.1:50051 none       it works again")]
    Fail {
        /// Address of the daemon.
        address: String,
        /// How: `fail`, `hang`, `slow=DURATION`, `restart`, or `none` to let it work again.
        #[arg(value_parser = failure)]
        failure: Failure,
    },
}

pub(super) async fn run(command: &ClientCommand) -> anyhow::Result<()> {
    let client = DropletClient::default();
    match command {
        ClientCommand::Show { address, output } => {
            let daemon = Daemon { droplet: address.clone(), address: address.clone() };
            let info = client.info(&daemon).await.map_err(|why| anyhow!(why))?;
            let rows = client.rows(&daemon).await.map_err(|why| anyhow!(why))?;
            let text = if output.is_json() {
                let rows: Vec<_> = rows.iter().map(|(key, row)| json!({ "key": key, "row": row })).collect();
                format!("{}\n", serde_json::to_string_pretty(&json!({ "droplet": info, "rows": rows }))?)
            } else {
                format!(
                    "droplet {} ({}, {}), started as {}\n{}",
                    info.name,
                    info.ip,
                    info.mac,
                    info.boot,
                    shown(&rows)
                )
            };
            io::stdout().lock().write_all(text.as_bytes())?;
            Ok(())
        }
        ClientCommand::Fail { address, failure } => {
            let (kind, milliseconds) = match failure {
                Failure::None => (fault::Kind::None, 0),
                Failure::Fail => (fault::Kind::Fail, 0),
                Failure::Hang => (fault::Kind::Hang, 0),
                Failure::Restart => (fault::Kind::Restart, 0),
                Failure::Slow(delay) => (fault::Kind::Slow, milliseconds(*delay)),
            };
            let fault = Fault { kind: kind.into(), milliseconds };
            client.inject(address, fault).await.map_err(|why| anyhow!(why))
        }
    }
}

fn shown(rows: &BTreeMap<Key, Row>) -> String {
    if rows.is_empty() {
        return "It has no rows.\n".to_owned();
    }
    let cells = rows.iter().map(|(key, row)| {
        let text = key.to_string();
        let (table, key) = text.split_once(' ').unwrap_or((&text, ""));
        let row = serde_json::to_value(row).unwrap_or_default();
        let fields = row.as_object().into_iter().flatten();
        let fields: Vec<String> = fields.map(|(name, value)| format!("{name}={}", plain(value))).collect();
        [table.to_owned(), key.to_owned(), fields.join(" ")]
    });
    table(["TABLE", "KEY", "ROW"], cells)
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}
