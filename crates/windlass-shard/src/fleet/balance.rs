//! How evenly a fleet shares its load.

use crate::ring::Ring;

/// The largest load of a member divided by the mean: 1 is perfect, and 2 means that one has twice its share.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Balance {
    /// In the end; none if there is no load.
    pub end: Option<f64>,
    /// The worst while the fleet was stable: all that run are members, and no slot is on its way.
    pub worst: Option<f64>,
}

impl Balance {
    /// What it is now.
    pub(super) fn observe(&mut self, loads: &[u64], is_stable: bool) {
        self.end = ratio(loads);
        if is_stable {
            self.worst = self.worst.into_iter().chain(self.end).reduce(f64::max);
        }
    }
}

/// The load of each member of a ring.
pub(super) fn loads(ring: &Ring, of_slots: &[u64]) -> Vec<u64> {
    let mut loads = vec![0; ring.members().len()];
    ring.slots().for_each(|(slot, ownership)| loads[ownership.owner] += of_slots[slot.index()]);
    loads
}

/// The largest load divided by the mean; none if there is none.
fn ratio(loads: &[u64]) -> Option<f64> {
    let total: u64 = loads.iter().sum();
    let most = *loads.iter().max()?;
    (total > 0).then(|| most as f64 * loads.len() as f64 / total as f64)
}

/// Whether nothing of a ring is about to change.
pub(super) fn is_at_rest(ring: &Ring) -> bool {
    let is_moving = ring.slots().any(|(_, ownership)| ownership.draining_to.is_some());
    let is_leaving = ring.members().iter().any(|member| member.leaving);
    !is_moving && !is_leaving && ring.lock_holder().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_perfect() {
        assert_eq!(ratio(&[5, 5]), Some(1.0));
        assert_eq!(ratio(&[15, 5]), Some(1.5));
        assert_eq!(ratio(&[0, 0]), None);
        assert_eq!(ratio(&[]), None);
    }

    #[test]
    fn the_worst_counts_while_it_is_stable() {
        let mut balance = Balance::default();
        [([5, 5], true), ([6, 4], true), ([9, 1], false), ([5, 5], false)]
            .into_iter()
            .for_each(|(loads, is_stable)| balance.observe(&loads, is_stable));
        assert_eq!(balance, Balance { end: Some(1.0), worst: Some(1.2) });
    }
}
