//! The figures beside those of the peers, and whether the bars are reached: as a table or as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::controllers::Contestant;

/// Those that are compared with, in the order of their columns.
const PEERS: [Contestant; 2] = [Contestant::Modulo, Contestant::ControllerRuntime];

/// What is wanted of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

/// One figure of ours.
pub(crate) struct Row {
    what: String,
    digits: usize,
    ours: f64,
    peers: Vec<(Contestant, f64)>,
    bar: Option<Bar>,
}

/// All that was measured.
#[derive(Default)]
pub(crate) struct Results {
    rows: Vec<Row>,
    /// What was left out, and why.
    notes: Vec<String>,
}

impl Bar {
    fn is_reached_by(self, figure: f64) -> bool {
        match self {
            Bar::AtMost(most) => figure <= most,
            Bar::AtLeast(least) => figure >= least,
        }
    }
}

impl std::fmt::Display for Bar {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Bar::AtMost(most) => write!(f, "<= {most}"),
            Bar::AtLeast(least) => write!(f, ">= {least}"),
        }
    }
}

impl Row {
    /// A figure that is shown with this number of digits behind the point.
    pub(crate) fn new(what: &str, digits: usize, ours: f64) -> Self {
        Row { what: what.to_owned(), digits, ours, peers: Vec::new(), bar: None }
    }

    /// With the same figure of a peer.
    #[must_use]
    pub(crate) fn peer(mut self, peer: Contestant, figure: f64) -> Self {
        self.peers.push((peer, figure));
        self
    }

    #[must_use]
    pub(crate) fn bar(self, bar: Bar) -> Self {
        Row { bar: Some(bar), ..self }
    }

    fn theirs(&self, peer: Contestant) -> Option<f64> {
        self.peers.iter().find(|(one, _)| *one == peer).map(|(_, figure)| *figure)
    }

    fn line(&self) -> String {
        let number = |figure: Option<f64>, digits: usize| match figure {
            None => "-".to_owned(),
            Some(figure) if figure.is_infinite() => "never".to_owned(),
            Some(figure) => format!("{figure:.digits$}"),
        };
        let mut line = format!("{:58} {:>10}", self.what, number(Some(self.ours), self.digits));
        for peer in PEERS {
            let theirs = self.theirs(peer);
            let ratio = theirs.filter(|theirs| theirs.is_finite()).map(|theirs| self.ours / theirs);
            let ratio = ratio.map_or_else(|| "-".to_owned(), |ratio| format!("{ratio:.2}x"));
            let _ = write!(line, " {:>18} {ratio:>7}", number(theirs, self.digits));
        }
        if let Some(bar) = self.bar {
            let verdict = if bar.is_reached_by(self.ours) { "reached" } else { "NOT REACHED" };
            let _ = write!(line, "  bar {bar}: {verdict}");
        }
        line
    }

    fn json(&self) -> Value {
        // What never happens has no figure.
        let peers: Vec<Value> = PEERS
            .into_iter()
            .filter_map(|peer| Some((peer, self.theirs(peer).filter(|figure| figure.is_finite())?)))
            .map(|(peer, theirs)| json!({"name": peer.name(), "figure": theirs, "ratio": self.ours / theirs}))
            .collect();
        let bar = self.bar.map(|bar| bar.to_string());
        let reached = self.bar.map(|bar| bar.is_reached_by(self.ours));
        json!({"what": self.what.trim(), "windlass": self.ours, "peers": peers, "bar": bar, "reached": reached})
    }
}

impl Results {
    pub(crate) fn row(&mut self, row: Row) {
        self.rows.push(row);
    }

    pub(crate) fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    pub(crate) fn table(&self) -> String {
        let mut text = format!("{:58} {:>10}", "", Contestant::Sharded.name());
        for peer in PEERS {
            let _ = write!(text, " {:>18} {:>7}", peer.name(), "ratio");
        }
        text.push('\n');
        for line in self.rows.iter().map(Row::line).chain(self.notes.iter().cloned()) {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    pub(crate) fn json(&self) -> String {
        let rows: Vec<Value> = self.rows.iter().map(Row::json).collect();
        format!("{:#}\n", json!({"rows": rows, "notes": self.notes}))
    }
}

/// The figure in the middle.
pub(crate) fn median(figures: &[f64]) -> f64 {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_ratio_to_each_peer_and_the_verdict() {
        let row = Row::new("longest", 1, 6.0).peer(Contestant::Modulo, f64::INFINITY);
        let row = row.peer(Contestant::ControllerRuntime, 12.0).bar(Bar::AtMost(9.0));
        let words: Vec<String> = row.line().split_whitespace().map(str::to_owned).collect();
        assert_eq!(words.join(" "), "longest 6.0 never - 12.0 0.50x bar <= 9: reached");
        let row = Row::new("share", 2, 0.96).bar(Bar::AtLeast(0.97));
        assert!(row.line().ends_with("bar >= 0.97: NOT REACHED"), "{}", row.line());
        assert_eq!(row.json()["reached"], false);
    }
}
