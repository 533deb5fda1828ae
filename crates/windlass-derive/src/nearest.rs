//! What somebody may have meant by a name that does not exist.

/// Says what to write instead of `unknown`: the nearest of the known names, or else all of them.
pub(crate) fn suggestion(unknown: &str, known: &[String], noun: &str) -> String {
    match nearest(unknown, known) {
        Some(name) => format!("did you mean `{name}`?"),
        None => format!("the {noun} are {}", quoted(known)),
    }
}

/// The known name with the fewest edits from `unknown`, if that is near enough to be a slip.
fn nearest<'a>(unknown: &str, known: &'a [String]) -> Option<&'a String> {
    let limit = unknown.chars().count().max(3) / 3;
    known
        .iter()
        .map(|name| (distance(&unknown.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, name)| name)
}

/// The number of characters to insert, remove or replace to get from one word to the other.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut costs: Vec<usize> = (0..=to.len()).collect();
    for (row, letter) in from.chars().enumerate() {
        let mut left = row + 1;
        let mut next = vec![left];
        for (above, (diagonal, other)) in costs.iter().skip(1).zip(costs.iter().zip(&to)) {
            left = (diagonal + usize::from(letter != *other)).min(above + 1).min(left + 1);
            next.push(left);
        }
        costs = next;
    }
    costs.last().copied().unwrap_or_default()
}

fn quoted(names: &[String]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, edits) in [
            ("", "", 0),
            ("", "abc", 3),
            ("abc", "", 3),
            ("kitten", "sitting", 3),
            ("abc", "abc", 0),
            ("ab", "ba", 2),
        ] {
            assert_eq!(distance(from, to), edits, "{from} to {to}");
        }
    }

    #[test]
    fn only_slips_are_suggested() {
        let known = ["Placement".to_owned(), "BouncersReady".to_owned(), "End".to_owned()];
        for (unknown, expected) in [
            ("Placment", "did you mean `Placement`?"),
            ("bouncers_ready", "did you mean `BouncersReady`?"),
            ("Ent", "did you mean `End`?"),
            ("Gateway", "the variants are `Placement`, `BouncersReady`, `End`"),
        ] {
            assert_eq!(suggestion(unknown, &known, "variants"), expected);
        }
    }
}
