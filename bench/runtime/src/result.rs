//! What was measured, as a table or as JSON, and whether the bars are reached.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::bare::BareFigures;
use crate::controllers::Contestant;
use crate::rounds::Figures;

/// Two outputs and a status.
const MAX_WRITES: f64 = 3.1;
const LEAST_OF_BARE_RATE: f64 = 0.9;
const MAX_OF_PEER_CPU: f64 = 0.5;

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Results {
    /// The means of each round.
    bare: Vec<(u64, BareFigures)>,
    rounds: Vec<(u64, Contestant, Figures)>,
}

/// One figure of a contestant.
struct Column {
    name: &'static str,
    digits: usize,
    of: fn(&Figures, f64) -> f64,
}

/// The number of the column with the rate.
const RATE: usize = 1;

const COLUMNS: [Column; 13] = [
    Column { name: "seconds", digits: 2, of: |figures, _| figures.seconds },
    Column { name: "needed writes/s", digits: 0, of: |figures, parents| 3.0 * parents / figures.seconds },
    Column { name: "writes/parent", digits: 2, of: |figures, parents| figures.requests.writes / parents },
    Column { name: "reads/parent", digits: 2, of: |figures, parents| figures.requests.reads / parents },
    Column { name: "CPU ms/parent", digits: 3, of: |figures, parents| figures.cpu_seconds * 1e3 / parents },
    Column {
        name: "server CPU ms",
        digits: 2,
        of: |figures, parents| figures.server_cpu_seconds * 1e3 / parents,
    },
    Column { name: "peak MiB", digits: 1, of: |figures, _| figures.peak_mebibytes },
    Column { name: "touch: writes", digits: 0, of: |figures, _| figures.touched.writes },
    Column { name: "CPU ms", digits: 0, of: |figures, _| figures.touched.cpu_seconds * 1e3 },
    Column { name: "restart: writes", digits: 0, of: |figures, _| figures.restarted.writes },
    Column { name: "CPU ms", digits: 0, of: |figures, _| figures.restarted.cpu_seconds * 1e3 },
    Column { name: "resync: writes", digits: 0, of: |figures, _| figures.resynced.writes },
    Column { name: "CPU ms", digits: 0, of: |figures, _| figures.resynced.cpu_seconds * 1e3 },
];

impl Results {
    /// Adds what the bare client showed in one round.
    pub(crate) fn bare(&mut self, parents: u64, figures: &[BareFigures]) {
        let mean = |of: fn(&BareFigures) -> f64| figures.iter().map(of).sum::<f64>() / figures.len() as f64;
        let means = BareFigures {
            writes_per_second: mean(|figures| figures.writes_per_second),
            server_cpu_seconds: mean(|figures| figures.server_cpu_seconds),
        };
        self.bare.push((parents, means));
    }

    pub(crate) fn round(&mut self, parents: u64, contestant: Contestant, figures: Figures) {
        self.rounds.push((parents, contestant, figures));
    }

    fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.bare.iter().map(|(parents, _)| *parents).collect();
        sizes.dedup();
        sizes
    }

    /// Who was measured.
    fn contestants(&self) -> Vec<Contestant> {
        let measured =
            |wanted: &Contestant| self.rounds.iter().any(|(_, contestant, _)| contestant == wanted);
        Contestant::ALL.into_iter().filter(measured).collect()
    }

    /// The rounds of the bare client with this number of parents.
    fn bare_rounds(&self, parents: u64) -> impl Iterator<Item = &BareFigures> {
        self.bare.iter().filter(move |(size, _)| *size == parents).map(|(_, figures)| figures)
    }

    fn bare_rate(&self, parents: u64) -> f64 {
        median(self.bare_rounds(parents).map(|figures| figures.writes_per_second))
    }

    fn bare_server_milliseconds(&self, parents: u64) -> f64 {
        median(self.bare_rounds(parents).map(|figures| figures.server_cpu_seconds)) * 1e3 / parents as f64
    }

    /// Our rate, of that of the bare client in the same round: a machine is not equally fast at all times.
    fn share_of_bare_rate(&self, parents: u64) -> f64 {
        let ours =
            self.rounds.iter().filter(|(size, who, _)| (*size, *who) == (parents, Contestant::Windlass));
        let ours = ours.map(|(_, _, figures)| (COLUMNS[RATE].of)(figures, parents as f64));
        median(ours.zip(self.bare_rounds(parents)).map(|(ours, bare)| ours / bare.writes_per_second))
    }

    fn figure(&self, parents: u64, contestant: Contestant, column: &Column) -> f64 {
        let rounds = self.rounds.iter().filter(|(size, who, _)| (*size, *who) == (parents, contestant));
        median(rounds.map(|(_, _, figures)| (column.of)(figures, parents as f64)))
    }

    pub(crate) fn table(&self) -> String {
        let mut text =
            "two ConfigMaps and a status for each parent, on kube-apiserver with etcd\n".to_owned();
        for parents in self.sizes() {
            let rounds = match self.bare_rounds(parents).count() {
                1 => "one round".to_owned(),
                rounds => format!("median of {rounds} rounds"),
            };
            let rate = self.bare_rate(parents);
            let server = self.bare_server_milliseconds(parents);
            let _ = writeln!(
                text,
                "\n{parents} parents, {rounds}; a bare client: {rate:.0} writes/s, server CPU {server:.2} ms/parent"
            );
            let _ = write!(text, "{:16}", "");
            for column in &COLUMNS {
                let _ = write!(text, " {:>15}", column.name);
            }
            text.push('\n');
            for contestant in self.contestants() {
                let _ = write!(text, "{:16}", contestant.name());
                for column in &COLUMNS {
                    let figure = self.figure(parents, contestant, column);
                    let _ = if figure.is_nan() {
                        write!(text, " {:>15}", "-")
                    } else {
                        write!(text, " {figure:>15.*}", column.digits)
                    };
                }
                text.push('\n');
            }
            for bar in self.bars(parents) {
                let verdict = if bar.reached { "reached" } else { "NOT REACHED" };
                let _ = writeln!(text, "{}: {:.2}, bar {}: {verdict}", bar.name, bar.figure, bar.bar);
            }
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let sizes: Vec<Value> = self
            .sizes()
            .into_iter()
            .map(|parents| {
                let contestants: Vec<Value> = self
                    .contestants()
                    .into_iter()
                    .map(|contestant| {
                        let figures: Vec<Value> = COLUMNS
                            .iter()
                            .map(|column| {
                                json!({"what": column.name, "figure": self.figure(parents, contestant, column)})
                            })
                            .collect();
                        json!({"name": contestant.name(), "figures": figures})
                    })
                    .collect();
                let bars: Vec<Value> = self
                    .bars(parents)
                    .iter()
                    .map(|bar| json!({"what": bar.name, "figure": bar.figure, "bar": bar.bar, "reached": bar.reached}))
                    .collect();
                json!({
                    "parents": parents, "bare_writes_per_second": self.bare_rate(parents),
                    "bare_server_cpu_ms_per_parent": self.bare_server_milliseconds(parents),
                    "contestants": contestants, "bars": bars,
                })
            })
            .collect();
        format!("{:#}\n", json!({ "sizes": sizes }))
    }

    /// The bars compare all contestants: with some left out there is nothing to say.
    fn bars(&self, parents: u64) -> Vec<Bar> {
        if self.contestants().len() < Contestant::ALL.len() {
            return Vec::new();
        }
        let [_, _, writes, _, cpu, _, memory, touch, _, restart, _, resync, _] = &COLUMNS;
        let ours = |column: &Column| self.figure(parents, Contestant::Windlass, column);
        // Against each figure the peer that does better.
        let theirs = |column: &Column| {
            let peers = [Contestant::KubeRs, Contestant::KubeRsTuned];
            peers.map(|peer| self.figure(parents, peer, column)).into_iter().fold(f64::INFINITY, f64::min)
        };
        let mut bars = vec![
            Bar::at_most("writes per parent", ours(writes), MAX_WRITES),
            Bar::at_least(
                "share of the bare client's rate",
                self.share_of_bare_rate(parents),
                LEAST_OF_BARE_RATE,
            ),
            Bar::at_most(
                "CPU, of kube-rs as documented",
                ours(cpu) / self.figure(parents, Contestant::KubeRs, cpu),
                MAX_OF_PEER_CPU,
            ),
            Bar::at_most("CPU, of the better peer", ours(cpu) / theirs(cpu), MAX_OF_PEER_CPU),
            Bar::at_most("memory, of the better peer", ours(memory) / theirs(memory), 1.0),
            Bar::at_most("writes on a touch", ours(touch), 0.0),
            Bar::at_most("writes on a restart", ours(restart), 0.0),
            Bar::at_most("writes on a resync", ours(resync), 0.0),
        ];
        bars.retain(|bar| !bar.figure.is_nan());
        bars
    }
}

/// A line about a measurement of the bare client.
pub(crate) fn bare_in_short(figures: &BareFigures, parents: u64) -> String {
    let server = figures.server_cpu_seconds * 1e3 / parents as f64;
    format!("{:.0} writes/s; CPU per parent: server {server:.2} ms", figures.writes_per_second)
}

/// A line about a measurement of a contestant.
pub(crate) fn in_short(figures: &Figures, parents: u64) -> String {
    let parents = parents as f64;
    let milliseconds = |seconds: f64| seconds * 1e3 / parents;
    format!(
        "{:.0} writes/s; CPU per parent: server {:.2} ms, controller {:.2} ms",
        (COLUMNS[RATE].of)(figures, parents),
        milliseconds(figures.server_cpu_seconds),
        milliseconds(figures.cpu_seconds),
    )
}

struct Bar {
    name: &'static str,
    figure: f64,
    bar: f64,
    reached: bool,
}

impl Bar {
    fn at_most(name: &'static str, figure: f64, bar: f64) -> Self {
        Bar { name, figure, bar, reached: figure <= bar }
    }

    fn at_least(name: &'static str, figure: f64, bar: f64) -> Self {
        Bar { name, figure, bar, reached: figure >= bar }
    }
}

fn median(figures: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = figures.collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}
