//! Links in the documents: each names a file and a heading that exist.

mod markdown;

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::files::{read, with_extension};
use markdown::{Document, Link};

/// Checks all documents and reports all links that lead nowhere.
pub(crate) fn run(root: &Path) -> Result<()> {
    let files = with_extension(root, &["md"])?;
    let ignored = ignored_paths(root)?;
    let mut faults = Vec::new();
    let mut count = 0;
    for file in &files {
        let document = Document::parse(&read(file)?);
        count += document.links.iter().filter(|link| !link.is_code).count();
        for link in &document.links {
            if let Some(fault) = fault(root, file, link, &ignored)? {
                let shown = file.strip_prefix(root).unwrap_or(file).display();
                faults.push(format!("{shown}:{}: {fault}", link.line));
            }
        }
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!("{count} links in {} documents", files.len());
    Ok(())
}

/// The paths that git ignores: a document may mention what comes to be there.
fn ignored_paths(root: &Path) -> Result<Vec<PathBuf>> {
    let file = root.join(".gitignore");
    let text = if file.exists() { read(&file)? } else { String::new() };
    Ok(text.lines().filter_map(|line| line.strip_prefix('/')).map(|path| root.join(path)).collect())
}

/// The problem of a link, if it has one.
fn fault(root: &Path, file: &Path, link: &Link, ignored: &[PathBuf]) -> Result<Option<String>> {
    let target = &link.target;
    if link.is_code {
        return Ok(code_fault(root, file, target, ignored));
    }
    if is_external(target) {
        return Ok(None);
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target.as_str(), None),
    };
    let path = match path.strip_prefix('/') {
        Some(absolute) => root.join(decode(absolute)),
        None if path.is_empty() => file.to_owned(),
        None => file.parent().unwrap_or(root).join(decode(path)),
    };
    if !path.exists() {
        return Ok(Some(format!("`{target}` leads to no file")));
    }
    let is_document = path.extension().is_some_and(|extension| extension == "md");
    match anchor {
        Some(anchor) if is_document && !Document::parse(&read(&path)?).anchors.contains(anchor) => {
            Ok(Some(format!("`{target}` leads to no heading")))
        }
        _ => Ok(None),
    }
}

/// Code such as `crates/windlass/src/lib.rs` names a file, though it is no link.
fn code_fault(root: &Path, file: &Path, code: &str, ignored: &[PathBuf]) -> Option<String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let (first, rest) = code.split_once('/')?;
    // Only what starts in a directory of this repository; `apps/v1` and `example.com/x` do not.
    let looks_like_path = !first.is_empty()
        && !rest.is_empty()
        && code.chars().all(plain)
        && !code.contains("...")
        && root.join(first).is_dir();
    let exists =
        || root.join(code).exists() || file.parent().is_some_and(|parent| parent.join(code).exists());
    let is_ignored = || ignored.iter().any(|path| root.join(code).starts_with(path));
    (looks_like_path && !exists() && !is_ignored()).then(|| format!("there is no `{code}`"))
}

/// Whether a target starts with a scheme, as `https:` and `mailto:` do.
fn is_external(target: &str) -> bool {
    target.starts_with("//")
        || target.split_once(':').is_some_and(|(scheme, _)| {
            scheme.starts_with(|c: char| c.is_ascii_alphabetic())
                && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        })
}

/// Undoes `%20` and the like.
fn decode(path: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let [first, tail @ ..] = rest {
        let hex = (*first == b'%').then(|| tail.get(..2)).flatten();
        let decoded = hex.and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        bytes.push(decoded.unwrap_or(*first));
        rest = if decoded.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Writes the files, checks them, and returns the report.
    fn check(name: &str, files: &[(&str, &str)]) -> String {
        let root = std::env::temp_dir().join(format!("windlass-links-{name}-{}", std::process::id()));
        for (file, text) in files {
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
        }
        let result = run(&root);
        fs::remove_dir_all(&root).unwrap();
        result.err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn links_to_what_exists_are_good() {
        let report = check(
            "good",
            &[
                (
                    "README.md",
                    "# Top\n[a](docs/guide.md) [b](docs/guide.md#the-first-step) [c](#top) ![d](/docs/a%20picture.png)\n\
                     [e](<docs/a picture.png>) [f](docs/guide.md \"title\") [g][ref] <https://x.y> [h](https://x.y/z)\n\n\
                     [ref]: docs\n`docs/guide.md` `apps/v1` `docs/*.md` `docs/new/...` `docs/out/log` [i](mailto:a@b.c)\n\
                     [j](docs/code.rs#L3)\n",
                ),
                ("docs/guide.md", "## The first step\n[up](../README.md#top) `code.rs`"),
                ("docs/a picture.png", ""),
                ("docs/code.rs", ""),
                (".gitignore", "/docs/out\n"),
                ("target/broken.md", "[x](nowhere.md)"),
            ],
        );
        assert_eq!(report, "");
    }

    #[test]
    fn each_link_that_leads_nowhere_is_reported() {
        let report = check(
            "bad",
            &[
                (
                    "README.md",
                    "[a](docs/gone.md)\n[b](docs/guide.md#second)\n`docs/gone.rs`\n\n[ref]: gone.md\n",
                ),
                ("docs/guide.md", "# First\n[x](#second) [y](/docs/gone.png)"),
            ],
        );
        assert_eq!(
            report,
            "README.md:1: `docs/gone.md` leads to no file\n\
             README.md:2: `docs/guide.md#second` leads to no heading\n\
             README.md:3: there is no `docs/gone.rs`\n\
             README.md:5: `gone.md` leads to no file\n\
             docs/guide.md:2: `#second` leads to no heading\n\
             docs/guide.md:2: `/docs/gone.png` leads to no file"
        );
    }
}
