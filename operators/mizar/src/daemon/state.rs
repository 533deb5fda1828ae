//! What a daemon keeps, and how it fails on request.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tonic::Status;

use super::cni_files;
use super::{DaemonSettings, StartError};
use crate::tables::{Change, Held, Key, Row, Scope, TableStore};
use crate::wire::messages::DropletInfo;

/// Maximum number of changes in the log of calls.
const MAX_LOGGED: usize = 100_000;

/// How a daemon fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Failure {
    /// Not at all.
    #[default]
    None,
    /// It refuses all calls.
    Fail,
    /// It answers no call.
    Hang,
    /// Each call takes this much longer.
    Slow(Duration),
    /// It loses its tables once, as if it had been started anew.
    Restart,
}

/// A change of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedCall {
    /// Its number, from 0.
    pub number: u64,
    /// `UpdateVpc`, `DeleteEp` and so on.
    pub name: String,
    /// Which row.
    pub key: String,
    /// When, in microseconds since 1970.
    pub at: i64,
}

/// What all calls of a daemon share.
pub(super) struct Shared {
    settings: DaemonSettings,
    ip: String,
    state: Mutex<State>,
    answered: AtomicU64,
    /// Changes whenever an interface does: whoever waits for one reads them once more.
    pub(super) interfaces: watch::Sender<u64>,
}

struct State {
    boot: String,
    store: TableStore,
    failure: Failure,
    calls: VecDeque<LoggedCall>,
    next_call: u64,
}

impl Shared {
    /// A daemon with the interfaces that were written to files before, and nothing else.
    pub(super) fn open(settings: DaemonSettings, address: SocketAddr) -> Result<Self, StartError> {
        let mut store = TableStore::default();
        if let Some(folder) = &settings.cni_results {
            let known =
                cni_files::open(folder).map_err(|(path, source)| StartError::Results { path, source })?;
            let changes: Vec<Change> =
                known.into_iter().map(|(key, row)| Change::new(key, Some(row), 0)).collect();
            // Nothing was written before, so nothing is outdated.
            let _ = store.write(&changes);
        }
        let ip = settings.ip.clone().unwrap_or_else(|| address.ip().to_string());
        let state = State {
            boot: boot_name(),
            store,
            failure: settings.failure,
            calls: VecDeque::new(),
            next_call: 0,
        };
        let interfaces = watch::channel(0).0;
        Ok(Shared { settings, ip, state: Mutex::new(state), answered: AtomicU64::new(0), interfaces })
    }

    /// To be called first in every call: fails as it was asked to.
    pub(super) async fn admit(&self) -> Result<(), Status> {
        self.answered.fetch_add(1, Ordering::Relaxed);
        let failure = self.state().failure;
        match failure {
            Failure::None | Failure::Restart => Ok(()),
            Failure::Fail => Err(Status::unavailable("the daemon was asked to fail")),
            Failure::Hang => std::future::pending().await,
            Failure::Slow(delay) => {
                tokio::time::sleep(delay).await;
                Ok(())
            }
        }
    }

    pub(super) fn fail(&self, failure: Failure) {
        let mut state = self.state();
        state.failure = failure;
        if failure == Failure::Restart {
            state.failure = Failure::None;
            state.boot = boot_name();
            // The files stay, as they would.
            let kept: Vec<Change> = state
                .store
                .rows()
                .filter(|(key, _)| matches!(key, Key::Interface { .. }))
                .map(|(key, row)| Change::new(key.clone(), Some(row.clone()), 0))
                .collect();
            state.store = TableStore::default();
            let _ = state.store.write(&kept);
        }
    }

    pub(super) fn info(&self) -> DropletInfo {
        DropletInfo {
            name: self.settings.name.clone(),
            ip: self.ip.clone(),
            mac: self.settings.mac.clone(),
            itf: self.settings.itf.clone(),
            boot: self.state().boot.clone(),
            protocol: self.settings.protocol,
        }
    }

    /// Rows, and the generation of every one that is not among them.
    pub(super) fn read(&self, scopes: &[Scope]) -> (String, Vec<Held>, u64) {
        let state = self.state();
        (state.boot.clone(), state.store.held(scopes), state.store.floor())
    }

    /// The generation of one row.
    pub(super) fn generation(&self, key: &Key) -> (String, u64) {
        let state = self.state();
        (state.boot.clone(), state.store.generation(key))
    }

    /// Performs all changes, or none; the error says what has changed meanwhile.
    pub(super) fn write(&self, boot: &str, changes: &[Change]) -> Result<Result<(), String>, std::io::Error> {
        let mut state = self.state();
        if boot != state.boot {
            return Ok(Err(format!("the daemon on {} was restarted", self.settings.name)));
        }
        if let Err(outdated) = state.store.check(changes) {
            return Ok(Err(outdated.to_string()));
        }
        // Files first: a row that is reported as written is in its file.
        if let Some(folder) = &self.settings.cni_results {
            for change in changes {
                cni_files::apply(folder, change)?;
            }
        }
        let interfaces_change = changes.iter().any(|change| matches!(change.key, Key::Interface { .. }));
        for change in changes {
            state.log(change);
        }
        let written = state.store.write(changes);
        debug_assert!(written.is_ok(), "it was checked under the same lock");
        drop(state);
        if interfaces_change {
            self.interfaces.send_modify(|version| *version += 1);
        }
        Ok(Ok(()))
    }

    pub(super) fn rows(&self) -> BTreeMap<Key, Row> {
        self.state().store.rows().map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    pub(super) fn get(&self, key: &Key) -> Option<Row> {
        self.state().store.get(key).cloned()
    }

    pub(super) fn network_of(&self, tunnel: u32, ip: std::net::Ipv4Addr) -> Option<(Key, Row)> {
        self.state().store.network_of(tunnel, ip).map(|(key, row)| (key.clone(), row.clone()))
    }

    pub(super) fn calls(&self, from: u64) -> Vec<LoggedCall> {
        self.state().calls.iter().filter(|call| call.number >= from).cloned().collect()
    }

    pub(super) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn log(&mut self, change: &Change) {
        let verb = if change.row.is_some() { "Update" } else { "Delete" };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.calls.push_back(LoggedCall {
            number: self.next_call,
            name: format!("{verb}{}", change.key.table()),
            key: change.key.to_string(),
            at: i64::try_from(since_1970.as_micros()).unwrap_or(i64::MAX),
        });
        self.next_call += 1;
        if self.calls.len() > MAX_LOGGED {
            self.calls.pop_front();
        }
    }
}

/// Another one at each start: the time to the nanosecond, and the process.
fn boot_name() -> String {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", since_1970.as_nanos(), std::process::id())
}
