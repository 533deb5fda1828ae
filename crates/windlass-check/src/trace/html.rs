//! A trace as one self-contained page to step through.

use super::Counterexample;

/// The frame, with placeholders such as `{{title}}` to fill.
const FRAME: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");
/// How objects are compared and shown, field by field.
const FIELDS: &str = include_str!("page_fields.js");
const SCRIPT: &str = include_str!("page.js");

impl Counterexample {
    /// A page to step through the trace: it needs no other file and no network. `#step=7` at the end of its
    /// address opens it at that step.
    pub fn to_html(&self) -> String {
        let mut page = String::new();
        for part in FRAME.split("{{") {
            // The text before the first placeholder has no name; a part is never filled twice, whatever it contains.
            let Some((placeholder, text)) = part.split_once("}}") else {
                page.push_str(part);
                continue;
            };
            match placeholder {
                "title" => page.push_str(&escaped_text(&self.check)),
                "style" => page.push_str(STYLE),
                "data" => page.push_str(&self.as_script_data()),
                "fields" => page.push_str(FIELDS),
                "script" => page.push_str(SCRIPT),
                _ => unreachable!("the frame has no placeholder {placeholder:?}"),
            }
            page.push_str(text);
        }
        page
    }

    /// The document as JSON that cannot end the script element it stands in: in JSON, these characters occur
    /// in strings only, where they may be written by their numbers.
    fn as_script_data(&self) -> String {
        let json = serde_json::to_string(&self.numbered()).expect("all keys are strings");
        let mut data = String::with_capacity(json.len());
        for c in json.chars() {
            match c {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                    data.push_str(&format!("\\u{:04x}", u32::from(c)))
                }
                _ => data.push(c),
            }
        }
        data
    }
}

fn escaped_text(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::trace::counterexample::tests::sample;
    use crate::trace::{Counterexample, InitialObject};

    fn hostile() -> Counterexample {
        let mut document = sample();
        document.check = "</title><script>alert(1)</script>{{data}}".to_owned();
        let value =
            json!({ "data": { "</script><script>alert(1)//": "<!--<script>{{script}}\u{2028}\u{2029}&" } });
        document.initial.push(InitialObject { object: "configmaps </script>".to_owned(), value });
        document
    }

    fn data(page: &str) -> &str {
        let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
        rest.split_once("</script>").unwrap().0
    }

    #[test]
    fn hostile_contents_stay_in_the_data() {
        let page = hostile().to_html();
        let data = data(&page);
        assert!(!data.contains(['<', '>', '&', '\u{2028}', '\u{2029}']));
        assert_eq!(Counterexample::from_json(data).unwrap(), hostile());
        // The frame's own elements, and no others.
        assert_eq!(page.matches("<script").count(), 2);
        assert_eq!(page.matches("</script").count(), 2);
        assert_eq!(page.matches("</title").count(), 1);
        assert!(page.contains("&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;{{data}}"));
    }

    #[test]
    fn the_page_needs_nothing_else() {
        let page = sample().to_html();
        for reference in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.contains(reference), "{reference}");
        }
        assert!(page.contains("default-src 'none'"));
        for placeholder in ["{{title}}", "{{style}}", "{{data}}", "{{fields}}", "{{script}}"] {
            assert!(!page.contains(placeholder), "{placeholder}");
        }
    }
}
