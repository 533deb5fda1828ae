//! `windlass serve`: runs the embedded API server until it is stopped.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use windlass_server::{AuthorizationMode, FeatureGates, Limits, Server, ServerOptions, TlsSource, store};

use windlass_app::address;

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
  windlass serve --check DIR                                verify a data folder")]
pub(crate) struct ServeArguments {
    /// Listen on this address; port 0 picks a free port. An address that other machines can reach needs TLS.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = address, default_value = "127.0.0.1:6443")]
    listen: SocketAddr,
    /// Store everything in this folder. Default: in memory, lost when the server ends.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Write a ready-to-use kubeconfig to this file.
    #[arg(long, value_name = "FILE")]
    write_kubeconfig: Option<PathBuf>,
    /// Authorize requests: allow everything to holders of a token, or apply RBAC rules.
    #[arg(long, value_enum, default_value_t = Authorization::AlwaysAllow)]
    authorization: Authorization,
    /// Use this certificate chain (PEM) instead of a generated one.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Add a DNS name or address to the generated certificate; may be repeated.
    #[arg(long = "tls-name", value_name = "NAME", conflicts_with = "tls_cert")]
    tls_names: Vec<String>,
    /// Create the default service account and the CA ConfigMap in each namespace, as a controller manager does.
    #[arg(long)]
    service_accounts: bool,
    /// Run the workload controllers: pods are scheduled and become ready without running anything, Deployments,
    /// StatefulSets and DaemonSets roll out, Jobs complete, claims are bound. With this, `kubectl rollout status`,
    /// `kubectl wait` and `helm install --wait` finish.
    #[arg(long)]
    workloads: bool,
    /// Switch features on or off: MutatingAdmissionPolicy (default: false), ShardedListAndWatch (default: true).
    #[arg(long, value_name = "NAME=BOOL,...", default_value = "", hide_default_value = true)]
    feature_gates: FeatureGates,
    /// Serve plain HTTP, on a loopback address only.
    #[arg(long, conflicts_with_all = ["tls_cert", "tls_key"])]
    insecure: bool,
    /// Maximum number of open connections; further ones are closed immediately.
    #[arg(long, value_name = "NUMBER", default_value_t = Limits::default().connections)]
    max_connections: usize,
    /// Timeout for sending a request, and for a client that reads nothing of what is sent to it. Default: 30 and 60
    /// seconds.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    client_timeout: Option<u64>,
    /// Log as lines of JSON.
    #[arg(long)]
    json_logs: bool,
    /// Verify a data folder and list what it contains, without changing it.
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
    windlass_app::logs::start(arguments.json_logs, None);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the threads of the server")?;
    runtime.block_on(serve(arguments))?;
    Ok(ExitCode::SUCCESS)
}

async fn serve(arguments: &ServeArguments) -> anyhow::Result<()> {
    // Installed before the server starts, so that no signal is missed.
    let stop = windlass_runtime::signalled().context("signals cannot be caught")?;
    let server = Server::start(options(arguments)).await?;
    if let Some(file) = &arguments.write_kubeconfig {
        server.kubeconfig().write(file)?;
        tracing::info!(file = %file.display(), "wrote kubeconfig");
    }
    announce(&server)?;
    if arguments.insecure {
        tracing::warn!(
            "this is plain HTTP, over which kubectl sends no token, so that its requests are anonymous: leave --insecure out, \
             or send the token of the kubeconfig yourself"
        );
    }
    stop.await;
    tracing::info!("shutting down");
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
    match arguments.client_timeout.map(Duration::from_secs) {
        None => limits,
        Some(timeout) => {
            Limits { header_timeout: timeout, body_timeout: timeout, stall_timeout: timeout, ..limits }
        }
    }
}

/// Verifies a data folder and lists what it contains. The exit code is 1 if anything in it is damaged.
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
