//! Sizes on the command line: `512M`, `2G`.

/// The number of bytes that a text means. Units are powers of 1024, with or without `iB`.
pub(super) fn parse(text: &str) -> Result<usize, String> {
    let advice = || "give a size such as 512M or 2G".to_owned();
    let start = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(start);
    let number: f64 = number.parse().map_err(|_| advice())?;
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "ki" | "kib" => 10,
        "m" | "mi" | "mib" => 20,
        "g" | "gi" | "gib" => 30,
        "t" | "ti" | "tib" => 40,
        _ => return Err(advice()),
    };
    let bytes = number * (1_u64 << shift) as f64;
    if bytes >= 1.0 && bytes < usize::MAX as f64 { Ok(bytes as usize) } else { Err(advice()) }
}

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn sizes_are_read() {
        for (text, expected) in [
            ("4096", 4096),
            ("1k", 1024),
            ("512M", 512 << 20),
            ("1.5 GiB", 3 << 29),
            ("2Gi", 2 << 30),
            ("7b", 7),
        ] {
            assert_eq!(parse(text), Ok(expected), "{text}");
        }
        for text in ["", "M", "-1M", "0", "1.2.3", "5 parsecs", "99999999T", "2GB"] {
            assert_eq!(parse(text), Err("give a size such as 512M or 2G".to_owned()), "{text}");
        }
    }
}
