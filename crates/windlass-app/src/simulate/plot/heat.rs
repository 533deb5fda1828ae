//! The load of each instance over time: one row for each, in the colour of its load compared with a fair share.

use std::fmt::Write;

use windlass_shard::fleet::Sample;

use crate::simulate::run::Run;

use super::axis::{TimeAxis, frame};

/// Up to which part of a fair share each colour goes; the last one has no end.
pub(super) const UP_TO: [f64; 6] = [0.25, 0.75, 0.95, 1.05, 1.25, 2.0];
const MAX_HEIGHT: f64 = 200.0;

/// Draws all rows; returns where they end.
pub(super) fn draw(body: &mut String, run: &Run, axis: &TimeAxis, top: i32) -> i32 {
    let instances = run.scenario.instances;
    let row = (MAX_HEIGHT / instances as f64).floor().clamp(1.0, 8.0).min(MAX_HEIGHT / instances as f64);
    let height = (row * instances as f64).ceil() as i32;
    let what = if has_costs(run) { "cost" } else { "load" };
    frame(
        body,
        top,
        height,
        &format!("each instance, one above the other: {what} compared with a fair share"),
    );
    let mut paths = vec![String::new(); UP_TO.len() + 1];
    for instance in 0..instances {
        let y = f64::from(top) + (instance as f64 + 0.5) * row;
        for (colour, from, to) in stretches(run, instance) {
            let (x, end) = (axis.x(from), axis.x(to));
            let _ = write!(paths[colour], "M{x:.1} {y:.1}H{end:.1}");
        }
    }
    for (colour, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let _ = writeln!(body, r#"<path stroke="var(--h{colour})" stroke-width="{row:.2}" d="{path}"/>"#);
    }
    top + height
}

/// The times in which an instance has the same colour: the colour, from when, to when. There are none while it is down.
fn stretches(run: &Run, instance: usize) -> Vec<(usize, u64, u64)> {
    let mut stretches: Vec<(usize, u64, u64)> = Vec::new();
    for pair in run.report.timeline.samples.windows(2) {
        let [sample, next] = pair else { continue };
        let Some(colour) = colour(run, sample, instance) else { continue };
        match stretches.last_mut() {
            Some((last, _, to)) if *last == colour && *to == sample.at_ms => *to = next.at_ms,
            _ => stretches.push((colour, sample.at_ms, next.at_ms)),
        }
    }
    stretches
}

/// Whether the fleet goes by costs.
fn has_costs(run: &Run) -> bool {
    run.report.cost_balance.end.is_some()
}

fn colour(run: &Run, sample: &Sample, instance: usize) -> Option<usize> {
    let (loads, total) = if has_costs(run) {
        (&sample.costs, sample.costs.iter().flatten().sum())
    } else {
        (&sample.loads, run.scenario.objects)
    };
    let load = loads.get(instance).copied().flatten()?;
    Some(colour_of(load, total, sample.running()))
}

/// The colour of a load, of a total that some share.
fn colour_of(load: u64, total: u64, sharing: usize) -> usize {
    let part = load as f64 * sharing as f64 / total as f64;
    UP_TO.iter().position(|up_to| part <= *up_to).unwrap_or(UP_TO.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_of_a_fair_share() {
        assert_eq!([0, 10, 21].map(|load| colour_of(load, 30, 3)), [0, 3, 6]);
    }
}
