//! Request scripts: what is sent, one step after the other.
//!
//! A script is a text file. It opens with comments that say what it shows, and with what it needs; each step begins with
//! `###` and a title, then has the request line, headers, an empty line and the body, as in other `.http` files:
//!
//! ```text
//! # An update with an old resource version is refused.
//!
//! ### make one
//! @keep version = metadata.resourceVersion
//! POST /api/v1/namespaces/{ns}/configmaps
//!
//! metadata: {name: a}
//! ```
//!
//! `conformance/README.md` has the whole grammar.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use windlass_model::FeatureGates;

/// The kinds of target, by the names that scripts and the command line use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TargetKind {
    /// The rules, in process.
    Model,
    /// The embedded server.
    Server,
    /// A real kube-apiserver.
    Kubernetes,
}

/// A script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The folder and the file: `crud/create`.
    pub name: String,
    /// What it shows.
    pub about: String,
    /// The only targets that it makes sense for; all if there are none.
    pub against: Vec<TargetKind>,
    /// The feature gates that must be open: `MutatingAdmissionPolicy`. Nothing if the usual server will do.
    pub gates: Vec<String>,
    /// What must exist before it starts: files in `conformance/given`.
    pub given: Vec<String>,
    /// Its steps.
    pub steps: Vec<Step>,
}

/// One step of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    /// What it is for.
    pub title: String,
    /// What is done.
    pub action: Action,
    /// Names for parts of the answer, for later steps.
    pub keep: Vec<(String, String)>,
    /// The step is repeated until this part of the answer has this value.
    pub until: Option<(String, String)>,
    /// The only parts of the answer that are compared; all of it if there are none.
    pub show: Vec<String>,
}

/// What a step does.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Sends a request.
    Request(Written),
    /// Opens a watch, to be read from later under this name.
    Watch(String, Written),
    /// Reads events from a watch.
    Events(String, Bound),
}

/// A request as the script has it: variables are not replaced yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// `GET`
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The headers.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: String,
    /// Whether the body goes out as it stands, whatever its type.
    pub raw: bool,
}

/// How far the events of a watch are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bound {
    /// This many events.
    Count(usize),
    /// Up to the first whose part has this value.
    Until(String, String),
    /// Until the server ends the watch.
    End,
}

impl Default for Action {
    fn default() -> Self {
        Action::Request(Written::default())
    }
}

impl TargetKind {
    /// All of them.
    pub const ALL: [TargetKind; 3] = [TargetKind::Model, TargetKind::Server, TargetKind::Kubernetes];

    /// As it is written.
    pub fn name(self) -> &'static str {
        match self {
            TargetKind::Model => "model",
            TargetKind::Server => "server",
            TargetKind::Kubernetes => "kubernetes",
        }
    }

    /// Reads a name.
    ///
    /// # Errors
    /// If there is no such target.
    pub fn parse(name: &str) -> Result<Self> {
        let known = Self::ALL.into_iter().find(|kind| kind.name() == name);
        known.with_context(|| format!("there is no target `{name}`: use model, server or kubernetes"))
    }
}

impl Script {
    /// Whether it makes sense for a target.
    pub fn is_for(&self, kind: TargetKind) -> bool {
        self.against.is_empty() || self.against.contains(&kind)
    }

    /// The flag that opens its gates: `MutatingAdmissionPolicy=true`. Empty if it needs none.
    pub fn gates_flag(&self) -> String {
        self.gates.iter().map(|gate| format!("{gate}=true")).collect::<Vec<_>>().join(",")
    }

    /// A name that is allowed for namespaces and in groups, and that no other script has.
    pub fn slug(&self) -> String {
        self.name.replace(['/', '_'], "-")
    }

    /// The variables that it starts with.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let slug = self.slug();
        BTreeMap::from([
            ("ns".to_owned(), slug.clone()),
            ("ns2".to_owned(), format!("{slug}-2")),
            ("group".to_owned(), format!("{slug}.example.com")),
        ])
    }

    /// Whether any step mentions a variable.
    pub fn mentions(&self, variable: &str) -> bool {
        let wanted = format!("{{{variable}}}");
        self.steps.iter().any(|step| match &step.action {
            Action::Request(written) | Action::Watch(_, written) => {
                written.path.contains(&wanted) || written.body.contains(&wanted)
            }
            Action::Events(..) => false,
        })
    }

    /// Reads a script from its text.
    ///
    /// # Errors
    /// The line that makes no sense, and why.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if let Some(title) = line.strip_prefix("###") {
                parts.push((index + 1, title.trim(), Vec::new()));
            } else if let Some((_, _, lines)) = parts.last_mut() {
                lines.push(line);
            }
        }
        let mut script = Script {
            name: name.to_owned(),
            about: String::new(),
            against: Vec::new(),
            gates: Vec::new(),
            given: Vec::new(),
            steps: Vec::new(),
        };
        for line in text.lines().take_while(|line| !line.starts_with("###")) {
            script.read_preamble(line.trim()).with_context(|| format!("{name}: {line}"))?;
        }
        if script.about.is_empty() {
            bail!("{name}: begin with a comment that says what the script shows");
        }
        for (line, title, lines) in parts {
            let step =
                read_step(title, &lines).with_context(|| format!("{name}: the step at line {line}"))?;
            script.steps.push(step);
        }
        Ok(script)
    }

    fn read_preamble(&mut self, line: &str) -> Result<()> {
        if let Some(comment) = line.strip_prefix('#') {
            let gap = if self.about.is_empty() { "" } else { " " };
            self.about.extend([gap, comment.trim()]);
        } else if let Some(names) = line.strip_prefix("@against ") {
            self.against = names.split_whitespace().map(TargetKind::parse).collect::<Result<_>>()?;
        } else if let Some(names) = line.strip_prefix("@gates ") {
            self.gates = names.split_whitespace().map(known_gate).collect::<Result<_>>()?;
        } else if let Some(names) = line.strip_prefix("@given ") {
            self.given.extend(names.split_whitespace().map(str::to_owned));
        } else if !line.is_empty() {
            bail!("before the first `###` stand comments, `@against`, `@gates` and `@given`");
        }
        Ok(())
    }
}

fn known_gate(name: &str) -> Result<String> {
    let known = FeatureGates::KNOWN;
    if !known.contains(&name) {
        bail!("there is no feature gate `{name}`: use {}", known.join(", "));
    }
    Ok(name.to_owned())
}

fn read_step(title: &str, lines: &[&str]) -> Result<Step> {
    let mut step = Step { title: title.to_owned(), ..Step::default() };
    let (mut watch, mut raw) = (None, false);
    let mut lines = lines.iter().copied().skip_while(|line| line.trim().is_empty() || line.starts_with('#'));
    let request = loop {
        let line = lines.next().context("there is no request line")?.trim();
        let Some(directive) = line.strip_prefix('@') else { break line };
        let (word, rest) = directive.split_once(' ').unwrap_or((directive, ""));
        match word {
            "keep" => step.keep.push(equation(rest)?),
            "until" => step.until = Some(equation(rest)?),
            "show" => step.show.extend(rest.split(',').map(|path| path.trim().to_owned())),
            "watch" => watch = Some(rest.trim().to_owned()),
            "raw" => raw = true,
            _ => bail!("there is no directive `@{word}`"),
        }
    };
    let (method, path) = request.split_once(' ').context("a request line has a method and a path")?;
    if method == "EVENTS" {
        step.action = read_events(path)?;
        return Ok(step);
    }
    let mut written = Written { path: path.trim().to_owned(), raw, ..Written::default() };
    written.method = spell_out(method, &mut written.headers);
    for line in lines.by_ref().take_while(|line| !line.trim().is_empty()) {
        let (name, value) = line.split_once(':').with_context(|| format!("not a header: {line}"))?;
        written.headers.push((name.trim().to_owned(), value.trim().to_owned()));
    }
    written.body = lines.collect::<Vec<_>>().join("\n").trim_end().to_owned();
    step.action = match watch {
        Some(name) => Action::Watch(name, written),
        None => Action::Request(written),
    };
    Ok(step)
}

/// The four kinds of patch have words of their own, so that scripts need no long headers.
fn spell_out(method: &str, headers: &mut Vec<(String, String)>) -> String {
    let content_type = match method {
        "APPLY" => "application/apply-patch+yaml",
        "MERGE" => "application/merge-patch+json",
        "STRATEGIC" => "application/strategic-merge-patch+json",
        "JSONPATCH" => "application/json-patch+json",
        other => return other.to_owned(),
    };
    headers.push(("Content-Type".to_owned(), content_type.to_owned()));
    "PATCH".to_owned()
}

fn read_events(text: &str) -> Result<Action> {
    let (name, bound) =
        text.split_once(' ').context("write `EVENTS name 3`, `until path = value` or `end`")?;
    let bound = match bound.trim() {
        "end" => Bound::End,
        bound => match bound.strip_prefix("until ") {
            Some(rest) => equation(rest).map(|(path, value)| Bound::Until(path, value))?,
            None => Bound::Count(bound.parse().context("how many events?")?),
        },
    };
    Ok(Action::Events(name.to_owned(), bound))
}

fn equation(text: &str) -> Result<(String, String)> {
    let (left, right) = text.split_once(" = ").context("write `this = that`")?;
    Ok((left.trim().to_owned(), right.trim().to_owned()))
}

/// All scripts in a folder of folders, by name.
///
/// # Errors
/// If one cannot be read.
pub fn read_all(folder: &Path) -> Result<Vec<Script>> {
    let mut scripts = Vec::new();
    for area in entries(folder)? {
        for file in
            entries(&area)?.iter().filter(|file| file.extension().is_some_and(|ending| ending == "http"))
        {
            let (area, file_stem) =
                (area.file_name().unwrap_or_default(), file.file_stem().unwrap_or_default());
            let name = format!("{}/{}", area.to_string_lossy(), file_stem.to_string_lossy());
            let text = fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
            scripts.push(Script::parse(&name, &text)?);
        }
    }
    Ok(scripts)
}

fn entries(folder: &Path) -> Result<Vec<std::path::PathBuf>> {
    let read = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut paths = read.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
# A watch
# sees it.
@against model kubernetes
@given widgets

### open
@watch w
GET /api/v1/namespaces/{ns}/configmaps?watch=true

### write
@keep version = metadata.resourceVersion
@until status.phase = Ready
APPLY /api/v1/namespaces/{ns}/configmaps/a?fieldManager=m
User-Agent: me

data:

  a: b

### read
EVENTS w until object.metadata.name = a
";

    #[test]
    fn scripts_are_read() {
        let script = Script::parse("watch/see_it", TEXT).unwrap();
        assert_eq!((script.about.as_str(), script.slug().as_str()), ("A watch sees it.", "watch-see-it"));
        assert!(script.is_for(TargetKind::Model) && !script.is_for(TargetKind::Server));
        assert_eq!(script.given, ["widgets"]);
        assert!(script.mentions("ns") && !script.mentions("ns2"));
        let [open, write, read] = script.steps.as_slice() else { panic!("{:?}", script.steps) };
        assert!(matches!(&open.action, Action::Watch(name, _) if name == "w"));
        let Action::Request(request) = &write.action else { panic!("{write:?}") };
        assert_eq!(request.method, "PATCH");
        assert_eq!(request.headers[0].1, "application/apply-patch+yaml");
        assert_eq!(request.headers[1], ("User-Agent".to_owned(), "me".to_owned()));
        assert_eq!(request.body, "data:\n\n  a: b");
        assert_eq!(write.keep, [("version".to_owned(), "metadata.resourceVersion".to_owned())]);
        assert_eq!(write.until, Some(("status.phase".to_owned(), "Ready".to_owned())));
        let bound = Bound::Until("object.metadata.name".to_owned(), "a".to_owned());
        assert_eq!(read.action, Action::Events("w".to_owned(), bound));
    }

    #[test]
    fn mistakes_are_explained() {
        for (text, expected) in [
            ("### a\nGET /x", "begin with a comment"),
            ("# a\n@against moon", "no target `moon`"),
            ("# a\nGET /x", "before the first"),
            ("# a\n### b\n", "no request line"),
            ("# a\n### b\nGET", "a method and a path"),
            ("# a\n### b\n@wait x\nGET /x", "no directive `@wait`"),
            ("# a\n### b\n@keep x\nGET /x", "this = that"),
            ("# a\n### b\nEVENTS w some", "how many"),
        ] {
            let message = format!("{:#}", Script::parse("a/b", text).unwrap_err());
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
