//! Helm, for the tests that install charts on the embedded server: built once and kept.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::go_programs::{Module, Program};

/// The variable by which tests find it.
pub(crate) const VARIABLE: &str = "WINDLASS_HELM";

/// What it is built from: `xtask/helm/go.mod`.
pub(crate) const MODULE: Module = Module {
    name: "helm",
    sources: "xtask/helm",
    programs: &[Program { name: "helm", package: "helm.sh/helm/v3/cmd/helm" }],
    linker_flags: "-s -w",
};

/// The program: the one that the environment names, or one that is built if need be.
pub(crate) fn provide(root: &Path) -> Result<PathBuf> {
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        Some(named) => Ok(PathBuf::from(named)),
        None => Ok(MODULE.provide(root)?.join("helm")),
    }
}
