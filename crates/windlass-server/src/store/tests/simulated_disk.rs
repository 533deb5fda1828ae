//! A disk that fails, fills up and loses power on demand.

use std::io;
use std::sync::{Arc, Mutex};

use redb::StorageBackend;

use crate::store::disk::{Disk, Medium, Refusal};
use crate::store::{HistoryLimits, Storage};

/// The disk itself: it stays when a store on it is gone.
#[derive(Clone, Debug, Default)]
pub(super) struct SimulatedDisk(Arc<Mutex<Contents>>);

#[derive(Debug, Default)]
struct Contents {
    /// What a process reads.
    seen: Vec<u8>,
    /// What is there after a power failure, at least.
    synced: Vec<u8>,
    /// What has been written since.
    unsynced: Vec<Operation>,
    operations: u64,
    faults: Faults,
    noted: Option<u64>,
}

/// Faults to inject.
#[derive(Clone, Debug, Default)]
pub(super) struct Faults {
    /// The operations of these numbers, from 0, fail. What a sync should have made durable is then never made so,
    /// although it is still seen, and the next sync succeeds: this is what Linux does.
    pub(super) fail_at: Vec<u64>,
    /// From this operation on nothing works: the process has been killed, or the power is gone.
    pub(super) ends_at: Option<u64>,
    /// There is no room beyond this many bytes.
    pub(super) capacity: Option<usize>,
}

#[derive(Clone, Debug)]
enum Operation {
    Write(usize, Vec<u8>),
    SetLength(usize),
}

impl SimulatedDisk {
    /// A disk with an empty store.
    pub(super) fn new() -> Self {
        let disk = SimulatedDisk::default();
        Disk::initialize(&disk).unwrap();
        disk
    }

    pub(super) fn open(&self) -> Result<Storage, Refusal> {
        self.open_with(HistoryLimits::default())
    }

    pub(super) fn open_with(&self, limits: HistoryLimits) -> Result<Storage, Refusal> {
        let (disk, loaded) = Disk::open(Box::new(self.clone()))?;
        Ok(Storage::durable(disk, loaded, limits, None).unwrap())
    }

    /// Counts operations from now on, and injects these faults.
    pub(super) fn inject(&self, faults: Faults) {
        let mut contents = self.0.lock().unwrap();
        contents.operations = 0;
        contents.faults = faults;
    }

    /// Does something while no operation ends.
    pub(super) fn meanwhile(&self, work: impl FnOnce()) {
        let held = self.0.lock().unwrap();
        work();
        drop(held);
    }

    /// How many operations there were since the last injection.
    pub(super) fn operations(&self) -> u64 {
        self.0.lock().unwrap().operations
    }

    pub(super) fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().seen.clone()
    }

    /// The disk as it is now, for those who come after a killed process.
    pub(super) fn copy(&self) -> Self {
        self.with(self.bytes())
    }

    /// The same disk with another content.
    pub(super) fn with(&self, bytes: Vec<u8>) -> Self {
        let noted = self.noted();
        let contents = Contents { seen: bytes.clone(), synced: bytes, noted, ..Contents::default() };
        SimulatedDisk(Arc::new(Mutex::new(contents)))
    }

    /// What a power failure leaves: all that was synced, and of the rest whatever `survives` says of each write.
    pub(super) fn after_power_failure(&self, mut survives: impl FnMut() -> bool) -> SimulatedDisk {
        let contents = self.0.lock().unwrap();
        let mut left = contents.synced.clone();
        for operation in contents.unsynced.iter().filter(|_| survives()) {
            operation.perform(&mut left);
        }
        drop(contents);
        self.with(left)
    }
}

impl Operation {
    fn perform(&self, bytes: &mut Vec<u8>) {
        match self {
            Operation::Write(offset, data) => {
                let end = offset + data.len();
                if bytes.len() < end {
                    bytes.resize(end, 0);
                }
                bytes[*offset..end].copy_from_slice(data);
            }
            Operation::SetLength(length) => bytes.resize(*length, 0),
        }
    }
}

impl Contents {
    fn begin(&mut self) -> io::Result<()> {
        let number = self.operations;
        self.operations += 1;
        if self.faults.ends_at.is_some_and(|end| number >= end) || self.faults.fail_at.contains(&number) {
            return Err(io::Error::other("injected disk failure"));
        }
        Ok(())
    }

    fn change(&mut self, operation: Operation, end: usize) -> io::Result<()> {
        self.begin()?;
        if self.faults.capacity.is_some_and(|capacity| end > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        operation.perform(&mut self.seen);
        self.unsynced.push(operation);
        Ok(())
    }
}

impl Medium for SimulatedDisk {
    fn open(&self) -> io::Result<Box<dyn StorageBackend>> {
        Ok(Box::new(self.clone()))
    }

    fn note(&self, version: u64) {
        self.0.lock().unwrap().noted = Some(version);
    }

    fn noted(&self) -> Option<u64> {
        self.0.lock().unwrap().noted
    }
}

impl StorageBackend for SimulatedDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.lock().unwrap().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let contents = self.0.lock().unwrap();
        let offset = usize::try_from(offset).unwrap();
        let found = offset.checked_add(out.len()).and_then(|end| contents.seen.get(offset..end));
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let length = usize::try_from(len).unwrap();
        // A longer file has a hole at its end, which takes no room.
        self.0.lock().unwrap().change(Operation::SetLength(length), 0)
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut contents = self.0.lock().unwrap();
        let begun = contents.begin();
        let unsynced = std::mem::take(&mut contents.unsynced);
        if begun.is_ok() {
            unsynced.iter().for_each(|operation| operation.perform(&mut contents.synced));
        }
        begun
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).unwrap();
        let end = offset + data.len();
        self.0.lock().unwrap().change(Operation::Write(offset, data.to_vec()), end)
    }
}
