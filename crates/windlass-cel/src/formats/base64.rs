//! Base64 as Go reads and writes it.

/// Which letters stand for 62 and 63, and whether the last group is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base64 {
    /// `+`, `/` and padding: what byte fields have.
    Standard,
    /// `-`, `_` and no padding: what stands in URLs.
    Url,
}

impl Base64 {
    /// The written form of some bytes.
    pub fn encode(self, bytes: &[u8]) -> String {
        let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
        for chunk in bytes.chunks(3) {
            let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
            let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
            for position in 0..4 {
                match self {
                    _ if position <= chunk.len() => text.push(self.letter(bits >> (18 - 6 * position) & 63)),
                    Base64::Standard => text.push('='),
                    Base64::Url => {}
                }
            }
        }
        text
    }

    /// The bytes. Line ends are skipped.
    ///
    /// # Errors
    /// Where the text stops being base64, as Go counts.
    pub fn decode(self, text: &str) -> Result<Vec<u8>, usize> {
        let source = text.as_bytes();
        let mut bytes = Vec::with_capacity(text.len() / 4 * 3 + 2);
        let (mut bits, mut count) = (0_u32, 0);
        for (position, letter) in source.iter().enumerate() {
            match self.value(*letter) {
                Some(value) => {
                    bits = bits << 6 | value;
                    count += 1;
                }
                None if is_line_end(*letter) => {}
                None if *letter == b'=' && self == Base64::Standard => {
                    check_padding(source, position, count)?;
                    push_group(&mut bytes, bits, count);
                    return Ok(bytes);
                }
                None => return Err(position),
            }
            if count == 4 {
                push_group(&mut bytes, bits, count);
                (bits, count) = (0, 0);
            }
        }
        if count == 1 || count > 0 && self == Base64::Standard {
            return Err(source.len() - count);
        }
        push_group(&mut bytes, bits, count);
        Ok(bytes)
    }

    fn letter(self, value: u32) -> char {
        let value = value as u8 & 63;
        char::from(match (value, self) {
            (0..26, _) => b'A' + value,
            (26..52, _) => b'a' + (value - 26),
            (52..62, _) => b'0' + (value - 52),
            (62, Base64::Standard) => b'+',
            (62, Base64::Url) => b'-',
            (_, Base64::Standard) => b'/',
            (_, Base64::Url) => b'_',
        })
    }

    fn value(self, letter: u8) -> Option<u32> {
        Some(u32::from(match (letter, self) {
            (b'A'..=b'Z', _) => letter - b'A',
            (b'a'..=b'z', _) => letter - b'a' + 26,
            (b'0'..=b'9', _) => letter - b'0' + 52,
            (b'+', Base64::Standard) | (b'-', Base64::Url) => 62,
            (b'/', Base64::Standard) | (b'_', Base64::Url) => 63,
            _ => return None,
        }))
    }
}

/// Checks that the first `=` stands where the text can end, and that only padding follows.
fn check_padding(source: &[u8], position: usize, count: usize) -> Result<(), usize> {
    let mut rest = source.iter().enumerate().skip(position + 1).filter(|(_, letter)| !is_line_end(**letter));
    match count {
        3 => {}
        2 => match rest.next() {
            None => return Err(source.len()),
            Some((_, b'=')) => {}
            Some((next, _)) => return Err(next - 1),
        },
        _ => return Err(position),
    }
    rest.next().map_or(Ok(()), |(garbage, _)| Err(garbage))
}

fn is_line_end(letter: u8) -> bool {
    matches!(letter, b'\r' | b'\n')
}

/// The whole bytes of a group of up to four letters.
fn push_group(bytes: &mut Vec<u8>, bits: u32, count: usize) {
    let [_, one, two, three] = (bits << (6 * 4_usize.saturating_sub(count))).to_be_bytes();
    bytes.extend([one, two, three].into_iter().take(count.saturating_sub(1)));
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reads_back_what_it_writes() {
        for (bytes, text, in_url) in [
            (&b""[..], "", ""),
            (b"f", "Zg==", "Zg"),
            (b"fo", "Zm8=", "Zm8"),
            (b"foo", "Zm9v", "Zm9v"),
            (b"foob", "Zm9vYg==", "Zm9vYg"),
            (b"\xff\xfe", "//4=", "__4"),
            ("\u{fb}ÿ".as_bytes(), "w7vDvw==", "w7vDvw"),
        ] {
            assert_eq!(Base64::Standard.encode(bytes), text);
            assert_eq!(Base64::Standard.decode(text).as_deref(), Ok(bytes));
            assert_eq!(Base64::Url.encode(bytes), in_url);
            assert_eq!(Base64::Url.decode(in_url).as_deref(), Ok(bytes));
        }
        assert_eq!(Base64::Standard.decode("Zm\n9v\r\n").unwrap(), b"foo");
        assert_eq!(Base64::Standard.decode("Zg\n=\n=\n").unwrap(), b"f");
    }

    #[test]
    fn says_where_it_breaks() {
        for (text, position) in [
            ("Zm9v!", 4),
            ("Zg=", 3),
            ("Zg", 0),
            ("Zg=a", 2),
            ("Zm8==", 4),
            ("Zg==Zg==", 4),
            ("Z", 0),
            ("Z g=", 1),
            ("Z===", 1),
            ("=", 0),
            ("====", 0),
            ("Zm9vYg", 4),
            ("a$bc", 1),
            ("abcde", 4),
        ] {
            assert_eq!(Base64::Standard.decode(text), Err(position), "{text}");
        }
        for (text, position) in [("$", 0), ("abc=", 3), ("a", 0), ("abcde", 4)] {
            assert_eq!(Base64::Url.decode(text), Err(position), "{text}");
        }
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..20)) {
            for form in [Base64::Standard, Base64::Url] {
                prop_assert_eq!(form.decode(&form.encode(&bytes)), Ok(bytes.clone()));
            }
        }
    }
}
