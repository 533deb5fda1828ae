//! Each example builds, and each of its programs comes to a good end.

use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::process::{cargo, run as execute, shown};
use crate::workspace::{self, Package};

/// Timeout of an example: no reader waits longer.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Builds and runs all examples.
pub(crate) fn run(root: &Path) -> Result<()> {
    let packages = workspace::packages(root)?;
    let mut examples: Vec<&Package> =
        packages.iter().filter(|package| package.directory.starts_with(root.join("examples"))).collect();
    examples.sort_by_key(|package| &package.directory);
    // All at once: one by one, each would have what they share built again, with other features.
    let packages = examples.iter().flat_map(|example| ["--package", &example.name]);
    execute(cargo(root).args(["build", "--release"]).args(packages))?;
    let built = workspace::target_directory(root)?.join("release");
    for example in &examples {
        for program in &example.programs {
            let mut command = Command::new(built.join(program));
            command.args(&example.example_arguments).current_dir(root);
            println!("-- {program} {}", example.example_arguments.join(" "));
            run_program(&mut command)?;
        }
    }
    println!("{} examples", examples.len());
    Ok(())
}

fn run_program(command: &mut Command) -> Result<()> {
    let mut child = command.spawn().with_context(|| format!("cannot start `{}`", shown(command)))?;
    match wait(&mut child, TIMEOUT)? {
        Some(status) if status.success() => Ok(()),
        Some(status) => bail!("`{}` failed ({status})", shown(command)),
        None => bail!(
            "`{}` still runs after {} s; an example must end by itself",
            shown(command),
            TIMEOUT.as_secs()
        ),
    }
}

/// Waits for a program to end; stops it and returns `None` if it takes too long.
fn wait(child: &mut Child, timeout: Duration) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < timeout {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_waited_for_but_not_for_ever() {
        let mut quick = Command::new("true").spawn().unwrap();
        assert!(wait(&mut quick, TIMEOUT).unwrap().unwrap().success());
        let mut endless = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(wait(&mut endless, Duration::ZERO).unwrap(), None);
        assert!(run_program(&mut Command::new("false")).is_err());
    }
}
