//! The folder of a store: its file, and the locks that keep others out.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use redb::StorageBackend;

use super::named_file::NamedFile;
use super::{Disk, FORMAT, Loaded, Medium, Refusal};
use crate::store::error::OpenError;

/// The file in a store's folder.
pub(crate) const FILE_NAME: &str = "windlass.redb";
/// A file that is being made. It gets its name once it is complete.
const NEW_FILE_NAME: &str = "windlass.redb.new";
const LOCK_NAME: &str = "windlass.lock";
/// Says up to which version changes were acknowledged.
const NOTE_NAME: &str = "windlass.version";

/// A folder that no other process uses for as long as this lives.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// The lock file, for whoever makes a store in an empty folder; and the data file, since a lock file can be deleted.
    locks: Vec<File>,
}

impl Folder {
    /// Opens the store of a folder; makes both if there is none.
    pub(crate) fn open(path: &Path) -> Result<(Folder, Disk, Loaded), OpenError> {
        make_private(path).map_err(io_error("make the folder", path))?;
        let lock_path = path.join(LOCK_NAME);
        let lock = writable().create(true).open(&lock_path).map_err(io_error("open", &lock_path))?;
        let mut folder = Folder { path: path.to_owned(), locks: Vec::new() };
        folder.lock(lock, &lock_path)?;
        let file = path.join(FILE_NAME);
        if !file.try_exists().map_err(io_error("look for", &file))? {
            folder.make_file()?;
        }
        folder.lock(File::open(&file).map_err(io_error("open", &file))?, &file)?;
        let opened = Disk::open(Box::new(DataFile::new(file, true)));
        let (disk, loaded) = opened.map_err(|refusal| folder.refused(refusal))?;
        Ok((folder, disk, loaded))
    }

    /// Reads the store of a folder, and changes nothing.
    pub(crate) fn read(path: &Path) -> Result<(Folder, Loaded), OpenError> {
        let file = path.join(FILE_NAME);
        if !file.try_exists().map_err(io_error("look for", &file))? {
            return Err(OpenError::Missing { folder: path.to_owned() });
        }
        let mut folder = Folder { path: path.to_owned(), locks: Vec::new() };
        folder.lock(File::open(&file).map_err(io_error("open", &file))?, &file)?;
        let read = Disk::read(&DataFile::new(file, false));
        let loaded = read.map_err(|refusal| folder.refused(refusal))?;
        Ok((folder, loaded))
    }

    /// The file.
    pub(crate) fn file(&self) -> PathBuf {
        self.path.join(FILE_NAME)
    }

    /// The size of the file.
    pub(crate) fn file_bytes(&self) -> u64 {
        fs::metadata(self.file()).map_or(0, |found| found.len())
    }

    fn lock(&mut self, file: File, path: &Path) -> Result<(), OpenError> {
        match file.try_lock() {
            Ok(()) => self.locks.push(file),
            Err(TryLockError::WouldBlock) => return Err(OpenError::InUse { folder: self.path.clone() }),
            Err(TryLockError::Error(error)) => return Err(io_error("lock", path)(error)),
        }
        Ok(())
    }

    /// Makes an empty store. A process that is killed in between leaves no file of the final name.
    fn make_file(&self) -> Result<(), OpenError> {
        let (new, file) = (self.path.join(NEW_FILE_NAME), self.file());
        let made = writable().create(true).truncate(true).open(&new);
        drop(made.map_err(io_error("make", &new))?);
        let made = Disk::initialize(&DataFile::new(new.clone(), true));
        made.map_err(|refusal| self.refused(refusal))?;
        fs::rename(&new, &file).map_err(io_error("name", &file))?;
        sync_folder(&self.path).map_err(io_error("sync", &self.path))
    }

    fn refused(&self, refusal: Refusal) -> OpenError {
        let file = self.file();
        match refusal {
            Refusal::Io(source) => OpenError::Io { action: "read", path: file, source },
            Refusal::Damaged(problem) => OpenError::Damaged { file, problem },
            Refusal::Behind { found, noted } => {
                OpenError::Behind { file, found, noted, note: self.path.join(NOTE_NAME) }
            }
            Refusal::Newer(found) => OpenError::Newer { file, found, known: FORMAT },
        }
    }
}

/// The file by its name, and the note beside it.
struct DataFile {
    path: PathBuf,
    writable: bool,
    note: Mutex<Option<File>>,
}

impl DataFile {
    fn new(path: PathBuf, writable: bool) -> Self {
        DataFile { path, writable, note: Mutex::new(None) }
    }

    fn write_note(&self, version: u64) -> io::Result<()> {
        let mut note = self.note.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *note {
            Some(file) => file,
            none => none
                .insert(writable().create(true).truncate(false).open(self.path.with_file_name(NOTE_NAME))?),
        };
        file.seek(SeekFrom::Start(0))?;
        // Always of the same length, so that it is written over as a whole.
        file.write_all(format!("{version:020}\n").as_bytes())
    }
}

impl Medium for DataFile {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        let file = OpenOptions::new().read(true).write(self.writable).open(&self.path)?;
        Ok(Box::new(NamedFile::new(file)?))
    }

    fn note(&self, version: u64) {
        // It is written after the changes have been synced, and is not synced itself: after a power failure it may
        // be out of date, but never ahead. Without it only less is noticed.
        if let Err(error) = self.write_note(version) {
            tracing::debug!(%error, "cannot write version note");
        }
    }

    fn noted(&self) -> Option<u64> {
        fs::read_to_string(self.path.with_file_name(NOTE_NAME)).ok()?.trim_end().parse().ok()
    }
}

/// Readable by its owner only: it holds secrets.
fn writable() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes a folder that only its owner may use, with all above it; one that exists stays as it is.
fn make_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}

/// Makes a new name durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    // Other systems have no way to sync a folder, and need none.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

fn io_error(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> OpenError {
    let path = path.to_owned();
    move |source| OpenError::Io { action, path, source }
}
