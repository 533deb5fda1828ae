//! The order of API versions: `v2`, `v1`, `v1beta1`, `v1alpha1`, and then the rest by name.

use std::cmp::Ordering;

/// Compares two versions; the one to prefer is the greater one.
pub fn compare_versions(left: &str, right: &str) -> Ordering {
    match (parse(left), parse(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        // Names that are no versions come in alphabetical order.
        (None, None) => right.cmp(left),
    }
}

/// Stability, then major, then minor: all such that more is better.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let after = rest.trim_start_matches(|char: char| char.is_ascii_digit());
    let major = number(rest.strip_suffix(after)?)?;
    if after.is_empty() {
        return Some((2, major, 0));
    }
    let (stability, minor) = match after.strip_prefix("beta") {
        Some(minor) => (1, minor),
        None => (0, after.strip_prefix("alpha")?),
    };
    Some((stability, major, number(minor)?))
}

fn number(digits: &str) -> Option<u64> {
    let valid = !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| valid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stable_versions_come_first() {
        let mut versions =
            ["foo", "v1alpha1", "v1", "v10", "v1beta2", "bar", "v2beta1", "v2", "v1beta1", "v01"];
        versions.sort_by(|left, right| compare_versions(right, left));
        let wanted = ["v10", "v2", "v1", "v2beta1", "v1beta2", "v1beta1", "v1alpha1", "bar", "foo", "v01"];
        assert_eq!(versions, wanted);
    }
}
