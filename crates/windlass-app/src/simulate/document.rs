//! What simulated fleets have shown, for tools.

use serde_json::{Value, json};
use windlass_shard::fleet::{Balance, Report, Scenario};

use super::run::Run;

/// One document.
pub(super) fn document(runs: &[Run], elapsed_seconds: f64) -> Value {
    let is_violated = runs.iter().any(|run| run.report.is_violated());
    json!({
        "windlass": env!("CARGO_PKG_VERSION"),
        "verdict": if is_violated { "violated" } else { "holds" },
        "fleet": runs.first().map(|run| fleet(&run.scenario)),
        "scenarios": runs.iter().map(scenario).collect::<Vec<_>>(),
        "elapsedSeconds": elapsed_seconds,
    })
}

fn fleet(scenario: &Scenario) -> Value {
    let timing = &scenario.timing;
    json!({
        "instances": scenario.instances,
        "objects": scenario.objects,
        "slots": scenario.slots.get(),
        "seed": scenario.seed,
        "leaseMs": timing.lease_ms,
        "renewMs": timing.renew_ms,
        "requestMs": timing.request_ms,
    })
}

fn scenario(run: &Run) -> Value {
    let Run { name, scenario, report, again } = run;
    let movement = &report.movement;
    json!({
        "scenario": name.text(),
        "virtualMs": scenario.duration_ms,
        "ring": { "swaps": report.ring_swaps, "refused": report.ring_conflicts },
        "moved": {
            "objects": movement.objects,
            "slots": movement.slots,
            "unit": if report.cost_balance.end.is_some() { "cost" } else { "slots" },
            "planned": movement.planned,
            "least": movement.least,
        },
        "balance": balance(&report.balance),
        "costBalance": balance(&report.cost_balance),
        "unownedMs": gaps(report),
        "throughput": {
            "all": report.throughput,
            "steady": report.steady_throughput,
            "steadySlots": report.steady_slots,
        },
        "violations": {
            "twoActors": report.two_actors,
            "lateWrites": report.late_writes,
            "staleEpochs": report.stale_epochs,
            "unownedInTheEnd": report.unserved,
            "first": report.violations,
        },
        "again": again,
    })
}

fn balance(balance: &Balance) -> Value {
    json!({ "end": balance.end, "worst": balance.worst })
}

fn gaps(report: &Report) -> Value {
    json!({
        "worst": report.longest_gap_ms(),
        "p50": report.gap_ms(50),
        "p90": report.gap_ms(90),
        "p99": report.gap_ms(99),
    })
}
