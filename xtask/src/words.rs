//! Words that this repository does not use, because the field has better ones; see GLOSSARY.md.

use std::path::Path;

use anyhow::{Result, bail};

use crate::files::{read, with_extension};

/// A retired word, and what to write in its place. A word in lower case also stands for its capitalized form.
const RETIRED: &[(&str, &str)] = &[
    ("afresh", "again, from scratch, reset"),
    ("bears with", "tolerates"),
    ("crew", "worker pool"),
    ("guest", "caller"),
    ("if nothing is said", "Default: ..."),
    ("impatient", "with a short timeout"),
    ("inbox", "enqueuer"),
    ("judge", "evaluate, decide, check"),
    ("judged", "evaluated, decided, checked"),
    ("judges", "evaluates, decides, checks"),
    ("ledger", "state, renumbering, aggregator: what it is"),
    ("lets go", "releases"),
    ("looks again", "requeues"),
    ("may_go_first", "ample_action"),
    ("mended", "fixed, repaired"),
    ("mends", "fixes, repairs"),
    ("nobody", "no one; environment, for an action of no host"),
    ("patience", "timeout"),
    ("puts right", "corrects"),
    ("shelf", "buffer, source: what it is"),
    ("so many", "Maximum number of ..."),
    ("tells", "reports, notifies, shows"),
    ("told", "notified, observed; distinguished"),
    ("wrongs", "violations"),
];

/// What is not ours to word: recorded answers of a real API server, and what is generated from its sources.
const RECORDED: [&str; 4] = [
    "conformance/answers",
    "conformance/scripts",
    "crates/windlass-cli/tests/serve/kubectl/transcripts",
    "crates/windlass-model/src/schema/builtin",
];

/// Reports every retired word in code and documents.
pub(crate) fn run(root: &Path) -> Result<()> {
    let own = root.join("xtask/src/words.rs");
    let recorded: Vec<_> = RECORDED.iter().map(|folder| root.join(folder)).collect();
    let mut files = with_extension(root, &["rs", "md", "txt", "patch"])?;
    files.retain(|file| *file != own && !recorded.iter().any(|folder| file.starts_with(folder)));
    let mut found = Vec::new();
    for file in &files {
        let shown = file.strip_prefix(root).unwrap_or(file).display();
        for (number, line) in read(file)?.lines().enumerate() {
            found.extend(retired_in(line).map(|(word, instead)| {
                format!("{shown}:{}: `{word}` is retired; write: {instead}", number + 1)
            }));
        }
    }
    if !found.is_empty() {
        bail!("{}", found.join("\n"));
    }
    println!("no retired word in {} files", files.len());
    Ok(())
}

/// The retired words of a line.
fn retired_in(line: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    let line = line.to_lowercase();
    RETIRED.iter().copied().filter(move |(word, _)| has_word(&line, word))
}

/// Whether a text has a word that does not go on on either side. An underscore ends a word, but for one that has some.
fn has_word(text: &str, word: &str) -> bool {
    let ends = |neighbor: Option<char>| !neighbor.is_some_and(char::is_alphanumeric);
    let mut matches = text.match_indices(word);
    matches.any(|(start, _)| {
        ends(text[..start].chars().next_back()) && ends(text[start + word.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Vec<&'static str> {
        retired_in(line).map(|(word, _)| word).collect()
    }

    #[test]
    fn finds_retired_words_in_prose_and_identifiers() {
        assert_eq!(found("/// Is told of each change."), ["told"]);
        assert_eq!(found("fn nobody_reads_on() {"), ["nobody"]);
        assert_eq!(
            found("/// So many reconciles; 20 if nothing is said."),
            ["if nothing is said", "so many"]
        );
        assert_eq!(found("if world.may_go_first(action) {"), ["may_go_first"]);
    }

    #[test]
    fn leaves_longer_words_alone() {
        assert_eq!(found("a retold story, stools, acknowledgers and knowledge"), Vec::<&str>::new());
    }
}
