//! What a run has shown, for people and as JSON.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::audit::{Failover, Findings, Violation};
use crate::plan::{RegistryKind, ServerKind};

/// Number of violations of each rule that are shown; JSON has all of them.
const SHOWN: usize = 3;

/// What a run has shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// The seed of the faults and the edits.
    pub seed: u64,
    /// The API server.
    pub server: ServerKind,
    /// Where the ring and the leases were.
    pub registry: RegistryKind,
    /// Number of instances.
    pub instances: usize,
    /// Number of parents.
    pub objects: usize,
    /// How long it took, in milliseconds, from the start of the instances on.
    pub took_ms: u64,
    /// The bar for edits, in milliseconds.
    pub bar_ms: u64,
    /// How often each kind of fault was made.
    pub faults: BTreeMap<String, usize>,
    /// What the auditor has found.
    pub findings: Findings,
}

impl Report {
    /// Whether nothing is wrong. What happened in a part of the history that was lost is not known.
    pub fn is_good(&self) -> bool {
        self.findings.violations.is_empty() && self.findings.history_gaps == 0
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { seed, server, registry, instances, objects, took_ms, bar_ms, faults, findings } = self;
        let Findings { edits, writes, ring_writes, moved_slots, history_gaps, waits, .. } = findings;
        writeln!(
            f,
            "{instances} instances, {objects} objects, {server}, registry in {registry}, seed {seed}, {} s",
            took_ms / 1000
        )?;
        writeln!(f, "  {edits} edits, {writes} writes of children, {ring_writes} of the ring")?;
        writeln!(f, "  {moved_slots} slots were written by more than one instance")?;
        writeln!(
            f,
            "  from an edit to the write: p50 {} ms, p99 {} ms, max {} ms; the bar is {bar_ms} ms after the last fault",
            waits.p50_ms, waits.p99_ms, waits.max_ms
        )?;
        let faults: Vec<String> = faults.iter().map(|(kind, count)| format!("{kind} {count}")).collect();
        writeln!(f, "  faults: {}", if faults.is_empty() { "none".to_owned() } else { faults.join(", ") })?;
        if *history_gaps > 0 {
            writeln!(f, "  INCONCLUSIVE: the server forgot a part of the history {history_gaps} times")?;
        }
        findings.failovers.iter().try_for_each(|failover| show_failover(f, failover))?;
        show_violations(f, &findings.violations)
    }
}

/// The first violations of each rule, and how many there are.
fn show_violations(f: &mut fmt::Formatter<'_>, violations: &[Violation]) -> fmt::Result {
    let mut rules: BTreeMap<&str, Vec<&Violation>> = BTreeMap::new();
    violations.iter().for_each(|violation| rules.entry(violation.rule()).or_default().push(violation));
    for (rule, violations) in &rules {
        violations.iter().take(SHOWN).try_for_each(|violation| writeln!(f, "  VIOLATION: {violation}"))?;
        writeln!(f, "  {} violations of the rule {rule}", violations.len())?;
    }
    if rules.is_empty() { writeln!(f, "  no violations") } else { Ok(()) }
}

fn show_failover(f: &mut fmt::Formatter<'_>, failover: &Failover) -> fmt::Result {
    let Failover { fault, objects, longest_ms } = failover;
    writeln!(
        f,
        "  {:>7.1} s: {}: {objects} edited objects were written by others, the last {:.1} s after the fault or its edit",
        fault.from_ms as f64 / 1000.0,
        fault.what,
        *longest_ms as f64 / 1000.0
    )
}
