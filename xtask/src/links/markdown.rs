//! As much of Markdown as links need: headings, links, and what is code and so neither.

use std::collections::{BTreeMap, BTreeSet};

/// The links of a document, and what others can link to in it.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The names of its headings, as GitHub makes them.
    pub(super) anchors: BTreeSet<String>,
    /// In the order in which they appear.
    pub(super) links: Vec<Link>,
}

/// One link, or one piece of inline code, which may name a file.
#[derive(Debug, PartialEq)]
pub(super) struct Link {
    pub(super) line: usize,
    pub(super) target: String,
    pub(super) is_code: bool,
}

impl Document {
    /// Reads a document.
    pub(super) fn parse(text: &str) -> Self {
        let mut document = Document::default();
        let mut headings: BTreeMap<String, usize> = BTreeMap::new();
        let mut fence: Option<&str> = None;
        for (line, number) in text.lines().zip(1..) {
            let trimmed = line.trim_start();
            match (fence, fence_of(trimmed)) {
                (None, Some(opened)) => fence = Some(opened),
                (Some(open), Some(closing)) if closing.starts_with(open) => fence = None,
                (Some(_), _) => {}
                (None, None) => {
                    if let Some(heading) = heading_of(trimmed) {
                        document.anchors.insert(anchor(heading, &mut headings));
                    }
                    document.read_line(line, number);
                }
            }
        }
        document
    }

    fn read_line(&mut self, line: &str, number: usize) {
        let mut add = |target: &str, is_code| {
            self.links.push(Link { line: number, target: target.to_owned(), is_code });
        };
        let (text, codes) = split_code(line);
        if let Some(target) = definition_of(&text) {
            add(target, false);
        }
        for (position, _) in text.match_indices("](") {
            let rest = text.get(position + 2..).unwrap_or_default();
            if let Some(target) = target_of(rest) {
                add(target, false);
            }
        }
        for code in codes {
            add(&code, true);
        }
        for attribute in ["id=\"", "name=\""] {
            for (position, _) in text.match_indices(attribute) {
                let value = text.get(position + attribute.len()..).and_then(|rest| rest.split('"').next());
                self.anchors.extend(value.map(str::to_owned));
            }
        }
    }
}

/// The run of backticks or tildes that opens or closes a block of code.
fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    (length >= 3).then(|| line.get(..length)).flatten()
}

fn heading_of(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim().trim_end_matches('#').trim_end())
}

/// GitHub's name for a heading; the second of the same name gets `-1`, and so on.
fn anchor(heading: &str, headings: &mut BTreeMap<String, usize>) -> String {
    let kept = without_targets(heading).to_lowercase();
    let name: String = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect();
    let earlier = headings.entry(name.clone()).or_default();
    *earlier += 1;
    if *earlier == 1 { name } else { format!("{name}-{}", *earlier - 1) }
}

/// A heading's text with each `[text](target)` as `[text]`.
fn without_targets(heading: &str) -> String {
    let mut parts = heading.split("](");
    let mut kept = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        kept.push_str(part.split_once(')').map_or("", |(_, after)| after));
    }
    kept
}

/// A line without its inline code, and the code.
fn split_code(line: &str) -> (String, Vec<String>) {
    let mut text = String::new();
    let mut codes = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once('`') {
        text.push_str(before);
        let inner = after.trim_start_matches('`');
        let ticks = "`".repeat(after.len() - inner.len() + 1);
        match inner.split_once(&ticks) {
            Some((code, tail)) => {
                codes.push(code.trim().to_owned());
                // A space in its place, so that a link around code stays one.
                text.push(' ');
                rest = tail;
            }
            None => {
                text.push_str(&ticks);
                rest = inner;
            }
        }
    }
    text.push_str(rest);
    (text, codes)
}

/// The target of `[name]: target`.
fn definition_of(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]:")?;
    (!name.is_empty() && !name.contains(']') && !name.starts_with('^'))
        .then(|| target_of(target.trim_start()))
        .flatten()
}

/// The target at the start of what follows `](` or `]:`.
fn target_of(rest: &str) -> Option<&str> {
    let target = match rest.strip_prefix('<') {
        Some(bracketed) => bracketed.split('>').next(),
        None => {
            let end = rest.char_indices().scan(0i32, |depth, (position, c)| {
                *depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                Some((position, *depth < 0 || c.is_whitespace()))
            });
            let end = end.filter(|(_, stops)| *stops).map(|(position, _)| position).next();
            rest.get(..end.unwrap_or(rest.len()))
        }
    };
    target.filter(|target| !target.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<String> {
        let links = Document::parse(text).links;
        links
            .into_iter()
            .map(|link| if link.is_code { format!("`{}`", link.target) } else { link.target })
            .collect()
    }

    #[test]
    fn links_are_found() {
        for (text, expected) in [
            ("[a](b.md) and ![c](d.png)", &["b.md", "d.png"][..]),
            ("[![badge](a.svg)](b.md)", &["a.svg", "b.md"]),
            ("[a](b_(c).md)", &["b_(c).md"]),
            ("[a](<b c.md> \"title\")", &["b c.md"]),
            ("[a](b.md 'title')", &["b.md"]),
            ("[`code`](b.md)", &["b.md", "`code`"]),
            ("  [ref]: b.md \"title\"", &["b.md"]),
            ("[^1]: a footnote", &[]),
            ("`[a](b.md)` ``x`y``", &["`[a](b.md)`", "`x`y`"]),
            ("a ` alone [a](b.md)", &["b.md"]),
            ("```sh\n[a](b.md)\n```\n[c](d.md)", &["d.md"]),
            ("~~~~\n~~~\n[a](b.md)\n~~~~\n[c](d.md)", &["d.md"]),
            ("- [ ] a task [a]()", &[]),
        ] {
            assert_eq!(targets(text), expected, "{text}");
        }
    }

    #[test]
    fn anchors_are_named_as_github_names_them() {
        let text = "# The `Cx`: what's in it?\n## Twice\n## Twice\n### A [link](b.md) here ###\n#not\n\
                    ```\n# code\n```\n<a id=\"own\"></a>\n# snake_case & more";
        let anchors = Document::parse(text).anchors;
        let expected = ["a-link-here", "own", "snake_case--more", "the-cx-whats-in-it", "twice", "twice-1"];
        assert_eq!(anchors.into_iter().collect::<Vec<_>>(), expected);
    }
}
