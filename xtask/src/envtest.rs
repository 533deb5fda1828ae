//! `cargo xtask envtest`: a folder with a real kube-apiserver, etcd and kubectl, built once and kept.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::go_programs::{Module, Program};

/// The variable by which test tools of the ecosystem find these programs.
pub(crate) const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// What they are built from: `xtask/envtest/go.mod`.
pub(crate) const MODULE: Module = Module {
    name: "envtest",
    sources: "xtask/envtest",
    programs: &[
        Program { name: "etcd", package: "go.etcd.io/etcd/server/v3" },
        Program { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver" },
        Program { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl" },
    ],
    linker_flags: LINKER_FLAGS,
};

/// The version that the programs of Kubernetes report: modules do not carry it.
const LINKER_FLAGS: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.35.0 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=35 \
    -X k8s.io/component-base/version.gitTreeState=clean";

/// Provides the programs, and prints how to point other tools to them.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = provide(root)?;
    println!("export {VARIABLE}={}", folder.display());
    Ok(())
}

/// The folder with the programs: the one that the environment names, or one that is built if need be.
pub(crate) fn provide(root: &Path) -> Result<PathBuf> {
    match named_by_environment()? {
        Some(named) => Ok(named),
        None => MODULE.provide(root),
    }
}

/// The folder with the programs if they are there already, without building anything.
pub(crate) fn find(root: &Path) -> Result<Option<PathBuf>> {
    match named_by_environment()? {
        Some(named) => Ok(Some(named)),
        None => MODULE.find(root),
    }
}

/// A folder that the user chose is used as it is, but it must be complete.
fn named_by_environment() -> Result<Option<PathBuf>> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let folder = PathBuf::from(value);
    let missing: Vec<&str> = MODULE.missing(&folder).iter().map(|program| program.name).collect();
    if !missing.is_empty() {
        let (folder, missing) = (folder.display(), missing.join(", "));
        bail!("{VARIABLE} names {folder}, which lacks {missing}: unset it to have them built");
    }
    Ok(Some(folder))
}
