//! `cargo xtask envtest`: a folder with a real kube-apiserver, etcd and kubectl, built once and kept.
//!
//! They are built from the Go modules that `xtask/envtest/go.mod` pins, so that nothing is downloaded but source
//! whose checksum stands in `go.sum`.

mod go;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::process::run as execute;

/// The variable by which test tools of the ecosystem find these programs.
pub(crate) const VARIABLE: &str = "KUBEBUILDER_ASSETS";

/// The version that the programs of Kubernetes tell: modules do not carry it.
const LINKER_FLAGS: &str = "-s -w \
    -X k8s.io/component-base/version.gitVersion=v1.35.0 \
    -X k8s.io/component-base/version.gitMajor=1 \
    -X k8s.io/component-base/version.gitMinor=35 \
    -X k8s.io/component-base/version.gitTreeState=clean";

/// A program and the Go package that it is built from.
struct Program {
    name: &'static str,
    package: &'static str,
}

const PROGRAMS: [Program; 3] = [
    Program { name: "etcd", package: "go.etcd.io/etcd/server/v3" },
    Program { name: "kube-apiserver", package: "k8s.io/kubernetes/cmd/kube-apiserver" },
    Program { name: "kubectl", package: "k8s.io/kubernetes/cmd/kubectl" },
];

/// Provides the programs, and prints how to point other tools to them.
pub(crate) fn run(root: &Path) -> Result<()> {
    let folder = provide(root)?;
    println!("export {VARIABLE}={}", folder.display());
    Ok(())
}

/// The folder with the programs: the one that the environment names, or one that is built if need be.
pub(crate) fn provide(root: &Path) -> Result<PathBuf> {
    if let Some(named) = named_by_environment()? {
        return Ok(named);
    }
    let folder = cache_folder(root)?;
    if missing(&folder).is_empty() {
        return Ok(folder);
    }
    go::prepare()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for program in missing(&folder) {
        build(root, &folder, program)?;
    }
    Ok(folder)
}

/// The folder with the programs if they are there already, without building anything.
pub(crate) fn find(root: &Path) -> Result<Option<PathBuf>> {
    if let Some(named) = named_by_environment()? {
        return Ok(Some(named));
    }
    let folder = cache_folder(root)?;
    Ok(missing(&folder).is_empty().then_some(folder))
}

/// A folder that somebody chose is used as it is, but it must be complete.
fn named_by_environment() -> Result<Option<PathBuf>> {
    let Some(value) = std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let folder = PathBuf::from(value);
    let missing: Vec<&str> = missing(&folder).iter().map(|program| program.name).collect();
    if !missing.is_empty() {
        let (folder, missing) = (folder.display(), missing.join(", "));
        bail!("{VARIABLE} names {folder}, which lacks {missing}: unset it to have them built");
    }
    Ok(Some(folder))
}

fn missing(folder: &Path) -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| !folder.join(program.name).is_file()).collect()
}

/// Named by what is built, so that another version never meets this one.
fn cache_folder(root: &Path) -> Result<PathBuf> {
    Ok(cache()?.join("envtest").join(recipe(root)?))
}

/// Where what takes long to make is kept: outside the repository, so that `cargo clean` and another worktree do not
/// cost ten minutes.
pub(crate) fn cache() -> Result<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME").filter(|value| !value.is_empty()) {
        Some(cache) => PathBuf::from(cache),
        None => {
            let home = std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?;
            Path::new(&home).join(".cache")
        }
    };
    Ok(cache.join("windlass"))
}

/// A name for exactly these sources, built exactly so.
fn recipe(root: &Path) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    LINKER_FLAGS.hash(&mut hasher);
    for name in ["go.mod", "go.sum"] {
        let path = sources(root).join(name);
        fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
    }
    Ok(format!("{:016x}", hasher.finish()))
}

fn sources(root: &Path) -> PathBuf {
    root.join("xtask/envtest")
}

/// Builds one program under a temporary name, so that an interrupted build leaves nothing that looks complete.
fn build(root: &Path, folder: &Path, program: &Program) -> Result<()> {
    eprintln!("building {} (the first time this takes minutes) ...", program.name);
    let start = Instant::now();
    let part = folder.join(format!(".{}.{}", program.name, std::process::id()));
    let built = execute(
        Command::new("go")
            .args(["build", "-p", "2", "-mod=readonly", "-trimpath", "-ldflags", LINKER_FLAGS, "-o"])
            .arg(&part)
            .arg(program.package)
            .env("CGO_ENABLED", "0")
            .env("GOWORK", "off")
            .current_dir(sources(root)),
    );
    if let Err(error) = built {
        // What is left of a failed build is of no use, and its absence is no further failure.
        let _ = fs::remove_file(&part);
        return Err(error.context(format!("cannot build {}; run this again to go on", program.name)));
    }
    fs::rename(&part, folder.join(program.name)).with_context(|| format!("cannot keep {}", program.name))?;
    eprintln!("built {} in {:.0} s", program.name, start.elapsed().as_secs_f64());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_is_a_tool_of_the_module() {
        let module = fs::read_to_string(sources(&crate::root()).join("go.mod")).unwrap();
        for program in &PROGRAMS {
            assert!(module.contains(&format!("\t{}\n", program.package)), "{}", program.package);
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = std::env::temp_dir().join(format!("windlass-envtest-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kubectl"), "").unwrap();
        let names: Vec<&str> = missing(&folder).iter().map(|program| program.name).collect();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["etcd", "kube-apiserver"]);
    }
}
