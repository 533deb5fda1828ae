//! Files and folders of a peer, which only its owner may read: blocks can be anything.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

const FILE: u32 = 0o600;
const FOLDER: u32 = 0o700;

/// Makes a folder, with all above it; one that exists stays as it is.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER).create(path)
}

/// Opens a file. Others lose the right to read it, if they had it.
pub(super) fn open(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = options.mode(FILE).open(path)?;
    file.set_permissions(Permissions::from_mode(FILE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_cannot_read_what_is_made() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("data");
        make_folder(&folder).unwrap();
        let path = folder.join("chain");
        std::fs::write(&path, "of before").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        open(OpenOptions::new().append(true), &path).unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(&path)), (FOLDER, FILE));
    }
}
