//! The packages of the workspace, as `cargo metadata` lists them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process::{cargo, output};

/// The crates that do no I/O. Not all of them need exist.
const PURE: [&str; 6] =
    ["windlass-cel", "windlass-model", "windlass", "windlass-derive", "windlass-shard", "windlass-check"];

/// One package of the workspace.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its directory.
    pub(crate) directory: PathBuf,
    /// The packages that its manifest names, for whatever purpose.
    pub(crate) dependencies: Vec<String>,
    /// Its programs.
    pub(crate) programs: Vec<String>,
    /// The arguments with which `cargo xtask ci` runs its programs, if it is an example: `[package.metadata.example]`.
    pub(crate) example_arguments: Vec<String>,
}

impl Package {
    /// Whether the package must do no I/O.
    pub(crate) fn is_pure(&self) -> bool {
        PURE.contains(&self.name.as_str())
    }
}

/// Asks cargo for the packages of the workspace.
pub(crate) fn packages(root: &Path) -> Result<Vec<Package>> {
    from_metadata(&metadata(root)?)
}

/// Where cargo puts what it builds.
pub(crate) fn target_directory(root: &Path) -> Result<PathBuf> {
    let metadata = metadata(root)?;
    Ok(metadata["target_directory"].as_str().context("`cargo metadata` names no target_directory")?.into())
}

fn metadata(root: &Path) -> Result<Value> {
    let text = output(cargo(root).args(["metadata", "--format-version", "1", "--no-deps"]))?;
    serde_json::from_str(&text).context("`cargo metadata` prints no JSON")
}

/// Reads what `cargo metadata --no-deps` prints.
pub(crate) fn from_metadata(metadata: &Value) -> Result<Vec<Package>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    packages
        .iter()
        .map(|package| {
            let manifest = package["manifest_path"].as_str().context("a package has no manifest_path")?;
            Ok(Package {
                name: package["name"].as_str().context("a package has no name")?.to_owned(),
                directory: Path::new(manifest).parent().context("a manifest has no directory")?.to_owned(),
                dependencies: names(&package["dependencies"], |_| true),
                programs: names(&package["targets"], |target| {
                    target["kind"].as_array().is_some_and(|kinds| kinds.contains(&Value::from("bin")))
                }),
                example_arguments: texts(&package["metadata"]["example"]["arguments"]),
            })
        })
        .collect()
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

fn names(list: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<String> {
    let items = list.as_array().into_iter().flatten().filter(|item| wanted(item));
    items.filter_map(|item| item["name"].as_str()).map(str::to_owned).collect()
}
