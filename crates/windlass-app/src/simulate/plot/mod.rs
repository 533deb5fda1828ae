//! The load of simulated fleets over time, as a picture.

mod axis;
mod heat;
mod legend;
mod panels;

use std::fmt::Write;

use windlass_check::grouped;

use crate::svg::{Picture, escaped};

use super::run::Run;
use axis::{LEFT, RIGHT, TimeAxis, WIDTH};

const MARGIN: i32 = 24;
const TITLE: i32 = 34;
/// Between two panels, for the name of the lower one.
const GAP: i32 = 26;
/// Below the last panel of a scenario, for times and the next scenario.
const TIMES: i32 = 44;

const STYLE: &str = "<style>
svg{--bg:#fff;--ink:#24292f;--faint:#6e7781;--frame:#d0d7de;--band:#54aeff;--mean:#0550ae;--lost:#cf222e;\
--h0:#0a3069;--h1:#218bff;--h2:#9cd2ff;--h3:#e3e8ed;--h4:#ffc680;--h5:#e16f24;--h6:#8a2c0d;\
--stopped:#cf222e;--started:#1a7f37;--left:#8250df;--paused:#bf8700;--weighed:#0550ae}
@media (prefers-color-scheme:dark){svg{--bg:#0d1117;--ink:#e6edf3;--faint:#9198a1;--frame:#3d444d;--band:#1f6feb;\
--mean:#a5d6ff;--lost:#ff7b72;--h0:#cae8ff;--h1:#58a6ff;--h2:#1f4f8f;--h3:#2a313c;--h4:#8f5412;--h5:#f0883e;--h6:#ffdfb6;\
--stopped:#ff7b72;--started:#56d364;--left:#d2a8ff;--paused:#e3b341;--weighed:#79c0ff}}
.bg{fill:var(--bg)}text{font:12px system-ui,sans-serif;fill:var(--ink)}.h{font-size:16px;font-weight:600}.s{fill:var(--faint)}\
.e{text-anchor:end}.m{text-anchor:middle}.f{fill:none;stroke:var(--frame)}.band{fill:var(--band);fill-opacity:.45}\
.mean{fill:none;stroke:var(--mean);stroke-width:1.4}.lost{fill:var(--lost)}.run{fill:var(--frame)}
</style>
";

/// All runs, one below the other.
pub(super) fn svg(runs: &[Run]) -> String {
    let Some(first) = runs.first() else { return String::new() };
    let fleet = &first.scenario;
    let title = format!(
        "{} instances share {} objects in {} slots (seed {})",
        grouped(fleet.instances as u64),
        grouped(fleet.objects),
        grouped(fleet.slots.get() as u64),
        fleet.seed
    );
    let mut body = String::new();
    let mut top = MARGIN + 16;
    let _ = writeln!(body, r#"<text class="h" x="{LEFT}" y="{top}">{}</text>"#, escaped(&title));
    top = legend::draw(&mut body, top + 14, runs);
    for run in runs {
        top = section(&mut body, run, top);
    }
    let body = format!("<rect class=\"bg\" width=\"100%\" height=\"100%\"/>\n{body}");
    let description = runs.iter().map(summary).collect::<Vec<_>>().join(" ");
    let picture = Picture {
        width: WIDTH,
        height: top,
        title: &title,
        description: &description,
        head: STYLE,
        body: &body,
    };
    picture.document()
}

/// A scenario: its name, and its panels; returns where it ends.
fn section(body: &mut String, run: &Run, top: i32) -> i32 {
    let title = top + TITLE - 12;
    let _ = writeln!(body, r#"<g><text class="h" x="{LEFT}" y="{title}">{}</text>"#, run.name.text());
    let right = WIDTH - RIGHT;
    let _ =
        writeln!(body, r#"<text class="s e" x="{right}" y="{title}">{}</text>"#, escaped(&run.name.about()));
    let axis = TimeAxis::new(run);
    let mut at = top + TITLE + GAP - 8;
    at = panels::load(body, run, &axis, at) + GAP;
    at = heat::draw(body, run, &axis, at) + GAP;
    at = panels::unowned(body, run, &axis, at) + GAP;
    at = panels::running(body, run, &axis, at) + GAP;
    at = panels::marks(body, run, &axis, at);
    axis.times(body, at);
    body.push_str("</g>\n");
    at + TIMES
}

/// What a run shows, for those who cannot see it.
fn summary(run: &Run) -> String {
    let samples = &run.report.timeline.samples;
    let bands = || samples.iter().filter_map(|sample| sample.band());
    let least = bands().map(|(least, ..)| least).min().unwrap_or_default();
    let most = bands().map(|(.., most)| most).max().unwrap_or_default();
    let fewest = samples.iter().map(|sample| sample.running()).min().unwrap_or_default();
    format!(
        "{}: between {} and {} objects for an instance, and at least {} instances alive.",
        run.name.text(),
        grouped(least),
        grouped(most),
        grouped(fewest as u64)
    )
}
