//! Reads shard selectors: the small part of CEL that Kubernetes allows in them.

use crate::field::quoted;
use crate::selector::ShardKey;

/// What follows the last hash.
const TOP: &str = "0x10000000000000000";
const HEX_DIGITS: usize = 16;

/// The field, and the first and last hash of each range. The error says what was expected, and where.
pub(super) fn ranges(text: &str) -> Result<(ShardKey, Vec<(u64, u64)>), String> {
    let mut reader = Reader { text, rest: text };
    let (key, range) = reader.range()?;
    let mut ranges = vec![range];
    while reader.takes("||") {
        let position = reader.position();
        let (other, range) = reader.range()?;
        if other != key {
            let (first, second) = (key.path(), other.path());
            return Err(format!(
                "the range at character {position} is of {second}, the ones before it are of {first}: use one field for all"
            ));
        }
        ranges.push(range);
    }
    if reader.rest.is_empty() { Ok((key, ranges)) } else { Err(reader.expected("|| or the end")) }
}

struct Reader<'a> {
    text: &'a str,
    /// What is not read yet.
    rest: &'a str,
}

impl<'a> Reader<'a> {
    /// `shardRange(object.metadata.uid, '0x…', '0x…')`
    fn range(&mut self) -> Result<(ShardKey, (u64, u64)), String> {
        self.require("shardRange")?;
        self.require("(")?;
        let key = self.key()?;
        self.require(",")?;
        let start = self.bound()?;
        self.require(",")?;
        let position = self.position();
        let end = self.bound()?;
        self.require(")")?;
        if start >= end {
            return Err(format!(
                "the end of the range at character {position} must be greater than its start"
            ));
        }
        let inclusive = |bound: u128| u64::try_from(bound).unwrap_or(u64::MAX);
        Ok((key, (inclusive(start), inclusive(end - 1))))
    }

    fn key(&mut self) -> Result<ShardKey, String> {
        self.skip_space();
        let is_part = |character: char| character.is_ascii_alphanumeric() || matches!(character, '.' | '_');
        let length = self.rest.find(|character| !is_part(character)).unwrap_or(self.rest.len());
        let (path, rest) = self.rest.split_at(length);
        let known = ShardKey::ALL.into_iter().find(|key| key.path() == path);
        let key = known.ok_or_else(|| self.expected(&ShardKey::ALL.map(ShardKey::path).join(" or ")))?;
        self.rest = rest;
        Ok(key)
    }

    /// `'0x…'`, quoted.
    fn bound(&mut self) -> Result<u128, String> {
        self.skip_space();
        let read = || {
            let (literal, rest) = self.rest.strip_prefix('\'')?.split_once('\'')?;
            Some((bound(literal)?, rest))
        };
        let (bound, rest) = read().ok_or_else(|| {
            self.expected("'0x' and 16 hexadecimal digits in lower case, or '0x10000000000000000', in quotes")
        })?;
        self.rest = rest;
        Ok(bound)
    }

    fn require(&mut self, token: &str) -> Result<(), String> {
        if self.takes(token) { Ok(()) } else { Err(self.expected(token)) }
    }

    /// Reads a token, and the space around it, if it comes next.
    fn takes(&mut self, token: &str) -> bool {
        self.skip_space();
        let Some(rest) = self.rest.strip_prefix(token) else { return false };
        self.rest = rest;
        self.skip_space();
        true
    }

    fn skip_space(&mut self) {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c']);
    }

    /// The number of the next character, from 1.
    fn position(&self) -> usize {
        let read = self.text.len() - self.rest.len();
        self.text[..read].chars().count() + 1
    }

    fn expected(&self, what: &str) -> String {
        const SHOWN: usize = 24;
        let found = match self.rest.char_indices().nth(SHOWN) {
            None if self.rest.is_empty() => "the end".to_owned(),
            None => quoted(self.rest),
            Some((length, _)) => format!("{}...", quoted(&self.rest[..length])),
        };
        format!("expected {what} at character {}, found {found}", self.position())
    }
}

/// The number of a bound: 16 digits, so that no one has to guess on which side zeros are missing.
fn bound(literal: &str) -> Option<u128> {
    if literal == TOP {
        return Some(1 << 64);
    }
    let digits = literal.strip_prefix("0x").filter(|digits| digits.len() == HEX_DIGITS)?;
    let lower_case = digits.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    u128::from_str_radix(digits, 16).ok().filter(|_| lower_case)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOWER: &str = "shardRange(object.metadata.uid,'0x0000000000000000','0x8000000000000000')";
    const UPPER: &str = "shardRange(object.metadata.uid,'0x8000000000000000','0x10000000000000000')";
    const MIDDLE: u64 = 1 << 63;

    #[test]
    fn reads_ranges() {
        let one = |range| (ShardKey::Uid, vec![range]);
        for (text, expected) in [
            (LOWER.to_owned(), one((0, MIDDLE - 1))),
            (UPPER.to_owned(), one((MIDDLE, u64::MAX))),
            (format!("{LOWER} || {UPPER}"), (ShardKey::Uid, vec![(0, MIDDLE - 1), (MIDDLE, u64::MAX)])),
            (format!("{UPPER}||{LOWER}"), (ShardKey::Uid, vec![(MIDDLE, u64::MAX), (0, MIDDLE - 1)])),
            (
                "\n shardRange ( object.metadata.uid , '0x00000000000000aa' ,\t'0x00000000000000ab' ) "
                    .to_owned(),
                one((0xaa, 0xaa)),
            ),
            (
                "shardRange(object.metadata.namespace,'0x0000000000000000','0x10000000000000000')".to_owned(),
                (ShardKey::Namespace, vec![(0, u64::MAX)]),
            ),
        ] {
            assert_eq!(ranges(&text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        const HEX: &str =
            "expected '0x' and 16 hexadecimal digits in lower case, or '0x10000000000000000', in quotes";
        const KEY: &str = "expected object.metadata.uid or object.metadata.namespace";
        for (text, expected) in [
            ("", "expected shardRange at character 1, found the end".to_owned()),
            ("  ", "expected shardRange at character 3, found the end".to_owned()),
            ("ä", "expected shardRange at character 1, found \"ä\"".to_owned()),
            ("shard(object)", "expected shardRange at character 1, found \"shard(object)\"".to_owned()),
            ("shardRange[", "expected ( at character 11, found \"[\"".to_owned()),
            ("shardRange()", format!("{KEY} at character 12, found \")\"")),
            (
                "shardRange(object.metadata.name,'0x0','0x1')",
                format!("{KEY} at character 12, found \"object.metadata.name,'0x\"..."),
            ),
            ("shardRange(object.metadata.uid)", "expected , at character 31, found \")\"".to_owned()),
            ("shardRange(object.metadata.uid, '0x0')", format!("{HEX} at character 33, found \"'0x0')\"")),
            ("shardRange(object.metadata.uid,0,8)", format!("{HEX} at character 32, found \"0,8)\"")),
            (
                "shardRange(object.metadata.uid,'0000000000000000','0x8000000000000000')",
                format!("{HEX} at character 32, found \"'0000000000000000','0x80\"..."),
            ),
            (
                "shardRange(object.metadata.uid,'0x000000000000000A'",
                format!("{HEX} at character 32, found \"'0x000000000000000A'\""),
            ),
            (
                "shardRange(object.metadata.uid,'0x+000000000000000'",
                format!("{HEX} at character 32, found \"'0x+000000000000000'\""),
            ),
            (
                "shardRange(object.metadata.uid,'0x10000000000000001'",
                format!("{HEX} at character 32, found \"'0x10000000000000001'\""),
            ),
            ("shardRange(object.metadata.uid,'0x00", format!("{HEX} at character 32, found \"'0x00\"")),
            (
                "shardRange(object.metadata.uid,'0x8000000000000000','0x8000000000000000')",
                "the end of the range at character 53 must be greater than its start".to_owned(),
            ),
        ] {
            assert_eq!(ranges(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn says_what_is_wrong_behind_a_range() {
        for (behind, expected) in [
            (" ", None),
            (",", Some("expected || or the end at character 74, found \",\"")),
            (" && x", Some("expected || or the end at character 75, found \"&& x\"")),
            (" ||", Some("expected shardRange at character 77, found the end")),
            (
                "||shardRange(object.metadata.namespace,'0x0000000000000000','0x8000000000000000')",
                Some(
                    "the range at character 76 is of object.metadata.namespace, the ones before it are of \
                     object.metadata.uid: use one field for all",
                ),
            ),
        ] {
            assert_eq!(ranges(&format!("{LOWER}{behind}")).err().as_deref(), expected, "{behind}");
        }
    }
}
