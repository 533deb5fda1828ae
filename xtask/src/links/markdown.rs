//! The links of a Markdown document, and the anchors that others can link to.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag, TagEnd};

/// The links of a document, and what others can link to in it.
#[derive(Debug, Default)]
pub(super) struct Document {
    /// The names of its headings, as GitHub makes them, and of its HTML elements.
    pub(super) anchors: BTreeSet<String>,
    /// Sorted by line.
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
        let extensions = Options::ENABLE_TABLES
            | Options::ENABLE_FOOTNOTES
            | Options::ENABLE_STRIKETHROUGH
            | Options::ENABLE_TASKLISTS
            | Options::ENABLE_GFM;
        let parser = Parser::new_ext(text, extensions);
        let mut reader = Reader { text, ..Reader::default() };
        for (_, definition) in parser.reference_definitions().iter() {
            reader.add(&definition.dest, &definition.span, false);
        }
        for (event, range) in parser.into_offset_iter() {
            reader.read(event, &range);
        }
        let mut document = reader.document;
        document.links.sort_by_key(|link| (link.line, link.is_code));
        document
    }
}

/// Collects what a document has, event by event.
#[derive(Default)]
struct Reader<'a> {
    text: &'a str,
    document: Document,
    /// The targets of the links and images that are open, the innermost last; empty where a definition has the target.
    open: Vec<String>,
    /// The text so far of the heading that is open.
    heading: Option<String>,
    /// How often each name of a heading has occurred.
    names: BTreeMap<String, usize>,
}

impl Reader<'_> {
    fn read(&mut self, event: Event<'_>, range: &Range<usize>) {
        match event {
            Event::Start(Tag::Link { link_type, dest_url, .. } | Tag::Image { link_type, dest_url, .. }) => {
                let is_inline = link_type == LinkType::Inline;
                self.open.push(if is_inline { dest_url.into_string() } else { String::new() });
            }
            Event::End(TagEnd::Link | TagEnd::Image) => {
                if let Some(target) = self.open.pop() {
                    self.add(&target, range, false);
                }
            }
            Event::Start(Tag::Heading { .. }) => self.heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                if let Some(heading) = self.heading.take() {
                    let anchor = anchor(&heading, &mut self.names);
                    self.document.anchors.insert(anchor);
                }
            }
            Event::Code(code) => {
                self.add(code.trim(), range, true);
                self.heading_text(&code);
            }
            Event::Text(text) => self.heading_text(&text),
            Event::Html(html) | Event::InlineHtml(html) => self.document.anchors.extend(html_anchors(&html)),
            _ => {}
        }
    }

    fn add(&mut self, target: &str, range: &Range<usize>, is_code: bool) {
        if !target.is_empty() {
            let before = self.text.get(..range.start).unwrap_or_default();
            let line = before.matches('\n').count() + 1;
            self.document.links.push(Link { line, target: target.to_owned(), is_code });
        }
    }

    fn heading_text(&mut self, text: &str) {
        if let Some(heading) = &mut self.heading {
            heading.push_str(text);
        }
    }
}

/// GitHub's name for a heading; the second of the same name gets `-1`, and so on.
fn anchor(heading: &str, names: &mut BTreeMap<String, usize>) -> String {
    let name: String = heading
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect();
    let earlier = names.entry(name.clone()).or_default();
    *earlier += 1;
    if *earlier == 1 { name } else { format!("{name}-{}", *earlier - 1) }
}

/// The values of `id` and `name` in HTML.
fn html_anchors(html: &str) -> Vec<String> {
    let values = |attribute| html.split(attribute).skip(1).filter_map(|rest| rest.split('"').next());
    ["id=\"", "name=\""].into_iter().flat_map(values).map(str::to_owned).collect()
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
            ("A list:\n\n    [code](b.md)\n", &[]),
            ("[a][r] and [r]\n\n[r]: b.md", &["b.md"]),
            ("<!-- [a](b.md) --> \\[a](c.md)", &[]),
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
