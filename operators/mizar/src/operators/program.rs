//! How an operator programs droplets: an optimistic transaction on rows.
//!
//! 1. Read the rows with their generations.
//! 2. Read the objects, uncached, and compute from them which rows there are to be.
//! 3. Write the rows, each on the condition that its generation is still that of step 1. Rows that are to be absent are
//!    deleted even if they are absent: somebody may have asked for them before.
//!
//! Objects are read after rows. So whoever writes a row last has seen the objects at least as new as whoever wrote it before,
//! and a row ends up as the newest objects ask for: of two objects that have to know each other, such as a bouncer and an
//! endpoint, the one that came later programs both sides.

use std::collections::{BTreeMap, BTreeSet};

use windlass::{Cx, Error, Kind, Outcome, fail_for_good, waiting};

use super::view::{Selection, daemon_of};
use crate::droplets::{Daemon, DropletAnswer, DropletRequest, Droplets};
use crate::mistake::Mistake;
use crate::settings::MizarSettings;
use crate::tables::{Change, Former, Held, Inventory, Key, Scope, changes};

/// What an operator programs.
pub(crate) struct Program<'a> {
    pub(crate) settings: &'a MizarSettings,
    /// The objects whose rows it is about, and no others.
    pub(crate) selection: Selection<'a>,
    /// The parts of tables that these objects ask for, by droplet.
    pub(crate) parts: &'a (dyn Fn(&Inventory) -> BTreeMap<String, Part> + Sync),
}

/// A part of the tables of one droplet.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    /// Which rows are brought up to date.
    pub(crate) scopes: BTreeSet<Scope>,
}

/// What came of it.
pub(crate) enum Programmed {
    /// All rows are as the objects ask for, which are these.
    Done(Inventory),
    /// A daemon does not answer.
    Unreachable {
        /// Which one, and why.
        why: String,
    },
}

impl Programmed {
    /// The objects, or else the end of the state: it waits until the daemon answers, or until its droplet is lost.
    pub(crate) fn or_wait<S>(self, settings: &MizarSettings) -> Result<Inventory, Outcome<S>> {
        match self {
            Programmed::Done(inventory) => Ok(inventory),
            Programmed::Unreachable { why } if settings.has(Mistake::GivesUpOnErrors) => {
                Err(fail_for_good("DaemonUnreachable", why))
            }
            Programmed::Unreachable { why } => {
                Err(waiting(settings.retry_interval, "DaemonUnreachable", why))
            }
        }
    }
}

/// Maximum number of times that a program is tried in one reconcile.
const MAX_TRIES: usize = 4;

impl<'a> Program<'a> {
    pub(crate) fn new(
        settings: &'a MizarSettings,
        selection: Selection<'a>,
        parts: &'a (dyn Fn(&Inventory) -> BTreeMap<String, Part> + Sync),
    ) -> Self {
        Program { settings, selection, parts }
    }

    /// Programs all droplets that the objects ask for. Those that are lost are left out: all of their tables are programmed
    /// when they come back.
    pub(crate) async fn run<P: Kind>(&self, cx: &Cx<P>) -> Result<Programmed, Error> {
        let mut expected = (self.parts)(&self.selection.read(cx, true).await?);
        let mut outdated = String::new();
        for _ in 0..MAX_TRIES {
            let mut read = Vec::new();
            for (droplet, part) in &expected {
                if let Some(daemon) = daemon_of(cx, self.selection.namespace, droplet).await? {
                    read.push((daemon, part.clone()));
                }
            }
            let stale = match self.settings.has(Mistake::ReadsObjectsFirst) {
                true => Some(self.selection.read(cx, false).await?),
                false => None,
            };
            let answers = cx.all(read.iter().map(|(daemon, part)| read_part(cx, daemon, part))).await;
            let mut held = Vec::new();
            for answer in answers {
                match answer? {
                    Ok(rows) => held.push(rows),
                    Err(why) => return Ok(Programmed::Unreachable { why }),
                }
            }
            let inventory = match stale {
                Some(stale) => stale,
                None => self.selection.read(cx, false).await?,
            };
            let wanted = (self.parts)(&inventory);
            if wanted.iter().any(|(droplet, part)| !part.is_covered_by(expected.get(droplet))) {
                // Something was placed elsewhere meanwhile. What was read covers too little.
                merge(&mut expected, wanted);
                "objects have changed meanwhile".clone_into(&mut outdated);
                continue;
            }
            let writes = read.iter().zip(&held).map(|((daemon, part), rows)| {
                let changes = self.changes(&inventory, &daemon.droplet, part, rows);
                self.write_part(cx, daemon, rows, changes)
            });
            let mut done = true;
            for answer in cx.all(writes).await {
                match answer? {
                    DropletAnswer::Written => {}
                    DropletAnswer::Failed { why } => return Ok(Programmed::Unreachable { why }),
                    DropletAnswer::Outdated { why } => {
                        done = false;
                        outdated = why;
                    }
                    other => return Err(unexpected(&other)),
                }
            }
            if done {
                return Ok(Programmed::Done(inventory));
            }
        }
        Err(Error::Failed { reason: "TablesChanged".to_owned(), message: outdated })
    }

    fn changes(&self, inventory: &Inventory, droplet: &str, part: &Part, rows: &Rows) -> Vec<Change> {
        let scopes: Vec<Scope> = part.scopes.iter().cloned().collect();
        let wanted = inventory.rows_within(droplet, &scopes);
        let former = match self.settings.has(Mistake::DeletesOnlyWhatIsThere) {
            true => Former::default(),
            false => inventory.former_rows_within(droplet, &scopes),
        };
        changes(&rows.held, rows.floor, &wanted, &former)
    }

    async fn write_part<P: Kind>(
        &self,
        cx: &Cx<P>,
        daemon: &Daemon,
        rows: &Rows,
        mut changes: Vec<Change>,
    ) -> Result<DropletAnswer, Error> {
        if changes.is_empty() {
            return Ok(DropletAnswer::Written);
        }
        if self.settings.has(Mistake::DropsSharedSubstrates)
            && let Ok(all) = read_part(cx, daemon, &Part::of([Scope::All])).await?
        {
            changes.extend(deletions_for_others(&changes, &all.held));
        }
        let request = DropletRequest::Write { daemon: daemon.clone(), boot: rows.boot.clone(), changes };
        Ok(cx.call(Droplets, request).await?)
    }
}

impl Part {
    /// A part of nothing but scopes.
    pub(crate) fn of(scopes: impl IntoIterator<Item = Scope>) -> Self {
        Part { scopes: scopes.into_iter().collect() }
    }

    fn is_covered_by(&self, other: Option<&Part>) -> bool {
        other.is_some_and(|other| self.scopes.is_subset(&other.scopes))
    }
}

/// Adds parts to others.
pub(crate) fn merge(parts: &mut BTreeMap<String, Part>, more: BTreeMap<String, Part>) {
    for (droplet, part) in more {
        parts.entry(droplet).or_default().scopes.extend(part.scopes);
    }
}

/// The rows of one daemon as they were read.
struct Rows {
    boot: String,
    held: Vec<Held>,
    /// The generation of every row that is not among them.
    floor: u64,
}

async fn read_part<P: Kind>(cx: &Cx<P>, daemon: &Daemon, part: &Part) -> Result<Result<Rows, String>, Error> {
    let request =
        DropletRequest::Read { daemon: daemon.clone(), scopes: part.scopes.iter().cloned().collect() };
    match cx.call(Droplets, request).await? {
        DropletAnswer::Rows { boot, held, floor } => Ok(Ok(Rows { boot, held, floor })),
        DropletAnswer::Failed { why } => Ok(Err(why)),
        other => Err(unexpected(&other)),
    }
}

/// What a mistake deletes, too: the rows of droplets that others still use.
fn deletions_for_others(changes: &[Change], held: &[Held]) -> Vec<Change> {
    let is_deleted = |at: &String| {
        let mut deletions = changes.iter().filter(|change| change.row.is_none());
        deletions.any(|change| matches!(&change.key, Key::Substrate { ip, .. } if ip == at))
    };
    let is_used_by_another =
        |held: &&Held| matches!(&held.key, Key::Substrate { ip, .. } if held.row.is_some() && is_deleted(ip));
    let others = held.iter().filter(is_used_by_another);
    let others = others.filter(|held| changes.iter().all(|change| change.key != held.key));
    others.map(|held| Change::new(held.key.clone(), None, held.generation)).collect()
}

/// A daemon that answers with something else than it was asked.
pub(crate) fn unexpected(answer: &DropletAnswer) -> Error {
    let message = format!("the daemon answered something else than it was asked: {answer:?}");
    Error::Failed { reason: "UnexpectedAnswer".to_owned(), message }
}
