//! Rings as text.

use windlass_runtime::sharding::{InstanceOverview, MoveOverview, RingOverview};

use crate::columns::table;

const TITLES: [&str; 9] =
    ["INSTANCE", "INCARNATION", "ALIVE", "LAST-RENEWAL", "SLOTS", "SERVED", "DRAINING", "GAINING", "WHICH"];
const MOVE_TITLES: [&str; 4] = ["SLOTS", "FROM", "TO", "WHY"];
/// More moves than this are summed up.
const MOVES_SHOWN: usize = 20;
/// More ranges of an instance's slots than this are summed up; JSON has them all.
const RANGES_SHOWN: usize = 4;

/// One ring: its members, and what moves.
pub(super) fn ring(ring: &RingOverview) -> String {
    if let Some(error) = &ring.error {
        return format!("{}: {error}\n", ring.controller_type);
    }
    let key = ring.key.as_str().unwrap_or_default();
    let lock = match &ring.lock_holder {
        Some(holder) => format!("locked by {holder}"),
        None => "not locked".to_owned(),
    };
    let RingOverview { controller_type, slots, epoch, .. } = ring;
    let mut text = format!("{controller_type}: {slots} slots by {key}, epoch {epoch}, {lock}\n");
    if ring.instances.is_empty() {
        text.push_str("It has no instances.\n");
        return text;
    }
    text.push_str(&table(TITLES, ring.instances.iter().map(|instance| cells(instance, ring.slots))));
    if !ring.moves.is_empty() {
        text.push('\n');
        text.push_str(&table(MOVE_TITLES, ring.moves.iter().take(MOVES_SHOWN).map(move_cells)));
        let further = ring.moves.len().saturating_sub(MOVES_SHOWN);
        if further > 0 {
            text.push_str(&format!("and {further} more ranges of slots\n"));
        }
    }
    text
}

fn cells(instance: &InstanceOverview, slots: u64) -> [String; 9] {
    let share = 100.0 * instance.owned as f64 / slots as f64;
    let leaving = if instance.leaving { " (leaving)" } else { "" };
    [
        format!("{}{leaving}", instance.id),
        instance.incarnation.to_string(),
        if instance.alive { "yes" } else { "no" }.to_owned(),
        instance.last_renewal.clone().unwrap_or_else(|| "-".to_owned()),
        format!("{} ({share:.1} %)", instance.owned),
        instance.served.map_or_else(|| "-".to_owned(), |served| served.to_string()),
        instance.draining.to_string(),
        instance.gaining.to_string(),
        ranges(&instance.owned_slots),
    ]
}

fn ranges(slots: &str) -> String {
    let ranges: Vec<&str> = slots.split(',').collect();
    match ranges.split_at_checked(RANGES_SHOWN) {
        Some((shown, further)) if !further.is_empty() => {
            format!("{} and {} more", shown.join(","), further.len())
        }
        _ if slots.is_empty() => "-".to_owned(),
        _ => slots.to_owned(),
    }
}

fn move_cells(moving: &MoveOverview) -> [String; 4] {
    let MoveOverview { from_slot, to_slot, from, to, why } = moving;
    let slots = if from_slot == to_slot { from_slot.to_string() } else { format!("{from_slot}-{to_slot}") };
    [slots, from.clone(), to.clone(), why.clone()]
}

/// Whether something has changed that is worth printing again. That those who live renew their Leases is not.
pub(super) fn differ(before: &[RingOverview], after: &[RingOverview]) -> bool {
    let without_renewals = |ring: &RingOverview| {
        let mut ring = ring.clone();
        ring.instances.iter_mut().filter(|one| one.alive).for_each(|one| one.last_renewal = None);
        ring
    };
    !before.iter().map(without_renewals).eq(after.iter().map(without_renewals))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn overview() -> RingOverview {
        let instance = |id: &str, owned, draining, gaining| InstanceOverview {
            id: id.to_owned(),
            incarnation: 1,
            alive: owned > 0,
            last_renewal: (owned > 0).then(|| "2026-01-02T03:04:05.678901Z".to_owned()),
            leaving: false,
            owned,
            owned_slots: if owned > 0 { format!("0-{}", owned - 1) } else { String::new() },
            served: Some(owned),
            draining,
            gaining,
        };
        RingOverview {
            controller_type: "web-app".to_owned(),
            slots: 64,
            key: json!("uid"),
            epoch: 3,
            lock_holder: None,
            instances: vec![instance("web-0", 64, 32, 0), instance("web-1", 0, 0, 32)],
            moves: vec![MoveOverview {
                from_slot: 32,
                to_slot: 63,
                from: "web-0".to_owned(),
                to: "web-1".to_owned(),
                why: "web-1 joined".to_owned(),
            }],
            error: None,
        }
    }

    #[test]
    fn ring_shows_members_and_moves() {
        let expected = "\
web-app: 64 slots by uid, epoch 3, not locked
INSTANCE   INCARNATION   ALIVE   LAST-RENEWAL                  SLOTS          SERVED   DRAINING   GAINING   WHICH
web-0      1             yes     2026-01-02T03:04:05.678901Z   64 (100.0 %)   64       32         0         0-63
web-1      1             no      -                             0 (0.0 %)      0        0          32        -

SLOTS   FROM    TO      WHY
32-63   web-0   web-1   web-1 joined
";
        assert_eq!(ring(&overview()), expected);
    }

    #[test]
    fn many_ranges_are_summed_up() {
        assert_eq!(ranges("0-3,5,7-9,11"), "0-3,5,7-9,11");
        assert_eq!(ranges("0-3,5,7-9,11,13,15"), "0-3,5,7-9,11 and 2 more");
    }

    #[test]
    fn ring_that_cannot_be_read_is_a_line() {
        let unreadable = RingOverview::unreadable("web-app", &"it has no owner");
        assert_eq!(ring(&unreadable), "web-app: it has no owner\n");
    }

    #[test]
    fn renewals_are_not_printed_again() {
        let mut renewed = overview();
        renewed.instances[0].last_renewal = Some("2026-01-02T03:04:07Z".to_owned());
        assert!(!differ(&[overview()], &[renewed]));
        let mut moved = overview();
        moved.instances[0].owned = 32;
        assert!(differ(&[overview()], &[moved]));
    }
}
