//! Pictures as SVG that stands for itself: nothing of it is loaded from elsewhere.

use std::fmt::Write;

/// A picture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Picture<'a> {
    pub(crate) width: i32,
    pub(crate) height: i32,
    pub(crate) title: &'a str,
    /// What can be seen, for those who cannot see it; nothing if it is empty.
    pub(crate) description: &'a str,
    /// Definitions and styles.
    pub(crate) head: &'a str,
    pub(crate) body: &'a str,
}

impl Picture<'_> {
    /// The whole document.
    pub(crate) fn document(&self) -> String {
        let Picture { width, height, head, body, .. } = self;
        let mut text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\" role=\"img\">\n\
             <title>{}</title>\n",
            escaped(self.title)
        );
        if !self.description.is_empty() {
            let _ = writeln!(text, "<desc>{}</desc>", escaped(self.description));
        }
        text + head + body + "</svg>\n"
    }
}

/// A text in which nothing is taken for markup.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_has_a_title_and_perhaps_a_description() {
        let picture =
            Picture { width: 3, height: 4, title: "a < b", description: "", head: "", body: "<g/>\n" };
        assert_eq!(
            picture.document(),
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"3\" height=\"4\" viewBox=\"0 0 3 4\" role=\"img\">\n\
             <title>a &lt; b</title>\n<g/>\n</svg>\n"
        );
        let described = Picture { description: "\"c\" & d", ..picture }.document();
        assert!(described.contains("</title>\n<desc>&quot;c&quot; &amp; d</desc>\n<g/>"), "{described}");
    }
}
