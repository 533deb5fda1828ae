//! Counterexamples as files: the only module that reads and writes them.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::trace::{Counterexample, ReadError};

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// There is no such file.
    #[error("there is no file {path}. A failed check that is asked to save its trace says where it went", path = .0.display())]
    Missing(PathBuf),
    /// It cannot be read.
    #[error("{path} cannot be read: {error}", path = .path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It is not what it should be.
    #[error("{path} is no counterexample that can be used: {error}", path = .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: ReadError,
    },
    /// It cannot be written. Whatever stood there before is untouched.
    #[error("{path} cannot be written: {error}. Give a folder that can be written to", path = .path.display())]
    Write {
        /// Which file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Where [`save_all`] has put a counterexample.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The document, for tools and for replay.
    pub json: PathBuf,
    /// The page to step through.
    pub html: PathBuf,
    /// The sequence diagram.
    pub mermaid: PathBuf,
}

impl Counterexample {
    /// Writes the document. A reader sees the old file or the new one, and never a part.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        write(path, &self.to_json())
    }

    /// Reads a document that [`Counterexample::save`] has written.
    ///
    /// # Errors
    /// If there is none, or it is no document that this version can read.
    pub fn load(path: &Path) -> Result<Self, FileError> {
        let text = fs::read_to_string(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => FileError::Missing(path.to_owned()),
            _ => FileError::Read { path: path.to_owned(), error },
        })?;
        Counterexample::from_json(&text).map_err(|error| FileError::Content { path: path.to_owned(), error })
    }
}

/// Writes a counterexample into a folder, which is made if need be, as `NAME.json`, `NAME.html` and `NAME.mmd`.
///
/// # Errors
/// If one of them cannot be written.
pub fn save_all(folder: &Path, counterexample: &Counterexample) -> Result<Saved, FileError> {
    fs::create_dir_all(folder).map_err(|error| FileError::Write { path: folder.to_owned(), error })?;
    let stem = file_stem(&counterexample.check);
    let path = |ending: &str| folder.join(format!("{stem}.{ending}"));
    let saved = Saved { json: path("json"), html: path("html"), mermaid: path("mmd") };
    counterexample.save(&saved.json)?;
    write(&saved.html, &counterexample.to_html())?;
    write(&saved.mermaid, &counterexample.to_mermaid())?;
    Ok(saved)
}

/// The name of a check as that of a file: letters, digits, dots and single dashes.
fn file_stem(name: &str) -> String {
    let mut stem = String::new();
    for c in name.chars() {
        match c {
            _ if c.is_alphanumeric() || c == '_' => stem.push(c),
            '.' if !stem.is_empty() => stem.push(c),
            _ if stem.is_empty() || stem.ends_with('-') => {}
            _ => stem.push('-'),
        }
    }
    let stem = stem.trim_end_matches(['-', '.']);
    if stem.is_empty() { "check".to_owned() } else { stem.to_owned() }
}

/// Writes beside the file first and then renames: whoever is interrupted leaves nothing half-written.
fn write(path: &Path, text: &str) -> Result<(), FileError> {
    let failed = |error| FileError::Write { path: path.to_owned(), error };
    let name = path.file_name().ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))?;
    // Several processes may write the same file: each has a temporary one of its own, and the last one wins.
    let temporary = path.with_file_name(format!(".{}.{}", name.to_string_lossy(), std::process::id()));
    let written = write_through(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    written.map_err(|error| {
        // What is left over is of no use to anybody; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        failed(error)
    })
}

fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::counterexample_sample as sample;

    /// A folder of its own for a test, removed at its end.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("windlass-files-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Folder(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn what_is_saved_is_loaded_and_nothing_else_is_left() {
        let folder = Folder::new("round");
        let saved = save_all(&folder.0.join("deeper"), &sample()).unwrap();
        assert_eq!(Counterexample::load(&saved.json).unwrap(), sample());
        assert_eq!(Folder(folder.0.join("deeper")).names(), ["pairs.html", "pairs.json", "pairs.mmd"]);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_stays_as_it_is() {
        let folder = Folder::new("replace");
        // A folder that is not empty cannot be replaced by a file.
        let path = folder.0.join("taken.json");
        fs::create_dir(&path).unwrap();
        fs::write(path.join("inside"), "").unwrap();
        let message = sample().save(&path).unwrap_err().to_string();
        assert!(message.contains("taken.json cannot be written: "), "{message}");
        assert_eq!(folder.names(), ["taken.json"]);
    }

    #[test]
    fn errors_name_the_file_and_say_what_to_do() {
        let folder = Folder::new("errors");
        let path = folder.0.join("trace.json");
        let message = |path: &Path| Counterexample::load(path).unwrap_err().to_string();
        assert!(message(&path).starts_with(&format!("there is no file {}.", path.display())));
        fs::write(&path, &sample().to_json()[..40]).unwrap();
        assert!(
            message(&path).contains("trace.json is no counterexample that can be used: it ends too early")
        );
        fs::write(&path, [0xff, 0xfe]).unwrap();
        assert!(message(&path).contains("trace.json cannot be read: "));
        assert!(message(&folder.0).contains("cannot be read: "));
    }

    #[test]
    fn names_become_file_names() {
        for (name, stem) in [
            ("two-configmaps", "two-configmaps"),
            ("cm2 never / without \"cm1\"!", "cm2-never-without-cm1"),
            ("../../etc/passwd", "etc-passwd"),
            ("größe v1.2", "größe-v1.2"),
            ("...", "check"),
            ("", "check"),
        ] {
            assert_eq!(file_stem(name), stem);
        }
    }
}
