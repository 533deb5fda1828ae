//! The guide is this example: its texts are these files, and its commands do what it says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn example() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn root() -> PathBuf {
    example().join("../..")
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// A block of code, with the line of text before it.
#[derive(Debug)]
struct Block {
    language: String,
    before: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let guide = read(&root().join("docs/guide.md"));
    let (mut blocks, mut before, mut open) = (Vec::new(), String::new(), None::<Block>);
    for line in guide.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => {
                open = Some(Block {
                    language: language.to_owned(),
                    before: before.clone(),
                    text: String::new(),
                });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(block), None) => block.text.push_str(&format!("{line}\n")),
            (None, None) if !line.is_empty() => before = line.to_owned(),
            (None, None) => {}
        }
    }
    blocks
}

/// The file that a text names: the last thing in it that stands in backquotes.
fn named_file(text: &str) -> String {
    text.rsplit('`').nth(1).unwrap_or_default().to_owned()
}

#[test]
fn every_file_in_the_guide_is_a_file_here() {
    let mut seen = BTreeSet::new();
    for block in blocks().iter().filter(|block| block.language == "rust") {
        let file = named_file(&block.before);
        assert_eq!(block.text, read(&example().join(&file)), "{file}");
        seen.insert(file);
    }
    let all = [
        "src/checks.rs",
        "src/controller.rs",
        "src/kind.rs",
        "src/lib.rs",
        "src/main.rs",
        "src/mistake.rs",
        "tests/check.rs",
    ];
    assert_eq!(seen.iter().map(String::as_str).collect::<Vec<_>>(), all);
}

#[test]
fn the_mistake_is_shown_as_it_is_found() {
    let blocks = blocks();
    let shown = blocks.iter().find(|block| block.language == "text").expect("there is one");
    let report = greeting::two_greetings(greeting::CreatesOnce).run().to_string();
    assert!(report.contains(&shown.text), "{report}");
}

#[test]
fn no_block_is_of_another_kind() {
    for block in blocks() {
        let known = ["console", "rust", "sh", "text", "toml", "yaml"].contains(&block.language.as_str());
        assert!(known, "nothing tests this: {block:?}");
    }
}

/// The names of dependencies, by section.
fn dependencies(manifest: &str) -> BTreeSet<(String, String)> {
    let mut section = String::new();
    let mut found = BTreeSet::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            section = line.to_owned();
        } else if let Some((name, _)) = line.split_once([' ', '.'])
            && section.ends_with("dependencies]")
        {
            found.insert((section.clone(), name.to_owned()));
        }
    }
    found
}

#[test]
fn the_dependencies_are_those_of_this_example() {
    let blocks = blocks();
    let manifest = blocks.iter().find(|block| block.language == "toml").expect("there is one");
    let mut here = dependencies(&read(&example().join("Cargo.toml")));
    // What only this test needs.
    here.retain(|(_, name)| {
        !matches!(name.as_str(), "conformance" | "tempfile" | "tokio" | "windlass-server")
    });
    assert_eq!(dependencies(&manifest.text), here);
    let workspace = read(&root().join("Cargo.toml"));
    for line in manifest.text.lines() {
        let version = line.split('"').nth(1).filter(|_| line.contains("version") || line.contains("= \""));
        let (Some(version), Some(name)) = (version, line.split(' ').next()) else { continue };
        if !line.contains("path") {
            let wanted = workspace.lines().find(|known| known.starts_with(&format!("{name} = ")));
            assert!(wanted.is_some_and(|known| known.contains(&format!("\"{version}\""))), "{line}");
        } else {
            assert!(root().join("crates").join(name).is_dir(), "{line}");
        }
    }
}

/// What needs the real kubectl.
mod kubectl {
    use std::process::{Child, Command, Stdio};

    use windlass_server::{Server, ServerOptions};

    use super::*;

    /// A process that is killed when the test ends.
    struct Started(Child);

    impl Drop for Started {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    /// Runs the commands of the guide as it gives them, but for cargo's, whose programs are built already, and the
    /// server's, which runs in this process.
    #[tokio::test]
    async fn every_command_in_the_guide_works() {
        let server = Server::start(ServerOptions::default()).await.expect("the server starts");
        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        server.kubeconfig().write(&kubeconfig).expect("a kubeconfig");
        let assets = conformance::kubernetes::assets()
            .expect("KUBEBUILDER_ASSETS names no folder with kubectl: `cargo xtask envtest` makes one");
        let path = format!("{}:{}", assets.display(), std::env::var("PATH").unwrap_or_default());
        let shell = |line: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).current_dir(folder.path());
            command.env("PATH", &path).env("KUBECONFIG", &kubeconfig).env("HOME", folder.path());
            command.stderr(Stdio::inherit());
            command
        };
        let mut processes = Vec::new();
        let mut last = String::new();
        for block in blocks() {
            if block.language == "console" {
                for line in block.text.lines() {
                    assert!(last.contains(line.trim()), "{line:?} is not in:\n{last}");
                }
            }
            if block.language == "yaml" {
                std::fs::write(folder.path().join(named_file(&block.before)), &block.text).expect("a file");
            }
            for line in block.text.lines().filter(|_| block.language == "sh") {
                let line =
                    line.replace("cargo run --quiet", env!("CARGO_BIN_EXE_greeting")).replace("-- ", "");
                let line = line.replace("127.0.0.1:8080", "127.0.0.1:0");
                if let Some(line) = line.strip_suffix(" &") {
                    if !line.contains("serve") {
                        let process = shell(&format!("exec {line}")).stdout(Stdio::null()).spawn();
                        processes.push(Started(process.expect("it starts")));
                    }
                } else if !line.starts_with("cargo ")
                    && !line.starts_with("cd ")
                    && !line.starts_with("export ")
                {
                    let mut command = shell(&line);
                    let output = tokio::task::spawn_blocking(move || command.output()).await;
                    let output = output.expect("no panic").expect("sh runs");
                    last = String::from_utf8_lossy(&output.stdout).into_owned();
                    assert!(output.status.success(), "{line}:\n{last}");
                }
            }
        }
        assert_eq!(processes.len(), 1, "the controller was started");
        drop(processes);
        server.shutdown().await;
    }
}
