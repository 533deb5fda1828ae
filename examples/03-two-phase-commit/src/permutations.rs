//! All orders of some managers.

/// Every order of the numbers below `count`, the unchanged one first.
pub(crate) fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut orders = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: &Vec<usize>| {
            let unused = (0..count).filter(|number| !order.contains(number));
            unused.map(|number| [order.as_slice(), &[number]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    orders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_there_should_be() {
        assert_eq!(permutations(0), [Vec::<usize>::new()]);
        assert_eq!(permutations(3).len(), 6);
        assert_eq!(permutations(3)[0], [0, 1, 2]);
        assert_eq!(permutations(3)[5], [2, 1, 0]);
        let mut five = permutations(5);
        five.dedup();
        assert_eq!(five.len(), 120);
    }
}
