//! A file that is not written to before it has been found to be in order.
//!
//! Opening a database repairs it where the last server was killed, and marks it as being in use. Both are writes,
//! and must not be made to a file that is then refused. So they are held back, and made up for in their order.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// The unit in which files are laid out.
const PAGE_BYTES: usize = 4096;

/// A file with writes held back until [`GuardedFile::release`].
#[derive(Debug)]
pub(super) struct GuardedFile {
    file: Box<dyn StorageBackend>,
    stage: Mutex<Stage>,
    sync_failed: AtomicBool,
}

#[derive(Debug)]
enum Stage {
    /// Writes are held back.
    Holding(Held),
    /// Writes are made.
    Released,
    /// Not all that was held back could be written: what comes later must not be written either.
    Failed,
}

/// What the file would be if the writes had been made.
#[derive(Debug, Default)]
struct Held {
    operations: Vec<Operation>,
    length: u64,
    /// The file's own bytes end here: they were cut off, or never reached further.
    file_ends: u64,
}

#[derive(Debug)]
enum Operation {
    Write { offset: u64, data: Vec<u8> },
    SetLength(u64),
    Sync,
}

/// A handle for the database; the store keeps the other one.
#[derive(Clone, Debug)]
pub(super) struct SharedGuard(pub(super) Arc<GuardedFile>);

impl GuardedFile {
    /// Holds writes to this file back.
    pub(super) fn new(file: Box<dyn StorageBackend>) -> io::Result<Self> {
        let length = file.len()?;
        let held = Held { operations: Vec::new(), length, file_ends: length };
        Ok(GuardedFile { file, stage: Mutex::new(Stage::Holding(held)), sync_failed: AtomicBool::new(false) })
    }

    /// Makes the writes, in the order in which they were asked for, and holds none back any more.
    pub(super) fn release(&self) -> io::Result<()> {
        let mut stage = self.stage();
        let held = match std::mem::replace(&mut *stage, Stage::Failed) {
            Stage::Holding(held) => held,
            Stage::Released => Held::default(),
            Stage::Failed => return Err(failed()),
        };
        for operation in held.operations {
            match operation {
                Operation::Write { offset, data } => self.file.write(offset, &data)?,
                Operation::SetLength(length) => self.file.set_len(length)?,
                Operation::Sync => self.sync()?,
            }
        }
        *stage = Stage::Released;
        Ok(())
    }

    /// Whether the system could not say that all writes have reached the disk.
    pub(super) fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::Relaxed)
    }

    /// Writes everything again that is in the file. After a sync that failed, the system may show what was written
    /// and yet take it for synced, although it has never reached the disk.
    pub(super) fn rewrite(&self) -> io::Result<()> {
        let length = self.file.len()?;
        let mut page = vec![0; PAGE_BYTES];
        let mut offset = 0;
        while offset < length {
            let size = usize::try_from(length - offset).map_or(PAGE_BYTES, |left| left.min(PAGE_BYTES));
            self.file.read(offset, &mut page[..size])?;
            // What has never been written to takes no room, and must not begin to.
            if page[..size].iter().any(|byte| *byte != 0) {
                self.file.write(offset, &page[..size])?;
            }
            offset += size as u64;
        }
        self.sync()
    }

    fn sync(&self) -> io::Result<()> {
        let result = self.file.sync_data();
        if result.is_err() {
            self.sync_failed.store(true, Ordering::Relaxed);
        }
        result
    }

    fn stage(&self) -> MutexGuard<'_, Stage> {
        self.stage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn failed() -> io::Error {
    io::Error::other("an earlier write has failed")
}

impl Held {
    fn read(&self, file: &dyn StorageBackend, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let wanted = u64::try_from(out.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
        let end = offset.checked_add(wanted).filter(|end| *end <= self.length);
        let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
        out.fill(0);
        let from_file = part(offset, end, 0, self.file_ends);
        file.read(offset, &mut out[from_file])?;
        for operation in &self.operations {
            match operation {
                Operation::Write { offset: start, data } => {
                    let patched = part(offset, end, *start, start + data.len() as u64);
                    if !patched.is_empty() {
                        let skip = usize::try_from((offset + patched.start as u64) - start);
                        let skip = skip.map_err(|_| io::ErrorKind::InvalidInput)?;
                        let length = patched.len();
                        out[patched].copy_from_slice(&data[skip..skip + length]);
                    }
                }
                Operation::SetLength(length) => out[part(offset, end, *length, u64::MAX)].fill(0),
                Operation::Sync => {}
            }
        }
        Ok(())
    }
}

/// Which part of the bytes from `offset` to `end` lies between two positions.
fn part(offset: u64, end: u64, from: u64, to: u64) -> std::ops::Range<usize> {
    let index = |position: u64| {
        usize::try_from(position.clamp(offset, end) - offset).expect("it is within a buffer in memory")
    };
    index(from)..index(to).max(index(from))
}

impl StorageBackend for SharedGuard {
    fn len(&self) -> io::Result<u64> {
        match &*self.0.stage() {
            Stage::Holding(held) => Ok(held.length),
            Stage::Released => self.0.file.len(),
            Stage::Failed => Err(failed()),
        }
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        match &*self.0.stage() {
            Stage::Holding(held) => held.read(&*self.0.file, offset, out),
            Stage::Released => self.0.file.read(offset, out),
            Stage::Failed => Err(failed()),
        }
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        match &mut *self.0.stage() {
            Stage::Holding(held) => {
                held.operations.push(Operation::SetLength(len));
                held.length = len;
                held.file_ends = held.file_ends.min(len);
                Ok(())
            }
            Stage::Released => self.0.file.set_len(len),
            Stage::Failed => Err(failed()),
        }
    }

    fn sync_data(&self) -> io::Result<()> {
        match &mut *self.0.stage() {
            Stage::Holding(held) => {
                held.operations.push(Operation::Sync);
                Ok(())
            }
            Stage::Released => self.0.sync(),
            Stage::Failed => Err(failed()),
        }
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        match &mut *self.0.stage() {
            Stage::Holding(held) => {
                held.operations.push(Operation::Write { offset, data: data.to_vec() });
                held.length = held.length.max(offset + data.len() as u64);
                Ok(())
            }
            Stage::Released => self.0.file.write(offset, data),
            Stage::Failed => Err(failed()),
        }
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }
}
