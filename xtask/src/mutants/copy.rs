//! A copy of the workspace that patches are applied to.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process::output;

/// Makes a copy equal to the files of the working tree that git knows or would take. What is equal is not touched, so that
/// cargo does not build it again.
pub(crate) fn update(root: &Path, copied: &Path) -> Result<()> {
    let mut list = Command::new("git");
    list.current_dir(root).args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let wanted: BTreeSet<PathBuf> = output(&mut list)?
        .split('\0')
        .filter(|name| !name.is_empty() && root.join(name).is_file())
        .map(PathBuf::from)
        .collect();
    for name in &wanted {
        let (from, to) = (root.join(name), copied.join(name));
        let content = fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
        if fs::read(&to).is_ok_and(|known| known == content) {
            continue;
        }
        if let Some(folder) = to.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&to, content).with_context(|| format!("cannot write {}", to.display()))?;
    }
    remove_others(copied, copied, &wanted)
}

fn remove_others(folder: &Path, copied: &Path, wanted: &BTreeSet<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(&path, copied, wanted)?;
        } else if !path.strip_prefix(copied).is_ok_and(|name| wanted.contains(name)) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// `git apply` in a folder, whether or not that is part of a repository.
pub(crate) fn apply(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command.current_dir(folder).arg("apply");
    if let Some(above) = folder.parent() {
        command.env("GIT_CEILING_DIRECTORIES", above);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_what_the_working_tree_has_and_no_more() {
        let folder = std::env::temp_dir().join(format!("windlass-mutants-{}", std::process::id()));
        let (root, copied) = (folder.join("root"), folder.join("copy"));
        fs::create_dir_all(root.join("src")).unwrap();
        fs::create_dir_all(&copied).unwrap();
        fs::write(root.join("src/a.rs"), "one\n").unwrap();
        fs::write(root.join("ignored"), "").unwrap();
        fs::write(root.join(".gitignore"), "/ignored\n").unwrap();
        fs::write(copied.join("gone.rs"), "").unwrap();
        output(Command::new("git").current_dir(&root).args(["init", "--quiet"])).unwrap();
        update(&root, &copied).unwrap();
        assert_eq!(fs::read_to_string(copied.join("src/a.rs")).unwrap(), "one\n");
        assert!(!copied.join("gone.rs").exists() && !copied.join("ignored").exists());

        let patch = folder.join("a.patch");
        fs::write(&patch, "# why\n--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-one\n+two\n").unwrap();
        output(apply(&copied).arg(&patch)).unwrap();
        assert_eq!(fs::read_to_string(copied.join("src/a.rs")).unwrap(), "two\n");
        update(&root, &copied).unwrap();
        assert_eq!(fs::read_to_string(copied.join("src/a.rs")).unwrap(), "one\n");
        fs::remove_dir_all(&folder).unwrap();
    }
}
