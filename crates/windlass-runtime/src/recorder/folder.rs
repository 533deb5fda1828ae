//! Recordings as files: one for each, and no more than there may be.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use windlass::recording::Recording;

/// A recording could not be saved.
#[derive(Debug, thiserror::Error)]
#[error("{path} cannot be written: give a folder that can be written to", path = .path.display())]
pub struct SaveError {
    /// The file or folder.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Writes a recording into a folder, which is made if need be, as `ID.json`; the oldest files of the same controller go
/// if there are more than `most`.
pub(crate) fn save(folder: &Path, recording: &Recording, most: usize) -> Result<PathBuf, SaveError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| SaveError { path, source }
    };
    fs::create_dir_all(folder).map_err(failed(folder))?;
    let path = folder.join(format!("{}.json", recording.id));
    // A reader sees a whole file or none.
    let temporary = folder.join(format!(".{}.{}", recording.id, std::process::id()));
    let written = fs::write(&temporary, recording.to_json()).and_then(|()| fs::rename(&temporary, &path));
    if written.is_err() {
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(failed(&path))?;
    remove_oldest(folder, &recording.controller, most).map_err(failed(folder))?;
    Ok(path)
}

fn remove_oldest(folder: &Path, controller: &str, most: usize) -> io::Result<()> {
    let mut names: Vec<String> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if is_of(&name, controller) {
            names.push(name);
        }
    }
    names.sort_unstable();
    let surplus = names.len().saturating_sub(most);
    for name in names.iter().take(surplus) {
        match fs::remove_file(folder.join(name)) {
            // Another process may tidy up the same folder.
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Whether a file is a recording of a controller: `NAME-20260102T030405678901Z-1.json`. Nothing else is ever removed.
fn is_of(file: &str, controller: &str) -> bool {
    let parts = file.strip_prefix(controller).and_then(|rest| rest.strip_prefix('-'));
    let parts = parts.and_then(|rest| rest.strip_suffix(".json")).and_then(|rest| rest.split_once('-'));
    parts.is_some_and(|(began, number)| {
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        began.len() == 22 && digits(&began.replace(['T', 'Z'], "")) && digits(number)
    })
}

#[cfg(test)]
mod tests {
    use windlass::ObjectRef;
    use windlass::model::Timestamp;
    use windlass::recording::{FORMAT, RecordedEnd};

    use super::*;

    fn recording(controller: &str, second: i64) -> Recording {
        let at = Timestamp::from_unix_seconds(second);
        let began = at.to_micro_string().replace([':', '-', '.'], "");
        Recording {
            recording: FORMAT,
            windlass: String::new(),
            id: format!("{controller}-{began}-1"),
            controller: controller.to_owned(),
            target: ObjectRef::new("default", "a"),
            create_missing: false,
            causes: Vec::new(),
            at,
            batches: Vec::new(),
            end: RecordedEnd::TimedOut,
        }
    }

    #[test]
    fn only_the_oldest_recordings_of_the_same_controller_go() {
        let folder = tempfile::tempdir().expect("a folder");
        let inside = folder.path().join("deeper");
        for (controller, second) in [("pairs-too", 0), ("pairs", 1), ("pairs", 3), ("pairs", 2)] {
            save(&inside, &recording(controller, second), 9).expect("it is written");
        }
        fs::write(inside.join("pairs-notes.json"), "mine").expect("it is written");
        let path = save(&inside, &recording("pairs", 4), 2).expect("it is written");
        let mut names: Vec<String> = fs::read_dir(&inside)
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name().into_string().expect("a name"))
            .collect();
        names.sort();
        let expected = [
            "pairs-19700101T000003000000Z-1.json",
            "pairs-19700101T000004000000Z-1.json",
            "pairs-notes.json",
            "pairs-too-19700101T000000000000Z-1.json",
        ];
        assert_eq!(names, expected);
        let text = fs::read_to_string(path).expect("a file");
        assert_eq!(Recording::from_json(&text).expect("a recording"), recording("pairs", 4));
    }

    #[test]
    fn a_folder_that_is_none_is_named() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let error = save(file.path(), &recording("pairs", 1), 2).expect_err("it is a file");
        assert!(error.to_string().contains(&file.path().display().to_string()), "{error}");
    }
}
