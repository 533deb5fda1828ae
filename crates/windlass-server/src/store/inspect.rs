//! What is in a folder, looked at without changing anything.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use windlass_model::{Key, object};

use super::disk::Folder;
use super::error::OpenError;
use super::object::StoredObject;
use super::state::Resource;

/// More problems than this are only counted.
const MAX_PROBLEMS: usize = 100;

/// What is in a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inspection {
    /// The file that was read.
    pub file: PathBuf,
    /// Its size.
    pub file_bytes: u64,
    /// The version of the newest change.
    pub version: u64,
    /// The changes up to this version are forgotten.
    pub compacted: u64,
    /// How many changes since then there are.
    pub changes: usize,
    /// Group, plural and number of objects of each resource that has some.
    pub objects: Vec<(String, String, usize)>,
    /// Problems of single objects, the first hundred; empty for a store that is intact.
    pub problems: Vec<String>,
    /// How many problems there are in all.
    pub problem_count: usize,
}

/// Reads and verifies everything in a folder.
///
/// # Errors
/// There is no store, or a server uses it, or the file as a whole is damaged.
pub fn inspect(folder: &Path) -> Result<Inspection, OpenError> {
    let (folder, loaded) = Folder::read(folder)?;
    let resources = loaded.state.resources();
    let current = resources.iter().flat_map(|resource| &resource.objects);
    let past = loaded.records.iter().filter_map(|record| Some((&record.key, record.before.as_ref()?)));
    let mut found = current.chain(past).filter_map(|(key, object)| problem(key, object));
    let problems: Vec<String> = found.by_ref().take(MAX_PROBLEMS).collect();
    let problem_count = problems.len() + found.count();
    let count = |resource: &Arc<Resource>| {
        (resource.group.to_string(), resource.plural.to_string(), resource.objects.len())
    };
    Ok(Inspection {
        file: folder.file(),
        file_bytes: folder.file_bytes(),
        version: loaded.state.version,
        compacted: loaded.compacted,
        changes: loaded.records.len(),
        objects: resources.iter().map(count).collect(),
        problems,
        problem_count,
    })
}

/// The problem of an object, if it has one: its text must match its key and its version.
fn problem(key: &Key, stored: &StoredObject) -> Option<String> {
    let value = stored.parse();
    let version = stored.version().to_string();
    let fields = [
        ("metadata.name", object::name(&value), &*key.name),
        ("metadata.namespace", object::namespace(&value), &*key.namespace),
        ("metadata.resourceVersion", object::resource_version(&value), &*version),
    ];
    let (field, text, expected) = fields.into_iter().find(|(_, text, expected)| text != expected)?;
    let Key { group, plural, namespace, name } = key;
    Some(format!("{plural}.{group} {namespace}/{name}: {field} is {text:?} instead of {expected:?}"))
}
