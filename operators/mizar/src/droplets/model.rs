//! A model of all daemons, as pure as the check needs it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use windlass::{CallError, Service};

use super::service::{Daemon, DropletAnswer, DropletInfo, DropletRequest, Droplets};
use crate::PROTOCOL;
use crate::tables::{Change, Inventory, Key, Row, TableStore};

/// All daemons, by droplet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonsModel {
    daemons: BTreeMap<String, ModelDaemon>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct ModelDaemon {
    /// How often it was started.
    boot: u32,
    /// Whether it does not answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    away: bool,
    tables: TableStore,
}

/// Something that happens to a daemon. Only the model hears of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "camelCase")]
pub enum DaemonEvent {
    /// It is restarted, and has lost its tables.
    Restarts {
        /// On which droplet.
        droplet: String,
    },
    /// It does not answer from now on.
    Leaves {
        /// On which droplet.
        droplet: String,
    },
    /// It drops the traces of deleted rows.
    DropsTraces {
        /// On which droplet.
        droplet: String,
    },
    /// It answers again, and has the tables that it had.
    Returns {
        /// On which droplet.
        droplet: String,
    },
}

/// The way to make things happen to daemons in a check.
impl Service for DaemonEvent {
    const NAME: &'static str = Droplets::NAME;
    type Request = DaemonEvent;
    type Response = ();
}

impl DaemonsModel {
    /// Daemons on these droplets, with empty tables.
    pub fn new<'a>(droplets: impl IntoIterator<Item = &'a str>) -> Self {
        let started = ModelDaemon { boot: 1, ..ModelDaemon::default() };
        DaemonsModel {
            daemons: droplets.into_iter().map(|droplet| (droplet.to_owned(), started.clone())).collect(),
        }
    }

    /// Daemons that have been given the rows that these objects ask for.
    pub fn with_rows_of<'a>(inventory: &Inventory, droplets: impl IntoIterator<Item = &'a &'a str>) -> Self {
        let mut model = DaemonsModel::new(droplets.into_iter().copied());
        for (droplet, daemon) in &mut model.daemons {
            let rows = inventory.rows(droplet).into_iter();
            let changes: Vec<Change> = rows.map(|(key, row)| Change::new(key, Some(row), 0)).collect();
            // Nothing was written before, so nothing is outdated.
            let _ = daemon.tables.write(&changes);
        }
        model
    }

    /// The rows of a droplet.
    pub fn rows(&self, droplet: &str) -> BTreeMap<Key, Row> {
        let tables = self.daemons.get(droplet).map(|daemon| &daemon.tables);
        let rows = tables.into_iter().flat_map(TableStore::rows);
        rows.map(|(key, row)| (key.clone(), row.clone())).collect()
    }

    /// Whether the daemon of a droplet answers.
    pub fn answers(&self, droplet: &str) -> bool {
        self.daemons.get(droplet).is_some_and(|daemon| !daemon.away)
    }

    /// The droplets that have a daemon.
    pub fn droplets(&self) -> impl Iterator<Item = &str> {
        self.daemons.keys().map(String::as_str)
    }

    /// Answers what an operator asks.
    pub fn call(&mut self, request: &DropletRequest) -> DropletAnswer {
        let Daemon { droplet, .. } = request.daemon();
        let Some(daemon) = self.daemons.get_mut(droplet).filter(|daemon| !daemon.away) else {
            return DropletAnswer::Failed { why: format!("no daemon answers on {droplet}") };
        };
        let current = boot_name(droplet, daemon.boot);
        match request {
            DropletRequest::Info { .. } => DropletAnswer::Info(DropletInfo {
                boot: current,
                protocol: PROTOCOL,
                name: droplet.clone(),
                ..DropletInfo::default()
            }),
            DropletRequest::Read { scopes, .. } => {
                let (held, floor) = (daemon.tables.held(scopes), daemon.tables.floor());
                DropletAnswer::Rows { boot: current, held, floor }
            }
            DropletRequest::Write { boot, .. } if *boot != current => {
                DropletAnswer::Outdated { why: format!("the daemon on {droplet} was restarted") }
            }
            DropletRequest::Write { changes, .. } => match daemon.tables.write(changes) {
                Ok(()) => DropletAnswer::Written,
                Err(outdated) => DropletAnswer::Outdated { why: outdated.to_string() },
            },
        }
    }

    /// Lets something happen.
    pub fn happen(&mut self, event: &DaemonEvent) {
        match event {
            DaemonEvent::Restarts { droplet } => {
                if let Some(daemon) = self.daemons.get_mut(droplet) {
                    *daemon = ModelDaemon { boot: daemon.boot + 1, ..ModelDaemon::default() };
                }
            }
            DaemonEvent::DropsTraces { droplet } => {
                if let Some(daemon) = self.daemons.get_mut(droplet) {
                    daemon.tables.drop_traces();
                }
            }
            DaemonEvent::Leaves { droplet } => self.set_away(droplet, true),
            DaemonEvent::Returns { droplet } => self.set_away(droplet, false),
        }
    }

    fn set_away(&mut self, droplet: &str, away: bool) {
        if let Some(daemon) = self.daemons.get_mut(droplet) {
            daemon.away = away;
        }
    }

    /// The same for the checker and for [`windlass::local::Local`], which know services as JSON.
    ///
    /// # Errors
    /// When the state or the request is not what it should be.
    pub fn answer(state: &mut Value, request: &Value) -> Result<Value, CallError> {
        let refused = |error: serde_json::Error| CallError::Refused {
            service: Droplets::NAME.to_owned(),
            message: error.to_string(),
        };
        let mut model = DaemonsModel::deserialize(&*state).map_err(refused)?;
        let answer = match DaemonEvent::deserialize(request) {
            Ok(event) => {
                model.happen(&event);
                Ok(Value::Null)
            }
            Err(_) => {
                serde_json::to_value(model.call(&DropletRequest::deserialize(request).map_err(refused)?))
            }
        };
        *state = serde_json::to_value(&model).map_err(refused)?;
        answer.map_err(refused)
    }
}

fn boot_name(droplet: &str, boot: u32) -> String {
    format!("{droplet}-{boot}")
}
