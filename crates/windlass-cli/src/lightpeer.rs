//! `windlass lightpeer`: a member of a peer network, until it is told to stop; and a client for those that run.

mod client;
mod duration;

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
use windlass_klight::wire::{Tls, check_address};

use crate::address::address;

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
  windlass lightpeer --listen 0.0.0.0:9081 --advertise $(POD_IP):9081 --name $(POD_NAME)"
)]
pub(crate) struct LightpeerArguments {
    #[command(subcommand)]
    client: Option<ClientCommand>,
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:9081")]
    listen: SocketAddr,
    /// The address that others reach it at; without it, where it listens.
    #[arg(long, value_name = "HOST:PORT")]
    advertise: Option<String>,
    /// What it is called, different for each peer; without it, a random name.
    #[arg(long)]
    name: Option<String>,
    /// Keep the chain in this folder; without it, it is in memory, and with the other peers.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Join the network of this peer, or of the first of several that answers; tries until it is done.
    #[arg(long, value_name = "HOST:PORT")]
    join: Vec<String>,
    /// The network to be in, such as NAMESPACE/ID. Peers of different networks never share blocks. What it was told later,
    /// and has kept with --data, holds instead.
    #[arg(long, value_name = "ID")]
    network: Option<String>,
    /// How often to check the other peers.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    peers_check: Duration,
    /// Drop a peer after so many failed checks in a row.
    #[arg(long, value_name = "NUMBER", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    drop_after: u32,
    /// How long a call to another peer may take.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    deadline: Duration,
    /// The certificate chain to show (PEM); then all peers must use TLS.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// The authority that has signed the certificates of the peers (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_ca: Option<PathBuf>,
    /// What goes to standard output: one line when it is ready, or a JSON document per line for all that happens.
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
            crate::logs::start(arguments.json_logs, None);
            runtime.block_on(serve(arguments))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &LightpeerArguments) -> anyhow::Result<()> {
    // Asked for before the peer starts, so that none is missed.
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
        () = tell_events(events, output) => {}
        () = join_any(&peer, arguments) => {}
    }
    tracing::info!("ending");
    let counters = peer.counters();
    peer.shutdown().await;
    tell(output, &json!({"event": "ended", "counters": counters}));
    Ok(())
}

/// Ready when whoever started this process is gone, or has nothing more to say.
async fn input_ends() {
    let (told, ended) = tokio::sync::oneshot::channel();
    // A thread of its own: the runtime would wait for one of its own at the end, and this one may read for ever.
    std::thread::spawn(move || {
        let _ = io::copy(&mut io::stdin(), &mut io::sink());
        let _ = told.send(());
    });
    let _ = ended.await;
}

/// Joins the first contact that lets it in, and then never ends. A peer that was told another network since it was first
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

async fn tell_events(mut events: Receiver<Event>, output: Output) {
    loop {
        match events.recv().await {
            Ok(event) => tell(output, &document(&event)),
            Err(RecvError::Lagged(lost)) => tell(output, &json!({"event": "lost", "events": lost})),
            Err(RecvError::Closed) => std::future::pending().await,
        }
    }
}

fn document(event: &Event) -> Value {
    serde_json::to_value(event).expect("an event is made of texts and numbers")
}

/// A peer goes on when nobody reads what it tells.
fn tell(output: Output, document: &Value) {
    if output == Output::Json {
        let _ = writeln!(io::stdout(), "{document}");
    }
}

fn announce(peer: &Peer, output: Output) -> anyhow::Result<()> {
    let (address, name) = (peer.address(), peer.name());
    tracing::info!("{name} serves at {address}");
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
    let tls = match (&arguments.tls_cert, &arguments.tls_key, &arguments.tls_ca) {
        (Some(certificate), Some(key), Some(authority)) => {
            Some(Tls { certificate: read(certificate)?, key: read(key)?, authority: read(authority)? })
        }
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
        ..PeerSettings::default()
    })
}

fn read(file: &Path) -> anyhow::Result<Vec<u8>> {
    std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))
}
