//! Performs a script against a target, step by step.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::exchange::{Answer, Sent};
use crate::json_query::{find, shown};
use crate::normalise::Normaliser;
use crate::script::{Action, Bound, Script, Step, Written};
use crate::target::{Events, Session};
use crate::yaml;

/// How often a step is repeated at most before what it waits for is taken not to come.
const TRIES_MAX: usize = 600;

/// What one step led to, as text that can be compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The step: its number, title and request.
    pub heading: String,
    /// The answer, or why there is none.
    pub text: String,
}

const MISSING: &str = "no answer: ";

impl Outcome {
    /// Whether the step had no answer at all.
    pub fn is_missing(&self) -> bool {
        self.text.starts_with(MISSING)
    }
}

/// Runs the scripts that make what is given, then the script itself, and returns the outcome of each of its steps.
///
/// A step without an answer ends the script: what follows would mean nothing.
///
/// # Errors
/// If what is given cannot be made: the script has then not begun.
pub fn perform(script: &Script, given: &[&Script], session: &mut dyn Session) -> Result<Vec<Outcome>> {
    let mut run = Run {
        session,
        variables: script.variables(),
        watches: BTreeMap::new(),
        normaliser: Normaliser::default(),
    };
    run.make_namespaces(script)?;
    for step in given.iter().flat_map(|given| &given.steps) {
        run.step(step).with_context(|| format!("what is given cannot be made: {}", step.title))?;
    }
    // What was made before is numbered on its own, so that it may change without any effect on this script.
    run.normaliser = Normaliser::default();
    let mut outcomes = Vec::new();
    for (index, step) in script.steps.iter().enumerate() {
        let result = run.step(step);
        let ended = result.is_err();
        let text = result.unwrap_or_else(|error| format!("{MISSING}{error:#}"));
        outcomes.push(Outcome { heading: heading(index + 1, step), text });
        if ended {
            break;
        }
    }
    Ok(outcomes)
}

fn heading(number: usize, step: &Step) -> String {
    let what = match &step.action {
        Action::Request(written) => format!("{} {}", written.method, written.path),
        Action::Watch(name, written) => format!("watch {name}: {} {}", written.method, written.path),
        Action::Events(name, _) => format!("events of {name}"),
    };
    let title = if step.title.is_empty() { String::new() } else { format!("{}: ", step.title) };
    format!("{number} {title}{what}")
}

/// A script that is being performed.
struct Run<'a> {
    session: &'a mut dyn Session,
    variables: BTreeMap<String, String>,
    watches: BTreeMap<String, Box<dyn Events>>,
    normaliser: Normaliser,
}

impl Run<'_> {
    fn make_namespaces(&mut self, script: &Script) -> Result<()> {
        for variable in ["ns", "ns2"].into_iter().filter(|variable| script.mentions(variable)) {
            let written = Written {
                method: "POST".to_owned(),
                path: "/api/v1/namespaces".to_owned(),
                body: format!("metadata: {{name: {}}}", self.variables[variable]),
                ..Written::default()
            };
            let answer = self.session.send(&self.filled(&written)?)?;
            if answer.code != 201 {
                bail!("the namespace of the script cannot be made: {}", answer.text());
            }
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<String> {
        match &step.action {
            Action::Request(written) => self.request(step, written),
            Action::Watch(name, written) => {
                let sent = self.filled(written)?;
                let (answer, events) = self.session.watch(&sent)?;
                if let Some(events) = events {
                    self.watches.insert(name.clone(), events);
                }
                Ok(self.normaliser.answer(&answer, &step.show))
            }
            Action::Events(name, bound) => self.events(step, name, bound),
        }
    }

    fn request(&mut self, step: &Step, written: &Written) -> Result<String> {
        let sent = self.filled(written)?;
        let body: Option<Value> = serde_json::from_slice(&sent.body).ok();
        if let Some(prefix) = body.as_ref().and_then(|body| find(body, "metadata.generateName")) {
            self.normaliser.expect_names(&shown(prefix));
        }
        let until = step.until.as_ref().map(|(path, value)| (self.fill(path), self.fill(value)));
        let mut answer = self.session.send(&sent)?;
        for _ in 0..TRIES_MAX {
            if is_reached(until.as_ref(), &answer) {
                break;
            }
            self.session.pause();
            answer = self.session.send(&sent)?;
        }
        if let Some((path, value)) = &until
            && !is_reached(until.as_ref(), &answer)
        {
            bail!("{path} does not become {value}: {}", answer.text());
        }
        for (name, path) in &step.keep {
            let value = answer.value();
            let found = value.as_ref().and_then(|value| find(value, path));
            let found = found.with_context(|| format!("nothing to keep at {path}: {}", answer.text()))?;
            self.variables.insert(name.clone(), shown(found));
        }
        let show: Vec<String> = step.show.iter().map(|path| self.fill(path)).collect();
        Ok(self.normaliser.answer(&answer, &show))
    }

    fn events(&mut self, step: &Step, name: &str, bound: &Bound) -> Result<String> {
        let bound = match bound {
            Bound::Until(path, value) => Bound::Until(path.clone(), self.fill(value)),
            other => other.clone(),
        };
        let watch = self.watches.get_mut(name).with_context(|| format!("there is no watch `{name}`"))?;
        let mut lines = Vec::new();
        let mut last: Option<Value> = None;
        while !is_enough(&bound, lines.len(), last.as_ref()) {
            match watch.next().with_context(|| format!("after these events:\n{}", lines.join("\n")))? {
                Some(event) => {
                    lines.push(self.normaliser.value(&event, &step.show));
                    last = Some(event);
                }
                None => {
                    lines.push("the watch ends".to_owned());
                    break;
                }
            }
        }
        for (name, path) in &step.keep {
            let found = last.as_ref().and_then(|value| find(value, path));
            let found = found.with_context(|| format!("nothing to keep at {path} of the last event"))?;
            self.variables.insert(name.clone(), shown(found));
        }
        Ok(lines.join("\n"))
    }

    /// Replaces variables, and turns the body into what its type says.
    fn filled(&self, written: &Written) -> Result<Sent> {
        let mut headers: Vec<(String, String)> =
            written.headers.iter().map(|(name, value)| (name.clone(), self.fill(value))).collect();
        let mut default = |name: &str, value: &str| {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        };
        default("Accept", "application/json");
        default("User-Agent", "conformance/1.0");
        if !written.body.is_empty() {
            default("Content-Type", "application/json");
        }
        let text = self.fill(&written.body);
        let content_type = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("Content-Type"));
        let is_json = content_type.is_some_and(|(_, value)| value.contains("json"));
        let body = if is_json && !written.raw && !text.trim().is_empty() {
            let value: Value = yaml::read(&text).context("the body of a step is not YAML")?;
            value.to_string()
        } else if text.is_empty() || written.raw {
            text
        } else {
            text + "\n"
        };
        // An empty header is one that is not sent; the session itself knows who asks.
        headers.retain(|(name, value)| !value.is_empty() || name.eq_ignore_ascii_case("Authorization"));
        let path = self.fill(&written.path);
        Ok(Sent { method: written.method.clone(), path, headers, body: body.into_bytes() })
    }

    fn fill(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (name, value) in &self.variables {
            text = text.replace(&format!("{{{name}}}"), value);
        }
        // `{fill 1000}` stands for 1000 bytes.
        while let Some((before, rest)) = text.split_once("{fill ") {
            let Some((count, after)) = rest.split_once('}') else { break };
            text = format!("{before}{}{after}", "x".repeat(count.parse().unwrap_or(0)));
        }
        text
    }
}

fn is_reached(until: Option<&(String, String)>, answer: &Answer) -> bool {
    let Some((path, wanted)) = until else { return true };
    let value = answer.value();
    value.as_ref().and_then(|value| find(value, path)).is_some_and(|found| shown(found) == *wanted)
}

fn is_enough(bound: &Bound, count: usize, last: Option<&Value>) -> bool {
    match bound {
        Bound::Count(wanted) => count >= *wanted,
        Bound::Until(path, wanted) => {
            last.and_then(|event| find(event, path)).is_some_and(|found| shown(found) == *wanted)
        }
        Bound::End => false,
    }
}
