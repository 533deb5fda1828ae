//! Tests of the store as a whole.

mod basics;
mod damage;
mod durability;
mod evaluation;
mod faults;
mod killed;
mod policies;
mod random;
mod shards;
mod simulated_disk;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use windlass_model::{Effect, FeatureGates, Key, Request, ResourceId, Response, Timestamp, Verb, handle};

use super::{HistoryLimits, Snapshot, Storage, StoreOptions, WriteError};

/// A folder that goes with the test.
pub(crate) struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("windlass-store-test-{}-{number}", std::process::id());
        TemporaryFolder(std::env::temp_dir().join(name))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn options(&self) -> StoreOptions {
        StoreOptions { folder: Some(self.0.clone()), ..StoreOptions::default() }
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// The same numbers in each run.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

fn in_memory() -> Storage {
    Storage::open(&StoreOptions::default()).unwrap()
}

fn config_maps() -> ResourceId {
    ResourceId::new("", "v1", "configmaps")
}

fn key(name: &str) -> Key {
    Key::new("", "configmaps", "default", name)
}

fn evaluate(request: Request) -> impl Fn(&Snapshot) -> Effect + Send {
    move |snapshot| handle(snapshot, snapshot.types(), Timestamp::default(), &request)
}

async fn request(storage: &Storage, request: Request) -> Result<Response, WriteError> {
    Ok(storage.write(evaluate(request)).await?.effect.response)
}

/// Creates a namespace.
async fn add_namespace(storage: &Storage, name: &str) {
    let create = Request::new(Verb::Create, ResourceId::new("", "v1", "namespaces"));
    let made = request(storage, create.with_body(json!({ "metadata": { "name": name } }))).await.unwrap();
    assert_eq!(made.code, 201);
}

fn create(name: &str, data: &str) -> Request {
    create_in("default", name, data)
}

fn create_in(namespace: &str, name: &str, data: &str) -> Request {
    let body = json!({ "metadata": { "name": name }, "data": { "text": data } });
    Request::new(Verb::Create, config_maps()).in_namespace(namespace).with_body(body)
}

fn update(name: &str, data: &str) -> Request {
    let body = json!({ "metadata": { "name": name }, "data": { "text": data } });
    Request::new(Verb::Update, config_maps()).in_namespace("default").named(name).with_body(body)
}

fn delete(name: &str) -> Request {
    Request::new(Verb::Delete, config_maps()).in_namespace("default").named(name)
}

fn text(value: &Value) -> &str {
    value["data"]["text"].as_str().unwrap_or_default()
}

/// Everything that a snapshot shows.
fn contents(snapshot: &Snapshot) -> Vec<(Key, String)> {
    let resources: Vec<_> = snapshot.resources().collect();
    let objects =
        resources.iter().flat_map(|(group, plural, _)| snapshot.scan_raw(group, plural, None, None));
    let text = |object: &super::StoredObject| String::from_utf8(object.text().to_vec()).unwrap();
    objects.map(|(key, object)| (key.clone(), text(object))).collect()
}
