//! All scripts against some targets, and what came of it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use anyhow::{Result, bail};
use windlass_model::FeatureGates;

use crate::difference::difference;
use crate::known::{self, Difference};
use crate::perform::{Outcome, perform};
use crate::recording;
use crate::script::{Script, TargetKind, read_all};
use crate::target::Session;
use crate::target::http::HttpTarget;
use crate::target::model::ModelSession;

/// Maximum number of scripts that run against a server concurrently.
const CONVERSATIONS: usize = 8;

/// Where scripts are performed.
pub enum Target {
    /// In process: each script has a cluster of its own, with these feature gates.
    Model(FeatureGates),
    /// The embedded server.
    Server(HttpTarget),
    /// A real kube-apiserver.
    Kubernetes(HttpTarget),
}

impl Target {
    /// Which kind it is.
    pub fn kind(&self) -> TargetKind {
        match self {
            Target::Model(_) => TargetKind::Model,
            Target::Server(_) => TargetKind::Server,
            Target::Kubernetes(_) => TargetKind::Kubernetes,
        }
    }

    fn session(&self) -> Box<dyn Session> {
        match self {
            Target::Model(gates) => Box::new(ModelSession::new(*gates)),
            Target::Server(target) | Target::Kubernetes(target) => Box::new(target.session()),
        }
    }
}

/// All scripts with what belongs to them.
pub struct Suite {
    folder: PathBuf,
    scripts: Vec<Script>,
    given: BTreeMap<String, Script>,
    known: BTreeSet<Difference>,
}

/// How the scripts went on one target.
#[derive(Debug, Default)]
pub struct Report {
    /// How many scripts were performed.
    pub scripts: usize,
    /// How many steps they had.
    pub steps: usize,
    /// How many steps differ as it is known.
    pub known: usize,
    /// Faults, each as text to print.
    pub faults: Vec<String>,
}

impl Report {
    /// Adds what came of other scripts.
    pub fn add(&mut self, other: Report) {
        self.scripts += other.scripts;
        self.steps += other.steps;
        self.known += other.known;
        self.faults.extend(other.faults);
    }
}

impl Suite {
    /// Reads the scripts and the known differences of a repository, and keeps those that `only` is a part of the name of.
    ///
    /// # Errors
    /// If one of them makes no sense, or none is left.
    pub fn read(root: &Path, only: Option<&str>) -> Result<Self> {
        let folder = root.join("conformance");
        let mut scripts = read_all(&folder.join("scripts"))?;
        let mut given = BTreeMap::new();
        for (name, text) in GIVEN {
            given.insert((*name).to_owned(), Script::parse(name, text)?);
        }
        let names: BTreeSet<String> = scripts.iter().map(|script| script.name.clone()).collect();
        let mut known = known::read(&root.join("docs/conformance.md"))?;
        if let Some(unknown) = known.iter().find(|known| !names.contains(&known.script)) {
            bail!("docs/conformance.md lists `{}`, and there is no such script", unknown.script);
        }
        if let Some(only) = only {
            scripts.retain(|script| script.name.contains(only));
            known.retain(|known| known.script.contains(only));
        }
        for (script, name) in
            scripts.iter().flat_map(|script| script.given.iter().map(move |name| (script, name)))
        {
            if !given.contains_key(name) {
                bail!("{} needs `{name}`, and nothing of this name is given", script.name);
            }
        }
        if scripts.is_empty() {
            bail!("no script has a name with `{}` in it", only.unwrap_or_default());
        }
        Ok(Suite { folder, scripts, given, known })
    }

    /// The scripts.
    pub fn scripts(&self) -> &[Script] {
        &self.scripts
    }

    /// The same suite in parts, each for a server with other feature gates, as a flag names them. The usual one comes first.
    ///
    /// Known differences go with their scripts.
    pub fn by_gates(self) -> Vec<(String, Suite)> {
        let flags: BTreeSet<String> = self.scripts.iter().map(Script::gates_flag).collect();
        let part = |flag: String| {
            let scripts: Vec<Script> =
                self.scripts.iter().filter(|script| script.gates_flag() == flag).cloned().collect();
            let belongs = |known: &&Difference| scripts.iter().any(|script| script.name == known.script);
            let known = self.known.iter().filter(belongs).cloned().collect();
            (flag, Suite { folder: self.folder.clone(), given: self.given.clone(), known, scripts })
        };
        flags.into_iter().map(part).collect()
    }

    /// Performs all scripts that make sense for a target, and compares the answers with the recorded ones.
    ///
    /// # Errors
    /// If a recording cannot be read.
    pub fn compare(&self, target: &Target) -> Result<Report> {
        let kind = target.kind();
        let mut report = Report::default();
        let mut differs = BTreeSet::new();
        for (script, result) in self.perform_all(target) {
            report.scripts += 1;
            match result {
                Err(error) => report.faults.push(format!("{} on {}: {error:#}", script.name, kind.name())),
                Ok(outcomes) => {
                    report.steps += outcomes.len();
                    let Some(recorded) = recording::read(&self.folder.join("answers"), &script.name)? else {
                        let advice = "record it with `cargo xtask conformance --record`";
                        report.faults.push(format!("{}: there is no recording: {advice}", script.name));
                        continue;
                    };
                    self.compare_outcomes(script, kind, &recorded, &outcomes, &mut report, &mut differs);
                }
            }
        }
        let stale = self.known.iter().filter(|known| known.target == kind && !differs.contains(*known));
        for known in stale {
            let (script, step) = (&known.script, known.step);
            report.faults.push(format!(
                "{script} step {step}: {} is said to differ here, and it does not: take it out of docs/conformance.md",
                kind.name()
            ));
        }
        Ok(report)
    }

    fn compare_outcomes(
        &self,
        script: &Script,
        target: TargetKind,
        recorded: &[Outcome],
        outcomes: &[Outcome],
        report: &mut Report,
        differs: &mut BTreeSet<Difference>,
    ) {
        let nothing = Outcome { heading: String::new(), text: "no such step".to_owned() };
        for index in 0..recorded.len().max(outcomes.len()) {
            let expected = recorded.get(index).unwrap_or(&nothing);
            let found = outcomes.get(index).unwrap_or(&nothing);
            if expected == found {
                continue;
            }
            let found_difference = Difference { script: script.name.clone(), step: index + 1, target };
            if self.known.contains(&found_difference) {
                report.known += 1;
            } else {
                let heading = if found.heading.is_empty() { &expected.heading } else { &found.heading };
                let changes = match expected.heading == found.heading {
                    true => difference(&expected.text, &found.text),
                    false => "the script has changed: record it again\n".to_owned(),
                };
                let (name, target) = (&script.name, target.name());
                report.faults.push(format!("{name} step {heading}\n  - kubernetes, + {target}\n{changes}"));
            }
            differs.insert(found_difference);
        }
    }

    /// Performs all scripts on a real server and keeps its answers. A script that does not come to its end is a fault.
    ///
    /// # Errors
    /// If answers cannot be kept.
    pub fn record(&self, target: &Target) -> Result<Report> {
        let mut report = Report::default();
        for (script, result) in self.perform_all(target) {
            match result {
                Err(error) => report.faults.push(format!("{}: {error:#}", script.name)),
                Ok(outcomes) => {
                    let steps: Vec<String> =
                        outcomes.iter().map(|it| format!("step {}\n{}\n", it.heading, it.text)).collect();
                    if outcomes.last().is_some_and(Outcome::is_missing) {
                        let last = &steps[steps.len().saturating_sub(2)..];
                        report.faults.push(format!("{}\n{}", script.name, last.concat()));
                        continue;
                    }
                    recording::write(&self.folder.join("answers"), &script.name, &outcomes)?;
                    report.scripts += 1;
                    report.steps += outcomes.len();
                }
            }
        }
        Ok(report)
    }

    /// Several at a time, in the order of the scripts.
    fn perform_all(&self, target: &Target) -> Vec<(&Script, Result<Vec<Outcome>>)> {
        let scripts: Vec<&Script> =
            self.scripts.iter().filter(|script| script.is_for(target.kind())).collect();
        let next = AtomicUsize::new(0);
        let results = Mutex::new(BTreeMap::new());
        thread::scope(|scope| {
            for _ in 0..CONVERSATIONS {
                scope.spawn(|| {
                    loop {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(script) = scripts.get(index) else { break };
                        let given: Vec<&Script> = script.given.iter().map(|name| &self.given[name]).collect();
                        let result = perform(script, &given, &mut *target.session());
                        if let Ok(mut results) = results.lock() {
                            results.insert(index, result);
                        }
                    }
                });
            }
        });
        let results = results.into_inner().unwrap_or_default();
        results.into_iter().map(|(index, result)| (scripts[index], result)).collect()
    }
}

/// What scripts can ask for to be there before they start.
const GIVEN: &[(&str, &str)] = &[("widgets", include_str!("../given/widgets.http"))];
