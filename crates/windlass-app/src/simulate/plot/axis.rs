//! Where times and values are in a picture, and their labels.

use std::fmt::Write;

use crate::simulate::run::Run;

pub(super) const WIDTH: i32 = 960;
/// Room for the labels of values.
pub(super) const LEFT: i32 = 68;
pub(super) const RIGHT: i32 = 24;

/// Time, from the left to the right.
pub(super) struct TimeAxis {
    from_ms: u64,
    to_ms: u64,
}

impl TimeAxis {
    pub(super) fn new(run: &Run) -> Self {
        TimeAxis { from_ms: run.scenario.warm_up_ms, to_ms: run.scenario.duration_ms }
    }

    /// Where a time is.
    pub(super) fn x(&self, at_ms: u64) -> f64 {
        let part = at_ms.saturating_sub(self.from_ms) as f64 / (self.to_ms - self.from_ms).max(1) as f64;
        f64::from(LEFT) + part.min(1.0) * f64::from(WIDTH - LEFT - RIGHT)
    }

    /// Labels below a panel that ends at `y`.
    pub(super) fn times(&self, body: &mut String, y: i32) {
        let minutes = self.to_ms as f64 / 60_000.0;
        let step = step(minutes, 12);
        let first = (self.from_ms as f64 / 60_000.0 / step).ceil() as u64;
        let count = (minutes / step).floor() as u64;
        for number in first..=count {
            let minute = number as f64 * step;
            let x = self.x((minute * 60_000.0) as u64);
            let unit = if number == count { " min" } else { "" };
            let _ = writeln!(body, r#"<path class="f" d="M{x:.1} {y}v4"/>"#);
            let _ = writeln!(body, r#"<text class="s m" x="{x:.1}" y="{}">{minute}{unit}</text>"#, y + 17);
        }
    }
}

/// A panel: a frame with values from 0 up.
pub(super) struct Panel {
    pub(super) top: i32,
    pub(super) height: i32,
    pub(super) most: f64,
}

impl Panel {
    /// A panel in which a value has its place.
    pub(super) fn new(top: i32, height: i32, most: f64) -> Self {
        let step = step(most, 4);
        Panel { top, height, most: (most / step).ceil() * step }
    }

    /// Where it ends.
    pub(super) fn bottom(&self) -> i32 {
        self.top + self.height
    }

    /// Where a value is.
    pub(super) fn y(&self, value: f64) -> f64 {
        f64::from(self.bottom()) - value / self.most * f64::from(self.height)
    }

    /// The frame, the name above it, and labels of values.
    pub(super) fn frame(&self, body: &mut String, name: &str, unit: &str) {
        frame(body, self.top, self.height, name);
        let labels = if self.height < 60 { 1 } else { 4 };
        let step = if labels == 1 { self.most } else { step(self.most, labels) };
        for number in 0..=(self.most / step).round() as u64 {
            let value = number as f64 * step;
            let label = label(value);
            let y = self.y(value);
            let _ = writeln!(
                body,
                r#"<text class="s e" x="{}" y="{:.1}">{label}{unit}</text>"#,
                LEFT - 8,
                y + 4.0
            );
            if number > 0 && value < self.most {
                let _ = writeln!(body, r#"<path class="f" d="M{LEFT} {y:.1}h{}"/>"#, WIDTH - LEFT - RIGHT);
            }
        }
    }
}

/// A frame with a name above it.
pub(super) fn frame(body: &mut String, top: i32, height: i32, name: &str) {
    let width = WIDTH - LEFT - RIGHT;
    let _ = writeln!(body, r#"<rect class="f" x="{LEFT}" y="{top}" width="{width}" height="{height}"/>"#);
    let _ = writeln!(body, r#"<text class="s" x="{LEFT}" y="{}">{name}</text>"#, top - 7);
}

/// `500`, `5 k`, `2.5 M`
fn label(value: f64) -> String {
    match value {
        _ if value >= 1_000_000.0 => format!("{} M", value / 1_000_000.0),
        _ if value >= 1_000.0 => format!("{} k", value / 1_000.0),
        _ => value.to_string(),
    }
}

/// The smallest of 1, 2, 5, 10, 20, ... that divides up to `most` into no more than `steps` parts.
fn step(most: f64, steps: u32) -> f64 {
    let mut power = 1.0;
    loop {
        for digit in [1.0, 2.0, 5.0] {
            if digit * power * f64::from(steps) >= most {
                return digit * power;
            }
        }
        power *= 10.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        assert_eq!(step(10.0, 12), 1.0);
        assert_eq!(step(16_200.0, 4), 5_000.0);
        assert_eq!(step(0.0, 4), 1.0);
    }

    #[test]
    fn labels_are_short() {
        assert_eq!([0.0, 20.0, 5_000.0, 2_500_000.0].map(label), ["0", "20", "5 k", "2.5 M"]);
    }

    #[test]
    fn panels_end_with_a_round_value() {
        let panel = Panel::new(100, 50, 16_200.0);
        assert_eq!((panel.most, panel.y(0.0), panel.y(20_000.0)), (20_000.0, 150.0, 100.0));
    }

    #[test]
    fn times_have_a_place_in_the_frame() {
        let axis = TimeAxis { from_ms: 0, to_ms: 600_000 };
        assert_eq!((axis.x(0), axis.x(600_000)), (f64::from(LEFT), f64::from(WIDTH - RIGHT)));
        let mut body = String::new();
        axis.times(&mut body, 0);
        assert_eq!(body.matches("<text").count(), 11, "{body}");
        assert!(body.contains(">0</text>") && body.contains(">10 min</text>"), "{body}");
    }
}
