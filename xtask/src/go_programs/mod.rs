//! Programs that are built from a Go module of ours, each once, and kept outside the repository.
//!
//! A module pins what it builds, so that nothing is downloaded but source whose checksum stands in its `go.sum`.

mod toolchain;

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result};

use crate::process::run as execute;

/// A program and the Go package that it is built from.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
}

/// A module and what is built from it.
pub(crate) struct Module {
    /// The name of its folder in the cache.
    pub(crate) name: &'static str,
    /// Its folder in the repository.
    pub(crate) sources: &'static str,
    pub(crate) programs: &'static [Program],
    pub(crate) linker_flags: &'static str,
}

impl Module {
    /// The folder with the programs, which are built if need be.
    pub(crate) fn provide(&self, root: &Path) -> Result<PathBuf> {
        let folder = self.folder(root)?;
        if self.missing(&folder).is_empty() {
            return Ok(folder);
        }
        toolchain::prepare(self.name)?;
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        for program in self.missing(&folder) {
            self.build(root, &folder, program)?;
        }
        Ok(folder)
    }

    /// The folder with the programs if they are there already, without building anything.
    pub(crate) fn find(&self, root: &Path) -> Result<Option<PathBuf>> {
        let folder = self.folder(root)?;
        Ok(self.missing(&folder).is_empty().then_some(folder))
    }

    /// The programs that a folder lacks.
    pub(crate) fn missing(&self, folder: &Path) -> Vec<&'static Program> {
        self.programs.iter().filter(|program| !folder.join(program.name).is_file()).collect()
    }

    /// Named by what is built, so that another version never meets this one.
    fn folder(&self, root: &Path) -> Result<PathBuf> {
        Ok(cache()?.join(self.name).join(self.recipe(root)?))
    }

    /// A name for exactly these sources, built exactly so.
    fn recipe(&self, root: &Path) -> Result<String> {
        let mut hasher = DefaultHasher::new();
        self.linker_flags.hash(&mut hasher);
        let sources = self.sources(root);
        for path in [sources.join("go.mod"), sources.join("go.sum")].into_iter().chain(own_code(&sources)?) {
            fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?.hash(&mut hasher);
        }
        Ok(format!("{:016x}", hasher.finish()))
    }

    fn sources(&self, root: &Path) -> PathBuf {
        root.join(self.sources)
    }

    /// Builds one program under a temporary name, so that an interrupted build leaves nothing that looks complete.
    fn build(&self, root: &Path, folder: &Path, program: &Program) -> Result<()> {
        eprintln!("building {} (the first time this takes minutes) ...", program.name);
        let start = Instant::now();
        let part = folder.join(format!(".{}.{}", program.name, std::process::id()));
        let built = execute(
            Command::new("go")
                .args(["build", "-p", "2", "-mod=readonly", "-trimpath", "-ldflags", self.linker_flags, "-o"])
                .arg(&part)
                .arg(program.package)
                .env("CGO_ENABLED", "0")
                .env("GOWORK", "off")
                .current_dir(self.sources(root)),
        );
        if let Err(error) = built {
            // What is left of a failed build is of no use, and its absence is no further failure.
            let _ = fs::remove_file(&part);
            return Err(error.context(format!("cannot build {}; run this again to go on", program.name)));
        }
        let kept = fs::rename(&part, folder.join(program.name));
        kept.with_context(|| format!("cannot keep {}", program.name))?;
        eprintln!("built {} in {:.0} s", program.name, start.elapsed().as_secs_f64());
        Ok(())
    }
}

/// The code of a module that is more than a list of tools, in order.
fn own_code(sources: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(sources).with_context(|| format!("cannot read {}", sources.display()))?;
    let paths: Result<Vec<PathBuf>, _> = entries.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.with_context(|| format!("cannot read {}", sources.display()))?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "go"));
    paths.sort();
    Ok(paths)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bench, envtest, helm};

    #[test]
    fn each_program_is_a_tool_of_its_module() {
        for module in [&envtest::MODULE, &helm::MODULE] {
            let text = fs::read_to_string(module.sources(&crate::root()).join("go.mod")).unwrap();
            let tools: Vec<&str> = text.lines().map(|line| line.trim_start_matches("tool ").trim()).collect();
            for program in module.programs {
                assert!(tools.contains(&program.package), "{}", program.package);
            }
        }
    }

    #[test]
    fn changed_code_is_another_program() {
        let sources = bench::CONTROLLER_RUNTIME.sources(&crate::root());
        assert_eq!(own_code(&sources).unwrap(), [sources.join("main.go")]);
        let tools = envtest::MODULE.sources(&crate::root());
        assert!(own_code(&tools).unwrap().is_empty(), "its recipe would change");
    }

    #[test]
    fn what_is_missing_is_named() {
        let folder = std::env::temp_dir().join(format!("windlass-programs-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("kubectl"), "").unwrap();
        let names: Vec<&str> = envtest::MODULE.missing(&folder).iter().map(|program| program.name).collect();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(names, ["etcd", "kube-apiserver"]);
    }
}
