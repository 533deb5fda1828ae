//! A trace as a Mermaid sequence diagram.

use std::fmt::Write;

use super::{Counterexample, TraceStep};

/// The background of a step in which a fault strikes; half-transparent, so that it suits light and dark pages.
const FAULT_COLOUR: &str = "rgba(224, 72, 48, 0.2)";
/// Longer texts go on in the next line: a diagram is as wide as its longest.
const LINE: usize = 52;

impl Counterexample {
    /// A sequence diagram of all steps, with what repeats in a loop of its own.
    pub fn to_mermaid(&self) -> String {
        let shown = self.numbered();
        let mut diagram = Diagram::of(&shown);
        for step in &shown.steps {
            diagram.step(step, 1);
        }
        if !shown.repeats.is_empty() {
            diagram.line(1, "loop this repeats for ever");
            for step in &shown.repeats {
                diagram.step(step, 2);
            }
            diagram.line(1, "end");
        }
        if let Some(last) = diagram.participants.len().checked_sub(1) {
            let whole = if last == 0 { "p0".to_owned() } else { format!("p0,p{last}") };
            diagram.line(1, &format!("Note over {whole}: {}", text(&shown.violation.message)));
        }
        diagram.text
    }
}

/// A diagram that is being written.
struct Diagram<'a> {
    text: String,
    /// In the order of their first appearance; the index is the number in `p0`.
    participants: Vec<&'a str>,
}

impl<'a> Diagram<'a> {
    fn of(counterexample: &'a Counterexample) -> Self {
        let mut diagram = Diagram { text: "sequenceDiagram\n".to_owned(), participants: Vec::new() };
        let title = format!("{}, {}", counterexample.check, counterexample.bounds);
        diagram.line(1, &format!("title {}", escaped(&title)));
        diagram.line(1, "autonumber");
        for name in counterexample.all_steps().flat_map(|step| [Some(&step.actor), step.receiver.as_ref()]) {
            let Some(name) = name else { continue };
            if !diagram.participants.contains(&name.as_str()) {
                let line = format!("participant p{} as {}", diagram.participants.len(), text(name));
                diagram.line(1, &line);
                diagram.participants.push(name);
            }
        }
        diagram
    }

    fn step(&mut self, step: &TraceStep, depth: usize) {
        let actor = self.id(&step.actor);
        let receiver = step.receiver.as_ref().map_or(actor, |name| self.id(name));
        let inner = if step.fault.is_some() { depth + 1 } else { depth };
        if let Some(fault) = &step.fault {
            self.line(depth, &format!("rect {FAULT_COLOUR}"));
            self.line(inner, &format!("Note over p{actor}: {}", text(&format!("⚠ {fault}"))));
        }
        self.line(inner, &format!("p{actor}->>p{receiver}: {}", text(&step.text)));
        let changes: Vec<String> = step.summaries().map(text).collect();
        if !changes.is_empty() {
            self.line(inner, &format!("Note over p{receiver}: {}", changes.join("<br/>")));
        }
        if step.fault.is_some() {
            self.line(depth, "end");
        }
    }

    fn id(&self, name: &str) -> usize {
        self.participants.iter().position(|known| *known == name).expect("every name in a step was declared")
    }

    fn line(&mut self, depth: usize, text: &str) {
        writeln!(self.text, "{:width$}{text}", "", width = depth * 4).expect("writing to a string works");
    }
}

/// A text as Mermaid takes it, in lines of a bearable length. It is never empty, for Mermaid wants something.
fn text(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + word.chars().count() >= LINE {
                lines.push(escaped(&line));
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(escaped(&line));
    }
    let joined = lines.join("<br/>");
    if joined.trim().is_empty() { "#160;".to_owned() } else { joined }
}

/// Replaces all that means something to Mermaid (or might, in a later version) by its number.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    let mut word_before = false;
    for (offset, c) in text.char_indices() {
        let rest = text.get(offset..).unwrap_or_default();
        let harmless = c.is_alphanumeric() || " .,/-_+~()=!?'*@→⚠".contains(c);
        if !harmless || (!word_before && is_word(rest, "end")) {
            write!(escaped, "#{};", u32::from(c)).expect("writing to a string works");
        } else {
            escaped.push(c);
        }
        word_before = c.is_alphanumeric();
    }
    escaped
}

/// Whether a text starts with a word, in any case, which ends there.
fn is_word(text: &str, word: &str) -> bool {
    let Some(start) = text.get(..word.len()) else { return false };
    let after = text.get(word.len()..).and_then(|rest| rest.chars().next());
    start.eq_ignore_ascii_case(word) && !after.is_some_and(char::is_alphanumeric)
}

#[cfg(test)]
mod tests {
    use super::{escaped, text};
    use crate::trace::counterexample::tests::{sample, step};
    use crate::trace::{BrokenRule, Counterexample};

    #[test]
    fn a_diagram_has_participants_faults_changes_and_a_loop() {
        assert_eq!(
            sample().to_mermaid(),
            "\
sequenceDiagram
    title pairs, 1 object, #60;= 1 crash
    autonumber
    participant p0 as watch
    participant p1 as pairs
    participant p2 as database
    p0->>p1: notifies pairs#58; default/a changed
    p1->>p2: create configmaps default/cm1 -#62; 201
    Note over p2: + configmaps default/cm1
    rect rgba(224, 72, 48, 0.2)
        Note over p1: ⚠ crash
        p1->>p1: CRASHES while it reconciles default/a
    end
    loop this repeats for ever
        p1->>p2: create configmaps default/cm1 -#62; 409 AlreadyExists
    end
    Note over p0,p2: eventually #34;a is ready#34; does not come true
"
        );
    }

    #[test]
    fn what_mermaid_would_choke_on_is_escaped() {
        for (given, expected) in [
            ("a;b#c:d", "a#59;b#35;c#58;d"),
            ("{\"x\": <y>}", "#123;#34;x#34;#58; #60;y#62;#125;"),
            ("%%{init}", "#37;#37;#123;init#125;"),
            ("the end", "the #101;nd"),
            ("End of it, send, ending", "#69;nd of it, send, ending"),
            ("end", "#101;nd"),
            ("weekend-end", "weekend-#101;nd"),
            ("größe 数", "größe 数"),
        ] {
            assert_eq!(escaped(given), expected);
        }
        assert_eq!(text("two\nlines"), "two<br/>lines");
        assert_eq!(text(""), "#160;");
        assert_eq!(text("\u{2028}"), "#8232;");
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let long = "patch configmaps default/a-name-that-is-long -> 409 Conflict and more";
        assert_eq!(
            text(long),
            "patch configmaps default/a-name-that-is-long -#62; 409<br/>Conflict and more"
        );
        let word = "x".repeat(200);
        assert_eq!(text(&word), word);
    }

    #[test]
    fn a_single_participant_and_none() {
        let none = Counterexample::new("empty", "nothing", BrokenRule::end("never"));
        assert_eq!(none.to_mermaid(), "sequenceDiagram\n    title empty, nothing\n    autonumber\n");
        let mut one = none;
        one.steps.push(step("alone", None, ""));
        assert!(one.to_mermaid().ends_with("    p0->>p0: #160;\n    Note over p0: never\n"));
    }
}
