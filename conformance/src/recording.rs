//! What a real kube-apiserver answered to each script, kept in the repository.
//!
//! So the model is compared with Kubernetes wherever its tests run, whether or not there is a kube-apiserver; and where there
//! is one, the recording itself is checked.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::perform::Outcome;

const MARK: &str = "### ";

/// Reads the recording of a script; `None` if there is none yet.
///
/// # Errors
/// If the file is there but cannot be read.
pub fn read(folder: &Path, script: &str) -> Result<Option<Vec<Outcome>>> {
    let path = file(folder, script);
    if !path.exists() {
        return Ok(None);
    }
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut outcomes: Vec<Outcome> = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix(MARK) {
            outcomes.push(Outcome { heading: heading.to_owned(), text: String::new() });
        } else if let Some(last) = outcomes.last_mut() {
            let gap = if last.text.is_empty() { "" } else { "\n" };
            last.text.extend([gap, line]);
        }
    }
    Ok(Some(outcomes))
}

/// Writes the recording of a script.
///
/// # Errors
/// If the file cannot be written.
pub fn write(folder: &Path, script: &str, outcomes: &[Outcome]) -> Result<()> {
    let path = file(folder, script);
    if let Some(area) = path.parent() {
        fs::create_dir_all(area).with_context(|| format!("cannot make {}", area.display()))?;
    }
    let text: String =
        outcomes.iter().map(|outcome| format!("{MARK}{}\n{}\n", outcome.heading, outcome.text)).collect();
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn file(folder: &Path, script: &str) -> PathBuf {
    folder.join(format!("{script}.txt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::Folder;

    #[test]
    fn what_is_written_is_read_back() {
        let folder = Folder::new("recording").unwrap();
        let outcomes = [
            Outcome { heading: "1 make: POST /x".into(), text: "201\n{\n \"a\": 1\n}".into() },
            Outcome { heading: "2 GET /x".into(), text: "404\n\nnot found".into() },
        ];
        assert_eq!(read(folder.path(), "a/b").unwrap(), None);
        write(folder.path(), "a/b", &outcomes).unwrap();
        assert_eq!(read(folder.path(), "a/b").unwrap().unwrap(), outcomes);
    }
}
