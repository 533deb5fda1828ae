//! Makes the planned faults at their times, and notes when they really happened.

use std::collections::BTreeMap;

use anyhow::Result;
use tokio::time::sleep_until;

use crate::audit::Disturbance;
use crate::fault::Planned;
use crate::fleet::{Fleet, hit};
use crate::follow::Clock;

/// The beginning or the end of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Edge {
    End,
    Begin,
}

/// Makes all faults, and waits for the end of each. Returns when they happened, in the order in which they ended.
///
/// # Errors
/// If a fault cannot be made, or a process ends by itself.
pub async fn strike(planned: &[Planned], clock: Clock, fleet: &mut Fleet) -> Result<Vec<Disturbance>> {
    let start_ms = clock.now_ms();
    let mut began = BTreeMap::new();
    let mut made = Vec::new();
    for (at_ms, edge, place) in edges(planned) {
        sleep_until(clock.at(start_ms + at_ms)).await;
        fleet.check()?;
        let fault = planned[place].fault;
        match edge {
            Edge::Begin => {
                began.insert(place, clock.now_ms());
                fleet.begin(fault).await?;
            }
            Edge::End => {
                fleet.end(fault)?;
                let from_ms = began.remove(&place).unwrap_or_default();
                let (what, hit) = (fault.to_string(), hit(fault));
                made.push(Disturbance { from_ms, until_ms: clock.now_ms(), what, hit });
            }
        }
    }
    Ok(made)
}

/// When faults begin and end, in order. What ends goes first.
fn edges(planned: &[Planned]) -> Vec<(u64, Edge, usize)> {
    let both = |(place, fault): (usize, &Planned)| {
        [(fault.from_ms, Edge::Begin, place), (fault.until_ms, Edge::End, place)]
    };
    let mut edges: Vec<_> = planned.iter().enumerate().flat_map(both).collect();
    edges.sort_unstable();
    edges
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Fault;

    #[test]
    fn edges_are_in_the_order_of_time() {
        let planned = |from_ms, until_ms| Planned { from_ms, until_ms, fault: Fault::RestartServer };
        let edges = edges(&[planned(0, 50), planned(20, 30), planned(30, 40)]);
        let order: Vec<_> = edges.iter().map(|(at_ms, edge, place)| (*at_ms, *edge, *place)).collect();
        use Edge::{Begin, End};
        assert_eq!(
            order,
            [(0, Begin, 0), (20, Begin, 1), (30, End, 1), (30, Begin, 2), (40, End, 2), (50, End, 0)]
        );
    }
}
