//! `windlass serve`: the embedded API server, until it is told to stop.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use windlass_server::{AuthorizationMode, FeatureGates, Limits, Server, ServerOptions, TlsSource, store};

use crate::address::address;

/// Run a Kubernetes API server in this process: no containers, no etcd, ready in milliseconds.
///
/// kubectl and every client library can use it. When it is ready, the first line on standard output is
/// `ready https://ADDRESS:PORT`; everything else goes to standard error. SIGTERM and Ctrl-C end it.
#[derive(Args, Debug)]
#[command(after_help = "Examples:
  windlass serve --write-kubeconfig kubeconfig              in memory, on port 6443 of this machine
  kubectl --kubeconfig kubeconfig get namespaces            from another terminal
  windlass serve --data DIR --listen 127.0.0.1:0            durable, on a free port
  windlass serve --workloads                                pods become ready, rollouts and Jobs end
  windlass serve --check DIR                                what is in a folder, and is it whole")]
pub(crate) struct ServeArguments {
    /// Where to listen; port 0 takes a free one. An address that other machines can reach needs TLS.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Keep everything in this folder; without it, everything is gone when the server ends.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write a kubeconfig that works as it is.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Who may do what: all who have the token everything, or what RBAC rules say.
    #[arg(long, value_enum, default_value_t = Authorization::AlwaysAllow)]
    authorization: Authorization,
    /// A certificate chain to show instead of a generated one (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A further name or address that the generated certificate is for; may be given several times.
    #[arg(long = "tls-name", value_name = "NAME", conflicts_with = "tls_cert")]
    tls_names: Vec<String>,
    /// Give each namespace a service account and the certificate authority, as a controller manager does.
    #[arg(long)]
    service_accounts: bool,
    /// Run the controllers of workloads: pods are scheduled and become ready without running anything, Deployments,
    /// StatefulSets and DaemonSets roll out, Jobs complete, claims are bound. So `kubectl rollout status`, `kubectl wait`
    /// and `helm install --wait` end.
    #[arg(long)]
    workloads: bool,
    /// Switch on what Kubernetes 1.35 has switched off by default: MutatingAdmissionPolicy=true.
    #[arg(long, value_name = "NAME=BOOL,...", default_value = "", hide_default_value = true)]
    feature_gates: FeatureGates,
    /// Speak plain HTTP, on this machine only.
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    insecure: bool,
    /// Open connections at the same time; further ones are closed at once.
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// How long a client may take to send a request, or take nothing of what is sent to it; without it, 30 and 60
    /// seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    client_patience: Option<u64>,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
    /// Only say what is in a data folder and whether it is whole; changes nothing.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["data", "write_kubeconfig", "listen", "insecure"])]
    check: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Authorization {
    AlwaysAllow,
    Rbac,
}

pub(crate) fn run(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    if let Some(folder) = &arguments.check {
        return check(folder);
    }
    crate::logs::start(arguments.json_logs, None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the server")?;
    runtime.block_on(serve(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &ServeArguments) -> anyhow::Result<()> {
    // Asked for before the server starts, so that none is missed.
    let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
    let server = Server::start(options(arguments)).await?;
    if let Some(file) = &arguments.write_kubeconfig {
        server.kubeconfig().write(file)?;
        tracing::info!("kubeconfig: {}", file.display());
    }
    announce(&server)?;
    stop.await;
    tracing::info!("ending");
    server.shutdown().await;
    Ok(())
}

fn announce(server: &Server) -> anyhow::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "ready {}", server.url())
        .and_then(|()| output.flush())
        .context("cannot say that it is ready")
}

fn options(arguments: &ServeArguments) -> ServerOptions {
    let tls = match (&arguments.tls_cert, &arguments.tls_key) {
        (Some(certificate), Some(key)) => {
            TlsSource::Files { certificate: certificate.clone(), key: key.clone() }
        }
        _ if arguments.insecure => TlsSource::Off,
        _ => TlsSource::Generated,
    };
    ServerOptions {
        listen: arguments.listen,
        data: arguments.data.clone(),
        tls,
        names: arguments.tls_names.clone(),
        service_accounts: arguments.service_accounts,
        workloads: arguments.workloads,
        gates: arguments.feature_gates,
        authorization: match arguments.authorization {
            Authorization::AlwaysAllow => AuthorizationMode::AlwaysAllow,
            Authorization::Rbac => AuthorizationMode::Rbac,
        },
        limits: limits(arguments),
        ..ServerOptions::default()
    }
}

fn limits(arguments: &ServeArguments) -> Limits {
    let limits = Limits { connections: arguments.max_connections, ..Limits::default() };
    match arguments.client_patience.map(Duration::from_secs) {
        None => limits,
        Some(patience) => {
            Limits { header_patience: patience, body_patience: patience, stall_patience: patience, ..limits }
        }
    }
}

/// Says what a data folder holds. The exit code is 1 if anything in it is wrong.
fn check(folder: &Path) -> anyhow::Result<ExitCode> {
    let inspection = store::inspect(folder)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{}, {} bytes", inspection.file.display(), inspection.file_bytes)?;
    let (version, oldest) = (inspection.version, inspection.compacted);
    writeln!(output, "version {version}; watches can resume after version {oldest}")?;
    for (group, plural, count) in &inspection.objects {
        let dot = if group.is_empty() { "" } else { "." };
        writeln!(output, "{count:>10} {plural}{dot}{group}")?;
    }
    for problem in &inspection.problems {
        writeln!(output, "damaged: {problem}")?;
    }
    let whole = inspection.problems.is_empty();
    writeln!(output, "{}", if whole { "everything is whole" } else { "restore it from a copy" })?;
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
