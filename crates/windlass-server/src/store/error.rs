//! Errors of a store, and what to do about them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

/// Why a folder cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open.
    #[error(
        "{} is in use by another server: stop that one, or choose another folder for this one", .folder.display()
    )]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder or a file in it cannot be read or written.
    #[error("cannot {action} {}", .path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// There is no store in the folder.
    #[error("there is no data in {}: no file {}", .folder.display(), super::disk::FILE_NAME)]
    Missing {
        /// The folder.
        folder: PathBuf,
    },
    /// The file is not what a store wrote.
    #[error(
        "{} is damaged ({problem}); it was left as it is. Restore it from a copy, or move it away to start with an empty store",
        .file.display()
    )]
    Damaged {
        /// The file.
        file: PathBuf,
        /// What was found.
        problem: String,
    },
    /// The file lacks changes that were acknowledged: its end is damaged, or it is an old copy.
    #[error(
        "{} ends at version {found}, although changes up to version {noted} were acknowledged; it was left as it is. \
         Restore a newer copy of it, or remove {} to go on without those changes",
        .file.display(), .note.display()
    )]
    Behind {
        /// The file.
        file: PathBuf,
        /// The version of the file.
        found: u64,
        /// The version that was noted beside it.
        noted: u64,
        /// Where that was noted.
        note: PathBuf,
    },
    /// The file was written by a newer version.
    #[error(
        "{} has format {found}, and this version knows formats up to {known}: use the version that wrote it",
        .file.display()
    )]
    Newer {
        /// The file.
        file: PathBuf,
        /// The format of the file.
        found: u64,
        /// The newest format that is known.
        known: u64,
    },
}

/// Why a write was not made. Nothing of it is visible, and it may be tried again.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// There is no room for it.
    #[error("the disk is full, so nothing can be written until there is room again ({0})")]
    Full(Arc<str>),
    /// The disk failed.
    #[error("cannot write to the disk ({0})")]
    Disk(Arc<str>),
    /// The store is closed.
    #[error("the server is shutting down")]
    Closed,
}
