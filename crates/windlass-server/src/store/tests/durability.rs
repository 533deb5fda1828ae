//! What a store keeps on the disk.

use super::*;
use crate::store::{OpenError, inspect};

#[tokio::test]
async fn everything_is_there_again_after_reopening() {
    let folder = TemporaryFolder::new();
    let storage = Storage::open(&folder.options()).unwrap();
    add_namespace(&storage, "default").await;
    for number in 0..20 {
        request(&storage, create(&format!("n{number}"), "one")).await.unwrap();
    }
    request(&storage, update("n3", "two")).await.unwrap();
    request(&storage, delete("n4")).await.unwrap();
    let before = storage.snapshot();
    drop(storage);
    let storage = Storage::open(&folder.options()).unwrap();
    assert_eq!(storage.snapshot().version(), before.version());
    assert_eq!(contents(&storage.snapshot()), contents(&before));
    let records = storage.feed("", "configmaps", 0).unwrap().ready().unwrap();
    assert_eq!(records.len(), 22, "the history is there again, too");
    assert_eq!(records.last().unwrap().version, before.version());
    assert!(records.last().unwrap().before.is_some());
    request(&storage, create("new", "")).await.unwrap();
    assert_eq!(storage.snapshot().version(), before.version() + 1);
}

#[tokio::test]
async fn a_folder_has_one_user_at_a_time() {
    let folder = TemporaryFolder::new();
    let storage = Storage::open(&folder.options()).unwrap();
    let refused = Storage::open(&folder.options()).err().unwrap();
    assert!(matches!(&refused, OpenError::InUse { folder: path } if path == folder.path()), "{refused}");
    assert!(matches!(inspect(folder.path()), Err(OpenError::InUse { .. })));
    drop(storage);
    Storage::open(&folder.options()).unwrap();
}

#[tokio::test]
async fn concurrent_writers_are_ordered_and_share_commits() {
    let folder = TemporaryFolder::new();
    let storage = Storage::open(&folder.options()).unwrap();
    add_namespace(&storage, "default").await;
    let start = storage.snapshot().version();
    let writers: Vec<_> = (0..16)
        .map(|writer| {
            let storage = storage.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    let made = request(&storage, create(&format!("w{writer}-{number}"), "")).await.unwrap();
                    assert_eq!(made.code, 201);
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.unwrap();
    }
    let mut feed = storage.feed("", "configmaps", start).unwrap();
    let mut versions = Vec::new();
    while versions.len() < 320 {
        versions.extend(feed.next().await.unwrap().iter().map(|record| record.version));
    }
    assert_eq!(versions, (start + 1..=start + 320).collect::<Vec<_>>());
    assert!(storage.statistics().commits < 321);
    let snapshot = storage.snapshot();
    storage.close();
    assert!(matches!(request(&storage, create("late", "")).await, Err(WriteError::Closed)));
    drop(storage);
    assert_eq!(contents(&Storage::open(&folder.options()).unwrap().snapshot()), contents(&snapshot));
}

#[tokio::test]
async fn what_the_history_forgets_is_folded_into_the_objects() {
    let folder = TemporaryFolder::new();
    let history = HistoryLimits { changes: 10, ..HistoryLimits::default() };
    let options = StoreOptions { history, ..folder.options() };
    let storage = Storage::open(&options).unwrap();
    add_namespace(&storage, "default").await;
    request(&storage, create("a", "")).await.unwrap();
    let mut sizes = Vec::new();
    for round in 0..6 {
        for number in 0..100 {
            request(&storage, update("a", &format!("{round}-{number}"))).await.unwrap();
        }
        sizes.push(storage.statistics().file_bytes);
    }
    let before = storage.snapshot();
    drop(storage);
    let inspection = inspect(folder.path()).unwrap();
    assert!(inspection.changes <= 20, "{inspection:?}");
    assert_eq!(inspection.compacted + inspection.changes as u64, inspection.version);
    assert_eq!(inspection.version, before.version());
    assert_eq!(inspection.problems, [""; 0]);
    assert_eq!(
        inspection.objects,
        [(String::new(), "configmaps".to_owned(), 1), (String::new(), "namespaces".to_owned(), 1),]
    );
    assert_eq!(sizes[3], sizes[5], "the file does not grow: {sizes:?}");
    let storage = Storage::open(&options).unwrap();
    assert_eq!(contents(&storage.snapshot()), contents(&before));
}
