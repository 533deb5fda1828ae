//! The file: a log of the recent changes, and the objects as they were where the log begins.
//!
//! A commit appends one entry to the log, which is cheap: it touches the last leaf of one table. What the history
//! forgets is folded into the table of objects, many changes at a time, as a checkpoint of a write-ahead log. So the file
//! always holds the objects at the compacted version, and all changes since then; together they are the state, and the
//! history of watches.

mod contain;
mod encoding;
mod folder;
mod guard;
mod load;
mod named_file;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redb::{
    Builder, Database, DatabaseError, ReadableDatabase, StorageBackend, StorageError, TableDefinition,
};
use windlass_model::Key;

use super::record::Record;
use contain::contained;
use guard::{GuardedFile, SharedGuard};

pub(crate) use folder::{FILE_NAME, Folder};
pub(crate) use load::Loaded;

/// Named numbers: the format of the file, and the compacted version.
const MARKS: TableDefinition<&str, u64> = TableDefinition::new("windlass");
/// Batches of changes by the version of the last change in it.
const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
/// Objects at the compacted version.
const OBJECTS: TableDefinition<&[u8], &[u8]> = TableDefinition::new("objects");

const FORMAT_MARK: &str = "format";
const COMPACTED_MARK: &str = "compacted";
/// The format that is written, and the newest that is read.
const FORMAT: u64 = 1;
/// All objects are in memory anyway, so the database needs its cache for little more than the last leaves.
const CACHE_BYTES: usize = 2 << 20;

/// Access to the file. After a failure the database must be opened again.
pub(crate) trait Medium: Send + Sync {
    /// The file as it is now.
    fn open(&self) -> io::Result<Box<dyn StorageBackend>>;

    /// Notes beside the file that everything up to a version is durable, as well as that can be done at no cost.
    fn note(&self, version: u64);

    /// What was noted last, or before that.
    fn noted(&self) -> Option<u64>;
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Refusal {
    /// It cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It is not what a store wrote.
    #[error("{0}")]
    Damaged(String),
    /// It lacks changes that were acknowledged.
    #[error("it ends at version {found}, although changes up to version {noted} were acknowledged")]
    Behind {
        /// The version of the file.
        found: u64,
        /// The version that was noted beside it.
        noted: u64,
    },
    /// It was written by a newer version.
    #[error("format {0} is newer than {FORMAT}")]
    Newer(u64),
}

/// The file. It is opened again when it is needed after a failure.
pub(crate) struct Disk {
    medium: Box<dyn Medium>,
    open: Option<OpenFile>,
    /// Whether a sync has failed: what can be read is then not known to be on the disk.
    suspect: bool,
}

struct OpenFile {
    database: Database,
    file: Arc<GuardedFile>,
}

impl Disk {
    /// Makes an empty store in an empty file.
    pub(crate) fn initialize(medium: &dyn Medium) -> Result<(), Refusal> {
        let guard = Arc::new(GuardedFile::new(medium.open()?)?);
        guard.release()?;
        let database = Builder::new().create_with_backend(SharedGuard(guard)).map_err(refusal)?;
        let write = || -> Result<(), redb::Error> {
            let transaction = database.begin_write()?;
            transaction.open_table(LOG)?;
            transaction.open_table(OBJECTS)?;
            let mut marks = transaction.open_table(MARKS)?;
            marks.insert(FORMAT_MARK, FORMAT)?;
            marks.insert(COMPACTED_MARK, 0)?;
            drop(marks);
            Ok(transaction.commit()?)
        };
        write().map_err(|error| refusal_of(&error))
    }

    /// Opens a file and reads everything in it. A file that is refused is not written to.
    pub(crate) fn open(medium: Box<dyn Medium>) -> Result<(Disk, Loaded), Refusal> {
        let noted = medium.noted();
        let mut disk = Disk { medium, open: None, suspect: false };
        let loaded = disk.reopen(|database| complete(load::load(database)?, noted))?;
        Ok((disk, loaded))
    }

    /// Reads everything in a file, without ever writing to it.
    pub(crate) fn read(medium: &dyn Medium) -> Result<Loaded, Refusal> {
        let guard = Arc::new(GuardedFile::new(medium.open()?)?);
        contained(|| {
            let database = verified(&guard)?;
            complete(load::load(&database)?, medium.noted())
        })
    }

    /// Makes some changes durable, all or none, and folds forgotten ones into the objects.
    ///
    /// `previous` is the version that the changes were made to. After an error it is unknown whether they are in
    /// the file; the next call takes them out if they are.
    pub(crate) fn commit(
        &mut self,
        previous: u64,
        records: &[Arc<Record>],
        folded: &[Arc<Record>],
    ) -> Result<(), Refusal> {
        if self.open.is_none() {
            self.reopen(|database| drop_after(database, previous))?;
        }
        let result = contained(|| match &self.open {
            Some(open) => {
                write(&open.database, previous, records, folded).map_err(|error| refusal_of(&error))
            }
            None => Err(Refusal::Damaged("it is not open".to_owned())),
        });
        if result.is_err() {
            self.abandon();
        } else if let Some(last) = records.last() {
            self.medium.note(last.version);
        }
        result
    }

    /// Closes the file after a failure, when the database refuses everything.
    fn abandon(&mut self) {
        if let Some(OpenFile { database, file }) = self.open.take() {
            drop(contained(|| {
                drop(database);
                Ok(())
            }));
            self.suspect |= file.sync_failed();
        }
    }

    /// Opens the file, does something with what is in it, and lets it be written to if that succeeds.
    fn reopen<T>(&mut self, check: impl FnOnce(&Database) -> Result<T, Refusal>) -> Result<T, Refusal> {
        let file = Arc::new(GuardedFile::new(self.medium.open()?)?);
        if self.suspect {
            file.rewrite()?;
            self.suspect = false;
        }
        let (database, found) = contained(|| {
            let database = verified(&file)?;
            let found = check(&database)?;
            Ok((database, found))
        })?;
        let released = file.release();
        self.open = Some(OpenFile { database, file });
        if let Err(error) = released {
            self.abandon();
            return Err(error.into());
        }
        Ok(found)
    }
}

/// The database in a file, after all of its checksums have been found to be right.
fn verified(guard: &Arc<GuardedFile>) -> Result<Database, Refusal> {
    let backend = SharedGuard(guard.clone());
    if backend.len()? == 0 {
        return Err(Refusal::Damaged("it is empty".to_owned()));
    }
    let repaired = Arc::new(AtomicBool::new(false));
    let mut builder = Builder::new();
    builder.set_cache_size(CACHE_BYTES);
    let seen = repaired.clone();
    builder.set_repair_callback(move |_| seen.store(true, Ordering::Relaxed));
    let mut database = builder.create_with_backend(backend).map_err(refusal)?;
    // A repair has looked at every page already.
    if !repaired.load(Ordering::Relaxed) {
        database.check_integrity().map_err(refusal)?;
    }
    Ok(database)
}

/// What was loaded, if that is all that was ever acknowledged.
///
/// A last commit that is damaged looks like one that did not come to its end: the database goes back to the one
/// before it. Only the note shows that the commit had been complete.
fn complete(loaded: Loaded, noted: Option<u64>) -> Result<Loaded, Refusal> {
    match noted.filter(|noted| *noted > loaded.state.version) {
        Some(noted) => Err(Refusal::Behind { found: loaded.state.version, noted }),
        None => Ok(loaded),
    }
}

fn write(
    database: &Database,
    previous: u64,
    records: &[Arc<Record>],
    folded: &[Arc<Record>],
) -> Result<(), redb::Error> {
    let transaction = database.begin_write()?;
    if let Some(last) = records.last() {
        let batch = encoding::encode_batch(previous, records);
        transaction.open_table(LOG)?.insert(last.version, &*batch)?;
    }
    if let Some(last) = folded.last() {
        let mut log = transaction.open_table(LOG)?;
        log.retain_in(..=last.version, |_, _| false)?;
        let mut marks = transaction.open_table(MARKS)?;
        marks.insert(COMPACTED_MARK, last.version)?;
        let newest: BTreeMap<&Key, &Arc<Record>> =
            folded.iter().map(|record| (&*record.key, record)).collect();
        let mut objects = transaction.open_table(OBJECTS)?;
        for (key, record) in newest {
            let key = encoding::encode_key(key);
            match &record.after {
                Some(after) => drop(objects.insert(&*key, &*encoding::encode_object(after))?),
                None => drop(objects.remove(&*key)?),
            }
        }
    }
    Ok(transaction.commit()?)
}

/// Takes changes out of the log that were written by a commit that seemed to fail.
fn drop_after(database: &Database, version: u64) -> Result<(), Refusal> {
    let check = || -> Result<bool, redb::Error> {
        let log = database.begin_read()?.open_table(LOG)?;
        Ok(redb::ReadableTable::last(&log)?.is_some_and(|(last, _)| last.value() > version))
    };
    if !check().map_err(|error| refusal_of(&error))? {
        return Ok(());
    }
    let write = || -> Result<(), redb::Error> {
        let transaction = database.begin_write()?;
        transaction.open_table(LOG)?.retain_in(version + 1.., |_, _| false)?;
        Ok(transaction.commit()?)
    };
    write().map_err(|error| refusal_of(&error))
}

fn refusal(error: DatabaseError) -> Refusal {
    refusal_of(&error.into())
}

fn refusal_of(error: &redb::Error) -> Refusal {
    match error {
        redb::Error::Io(error) => match error.kind() {
            // Pages that lie beyond the end of the file.
            io::ErrorKind::UnexpectedEof => Refusal::Damaged("it has been cut off".to_owned()),
            io::ErrorKind::InvalidData => Refusal::Damaged("it is no database".to_owned()),
            kind => {
                Refusal::Io(error.raw_os_error().map_or_else(|| kind.into(), io::Error::from_raw_os_error))
            }
        },
        error => Refusal::Damaged(error.to_string()),
    }
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        refusal_of(&error.into())
    }
}
