//! Where states stand: in rows, each below all that lead to it, with a gap in every row that an edge passes.

use windlass::StateInfo;

use super::text::edges;

/// What stands in a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A state.
    State(usize),
    /// An edge on its way down.
    Passing { from: usize, to: usize },
}

/// Rows from the top to the bottom.
pub(super) fn rows(states: &[StateInfo]) -> Vec<Vec<Item>> {
    let depths = depths(states);
    let deepest = depths.iter().copied().max().unwrap_or(0);
    let mut rows = vec![Vec::new(); deepest + 1];
    for (state, depth) in depths.iter().enumerate() {
        rows[*depth].push(Item::State(state));
    }
    for (from, to) in edges(states) {
        for row in &mut rows[depths[from] + 1..depths[to]] {
            row.push(Item::Passing { from, to });
        }
    }
    rows
}

/// How many edges the longest way to each state has. The derive allows no cycle, so this ends.
fn depths(states: &[StateInfo]) -> Vec<usize> {
    let mut depths = vec![0; states.len()];
    for _ in states {
        for (from, to) in edges(states) {
            depths[to] = depths[to].max(depths[from] + 1);
        }
    }
    depths
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edge_that_skips_a_row_has_a_place_in_it() {
        let state = |next| StateInfo { name: "S", condition: None, next, initial: false };
        let states = [state(&[1, 2]), state(&[2]), state(&[])];
        let passing = Item::Passing { from: 0, to: 2 };
        let expected = [vec![Item::State(0)], vec![Item::State(1), passing], vec![Item::State(2)]];
        assert_eq!(rows(&states), expected);
    }
}
