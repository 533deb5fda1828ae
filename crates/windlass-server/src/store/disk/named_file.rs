//! A file that must keep its name: what is written to a deleted file goes with the process that has it open.

use std::fs::File;
use std::io;

use redb::StorageBackend;
use redb::backends::FileBackend;

/// A file whose syncs fail once it was deleted.
#[derive(Debug)]
pub(super) struct NamedFile {
    backend: FileBackend,
    /// The same file, to ask for its names.
    file: File,
}

impl NamedFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let backend = FileBackend::new(file.try_clone()?).map_err(io::Error::other)?;
        Ok(NamedFile { backend, file })
    }

    /// Refuses a file without a name.
    fn check_name(&self) -> io::Result<()> {
        #[cfg(unix)]
        if std::os::unix::fs::MetadataExt::nlink(&self.file.metadata()?) == 0 {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the data file was deleted while it was in use",
            ));
        }
        Ok(())
    }
}

impl StorageBackend for NamedFile {
    fn len(&self) -> io::Result<u64> {
        self.backend.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.backend.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.backend.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        // After the sync: a write is acknowledged only if the file was there when all of it was on the disk.
        self.backend.sync_data().and_then(|()| self.check_name())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.backend.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.backend.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::TemporaryFolder;

    #[test]
    fn what_was_deleted_is_not_synced() {
        let folder = TemporaryFolder::new();
        std::fs::create_dir(folder.path()).unwrap();
        let path = folder.path().join("file");
        let file = NamedFile::new(File::create_new(&path).unwrap()).unwrap();
        file.set_len(1).unwrap();
        assert!(file.sync_data().is_ok());
        std::fs::remove_file(path).unwrap();
        assert_eq!(file.sync_data().unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
