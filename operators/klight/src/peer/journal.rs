//! Blocks on the disk: a file that is only appended to, and a thread that syncs it.
//!
//! After a first line each record is a length, a checksum and a block as it goes over the wire. What a crash has left
//! half written at the end was never acknowledged, and is cut off. Damage before the end is not repaired here: the
//! other peers have the blocks.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use prost::Message;
use ring::digest::{SHA256, digest};
use tokio::sync::oneshot;

use super::block::Block;
use super::private;
use crate::wire::messages::Lightblock;

const FIRST_LINE: &[u8] = b"windlass lightpeer chain 1\n";
/// Maximum number of characters of a network identifier in a file name.
const MAX_OF_NETWORK: usize = 128;
const CHECKSUM_BYTES: usize = 8;
const HEAD_BYTES: usize = 4 + CHECKSUM_BYTES;

/// Why a chain cannot be read from the disk, or not be kept there.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// The disk, or the rights.
    #[error("cannot {what} {}", path.display())]
    Io {
        /// What was tried.
        what: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system says.
        #[source]
        source: io::Error,
    },
    /// Another process has the file.
    #[error("{} is in use by another peer; give each its own folder", path.display())]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The file is not what was written.
    #[error(
        "{} is damaged at byte {offset}: {problem}; the other peers have its blocks, so move it away and join again",
        path.display()
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where.
        offset: usize,
        /// What is wrong there.
        problem: String,
    },
    /// An earlier write has failed, and nothing was written since.
    #[error(
        "the blocks cannot be kept on the disk any more, since a write has failed; repair the disk and restart"
    )]
    Broken,
}

/// Moves the journal of a folder away, under a name that says which network it was of. Who has it open goes on writing
/// it. Returns where it is now.
pub(super) fn move_aside(folder: &Path, network: &str, mark: &str) -> Result<PathBuf, JournalError> {
    let readable = |c: char| if c.is_ascii_alphanumeric() || "-.".contains(c) { c } else { '_' };
    let network: String = network.chars().map(readable).take(MAX_OF_NETWORK).collect();
    let aside = folder.join(format!("chain-left-behind-in-{network}-{mark}"));
    let path = folder.join("chain");
    std::fs::rename(&path, &aside)
        .and_then(|()| File::open(folder)?.sync_all())
        .map_err(|source| JournalError::Io { what: "move away", path, source })?;
    Ok(aside)
}

/// Undoes [`move_aside`].
pub(super) fn move_back(folder: &Path, aside: &Path) {
    if let Err(error) = std::fs::rename(aside, folder.join("chain")) {
        tracing::error!("cannot move {} back to where it was: {error}", aside.display());
    }
}

/// What a journal held when it was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) journal: Journal,
    pub(super) blocks: Vec<Block>,
    /// Bytes of a record that was never finished.
    pub(super) cut: usize,
}

/// Appends blocks, and says when they are on the disk.
#[derive(Debug)]
pub(super) struct Journal {
    requests: Option<mpsc::Sender<Append>>,
    broken: Arc<AtomicBool>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Append {
    records: Vec<u8>,
    done: oneshot::Sender<bool>,
}

impl Journal {
    /// Opens the journal in a folder, or makes a new one.
    pub(super) fn open(folder: &Path) -> Result<Opened, JournalError> {
        let path = folder.join("chain");
        let failed = |what| {
            let path = path.clone();
            move |source| JournalError::Io { what, path, source }
        };
        private::make_folder(folder).map_err(failed("make the folder of"))?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = private::open(&mut options, &path).map_err(failed("open"))?;
        file.try_lock().map_err(|_| JournalError::InUse { path: path.clone() })?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed("read"))?;
        let (blocks, end) = read(&bytes).map_err(|(offset, problem)| JournalError::Damaged {
            path: path.clone(),
            offset,
            problem,
        })?;
        let cut = bytes.len() - end;
        if end == 0 {
            file.set_len(0)
                .and_then(|()| file.rewind())
                .and_then(|()| file.write_all(FIRST_LINE))
                .map_err(failed("write"))?;
        } else {
            file.set_len(end as u64).map_err(failed("cut"))?;
            file.seek(SeekFrom::End(0)).map_err(failed("read"))?;
        }
        file.sync_all().map_err(failed("sync"))?;
        // A new file is there after a crash only if its folder is on the disk too.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("sync the folder of"))?;
        Ok(Opened { journal: Journal::start(file, path), blocks, cut })
    }

    /// Appends blocks behind all that was given before. The answer is true when these and all before are on the disk;
    /// without blocks, when all before are.
    pub(super) fn append(&self, blocks: &[Arc<Block>]) -> oneshot::Receiver<bool> {
        let (done, answer) = oneshot::channel();
        let records = blocks.iter().flat_map(|block| record(block)).collect();
        if let Some(requests) = &self.requests {
            // If the writer is gone, so is `done`, and the answer says so.
            let _ = requests.send(Append { records, done });
        }
        answer
    }

    /// Whether a write has failed.
    pub(super) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    fn start(file: File, path: PathBuf) -> Journal {
        let (requests, received) = mpsc::channel();
        let broken = Arc::new(AtomicBool::new(false));
        let marked = broken.clone();
        let writer = std::thread::spawn(move || write(file, &path, &received, &marked));
        Journal { requests: Some(requests), broken, writer: Some(writer) }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        // The writer ends when the channel is closed; then the file can be opened again.
        drop(self.requests.take());
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

/// Writes what has come, syncs once for all of it, and says so.
fn write(mut file: File, path: &Path, received: &mpsc::Receiver<Append>, broken: &AtomicBool) {
    while let Ok(first) = received.recv() {
        let mut batch = vec![first];
        batch.extend(received.try_iter());
        let records: Vec<u8> = batch.iter().flat_map(|append| append.records.iter().copied()).collect();
        // After a failure the end of the file is unknown: what is written behind it might never be found again.
        let kept = !broken.load(Ordering::Relaxed)
            && match keep(&mut file, &records) {
                Ok(()) => true,
                Err(error) => {
                    broken.store(true, Ordering::Relaxed);
                    tracing::error!(
                        "cannot write {}: {error}; this peer takes no more blocks",
                        path.display()
                    );
                    false
                }
            };
        for append in batch {
            let _ = append.done.send(kept);
        }
    }
}

fn keep(file: &mut File, records: &[u8]) -> io::Result<()> {
    if records.is_empty() {
        return Ok(());
    }
    file.write_all(records)?;
    file.sync_data()
}

fn record(block: &Block) -> Vec<u8> {
    let content = block.to_wire().encode_to_vec();
    let length = u32::try_from(content.len()).expect("a block is smaller than the largest message");
    [&length.to_le_bytes()[..], &checksum(&content), &content].concat()
}

fn checksum(content: &[u8]) -> [u8; CHECKSUM_BYTES] {
    let whole = digest(&SHA256, content);
    std::array::from_fn(|index| whole.as_ref()[index])
}

/// The blocks, and where the last whole record ends; 0 if not even the first line is whole.
fn read(bytes: &[u8]) -> Result<(Vec<Block>, usize), (usize, String)> {
    if !bytes.starts_with(FIRST_LINE) {
        let unfinished = FIRST_LINE.starts_with(bytes);
        return if unfinished {
            Ok((Vec::new(), 0))
        } else {
            Err((0, "it is no chain of a lightpeer".to_owned()))
        };
    }
    let (mut blocks, mut offset) = (Vec::new(), FIRST_LINE.len());
    while let Some((content, end)) = next_record(bytes, offset) {
        let block = Lightblock::decode(content).map_err(|error| error.to_string()).and_then(Block::from_wire);
        blocks.push(block.map_err(|problem| (offset, problem))?);
        offset = end;
    }
    match skip_record(bytes, offset).and_then(|after| next_record(bytes, after)) {
        Some(_) => Err((offset, "a block has changed, and whole ones follow".to_owned())),
        None => Ok((blocks, offset)),
    }
}

/// The content of the record here, and where it ends, if all of it is there and unchanged.
fn next_record(bytes: &[u8], offset: usize) -> Option<(&[u8], usize)> {
    let end = skip_record(bytes, offset)?;
    let content = bytes.get(offset + HEAD_BYTES..end)?;
    (bytes.get(offset + 4..offset + HEAD_BYTES)? == checksum(content)).then_some((content, end))
}

/// Where the record here ends by its own word.
fn skip_record(bytes: &[u8], offset: usize) -> Option<usize> {
    let length: [u8; 4] = bytes.get(offset..offset + 4)?.try_into().ok()?;
    offset.checked_add(HEAD_BYTES)?.checked_add(u32::from_le_bytes(length) as usize)
}

#[cfg(test)]
mod tests {
    use super::super::block::{BlockKind, BlockTime};
    use super::*;

    fn block(number: u64) -> Arc<Block> {
        Arc::new(Block::new("", BlockKind::Client, BlockTime::default(), vec![b'x'; 10], number))
    }

    /// A journal with three blocks, closed again.
    fn written() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let opened = Journal::open(folder.path()).unwrap();
        assert!(opened.blocks.is_empty());
        for number in 1..=3 {
            assert!(opened.journal.append(&[block(number)]).blocking_recv().unwrap());
        }
        drop(opened);
        let path = folder.path().join("chain");
        (folder, path)
    }

    fn count(folder: &tempfile::TempDir) -> usize {
        Journal::open(folder.path()).unwrap().blocks.len()
    }

    #[test]
    fn what_was_written_is_read() {
        let (folder, _) = written();
        let opened = Journal::open(folder.path()).unwrap();
        assert_eq!(opened.blocks, [block(1), block(2), block(3)].map(|block| (*block).clone()));
        assert_eq!(opened.cut, 0);
    }

    #[test]
    fn a_torn_end_is_cut_wherever_it_is_torn_and_writing_goes_on() {
        let (folder, path) = written();
        let whole = std::fs::read(&path).unwrap();
        let one = record(&block(3)).len();
        for missing in 1..=one {
            std::fs::write(&path, &whole[..whole.len() - missing]).unwrap();
            let opened = Journal::open(folder.path()).unwrap();
            assert_eq!((opened.blocks.len(), opened.cut), (2, one - missing));
            assert!(opened.journal.append(&[block(4)]).blocking_recv().unwrap());
            drop(opened);
            assert_eq!(count(&folder), 3);
        }
        let torn_content = [&whole[..whole.len() - 1], b"?"].concat();
        std::fs::write(&path, torn_content).unwrap();
        assert_eq!(count(&folder), 2);
    }

    #[test]
    fn damage_before_the_end_is_refused_and_left_alone() {
        let (folder, path) = written();
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[FIRST_LINE.len() + HEAD_BYTES + 3] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let error = Journal::open(folder.path()).unwrap_err();
        assert!(
            matches!(error, JournalError::Damaged { offset, .. } if offset == FIRST_LINE.len()),
            "{error}"
        );
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
    }

    #[test]
    fn another_file_is_refused_and_an_unfinished_start_is_not() {
        let (folder, path) = written();
        std::fs::write(&path, b"something else").unwrap();
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::Damaged { offset: 0, .. })));
        std::fs::write(&path, &FIRST_LINE[..5]).unwrap();
        assert_eq!(count(&folder), 0);
        assert_eq!(std::fs::read(&path).unwrap(), FIRST_LINE);
    }

    #[test]
    fn a_folder_has_one_owner() {
        let (folder, _) = written();
        let first = Journal::open(folder.path()).unwrap();
        assert!(matches!(Journal::open(folder.path()), Err(JournalError::InUse { .. })));
        drop(first);
        assert_eq!(count(&folder), 3);
    }
}
