//! The arithmetic of a rolling update: how many pods there may be, and how many there must be.

use serde_json::Value;

use super::replica_sets::replicas;

/// How far a Deployment may depart from its number of replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slack {
    /// Maximum number of pods above the number of replicas.
    pub(super) surge: usize,
    /// Maximum number of unavailable pods.
    pub(super) unavailable: usize,
}

impl Slack {
    /// What the strategy of a Deployment allows. Where it would allow nothing, one pod may be missing.
    pub(super) fn of(deployment: &Value) -> Self {
        let wanted = replicas(deployment);
        let strategy = &deployment["spec"]["strategy"]["rollingUpdate"];
        if !strategy.is_object() {
            return Slack { surge: 0, unavailable: 0 };
        }
        let surge = share(&strategy["maxSurge"], wanted, Round::Up);
        let unavailable = share(&strategy["maxUnavailable"], wanted, Round::Down).min(wanted);
        let stuck = surge == 0 && unavailable == 0;
        Slack { surge, unavailable: if stuck { 1 } else { unavailable } }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Round {
    Up,
    Down,
}

/// A number, or a percentage of a total.
pub(super) fn share(amount: &Value, total: usize, round: Round) -> usize {
    if let Some(number) = amount.as_u64() {
        return usize::try_from(number).unwrap_or(usize::MAX);
    }
    let percent = amount.as_str().and_then(|text| text.strip_suffix('%')?.parse::<usize>().ok()).unwrap_or(0);
    let hundredfold = percent.saturating_mul(total);
    match round {
        Round::Up => hundredfold.div_ceil(100),
        Round::Down => hundredfold / 100,
    }
}

/// How many replicas the ReplicaSet of the newest template is to have, given how many all of them have.
pub(super) fn new_replicas(wanted: usize, slack: Slack, newest: usize, all: usize) -> usize {
    if newest > wanted {
        return wanted;
    }
    let room = (wanted + slack.surge).saturating_sub(all);
    newest + room.min(wanted - newest)
}

/// A ReplicaSet in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) wanted: usize,
    pub(super) available: usize,
}

/// The first of the old ReplicaSets that can have fewer replicas, with their number. Pods that are not available go
/// first; of the others, no more than can be missed.
pub(super) fn shrink(wanted: usize, slack: Slack, newest: Counts, old: &[Counts]) -> Option<(usize, usize)> {
    let needed = wanted.saturating_sub(slack.unavailable);
    let all = newest.wanted + old.iter().map(|set| set.wanted).sum::<usize>();
    let coming = newest.wanted.saturating_sub(newest.available);
    let most = all.saturating_sub(needed + coming);
    if most == 0 {
        return None;
    }
    let broken = old.iter().position(|set| set.wanted > set.available);
    if let Some(index) = broken {
        let set = old.get(index)?;
        return Some((index, set.wanted - (set.wanted - set.available).min(most)));
    }
    let available = newest.available + old.iter().map(|set| set.available).sum::<usize>();
    let spare = available.saturating_sub(needed);
    let index = old.iter().position(|set| set.wanted > 0).filter(|_| spare > 0)?;
    let set = old.get(index)?;
    Some((index, set.wanted - set.wanted.min(spare)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn slack(replicas: i64, surge: Value, unavailable: Value) -> Slack {
        let update = json!({ "maxSurge": surge, "maxUnavailable": unavailable });
        Slack::of(&json!({ "spec": { "replicas": replicas, "strategy": { "rollingUpdate": update } } }))
    }

    #[test]
    fn percentages_round_towards_progress() {
        assert_eq!(slack(3, json!("25%"), json!("25%")), Slack { surge: 1, unavailable: 0 });
        assert_eq!(slack(10, json!("25%"), json!("25%")), Slack { surge: 3, unavailable: 2 });
        assert_eq!(slack(2, json!(0), json!(5)), Slack { surge: 0, unavailable: 2 });
        assert_eq!(slack(3, json!(0), json!("10%")), Slack { surge: 0, unavailable: 1 });
    }

    #[test]
    fn new_pods_fit_into_the_surge() {
        let slack = Slack { surge: 1, unavailable: 0 };
        assert_eq!(new_replicas(3, slack, 0, 3), 1);
        assert_eq!(new_replicas(3, slack, 1, 4), 1);
        assert_eq!(new_replicas(3, slack, 0, 0), 3);
        assert_eq!(new_replicas(1, slack, 3, 3), 1, "fewer are wanted now");
    }

    #[test]
    fn old_pods_go_when_they_can_be_missed() {
        let slack = Slack { surge: 1, unavailable: 0 };
        let set = |wanted, available| Counts { wanted, available };
        assert_eq!(shrink(3, slack, set(1, 0), &[set(3, 3)]), None);
        assert_eq!(shrink(3, slack, set(1, 1), &[set(3, 3)]), Some((0, 2)));
        assert_eq!(shrink(3, slack, set(1, 1), &[set(1, 1), set(2, 0)]), Some((1, 1)), "broken ones first");
        assert_eq!(shrink(3, slack, set(3, 3), &[set(0, 0), set(1, 1)]), Some((1, 0)));
    }
}
