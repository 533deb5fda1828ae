//! What the sources of pure crates must not mention.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace::Package;

/// Sockets, files, sleeping and clocks. Of `std::net`, addresses are mere data.
const FORBIDDEN: [&str; 8] = [
    "net::TcpListener",
    "net::TcpStream",
    "net::ToSocketAddrs",
    "net::UdpSocket",
    "std::fs",
    "thread::sleep",
    "SystemTime::now",
    "Instant::now",
];

/// Which package may mention what after all, and in the files whose path starts how.
const EXCEPTIONS: [(&str, &str, &str); 2] =
    [("windlass-check", "std::fs", "src/files"), ("windlass-check", "Instant::now", "src/stopwatch.rs")];

/// All that is forbidden in the sources of a package; its tests may do as they like.
pub(super) fn faults(package: &Package) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for path in rust_files(&package.directory.join("src"))? {
        let source = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let file = path.strip_prefix(&package.directory).unwrap_or(&path).to_string_lossy().into_owned();
        for (line, what) in mentions(&source) {
            let excepted = |(name, thing, start): &(&str, &str, &str)| {
                *name == package.name && *thing == what && file.starts_with(start)
            };
            if !EXCEPTIONS.iter().any(excepted) {
                faults.push(format!("{} must stay pure, but {file}:{line} mentions {what}", package.name));
            }
        }
    }
    Ok(faults)
}

pub(super) fn rust_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let entries = fs::read_dir(directory).with_context(|| format!("reading {}", directory.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A source as its characters, each with its line.
type Code = Vec<(usize, char)>;

/// The forbidden names in a source, each with its line. Lines of comments do not count.
fn mentions(source: &str) -> BTreeSet<(usize, &'static str)> {
    let code = squash(source);
    let mut found = scan(&code);
    for position in (0..code.len()).filter(|position| is_at(&code, *position, "std::{")) {
        found.extend(imports(code.get(position..).unwrap_or_default()).iter().flat_map(|path| scan(path)));
    }
    found
}

/// Leaves out comments and all space that does not part words: a path is one piece, however it was laid out.
fn squash(source: &str) -> Code {
    let mut code = Code::new();
    let mut after_space = false;
    for (line, number) in source.lines().zip(1..).filter(|(line, _)| !line.trim_start().starts_with("//")) {
        for c in line.chars().chain(['\n']) {
            if c.is_whitespace() {
                after_space = true;
                continue;
            }
            if std::mem::take(&mut after_space)
                && is_word(c)
                && code.last().is_some_and(|(_, last)| is_word(*last))
            {
                code.push((number, ' '));
            }
            code.push((number, c));
        }
    }
    code
}

fn scan(code: &Code) -> BTreeSet<(usize, &'static str)> {
    let positions = code.iter().enumerate();
    positions
        .flat_map(|(position, (line, _))| {
            FORBIDDEN.iter().filter(move |name| is_at(code, position, name)).map(|name| (*line, *name))
        })
        .collect()
}

/// The full paths in `std::{...}`, which the code starts with.
fn imports(code: &[(usize, char)]) -> Vec<Code> {
    let mut paths = Vec::new();
    // What stands before each open brace, and the path that is being read.
    let mut outer: Vec<Code> = Vec::new();
    let mut path = Code::new();
    for (line, c) in code {
        match c {
            '{' => outer.push(std::mem::take(&mut path)),
            ',' | '}' => {
                paths.push(
                    outer.concat().into_iter().map(|(_, c)| (*line, c)).chain(path.drain(..)).collect(),
                );
                if *c == '}' {
                    outer.pop();
                }
            }
            _ => path.push((*line, *c)),
        }
        if outer.is_empty() && *c == '}' {
            break;
        }
    }
    paths
}

/// Whether the name stands here by itself: `std::fs` is neither in `std::fsync` nor in `mystd::fs`.
fn is_at(code: &Code, position: usize, name: &str) -> bool {
    let starts_word =
        position.checked_sub(1).and_then(|before| code.get(before)).is_none_or(|(_, c)| !is_word(*c));
    let mut rest = code.iter().skip(position).map(|(_, c)| *c);
    let matches = starts_word && name.chars().all(|wanted| rest.next() == Some(wanted));
    matches && (!name.ends_with(is_word) || !rest.next().is_some_and(is_word))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mentions_are_found_however_they_are_written() {
        for (source, expected) in [
            ("use std::fs;", &[(1, "std::fs")][..]),
            ("\nlet now = std::time::Instant::now();", &[(2, "Instant::now")]),
            ("SystemTime::now()", &[(1, "SystemTime::now")]),
            ("use std::{fmt, fs};", &[(1, "std::fs")]),
            (
                "use std::{\n    collections::{BTreeMap, BTreeSet},\n    net::{IpAddr, TcpStream},\n};",
                &[(3, "net::TcpStream")],
            ),
            ("use std::net::{IpAddr, Ipv4Addr};", &[]),
            ("use std::{thread::{sleep, spawn}};", &[(1, "thread::sleep")]),
            ("std::\n    fs::read(path)", &[(1, "std::fs")]),
            ("// std::fs is not used here\n//! nor std::net", &[]),
            ("use std::{fmt};\nmod net { fn fs() {} }", &[]),
            ("use std::fmt; mystd::fs; std::fsync; MyInstant::now()", &[]),
            ("use std::{fsync, thread::sleepy, sync::{Arc}};", &[]),
        ] {
            assert_eq!(mentions(source).into_iter().collect::<Vec<_>>(), expected, "{source}");
        }
    }

    #[test]
    fn exceptions_are_for_one_package_and_place() {
        let directory = std::env::temp_dir().join(format!("windlass-sources-{}", std::process::id()));
        for (file, text) in [
            ("src/files/trace.rs", "use std::fs;\nInstant::now()"),
            ("src/stopwatch.rs", "Instant::now()"),
            ("src/lib.rs", "use std::fs;"),
            ("src/note.txt", "std::fs"),
        ] {
            fs::create_dir_all(directory.join(file).parent().unwrap()).unwrap();
            fs::write(directory.join(file), text).unwrap();
        }
        let package = |name: &str| Package {
            name: name.to_owned(),
            directory: directory.clone(),
            dependencies: Vec::new(),
            programs: Vec::new(),
            example_arguments: Vec::new(),
        };
        let checker = faults(&package("windlass-check")).unwrap();
        let model = faults(&package("windlass-model")).unwrap();
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(
            checker,
            [
                "windlass-check must stay pure, but src/files/trace.rs:2 mentions Instant::now",
                "windlass-check must stay pure, but src/lib.rs:1 mentions std::fs",
            ]
        );
        assert_eq!(model.len(), 4, "{model:?}");
    }
}
