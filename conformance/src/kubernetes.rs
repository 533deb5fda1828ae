//! A real kube-apiserver with its etcd, started for a test and stopped with it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rcgen::KeyPair;

use crate::access::Access;
use crate::certificates::CertificateAuthority;
use crate::etcd;
use crate::process::{Folder, Program, free_port};
use crate::target::http::HttpTarget;

/// The variable that names the folder with `kube-apiserver`, `etcd` and `kubectl`.
pub const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// Who holds this token may do everything.
const TOKEN: &str = "windlass-admin";
const READY_WITHIN: Duration = Duration::from_secs(120);
const ASK_EVERY: Duration = Duration::from_millis(20);
/// A port that was free may be taken by the time it is used.
const TRIES: usize = 3;

/// Whether what is written survives a loss of power.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Every write reaches the disk: for benchmarks.
    Durable,
    /// Nothing waits for the disk: for tests.
    Fast,
}

/// A running kube-apiserver. Both processes end, and their folder goes, when this is dropped.
#[derive(Debug)]
pub struct Kubernetes {
    access: Access,
    assets: PathBuf,
    gates: String,
    // The order matters: the API server ends before its store, and the folder goes last.
    api_server: Program,
    etcd: Program,
    /// Of etcd and of the API server.
    ports: (u16, u16),
    folder: Folder,
}

/// The folder that the environment names, if it names one.
pub fn assets() -> Option<PathBuf> {
    std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

impl Kubernetes {
    /// Starts a server for tests from the programs that `KUBEBUILDER_ASSETS` names, and waits until it is ready.
    ///
    /// It runs without other controllers: nothing collects garbage, empties namespaces or makes service accounts.
    ///
    /// # Errors
    /// If the variable is not set, a program does not start, or the server is not ready within two minutes.
    pub fn start() -> Result<Self> {
        Self::start_with("")
    }

    /// Starts a server for tests with feature gates: `MutatingAdmissionPolicy=true`. The APIs behind them are served.
    ///
    /// # Errors
    /// As [`Kubernetes::start`].
    pub fn start_with(gates: &str) -> Result<Self> {
        let assets = assets();
        let assets = assets.with_context(|| format!("{VARIABLE} is not set: see `cargo xtask envtest`"))?;
        Self::start_gated(&assets, Durability::Fast, gates)
    }

    /// Starts a server from the programs in a folder.
    ///
    /// # Errors
    /// If a program does not start, or the server is not ready within two minutes.
    pub fn start_from(assets: &Path, durability: Durability) -> Result<Self> {
        Self::start_gated(assets, durability, "")
    }

    fn start_gated(assets: &Path, durability: Durability, gates: &str) -> Result<Self> {
        let mut outcome = Self::try_start(assets, durability, gates);
        for _ in 1..TRIES {
            if outcome.is_ok() {
                break;
            }
            outcome = Self::try_start(assets, durability, gates);
        }
        outcome
    }

    fn try_start(assets: &Path, durability: Durability, gates: &str) -> Result<Self> {
        let folder = Folder::new("kubernetes")?;
        let ca_pem = write_credentials(folder.path())?;
        let (etcd_port, port) = (free_port()?, free_port()?);
        let etcd_url = format!("http://127.0.0.1:{etcd_port}");
        let etcd = etcd::start(&assets.join("etcd"), folder.path(), &etcd_url, durability, &[])?;
        let api_server = start_api_server(assets, folder.path(), etcd_port, port, gates)?;
        let access = Access { url: format!("https://127.0.0.1:{port}"), token: TOKEN.to_owned(), ca_pem };
        fs::write(folder.path().join("kubeconfig"), access.kubeconfig())?;
        let ports = (etcd_port, port);
        let mut kubernetes = Kubernetes {
            access,
            assets: assets.to_owned(),
            gates: gates.to_owned(),
            api_server,
            etcd,
            ports,
            folder,
        };
        kubernetes.wait_until_ready()?;
        Ok(kubernetes)
    }

    /// Kills the API server without warning, and starts it again at the same address with the same etcd.
    ///
    /// # Errors
    /// If it does not start again, or is not ready within two minutes.
    pub fn kill_and_restart(&mut self) -> Result<()> {
        self.kill()?;
        self.start_again()
    }

    /// Kills the API server without warning.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill(&mut self) -> Result<()> {
        self.api_server.kill()
    }

    /// Starts the API server again at the same address with the same etcd, after it was killed.
    ///
    /// # Errors
    /// If it does not start again, or is not ready within two minutes.
    pub fn start_again(&mut self) -> Result<()> {
        let (etcd_port, port) = self.ports;
        self.api_server = start_api_server(&self.assets, self.folder.path(), etcd_port, port, &self.gates)?;
        self.wait_until_ready()
    }

    /// Starts another API server on the same etcd, which is there whatever becomes of the first one.
    ///
    /// # Errors
    /// If it does not start, or is not ready within two minutes.
    pub fn start_another(&mut self) -> Result<AnotherApiServer> {
        let port = free_port()?;
        let mut program =
            start_api_server(&self.assets, self.folder.path(), self.ports.0, port, &self.gates)?;
        let access = Access { url: format!("https://127.0.0.1:{port}"), ..self.access.clone() };
        wait_until_ready(&access, &mut self.etcd, &mut program)?;
        Ok(AnotherApiServer { access, _program: program })
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        wait_until_ready(&self.access, &mut self.etcd, &mut self.api_server)
    }

    /// How to reach it, as an administrator.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// A kubeconfig for an administrator.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// The kubectl of the same version.
    pub fn kubectl(&self) -> PathBuf {
        self.assets.join("kubectl")
    }

    /// The process ids of kube-apiserver and etcd.
    pub fn process_ids(&self) -> (u32, u32) {
        (self.api_server.id(), self.etcd.id())
    }
}

/// One more API server of a [`Kubernetes`]. It ends when this is dropped.
#[derive(Debug)]
pub struct AnotherApiServer {
    access: Access,
    _program: Program,
}

impl AnotherApiServer {
    /// How to reach it, as an administrator.
    pub fn access(&self) -> &Access {
        &self.access
    }
}

fn wait_until_ready(access: &Access, etcd: &mut Program, api_server: &mut Program) -> Result<()> {
    let client = HttpTarget::new("kubernetes", access)?;
    let start = Instant::now();
    loop {
        etcd.check()?;
        api_server.check()?;
        match client.get("/readyz") {
            Ok(answer) if answer.code == 200 => return Ok(()),
            _ if start.elapsed() < READY_WITHIN => thread::sleep(ASK_EVERY),
            Ok(answer) => bail!("kube-apiserver is not ready: {}", answer.text()),
            Err(error) => bail!("kube-apiserver is not ready: {error:#}\n{}", api_server.last_words()),
        }
    }
}

/// As controller-runtime's envtest starts it, so that results can be compared with what others see.
fn start_api_server(assets: &Path, folder: &Path, etcd_port: u16, port: u16, gates: &str) -> Result<Program> {
    let path = |name: &str| folder.join(name).display().to_string();
    let flags = [
        ("etcd-servers", format!("http://127.0.0.1:{etcd_port}")),
        ("bind-address", "127.0.0.1".to_owned()),
        ("secure-port", port.to_string()),
        ("cert-dir", path("certs")),
        ("tls-cert-file", path("server.crt")),
        ("tls-private-key-file", path("server.key")),
        ("token-auth-file", path("tokens.csv")),
        ("authorization-mode", "RBAC".to_owned()),
        ("service-account-issuer", "https://kubernetes.default.svc.cluster.local".to_owned()),
        ("service-account-key-file", path("accounts.pub")),
        ("service-account-signing-key-file", path("accounts.key")),
        // As kubeadm has it; envtest's own range has room for 254 Services.
        ("service-cluster-ip-range", "10.96.0.0/12".to_owned()),
        // No controller creates the accounts that this plugin requires.
        ("disable-admission-plugins", "ServiceAccount".to_owned()),
        ("allow-privileged", "true".to_owned()),
    ];
    let mut command = Command::new(assets.join("kube-apiserver"));
    command.args(flags.iter().map(|(name, value)| format!("--{name}={value}")));
    if !gates.is_empty() {
        command.arg(format!("--feature-gates={gates}"));
        // What is behind a gate is in a version that is not served by default either.
        command.arg("--runtime-config=admissionregistration.k8s.io/v1beta1=true");
    }
    Program::start(
        "kube-apiserver",
        &mut command,
        folder.join(format!("kube-apiserver-{port}.log")),
        Stdio::null(),
    )
}

/// Writes the server's certificate, the key of its tokens and its administrator; returns whom to trust.
fn write_credentials(folder: &Path) -> Result<String> {
    let authority = CertificateAuthority::new()?;
    let server = authority.issue()?;
    let accounts = KeyPair::generate().context("cannot make a key")?;
    for (name, contents) in [
        ("server.crt", server.certificate),
        ("server.key", server.key),
        ("accounts.key", accounts.serialize_pem()),
        ("accounts.pub", accounts.public_key_pem()),
        ("tokens.csv", format!("{TOKEN},admin,admin,system:masters\n")),
    ] {
        fs::write(folder.join(name), contents).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(authority.pem())
}
