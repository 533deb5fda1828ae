//! What was typed and what was printed, as a file that can be read like a terminal.
//!
//! `$ ` begins a command and `> ` continues it; what follows up to a blank line is its output. `[exit 1]` stands at
//! the end if it failed. Lines that begin with `#` between steps are comments.

use std::fmt;

use super::mask::masked;
use super::shell::Shell;

/// The steps of a file.
pub(super) struct Transcript {
    steps: Vec<Step>,
}

/// A command and its output, with the comments before it.
#[derive(Default)]
struct Step {
    comments: Vec<String>,
    command: Vec<String>,
    output: Vec<String>,
}

impl Transcript {
    /// Reads a file.
    pub(super) fn parse(text: &str) -> Transcript {
        let mut steps = Vec::new();
        let mut step = Step::default();
        for line in text.lines() {
            match (line.strip_prefix("$ "), line.strip_prefix('>')) {
                (Some(command), _) => {
                    assert!(step.command.is_empty(), "no blank line before: {line}");
                    step.command.push(command.to_owned());
                }
                (None, Some(more)) if !step.command.is_empty() && step.output.is_empty() => {
                    step.command.push(more.strip_prefix(' ').unwrap_or(more).to_owned());
                }
                _ if step.command.is_empty() && line.starts_with('#') => step.comments.push(line.to_owned()),
                _ if !step.command.is_empty() && line.is_empty() => steps.push(std::mem::take(&mut step)),
                _ if !step.command.is_empty() => step.output.push(line.to_owned()),
                _ => assert!(line.is_empty(), "neither a command nor a comment: {line}"),
            }
        }
        if !step.command.is_empty() {
            steps.push(step);
        }
        Transcript { steps }
    }

    /// Whether it cannot be recorded.
    pub(super) fn is_by_hand(&self) -> bool {
        self.comments().any(|comment| comment.starts_with("# By hand: "))
    }

    /// What the server is to be started with.
    pub(super) fn server_arguments(&self) -> Vec<&str> {
        let given = self.comments().find_map(|comment| comment.strip_prefix("# windlass serve "));
        given.into_iter().flat_map(str::split_whitespace).collect()
    }

    fn comments(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().flat_map(|step| &step.comments)
    }

    /// Replaces the outputs by what is printed now.
    pub(super) fn record(&mut self, shell: &Shell) {
        for step in &mut self.steps {
            step.output = step.run(shell).lines().map(str::to_owned).collect();
        }
    }

    /// Plays it, and says where something else is printed. It goes on after a difference, since the next often
    /// explains it.
    pub(super) fn differences(&self, shell: &Shell) -> Vec<String> {
        let mut differences = Vec::new();
        for step in &self.steps {
            let (expected, actual) = (step.output.join("\n"), step.run(shell));
            if expected != actual {
                let command = step.command.join("\n> ");
                differences.push(format!("$ {command}\n{}", difference(&expected, &actual)));
            }
        }
        differences
    }
}

impl Step {
    fn run(&self, shell: &Shell) -> String {
        let (output, code) = shell.run(&self.command.join("\n"));
        let output = masked(&output);
        match (code, output.is_empty()) {
            (0, _) => output,
            (code, true) => format!("[exit {code}]"),
            (code, false) => format!("{output}\n[exit {code}]"),
        }
    }
}

/// The lines that differ, with `-` before those that were expected.
fn difference(expected: &str, actual: &str) -> String {
    let (expected, actual): (Vec<&str>, Vec<&str>) = (expected.lines().collect(), actual.lines().collect());
    let same = |(one, other): &(&&str, &&str)| one == other;
    let before = expected.iter().zip(&actual).take_while(same).count();
    let shorter = expected.len().min(actual.len()) - before;
    let after = expected.iter().rev().zip(actual.iter().rev()).take(shorter).take_while(same).count();
    let mut text = String::new();
    for (mark, lines) in [("-", &expected), ("+", &actual)] {
        for line in &lines[before..lines.len() - after] {
            text += &format!("{mark}{line}\n");
        }
    }
    text
}

impl fmt::Display for Transcript {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.steps.iter().enumerate() {
            if index > 0 {
                writeln!(formatter)?;
            }
            for comment in &step.comments {
                writeln!(formatter, "{comment}")?;
            }
            if !step.comments.is_empty() {
                writeln!(formatter)?;
            }
            for (line, text) in step.command.iter().enumerate() {
                let text = format!("{} {text}", if line == 0 { '$' } else { '>' });
                writeln!(formatter, "{}", text.trim_end())?;
            }
            for line in &step.output {
                writeln!(formatter, "{line}")?;
            }
        }
        Ok(())
    }
}

#[test]
fn transcripts_are_read_as_they_are_written() {
    let text = "# First.\n# windlass serve --insecure\n\n$ kubectl get <<END\n> a: b\n>\n> END\nall\n[exit 1]\n\n\
                # Then.\n\n$ true\n\n$ echo\n";
    let transcript = Transcript::parse(text);
    assert_eq!(transcript.to_string(), text);
    assert_eq!(transcript.server_arguments(), ["--insecure"]);
    assert_eq!(transcript.steps[0].command, ["kubectl get <<END", "a: b", "", "END"]);
    assert_eq!(transcript.steps[0].output, ["all", "[exit 1]"]);
    assert!(!transcript.is_by_hand());
}

#[test]
fn differences_are_shown_where_they_are() {
    assert_eq!(difference("a\nb\nc", "a\nx\ny\nc"), "-b\n+x\n+y\n");
    assert_eq!(difference("a", "a\na"), "+a\n");
}
