//! A folder of a test, gone when the test is over.

use std::fs;
use std::ops::Deref;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A fresh folder.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("windlass-auth-{name}-{}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    /// The permission bits of a file.
    pub(crate) fn mode(&self, name: &str) -> u32 {
        let found = fs::metadata(self.join(name)).expect("the file is there");
        found.permissions().mode() & 0o777
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("a readable folder").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Deref for Folder {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}
