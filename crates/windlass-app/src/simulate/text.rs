//! What a simulated fleet has shown, for people.

use std::fmt;

use windlass_check::grouped;
use windlass_shard::fleet::{Balance, Report, Scenario};

use super::run::{Run, minutes};

/// What all scenarios have in common.
pub(super) fn heading(scenario: &Scenario) -> String {
    let Scenario { instances, objects, slots, seed, timing, .. } = scenario;
    format!(
        "{instances} instances, {} objects, {} slots, seed {seed}; lease {}, renewed for {}, requests take up to {}\n",
        grouped(*objects),
        slots.get(),
        duration(timing.lease_ms),
        duration(timing.renew_ms),
        duration(timing.request_ms)
    )
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Run { scenario, report, .. } = self;
        writeln!(f, "{}: {}", self.name.text(), self.name.about())?;
        let mut line = |label: &str, text: String| writeln!(f, "  {label:<17}{text}");
        line("virtual time", format!("{:.0} min", minutes(scenario.duration_ms)))?;
        let (swaps, refused) = (grouped(report.ring_swaps), grouped(report.ring_conflicts));
        line("ring", format!("{swaps} swaps, {refused} refused"))?;
        line("moved", moved(report))?;
        line("balance", balance(&report.balance))?;
        if report.cost_balance.end.is_some() {
            line("balance of costs", cost_balance(report))?;
        }
        line("without owner", gaps(report))?;
        line("throughput", throughput(report))?;
        line("violations", violations(report))?;
        report.violations.iter().try_for_each(|violation| line("", violation.clone()))?;
        if report.is_violated() {
            line("again with", self.again.clone())?;
        }
        Ok(())
    }
}

fn moved(report: &Report) -> String {
    let movement = &report.movement;
    let unit = if report.cost_balance.end.is_some() { "least cost" } else { "fewest slots" };
    let ratio = match movement.ratio() {
        Some(ratio) => format!("plans moved {ratio:.3} times the {unit} possible"),
        None => "nothing had to move".to_owned(),
    };
    format!("{} objects in {} slots; {ratio}", grouped(movement.objects), grouped(movement.slots))
}

fn balance(balance: &Balance) -> String {
    let shown =
        |ratio: Option<f64>| ratio.map_or_else(|| "unknown".to_owned(), |ratio| format!("{ratio:.3}"));
    format!("max/mean {} in the end, {} at worst while stable", shown(balance.end), shown(balance.worst))
}

fn cost_balance(report: &Report) -> String {
    let before = report.unknown_cost_balance.end.unwrap_or(1.0);
    format!("{}, {before:.3} before costs were known", balance(&report.cost_balance))
}

fn gaps(report: &Report) -> String {
    let affected = report.gaps_ms.iter().filter(|gap| **gap > 0).count();
    if affected == 0 {
        return "never".to_owned();
    }
    let of_slots =
        [50, 90, 99].map(|percentile| format!("p{percentile} {}", duration(report.gap_ms(percentile))));
    format!(
        "{} at worst; of all slots {}; {} of {} slots at some time",
        duration(report.longest_gap_ms()),
        of_slots.join(", "),
        grouped(affected as u64),
        grouped(report.gaps_ms.len() as u64)
    )
}

fn throughput(report: &Report) -> String {
    let all = format!("{} of slot-time", percent(report.throughput));
    match report.steady_slots {
        0 => format!("{all}; no slot was undisturbed"),
        slots => format!(
            "{all}; {} for the {} undisturbed slots",
            percent(report.steady_throughput),
            grouped(slots as u64)
        ),
    }
}

fn violations(report: &Report) -> String {
    let counts = [
        (report.two_actors, "with two actors"),
        (report.late_writes, "with a late write"),
        (report.stale_epochs, "with a stale epoch"),
        (report.unserved as u64, "without an owner in the end"),
    ];
    let found: Vec<String> = counts
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", grouped(*count)))
        .collect();
    if found.is_empty() { "0".to_owned() } else { found.join(", ") }
}

/// `99.93 %`; 100 only if it is all.
fn percent(part: f64) -> String {
    // Rounded down: what is not all must not look like it.
    format!("{:.2} %", (part * 10_000.0).floor() / 100.0)
}

/// `6 s`, `6.3 s`
fn duration(ms: u64) -> String {
    if ms.is_multiple_of(1000) { format!("{} s", ms / 1000) } else { format!("{:.1} s", ms as f64 / 1000.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_all_does_not_look_like_it() {
        assert_eq!(percent(1.0), "100.00 %");
        assert_eq!(percent(0.999_999), "99.99 %");
        assert_eq!([duration(6_000), duration(250), duration(0)], ["6 s", "0.2 s", "0 s"]);
    }

    #[test]
    fn violations_are_counted_by_kind() {
        assert_eq!(violations(&Report::default()), "0");
        let bad = Report { two_actors: 1, late_writes: 1_200, ..Report::default() };
        assert_eq!(violations(&bad), "1 with two actors, 1,200 with a late write");
    }

    #[test]
    fn what_never_happened_is_said_plainly() {
        assert_eq!(gaps(&Report::default()), "never");
        assert_eq!(
            throughput(&Report { throughput: 0.5, ..Report::default() }),
            "50.00 % of slot-time; no slot was undisturbed"
        );
        assert_eq!(moved(&Report::default()), "0 objects in 0 slots; nothing had to move");
    }
}
