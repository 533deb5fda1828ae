//! The name of a network's object, from the id that pods carry in their label, and back.

use windlass::model::names::is_dns1123_subdomain;

/// Names that begin so spell out an id that cannot be a name itself.
const SPELT: &str = "x-";

/// What stands for the characters of an id that no name has, after a `-`.
const SIGNS: [(char, char); 3] = [('-', '0'), ('_', '1'), ('.', '2')];

/// The name of the object of a network.
///
/// Ids may have upper case and underscores, which names may not. An id that could be a name is the name; another one is
/// spelt: `x-`, then a `-` before each letter that was upper case, and `-0`, `-1`, `-2` for `-`, `_`, `.`. So two ids
/// never share a name, and the id can be recovered from the name.
pub fn network_name(id: &str) -> String {
    if is_dns1123_subdomain(id).is_empty() && !id.starts_with(SPELT) {
        return id.to_owned();
    }
    let mut name = SPELT.to_owned();
    for character in id.chars() {
        let sign = SIGNS.iter().find(|(sign, _)| *sign == character).map(|(_, digit)| *digit);
        if sign.is_some() || character.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(sign.unwrap_or(character.to_ascii_lowercase()));
    }
    name
}

/// The id of the network whose object has this name; `None` if no network's object has it.
pub fn network_id(name: &str) -> Option<String> {
    let Some(spelt) = name.strip_prefix(SPELT) else { return Some(name.to_owned()) };
    let mut id = String::new();
    let mut characters = spelt.chars();
    while let Some(character) = characters.next() {
        id.push(match character {
            '-' => meant(characters.next()?)?,
            plain => plain,
        });
    }
    // What could be written otherwise is not the name of any network.
    (network_name(&id) == name && !id.is_empty()).then_some(id)
}

fn meant(after_dash: char) -> Option<char> {
    let sign = SIGNS.iter().find(|(_, digit)| *digit == after_dash).map(|(sign, _)| *sign);
    sign.or_else(|| after_dash.is_ascii_lowercase().then(|| after_dash.to_ascii_uppercase()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_become_names_and_come_back() {
        for (id, name) in [
            ("blue", "blue"),
            ("team-a.blue", "team-a.blue"),
            ("42", "42"),
            ("My_Net.v1", "x--my-1-net-2v1"),
            ("a..b", "x-a-2-2b"),
            ("x-ray", "x-x-0ray"),
            ("Z", "x--z"),
            ("a_B-9", "x-a-1-b-09"),
        ] {
            assert_eq!(network_name(id), name);
            assert_eq!(network_id(name).as_deref(), Some(id));
            assert!(is_dns1123_subdomain(name).is_empty(), "{name}");
        }
    }

    #[test]
    fn no_two_ids_share_a_name() {
        let letters = ['a', 'A', '0', '-', '_', '.', 'x', '1'];
        let mut names = std::collections::BTreeMap::new();
        for number in 0..letters.len().pow(4) {
            let id: String =
                (0..4).map(|digit| letters[number / letters.len().pow(digit) % letters.len()]).collect();
            assert_eq!(network_id(&network_name(&id)).as_deref(), Some(id.as_str()));
            assert_eq!(names.insert(network_name(&id), id.clone()), None, "{id}");
        }
    }

    #[test]
    fn names_that_spell_no_id_are_rejected() {
        for name in ["x-", "x-a-", "x--9", "x-ray", "x-a"] {
            assert_eq!(network_id(name), None, "{name}");
        }
    }

    #[test]
    fn the_longest_id_has_a_name() {
        let name = network_name(&"A".repeat(63));
        assert!(is_dns1123_subdomain(&name).is_empty(), "{name}");
    }
}
