//! `windlass lightpeer`: runs a member of a peer network until it is stopped, and a client for running ones.

mod client;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, anyhow};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use windlass_klight::peer::{Event, Peer, PeerSettings};
use windlass_klight::wire::{KeyPair, Tls, check_address};

use windlass_app::address;

use crate::duration;
use crate::until_input_ends::input_ends;
use client::ClientCommand;

/// Run a lightpeer: a member of a network that keeps a chain of blocks together with its peers.
///
/// It serves gRPC: `Lightpeer` and `grpc.health.v1.Health`. When it is ready, the first line on standard output is
/// `ready ADDRESS:PORT`, with the address that others reach it at; logs go to standard error. SIGTERM and Ctrl-C end it.
#[derive(Args, Debug)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  windlass lightpeer --listen 127.0.0.1:9081 &
  windlass lightpeer --listen 127.0.0.1:9082 --join 127.0.0.1:9081 --data DIR &
  windlass lightpeer persist 127.0.0.1:9081 hello
  windlass lightpeer query 127.0.0.1:9082
In a pod:
  windlass lightpeer --listen 0.0.0.0:9081 --advertise $(POD_IP):9081 --name $(POD_NAME) \
    --tls-cert tls.crt --tls-key tls.key --tls-ca ca.crt"
)]
pub(crate) struct LightpeerArguments {
    #[command(subcommand)]
    client: Option<ClientCommand>,
    /// Listen on this address; port 0 picks a free port.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:9081")]
    listen: SocketAddr,
    /// Address at which other peers reach this one. Default: where it listens.
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// Name of this peer, unique among its peers. Default: a random name.
    #[arg(long)]
    name: Option<String>,
    /// Store the chain in this folder. Default: in memory only, and at the other peers.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Join the network of this peer, or of the first of several that answers; retries until it succeeds.
    #[arg(long, value_name = "HOST:PORT")]
    join: Vec<String>,
    /// Network of this peer, such as NAMESPACE/ID. Peers of different networks never share blocks. A network that it has
    /// joined later, and stored with --data, takes precedence.
    #[arg(long, value_name = "ID")]
    network: Option<String>,
    /// Interval of the health checks of other peers.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    peers_check: Duration,
    /// Number of consecutive failed checks after which a peer is dropped.
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    drop_after: u32,
    /// Timeout of a call to another peer.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    deadline: Duration,
    /// Use this certificate chain (PEM), for those who call and those who are called; then all peers must use TLS, and
    /// whoever calls must show a certificate of the same authority.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Certificate authority of the peers and their clients (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_ca: Option<PathBuf>,
    /// Serve anyone who can reach the address: with TLS, clients need no certificate; without TLS, other addresses than
    /// loopback may be listened on. Whoever can connect can then read and add blocks, make this peer call any address, and
    /// move it to another network. Lightpeers of other makers, which show no certificate, need this.
    #[arg(long)]
    allow_unauthenticated: bool,
    /// Format of standard output: one line when the peer is ready, or a JSON document per line for each event.
    #[arg(long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
    /// End when standard input does: for programs that start a peer and may be killed.
    #[arg(long, hide = true)]
    until_input_ends: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Output {
    Text,
    Json,
}

pub(crate) fn run(arguments: &LightpeerArguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the peer")?;
    match &arguments.client {
        Some(command) => runtime.block_on(client::run(command))?,
        None => {
            windlass_app::logs::start(arguments.json_logs, None);
            runtime.block_on(serve(arguments))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &LightpeerArguments) -> anyhow::Result<()> {
    // Installed before the peer starts, so that no signal is missed.
    let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
    for contact in &arguments.join {
        check_address(contact)
            .map_err(|problem| anyhow!("--join {contact:?} is no address of a peer: {problem}"))?;
    }
    let peer = Peer::start(settings(arguments)?).await?;
    let (output, events) = (arguments.output, peer.events());
    announce(&peer, output)?;
    tokio::select! {
        _ = stop => {}
        () = input_ends(), if arguments.until_input_ends => {}
        () = print_events(events, output) => {}
        () = join_any(&peer, arguments) => {}
    }
    tracing::info!("shutting down");
    let counters = peer.counters();
    peer.shutdown().await;
    print(output, &json!({"event": "ended", "counters": counters}));
    Ok(())
}

/// Joins the first contact that accepts it, and then never ends. A peer that has joined another network since it was first
/// started stays there.
async fn join_any(peer: &Peer, arguments: &LightpeerArguments) {
    let (contacts, pause) = (&arguments.join, arguments.peers_check);
    let moved = arguments.network.is_some() && peer.network() != arguments.network;
    let mut joined = contacts.is_empty() || moved;
    while !joined {
        for contact in contacts {
            joined = joined || peer.join(contact).await.is_ok();
        }
        if !joined {
            tokio::time::sleep(pause).await;
        }
    }
    std::future::pending().await
}

async fn print_events(mut events: Receiver<Event>, output: Output) {
    loop {
        match events.recv().await {
            Ok(event) => print(output, &document(&event)),
            Err(RecvError::Lagged(lost)) => print(output, &json!({"event": "lost", "events": lost})),
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn document(event: &Event) -> Value {
    serde_json::to_value(event).expect("an event is made of texts and numbers")
}

/// Prints an event. A closed standard output does not end the peer.
fn print(output: Output, document: &Value) {
    if output == Output::Json {
        let _ = writeln!(io::stdout(), "{document}");
    }
}

fn announce(peer: &Peer, output: Output) -> anyhow::Result<()> {
    let (address, name) = (peer.address(), peer.name());
    tracing::info!(name, address, "lightpeer is serving");
    let line = match output {
        Output::Text => format!("ready {address}"),
        Output::Json => {
            json!({"event": "ready", "address": address, "name": name, "network": peer.network()}).to_string()
        }
    };
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{line}").and_then(|()| stdout.flush()).context("cannot say that it is ready")
}

fn settings(arguments: &LightpeerArguments) -> anyhow::Result<PeerSettings> {
    let own = key_pair(arguments.tls_cert.as_deref(), arguments.tls_key.as_deref())?;
    let tls = match (own, &arguments.tls_ca) {
        (Some(own), Some(authority)) => Some(Tls { own, authority: read(authority)? }),
        _ => None,
    };
    Ok(PeerSettings {
        listen: arguments.listen,
        advertise: arguments.advertise.clone(),
        name: arguments.name.clone(),
        network: arguments.network.clone(),
        data: arguments.data.clone(),
        check_interval: arguments.peers_check,
        failures_until_dropped: arguments.drop_after,
        call_deadline: arguments.deadline,
        tls,
        allow_unauthenticated: arguments.allow_unauthenticated,
        ..PeerSettings::default()
    })
}

/// A certificate with its key, if both are given.
pub(crate) fn key_pair(certificate: Option<&Path>, key: Option<&Path>) -> anyhow::Result<Option<KeyPair>> {
    match (certificate, key) {
        (Some(certificate), Some(key)) => {
            Ok(Some(KeyPair { certificate: read(certificate)?, key: read(key)? }))
        }
        _ => Ok(None),
    }
}

pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
