//! Faults as the auditor needs to know them: each restarts the clock of the edits that wait.

use serde::Serialize;

/// What a fault has hit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Hit {
    /// An instance: others take over from the moment at which it fails, whatever becomes of it.
    Instance(String),
    /// A server that all instances need: as long as it is away, nothing can be written.
    Server,
}

/// A fault that has happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Disturbance {
    /// When it began, in milliseconds since the start of the run.
    pub from_ms: u64,
    /// When it was over.
    pub until_ms: u64,
    /// What it was, in words: `kill app-2`.
    pub what: String,
    /// What it has hit.
    pub hit: Hit,
}

/// The longest time between two moments in which no fault began and no server was away.
pub(super) fn undisturbed_ms(from_ms: u64, until_ms: u64, disturbances: &[Disturbance]) -> u64 {
    let mut longest = 0;
    let mut since = from_ms;
    // They are in the order in which they began.
    for disturbance in disturbances {
        let over_ms = match disturbance.hit {
            Hit::Instance(_) => disturbance.from_ms,
            Hit::Server => disturbance.until_ms,
        };
        if over_ms < since || disturbance.from_ms > until_ms {
            continue;
        }
        longest = longest.max(disturbance.from_ms.saturating_sub(since));
        since = over_ms;
    }
    longest.max(until_ms.saturating_sub(since))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(at_ms: u64) -> Disturbance {
        let hit = Hit::Instance("app-0".to_owned());
        Disturbance { from_ms: at_ms, until_ms: at_ms + 5_000, what: "kill app-0".to_owned(), hit }
    }

    fn server(from_ms: u64, until_ms: u64) -> Disturbance {
        Disturbance { from_ms, until_ms, what: "restart the API server".to_owned(), hit: Hit::Server }
    }

    #[test]
    fn clock_restarts_at_each_fault() {
        assert_eq!(undisturbed_ms(100, 900, &[]), 800);
        assert_eq!(undisturbed_ms(100, 900, &[instance(600)]), 500);
        assert_eq!(undisturbed_ms(100, 900, &[instance(50), instance(950)]), 800);
        assert_eq!(undisturbed_ms(100, 900, &[instance(300), instance(600)]), 300);
    }

    #[test]
    fn clock_stands_while_a_server_is_away() {
        assert_eq!(undisturbed_ms(100, 900, &[server(200, 800)]), 100);
        assert_eq!(undisturbed_ms(100, 900, &[server(50, 400)]), 500);
        assert_eq!(undisturbed_ms(100, 900, &[server(50, 400), instance(200), instance(700)]), 300);
        assert_eq!(undisturbed_ms(100, 900, &[server(700, 2_000)]), 600);
    }
}
