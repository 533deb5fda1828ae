//! The files of this repository, without what is built or generated.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Folders that hold no files of this repository.
const SKIPPED: [&str; 5] = [".git", "target", "node_modules", "corpus", "artifacts"];

/// All files with one of these extensions, sorted by path.
pub(crate) fn with_extension(folder: &Path, extensions: &[&str]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("reading {}", folder.display()))? {
        let entry = entry?;
        let (path, kind) = (entry.path(), entry.file_type()?);
        if kind.is_dir() && !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            found.extend(with_extension(&path, extensions)?);
        } else if kind.is_file()
            && path.extension().is_some_and(|own| extensions.iter().any(|wanted| own == *wanted))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file.
pub(crate) fn read(file: &Path) -> Result<String> {
    fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))
}
