//! What was measured, as a table or as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::measured::Figures;

/// What a pod costs may grow by so much from the fewest networks to the most: start-up weighs more with few.
const MAX_GROWTH: f64 = 1.25;

pub(crate) struct Results {
    pods: usize,
    rows: Vec<(usize, Figures)>,
}

struct Column {
    name: &'static str,
    digits: usize,
    of: fn(&Figures, f64) -> f64,
}

const COLUMNS: [Column; 8] = [
    Column { name: "seconds", digits: 2, of: |figures, _| figures.seconds },
    Column { name: "joins/s", digits: 0, of: |figures, _| figures.joins as f64 / figures.seconds },
    Column { name: "reconciles/pod", digits: 2, of: |figures, pods| figures.reconciles / pods },
    Column { name: "requests/pod", digits: 2, of: |figures, pods| figures.requests / pods },
    Column { name: "CPU ms/pod", digits: 2, of: |figures, pods| figures.cpu_seconds * 1e3 / pods },
    Column { name: "reconcile ms", digits: 2, of: |figures, _| figures.mean_seconds * 1e3 },
    Column { name: "90 % within ms", digits: 0, of: |figures, _| figures.ninety_seconds * 1e3 },
    Column { name: "99 % within ms", digits: 0, of: |figures, _| figures.ninety_nine_seconds * 1e3 },
];

impl Results {
    pub(crate) fn new(pods: usize) -> Self {
        Results { pods, rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, networks: usize, figures: Figures) {
        self.rows.push((networks, figures));
    }

    fn figure(&self, networks: usize, figures: &Figures, column: &Column) -> f64 {
        (column.of)(figures, (networks * self.pods) as f64)
    }

    /// What a pod costs with the most networks, as a multiple of what it costs with the fewest.
    fn growth(&self) -> Option<f64> {
        let cost = |(networks, figures): &(usize, Figures)| self.figure(*networks, figures, &COLUMNS[4]);
        let fewest = self.rows.iter().min_by_key(|(networks, _)| *networks)?;
        let most = self.rows.iter().max_by_key(|(networks, _)| *networks)?;
        (fewest.0 < most.0).then(|| cost(most) / cost(fewest))
    }

    pub(crate) fn table(&self) -> String {
        let mut text =
            format!("networks of {} pods that wait to be joined, on the embedded server\n", self.pods);
        let _ = write!(text, "{:>9} {:>6}", "networks", "pods");
        for column in &COLUMNS {
            let _ = write!(text, " {:>14}", column.name);
        }
        text.push('\n');
        for (networks, figures) in &self.rows {
            let _ = write!(text, "{networks:>9} {:>6}", networks * self.pods);
            for column in &COLUMNS {
                let _ = write!(text, " {:>14.*}", column.digits, self.figure(*networks, figures, column));
            }
            text.push('\n');
        }
        if let Some(growth) = self.growth() {
            let verdict = if growth <= MAX_GROWTH { "reached" } else { "NOT REACHED" };
            let _ = writeln!(
                text,
                "CPU of a pod with the most networks, of that with the fewest: {growth:.2}, bar {MAX_GROWTH}: {verdict}"
            );
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self
            .rows
            .iter()
            .map(|(networks, figures)| {
                let figures: Vec<Value> = COLUMNS
                    .iter()
                    .map(|column| json!({"what": column.name, "figure": self.figure(*networks, figures, column)}))
                    .collect();
                json!({"networks": networks, "pods": networks * self.pods, "figures": figures})
            })
            .collect();
        format!("{:#}\n", json!({"sizes": rows, "growth": self.growth(), "most_growth": MAX_GROWTH}))
    }
}
