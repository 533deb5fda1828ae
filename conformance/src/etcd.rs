//! A real etcd, started for a test and stopped with it.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::certificates::{CertificateAuthority, IssuedCertificate};
use crate::kubernetes::{Durability, VARIABLE, assets};
use crate::process::{Folder, Program, free_port};

const READY_WITHIN: Duration = Duration::from_secs(60);
const ASK_EVERY: Duration = Duration::from_millis(20);
/// A port that was free may be taken by the time it is used.
const TRIES: usize = 3;

/// A running etcd with one member. Its process ends, and its folder goes, when this is dropped.
#[derive(Debug)]
pub struct Etcd {
    // The order matters: the folder goes last.
    program: Program,
    launch: Launch,
    certificates: Option<Certificates>,
    folder: Folder,
}

/// What a client of an etcd with TLS needs, PEM.
#[derive(Clone, Debug)]
pub struct Certificates {
    /// The authority to trust.
    pub authority: String,
    /// What the client shows.
    pub client: IssuedCertificate,
}

/// How to start it, and start it again.
#[derive(Debug)]
struct Launch {
    program: PathBuf,
    durability: Durability,
    arguments: Vec<String>,
    port: u16,
    tls_port: Option<u16>,
}

impl Etcd {
    /// Starts an etcd for tests from the programs that `KUBEBUILDER_ASSETS` names, with further arguments, and waits until
    /// it is ready.
    ///
    /// # Errors
    /// If the variable is not set, it does not start, or it is not ready within a minute.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        Self::start_somewhere(arguments, false)
    }

    /// The same, with TLS at [`Etcd::tls_address`] that demands a certificate of the client, and without at the other.
    ///
    /// # Errors
    /// As [`Etcd::start`].
    pub fn start_with_tls() -> Result<Self> {
        Self::start_somewhere(&[], true)
    }

    fn start_somewhere(arguments: &[&str], tls: bool) -> Result<Self> {
        let mut outcome = Self::try_start(arguments, tls);
        for _ in 1..TRIES {
            if outcome.is_ok() {
                break;
            }
            outcome = Self::try_start(arguments, tls);
        }
        outcome
    }

    fn try_start(arguments: &[&str], tls: bool) -> Result<Self> {
        let assets = assets().with_context(|| format!("{VARIABLE} is not set: see `cargo xtask envtest`"))?;
        let folder = Folder::new("etcd")?;
        let mut launch = Launch {
            program: assets.join("etcd"),
            durability: Durability::Fast,
            arguments: arguments.iter().map(ToString::to_string).collect(),
            port: free_port()?,
            tls_port: None,
        };
        let certificates = if tls { Some(launch.add_tls(folder.path())?) } else { None };
        let program = launch.start(folder.path())?;
        let mut etcd = Etcd { program, launch, certificates, folder };
        etcd.wait_until_ready()?;
        Ok(etcd)
    }

    /// Kills it without warning. It can be restarted with the same data.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill(&mut self) -> Result<()> {
        self.program.kill()
    }

    /// Starts it again at the same address, after it was killed.
    ///
    /// # Errors
    /// If it does not start again, or is not ready within a minute.
    pub fn restart(&mut self) -> Result<()> {
        self.program = self.launch.start(self.folder.path())?;
        self.wait_until_ready()
    }

    /// Kills it and deletes all of its data, so that a restart begins with nothing.
    ///
    /// # Errors
    /// If that cannot be done.
    pub fn kill_and_erase(&mut self) -> Result<()> {
        self.kill()?;
        let data = self.folder.path().join("etcd");
        fs::remove_dir_all(&data).with_context(|| format!("cannot delete {}", data.display()))
    }

    /// Its address, `HOST:PORT`, without TLS.
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.launch.port)
    }

    /// Its address with TLS, and what to show there, if it has one.
    pub fn tls_address(&self) -> Option<(String, Certificates)> {
        Some((format!("127.0.0.1:{}", self.launch.tls_port?), self.certificates.clone()?))
    }

    /// Performs a request as JSON: `call("/v3/auth/enable", "{}")`. Keys and values are in base 64.
    ///
    /// # Errors
    /// If there is no answer, or it is an error.
    pub fn call(&self, path: &str, body: &str) -> Result<Value> {
        self.call_as("", path, body)
    }

    /// The same with the token of a user.
    ///
    /// # Errors
    /// As [`Etcd::call`].
    pub fn call_as(&self, token: &str, path: &str, body: &str) -> Result<Value> {
        let token = if token.is_empty() { String::new() } else { format!("Authorization: {token}\r\n") };
        let answer = self.send(&format!(
            "POST {path} HTTP/1.0\r\nContent-Type: application/json\r\n{token}Content-Length: {}\r\n\r\n{body}",
            body.len()
        ))?;
        serde_json::from_str(&answer).with_context(|| format!("etcd answers {path} with {answer:?}"))
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let start = Instant::now();
        loop {
            self.program.check()?;
            match self.send("GET /readyz HTTP/1.0\r\n\r\n") {
                Ok(_) => return Ok(()),
                Err(_) if start.elapsed() < READY_WITHIN => thread::sleep(ASK_EVERY),
                Err(error) => bail!("etcd is not ready: {error:#}\n{}", self.program.last_words()),
            }
        }
    }

    /// Sends a request as it is, and returns the body of a good answer.
    fn send(&self, request: &str) -> Result<String> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.launch.port))?;
        stream.set_read_timeout(Some(Duration::from_secs(10)))?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let (head, body) = answer.split_once("\r\n\r\n").context("no HTTP answer")?;
        if !head.lines().next().unwrap_or_default().contains(" 200 ") {
            bail!("etcd answers: {answer}");
        }
        Ok(body.to_owned())
    }
}

impl Launch {
    fn start(&self, folder: &Path) -> Result<Program> {
        let mut urls = format!("http://127.0.0.1:{}", self.port);
        if let Some(port) = self.tls_port {
            urls = format!("{urls},https://127.0.0.1:{port}");
        }
        start(&self.program, folder, &urls, self.durability, &self.arguments)
    }

    /// Adds an address with TLS; returns what a client needs for it.
    fn add_tls(&mut self, folder: &Path) -> Result<Certificates> {
        let authority = CertificateAuthority::new()?;
        let server = authority.issue()?;
        let write = |name: &str, contents: &str| {
            let path = folder.join(name);
            fs::write(&path, contents).with_context(|| format!("cannot write {name}"))?;
            Ok::<_, anyhow::Error>(path.display().to_string())
        };
        let certificate = write("server.crt", &server.certificate)?;
        let (key, trusted) = (write("server.key", &server.key)?, write("ca.crt", &authority.pem())?);
        let flags = [("cert-file", certificate), ("key-file", key), ("trusted-ca-file", trusted)];
        self.arguments.extend(flags.map(|(name, value)| format!("--{name}={value}")));
        self.arguments.push("--client-cert-auth".to_owned());
        self.tls_port = Some(free_port()?);
        Ok(Certificates { authority: authority.pem(), client: authority.issue()? })
    }
}

/// Starts the program with its data in a folder, for clients at these addresses.
pub(crate) fn start(
    program: &Path,
    folder: &Path,
    client_urls: &str,
    durability: Durability,
    arguments: &[String],
) -> Result<Program> {
    let mut command = Command::new(program);
    command.arg("--data-dir").arg(folder.join("etcd"));
    command.args(["--listen-client-urls", client_urls, "--advertise-client-urls", client_urls]);
    command.args(["--listen-peer-urls", "http://127.0.0.1:0", "--log-level", "warn"]);
    command.args(arguments);
    if durability == Durability::Fast {
        command.arg("--unsafe-no-fsync");
    }
    Program::start("etcd", &mut command, folder.join("etcd.log"), Stdio::null())
}
