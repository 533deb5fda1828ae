//! Which names are condition types.

/// The conditions that the framework writes itself.
const RESERVED: [&str; 2] = ["Ready", "Suspended"];

/// The longest condition type that Kubernetes accepts.
const MAX_LENGTH: usize = 316;

/// Why a name cannot be the type of a state's condition, or `None` if it can.
///
/// Kubernetes takes `CamelCase` and `example.com/CamelCase`. Its pattern also lets `-`, `_` and `.`
/// into the name; those are refused here, for they are not `CamelCase`.
pub(crate) fn refusal(kind: &str) -> Option<String> {
    let (prefix, name) = match kind.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, kind),
    };
    if kind.is_empty() {
        Some("the condition is empty: give it a type in CamelCase, such as \"FirstReady\"".to_owned())
    } else if RESERVED.contains(&kind) {
        Some(format!(
            "the condition `{kind}` is written by Windlass itself: choose another type, such as \"First{kind}\""
        ))
    } else if prefix.is_some_and(|prefix| !is_subdomain(prefix)) {
        Some(format!(
            "the part of `{kind}` before the slash is not a DNS name: write it as in \"example.com/FirstReady\""
        ))
    } else if !is_camel_case(name) {
        Some(format!("`{kind}` is not a condition type: write it in CamelCase, as in \"FirstReady\""))
    } else if kind.len() > MAX_LENGTH {
        Some(format!("the condition has {} characters: Kubernetes takes at most {MAX_LENGTH}", kind.len()))
    } else {
        None
    }
}

fn is_camel_case(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric())
}

fn is_subdomain(prefix: &str) -> bool {
    prefix.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn condition_types_are_accepted() {
        let longest = "A".repeat(MAX_LENGTH);
        for kind in
            ["FirstReady", "A", "IPv4Ready", "Reachable2", "example.com/Ready", "a-b.c0/FirstReady", &longest]
        {
            assert_eq!(refusal(kind), None, "{kind}");
        }
    }

    #[test]
    fn other_names_are_refused() {
        let too_long = "A".repeat(MAX_LENGTH + 1);
        for (kind, expected) in [
            ("", "is empty"),
            ("Ready", "written by Windlass itself"),
            ("Suspended", "written by Windlass itself"),
            ("firstReady", "CamelCase"),
            ("First_Ready", "CamelCase"),
            ("First-Ready", "CamelCase"),
            ("First Ready", "CamelCase"),
            ("FirstReady\n", "CamelCase"),
            ("Größe", "CamelCase"),
            ("2Ready", "CamelCase"),
            ("example.com/", "CamelCase"),
            ("example.com/a/B", "CamelCase"),
            ("/FirstReady", "not a DNS name"),
            ("Example.com/FirstReady", "not a DNS name"),
            ("a..b/FirstReady", "not a DNS name"),
            ("-a/FirstReady", "not a DNS name"),
            (&too_long, "at most 316"),
        ] {
            let refusal = refusal(kind).unwrap_or_default();
            assert!(refusal.contains(expected), "{kind:?}: {refusal:?}");
        }
    }
}
