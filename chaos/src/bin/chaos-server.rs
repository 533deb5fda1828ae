//! The embedded server as a process, with the arguments of `windlass serve` that a run needs.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::Parser;
use windlass_server::{Server, ServerOptions};

/// The embedded server as a process.
#[derive(Debug, Parser)]
#[command(
    after_help = "Example: chaos-server serve --listen 127.0.0.1:0 --write-kubeconfig kubeconfig --data DIR"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Parser)]
enum Command {
    /// Serve until the process is killed.
    Serve {
        /// Listen on this address; port 0 picks a free port.
        #[arg(long, value_name = "ADDRESS:PORT")]
        listen: SocketAddr,
        /// Write a kubeconfig to this file.
        #[arg(long, value_name = "FILE")]
        write_kubeconfig: PathBuf,
        /// Store everything in this folder.
        #[arg(long, value_name = "DIR")]
        data: Option<PathBuf>,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    let Command::Serve { listen, write_kubeconfig, data } = Arguments::parse().command;
    let options = ServerOptions { listen, data, ..ServerOptions::default() };
    let server = Server::start(options).await.context("the server does not start")?;
    server.kubeconfig().write(&write_kubeconfig)?;
    println!("ready {}", server.url());
    std::future::pending().await
}
