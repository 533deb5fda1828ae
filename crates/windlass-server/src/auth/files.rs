//! Files that only their owner may read, written whole or not at all.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Mode of a file that only its owner may read.
pub(super) const PRIVATE: u32 = 0o600;
/// Mode of a file that everyone may read.
pub(super) const PUBLIC: u32 = 0o644;

/// A file that could not be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {source}", path.display())]
pub struct FileError {
    /// What was tried.
    pub action: &'static str,
    /// With which file.
    pub path: PathBuf,
    /// What came of it.
    pub source: io::Error,
}

impl FileError {
    fn of(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> FileError {
        let path = path.to_owned();
        move |source| FileError { action, path, source }
    }
}

/// The text of a file; `None` if there is none. Others lose the right to read it, if they had it.
pub(super) fn read_private(path: &Path) -> Result<Option<String>, FileError> {
    let text = match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        read => read.map_err(FileError::of("read", path))?,
    };
    let mode = fs::metadata(path).map_err(FileError::of("read", path))?.permissions().mode();
    if mode & 0o077 != 0 {
        tracing::warn!(path = %path.display(), "secret was readable by others, permissions restricted to its owner");
        let permissions = Permissions::from_mode(PRIVATE);
        fs::set_permissions(path, permissions).map_err(FileError::of("protect", path))?;
    }
    Ok(Some(text))
}

/// The text of a file that must be there.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    fs::read(path).map_err(FileError::of("read", path))
}

/// Makes a folder that only its owner may use, with all above it; one that exists stays as it is.
pub(super) fn make_folder(path: &Path) -> Result<(), FileError> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
    made.map_err(FileError::of("make the folder", path))
}

/// Replaces a file atomically: a reader sees all of the old text or all of the new one.
pub(super) fn replace(path: &Path, text: &str, mode: u32) -> Result<(), FileError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    make_folder(folder)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}.tmp", super::tokens::random_id()));
    let written = write_new(&temporary, text, mode)
        .map_err(FileError::of("write", &temporary))
        .and_then(|()| fs::rename(&temporary, path).map_err(FileError::of("replace", path)));
    if written.is_err() {
        // The first error is the one to report.
        drop(fs::remove_file(&temporary));
    }
    written?;
    // A file whose name is not yet on the disk is lost with the power.
    let synced = File::open(folder).and_then(|folder| folder.sync_all());
    synced.map_err(FileError::of("sync the folder of", path))
}

fn write_new(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
