//! The panels of a scenario: the load of instances, objects without an owner, instances alive, and what happens to them.

use std::fmt::Write;

use windlass_shard::fleet::Sample;

use crate::simulate::run::Run;

use super::axis::{Panel, TimeAxis, frame};
use super::legend::class;

/// The least, the mean and the most objects of an instance; returns where the panel ends.
pub(super) fn load(body: &mut String, run: &Run, axis: &TimeAxis, top: i32) -> i32 {
    let bands: Vec<(f64, (u64, f64, u64))> =
        samples(run).map(|sample| (axis.x(sample.at_ms), sample.band().unwrap_or_default())).collect();
    let most = bands.iter().map(|(_, (.., most))| *most).max().unwrap_or_default();
    let panel = Panel::new(top, 150, most as f64);
    panel.frame(body, "objects of an instance: least, mean, most", "");
    let upper = bands.iter().map(|(x, (.., most))| (*x, panel.y(*most as f64)));
    let lower = bands.iter().rev().map(|(x, (least, ..))| (*x, panel.y(*least as f64)));
    let _ = writeln!(body, r#"<path class="band" d="{}Z"/>"#, line(upper.chain(lower)));
    let mean = bands.iter().map(|(x, (_, mean, _))| (*x, panel.y(*mean)));
    let _ = writeln!(body, r#"<path class="mean" d="{}"/>"#, line(mean));
    panel.bottom()
}

/// Objects that no one acts on, in percent.
pub(super) fn unowned(body: &mut String, run: &Run, axis: &TimeAxis, top: i32) -> i32 {
    let percent = |sample: &Sample| 100.0 * sample.unowned as f64 / run.scenario.objects.max(1) as f64;
    let most = samples(run).map(percent).fold(0.0, f64::max);
    let panel = Panel::new(top, 50, most);
    panel.frame(body, "objects that no one acts on", " %");
    area(body, "lost", &panel, samples(run).map(|sample| (axis.x(sample.at_ms), percent(sample))));
    panel.bottom()
}

/// Instances that are alive.
pub(super) fn running(body: &mut String, run: &Run, axis: &TimeAxis, top: i32) -> i32 {
    let panel = Panel::new(top, 50, run.scenario.instances as f64);
    panel.frame(body, "instances alive", "");
    let running = samples(run).map(|sample| (axis.x(sample.at_ms), sample.running() as f64));
    area(body, "run", &panel, running);
    panel.bottom()
}

/// What happens to instances.
pub(super) fn marks(body: &mut String, run: &Run, axis: &TimeAxis, top: i32) -> i32 {
    const HEIGHT: i32 = 14;
    frame(body, top, HEIGHT, "events");
    for mark in &run.report.timeline.marks {
        let (x, class) = (axis.x(mark.at_ms), class(mark.change));
        let _ = writeln!(body, r#"<path stroke="var(--{class})" d="M{x:.1} {}v{}"/>"#, top + 2, HEIGHT - 4);
    }
    top + HEIGHT
}

fn samples(run: &Run) -> impl Iterator<Item = &Sample> {
    run.report.timeline.samples.iter()
}

/// What lies below values, each of which holds until the next.
fn area(body: &mut String, class: &str, panel: &Panel, values: impl Iterator<Item = (f64, f64)>) {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for (x, value) in values {
        let before = points.last().map(|(_, y)| (x, *y));
        points.extend(before.into_iter().chain([(x, panel.y(value))]));
    }
    let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else { return };
    let floor = panel.y(0.0);
    let ends = [(last.0, floor), (first.0, floor)];
    let _ = writeln!(body, r#"<path class="{class}" d="{}Z"/>"#, line(points.into_iter().chain(ends)));
}

/// A line through points. Those on a level line between two others are left out.
fn line(points: impl Iterator<Item = (f64, f64)>) -> String {
    let mut kept: Vec<(f64, f64)> = Vec::new();
    for point in points {
        if let [.., before, last] = kept[..]
            && before.1 == last.1
            && last.1 == point.1
        {
            kept.pop();
        }
        kept.push(point);
    }
    let mut text = String::new();
    for (number, (x, y)) in kept.iter().enumerate() {
        let _ = write!(text, "{}{x:.1} {y:.1}", if number == 0 { "M" } else { "L" });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn level_lines_have_two_ends() {
        let points = [(0.0, 5.0), (1.0, 5.0), (2.0, 5.0), (3.0, 7.0)];
        assert_eq!(line(points.into_iter()), "M0.0 5.0L2.0 5.0L3.0 7.0");
    }
}
