//! A file that is not what was written: it is refused and left as it is, or its content is found to be right.

use super::simulated_disk::SimulatedDisk;
use super::*;
use crate::store::disk::FILE_NAME;
use crate::store::{OpenError, inspect};

/// A disk with a store that has a log and folded objects, and what is in it.
async fn prepared(killed: bool) -> (SimulatedDisk, Vec<(Key, String)>) {
    let disk = SimulatedDisk::new();
    let limits = HistoryLimits { changes: 10, ..HistoryLimits::default() };
    let storage = disk.open_with(limits).unwrap();
    add_namespace(&storage, "default").await;
    for number in 0..40 {
        request(&storage, create(&format!("n{number}"), &"x".repeat(number * 20))).await.unwrap();
    }
    let expected = contents(&storage.snapshot());
    if killed {
        return (disk.copy(), expected);
    }
    drop(storage);
    (disk, expected)
}

/// Opens a disk that is damaged. Returns whether it was refused.
fn is_refused(disk: &SimulatedDisk, expected: &[(Key, String)], what: &str) -> bool {
    let before = disk.bytes();
    match disk.open() {
        Ok(storage) => {
            assert_eq!(contents(&storage.snapshot()), expected, "{what}");
            false
        }
        Err(_) => {
            assert!(disk.bytes() == before, "{what}: it was written to");
            true
        }
    }
}

#[tokio::test]
async fn flipped_bits_are_noticed_or_do_not_matter() {
    let mut random = Random(7);
    for killed in [false, true] {
        let (disk, expected) = prepared(killed).await;
        let bytes = disk.bytes();
        // Most of a small file is unused, so look where there is something.
        let used: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] != 0).collect();
        let mut refused = 0;
        for number in 0..300 {
            let at = match number {
                0..100 => number,
                _ => used[usize::try_from(random.below(used.len() as u64)).unwrap()],
            };
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << random.below(8);
            refused += usize::from(is_refused(&disk.with(damaged), &expected, &format!("{killed} {at}")));
        }
        // The rest is in pages that are not used any more.
        assert!(refused > 40, "only {refused} of 300 were noticed");
    }
}

#[tokio::test]
async fn a_file_that_was_cut_off_or_overwritten_is_refused() {
    let mut random = Random(8);
    for killed in [false, true] {
        let (disk, expected) = prepared(killed).await;
        let bytes = disk.bytes();
        for _ in 0..50 {
            let length = usize::try_from(random.below(bytes.len() as u64)).unwrap();
            let cut = disk.with(bytes[..length].to_vec());
            assert!(is_refused(&cut, &expected, &format!("{killed} {length}")));
            let mut zeroed = bytes.clone();
            zeroed[length / 4096 * 4096..].iter_mut().take(4096).for_each(|byte| *byte = 0);
            is_refused(&disk.with(zeroed), &expected, &format!("{killed} page at {length}"));
        }
        let garbage: Vec<u8> = bytes.iter().map(|_| u8::try_from(random.below(256)).unwrap()).collect();
        assert!(is_refused(&disk.with(garbage), &expected, "garbage"));
        assert!(is_refused(&disk.with(b"hello".to_vec()), &expected, "another file"));
        assert!(is_refused(&disk.with(Vec::new()), &expected, "an empty file"));
    }
}

#[tokio::test]
async fn a_refusal_says_what_to_do() {
    let folder = TemporaryFolder::new();
    assert!(matches!(inspect(folder.path()), Err(OpenError::Missing { .. })));
    let storage = Storage::open(&folder.options()).unwrap();
    add_namespace(&storage, "default").await;
    let file = folder.path().join(FILE_NAME);
    let older = std::fs::read(&file).unwrap();
    request(&storage, create("a", "")).await.unwrap();
    drop(storage);
    let whole = std::fs::read(&file).unwrap();

    let refused = |bytes: &[u8]| {
        std::fs::write(&file, bytes).unwrap();
        let refusal = Storage::open(&folder.options()).err().unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), bytes, "it was left as it is");
        assert_eq!(inspect(folder.path()).unwrap_err().to_string(), refusal.to_string());
        refusal
    };
    let message = refused(&whole[..whole.len() / 2]).to_string();
    assert!(message.contains(&*file.to_string_lossy()), "{message}");
    assert!(message.contains("is damaged") && message.contains("Restore it from a copy"), "{message}");
    assert!(matches!(refused(b"apiVersion: v1\n"), OpenError::Damaged { .. }));
    let behind = refused(&older);
    assert!(matches!(behind, OpenError::Behind { found: 1, noted: 2, .. }), "{behind}");

    std::fs::write(&file, &whole).unwrap();
    assert_eq!(Storage::open(&folder.options()).unwrap().snapshot().version(), 2);
}

#[test]
fn other_databases_and_newer_formats_are_refused() {
    let folder = TemporaryFolder::new();
    drop(Storage::open(&folder.options()).unwrap());
    let file = folder.path().join(FILE_NAME);
    let write = |format: Option<u64>| {
        let database = redb::Database::create(&file).unwrap();
        let transaction = database.begin_write().unwrap();
        let marks = redb::TableDefinition::<&str, u64>::new("windlass");
        match format {
            Some(format) => drop(transaction.open_table(marks).unwrap().insert("format", format).unwrap()),
            None => drop(transaction.delete_table(marks).unwrap()),
        }
        transaction.commit().unwrap();
    };
    write(Some(2));
    let newer = Storage::open(&folder.options()).err().unwrap();
    assert!(matches!(newer, OpenError::Newer { found: 2, known: 1, .. }), "{newer}");
    write(None);
    let foreign = Storage::open(&folder.options()).err().unwrap();
    assert!(foreign.to_string().contains("database of another program"), "{foreign}");
}
