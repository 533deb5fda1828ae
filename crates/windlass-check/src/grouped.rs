//! Large numbers with separators between thousands.

/// A number with a comma before every three digits.
///
/// ```
/// assert_eq!(windlass_check::grouped(1_204_551), "1,204,551");
/// ```
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn groups_digits() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_204_551, "1,204,551")] {
            assert_eq!(super::grouped(number), text);
        }
    }
}
