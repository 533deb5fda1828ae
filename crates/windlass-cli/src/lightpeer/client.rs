//! Commands to a running peer: `health`, `join`, `persist`, `query`.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::{Args, Subcommand};
use windlass_klight::wire::{Client, ClientSettings, ClientTls, Health, JoinAbout};

use crate::duration;

#[derive(Debug, Subcommand)]
pub(super) enum ClientCommand {
    /// Make a peer join the network of another.
    #[command(after_help = "Examples:
  windlass lightpeer join 127.0.0.1:9082 127.0.0.1:9081
  windlass lightpeer join 127.0.0.1:9082 127.0.0.1:9081 --network default/blue
  windlass lightpeer join 127.0.0.1:9082 --network default/blue")]
    Join {
        /// Address of the peer that joins.
        address: String,
        /// Address of a member of the network; may be omitted for its first peer.
        #[arg(required_unless_present = "network")]
        contact: Option<String>,
        /// ID of the network. A peer of another network leaves that one and drops its blocks; a contact of another network
        /// refuses.
        #[arg(long, value_name = "ID")]
        network: Option<String>,
        #[command(flatten)]
        calls: Calls,
    },
    /// Add a block to the chain; prints its ID once it is replicated.
    #[command(after_help = "Examples:
  windlass lightpeer persist 127.0.0.1:9081 hello
  windlass lightpeer persist 127.0.0.1:9081 - <FILE")]
    Persist {
        /// Address of any member.
        address: String,
        /// Payload of the block; `-` reads it from standard input.
        payload: String,
        #[command(flatten)]
        calls: Calls,
    },
    /// Print the payloads of all client blocks in chain order, one per line.
    #[command(after_help = "Example:\n  windlass lightpeer query 127.0.0.1:9081")]
    Query {
        /// Address of any member.
        address: String,
        #[command(flatten)]
        calls: Calls,
    },
    /// Check whether a peer is serving.
    #[command(after_help = "Example:\n  windlass lightpeer health 127.0.0.1:9081")]
    Health {
        /// Address of the peer.
        address: String,
        #[command(flatten)]
        calls: Calls,
    },
}

#[derive(Args, Debug)]
pub(super) struct Calls {
    /// Timeout of the call.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration::parse)]
    deadline: Duration,
    /// Use TLS, and trust this authority (PEM).
    #[arg(long, value_name = "FILE")]
    tls_ca: Option<PathBuf>,
    /// Show this certificate chain (PEM). Peers with TLS refuse clients without one, unless they allow them.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

impl Calls {
    fn client(&self, address: &str) -> anyhow::Result<Client> {
        let own = super::key_pair(self.tls_cert.as_deref(), self.tls_key.as_deref())?;
        let tls = match self.tls_ca.as_deref() {
            Some(authority) => Some(ClientTls { authority: super::read(authority)?, own }),
            None => None,
        };
        let settings = ClientSettings { deadline: self.deadline, tls, ..ClientSettings::default() };
        Ok(Client::new(address, &settings)?)
    }
}

pub(super) async fn run(command: &ClientCommand) -> anyhow::Result<()> {
    let mut output = io::stdout();
    match command {
        ClientCommand::Join { address, contact, network, calls } => {
            let about = JoinAbout { network: network.clone(), ..JoinAbout::default() };
            let contact = contact.as_deref().unwrap_or_default();
            let joined = calls.client(address)?.join_network(contact, &about).await?;
            writeln!(output, "{}", joined.result)?;
        }
        ClientCommand::Persist { address, payload, calls } => {
            let id = calls.client(address)?.persist(content(payload)?).await?;
            writeln!(output, "{id}")?;
        }
        ClientCommand::Query { address, calls } => {
            for payload in calls.client(address)?.query().await? {
                output.write_all(&payload)?;
                writeln!(output)?;
            }
        }
        ClientCommand::Health { address, calls } => match calls.client(address)?.health().await? {
            Health::Serving => writeln!(output, "serving")?,
            Health::NotServing => bail!("the peer at {address} runs but does not serve; its log says why"),
        },
    }
    Ok(())
}

fn content(payload: &str) -> anyhow::Result<Vec<u8>> {
    if payload != "-" {
        return Ok(payload.as_bytes().to_vec());
    }
    let mut bytes = Vec::new();
    io::stdin().read_to_end(&mut bytes).context("cannot read the payload from standard input")?;
    Ok(bytes)
}
