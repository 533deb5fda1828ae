//! What colours mean.

use std::fmt::Write;

use windlass_shard::fleet::Change;

use crate::simulate::run::Run;

use super::axis::LEFT;
use super::heat::UP_TO;

/// The colour of an event, by its name in the style.
pub(super) fn class(change: Change) -> &'static str {
    match change {
        Change::Stopped => "stopped",
        Change::Started => "started",
        Change::Left => "left",
        Change::Paused => "paused",
        Change::Weighed => "weighed",
    }
}

fn text(change: Change) -> &'static str {
    match change {
        Change::Stopped => "killed",
        Change::Started => "started",
        Change::Left => "leaves",
        Change::Paused => "paused",
        Change::Weighed => "costs change",
    }
}

/// Draws two lines, of loads and of events; returns where they end.
pub(super) fn draw(body: &mut String, top: i32, runs: &[Run]) -> i32 {
    let mut entries = Entries { body, x: LEFT, y: top + 12 };
    entries.text("load compared with a fair share:");
    for (number, up_to) in UP_TO.iter().enumerate() {
        entries.swatch(&format!("h{number}"), &format!("to {:.0} %", up_to * 100.0));
    }
    entries.swatch(&format!("h{}", UP_TO.len()), "more");
    (entries.x, entries.y) = (LEFT, top + 32);
    entries.text("events:");
    let mut changes: Vec<Change> =
        runs.iter().flat_map(|run| &run.report.timeline.marks).map(|mark| mark.change).collect();
    changes.sort_unstable();
    changes.dedup();
    changes.into_iter().for_each(|change| entries.swatch(class(change), text(change)));
    top + 48
}

/// Entries one after the other.
struct Entries<'a> {
    body: &'a mut String,
    x: i32,
    y: i32,
}

impl Entries<'_> {
    fn swatch(&mut self, colour: &str, text: &str) {
        let (x, y) = (self.x, self.y - 10);
        let _ = writeln!(
            self.body,
            r#"<rect x="{x}" y="{y}" width="12" height="12" style="fill:var(--{colour});stroke:var(--frame)"/>"#
        );
        self.x += 18;
        self.text(text);
    }

    fn text(&mut self, text: &str) {
        let _ = writeln!(self.body, r#"<text class="s" x="{}" y="{}">{text}</text>"#, self.x, self.y);
        // No font is asked how wide its letters are: this is enough for those of 12 px.
        self.x += 6 * text.len() as i32 + 16;
    }
}
