//! What was measured, as a table or as JSON.

use std::fmt::Write as _;

use serde_json::json;

use crate::measured::Figures;

/// A thousand endpoints take no longer than this.
const MAX_SECONDS: f64 = 10.0;
const ENDPOINTS_OF_BAR: usize = 1_000;
/// What an endpoint costs may grow by so much from the fewest endpoints to the most.
const MAX_GROWTH: f64 = 1.5;
/// The least possible: the claim of an address, and one write of the status with everything in it.
const LEAST_WRITES: f64 = 2.0;

pub(crate) struct Results {
    bouncers: usize,
    rows: Vec<Figures>,
}

impl Results {
    pub(crate) fn new(bouncers: usize) -> Self {
        Results { bouncers, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, figures: Figures) {
        self.rows.push(figures);
    }

    /// One batch for each droplet that has to know an endpoint: its own, and those of its bouncers.
    fn least_calls(&self) -> f64 {
        self.bouncers as f64 + 1.0
    }

    fn growth(&self) -> Option<f64> {
        let cost = |figures: &Figures| figures.cpu_seconds / figures.endpoints as f64;
        let fewest = self.rows.iter().min_by_key(|figures| figures.endpoints)?;
        let most = self.rows.iter().max_by_key(|figures| figures.endpoints)?;
        (fewest.endpoints < most.endpoints).then(|| cost(most) / cost(fewest))
    }

    pub(crate) fn table(&self) -> String {
        let mut text = String::from(
            "endpoints in networks that are there; server, operators and daemons in one process\n",
        );
        let titles =
            ["endpoints", "seconds", "per second", "CPU ms each", "writes each", "calls each", "rows"];
        titles.iter().for_each(|title| {
            let _ = write!(text, "{title:>13}");
        });
        text.push('\n');
        for figures in &self.rows {
            let count = figures.endpoints as f64;
            let _ = writeln!(
                text,
                "{:>13}{:>13.2}{:>13.0}{:>13.2}{:>13.2}{:>13.2}{:>13}",
                figures.endpoints,
                figures.seconds,
                count / figures.seconds,
                figures.cpu_seconds * 1e3 / count,
                figures.writes as f64 / count,
                figures.calls as f64 / count,
                figures.rows
            );
        }
        let _ = writeln!(
            text,
            "the least possible: {LEAST_WRITES:.0} writes each (a claim and a status), {:.0} calls each (a batch for each droplet)",
            self.least_calls()
        );
        let verdict = |reached: bool| if reached { "reached" } else { "NOT REACHED" };
        if let Some(figures) = self.rows.iter().find(|figures| figures.endpoints == ENDPOINTS_OF_BAR) {
            let reached = verdict(figures.seconds <= MAX_SECONDS);
            let _ =
                writeln!(text, "1,000 endpoints: {:.2} s, bar {MAX_SECONDS} s: {reached}", figures.seconds);
        }
        if let Some(growth) = self.growth() {
            let reached = verdict(growth <= MAX_GROWTH);
            let _ = writeln!(
                text,
                "CPU of an endpoint with the most, of that with the fewest: {growth:.2}, bar {MAX_GROWTH}: {reached}"
            );
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<_> = self
            .rows
            .iter()
            .map(|figures| {
                json!({
                    "endpoints": figures.endpoints,
                    "seconds": figures.seconds,
                    "cpuSeconds": figures.cpu_seconds,
                    "writes": figures.writes,
                    "calls": figures.calls,
                    "rows": figures.rows,
                })
            })
            .collect();
        let result = json!({
            "rows": rows,
            "leastWritesEach": LEAST_WRITES,
            "leastCallsEach": self.least_calls(),
            "growth": self.growth(),
        });
        format!("{result:#}\n")
    }
}
