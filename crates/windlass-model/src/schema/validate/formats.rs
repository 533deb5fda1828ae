//! The string formats that Kubernetes checks.

use std::net::Ipv6Addr;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::uri;
use crate::schema::Schema;
use crate::schema::keywords::text;
use crate::schema::structural::children;
use crate::time::Timestamp;
use windlass_cel::formats::base64::Base64;
use windlass_cel::formats::names;

/// Whether a text has a format.
pub(super) type Accepts = fn(&str) -> bool;

/// By name, without hyphens.
const FORMATS: [(&str, Accepts); 26] = [
    ("bsonobjectid", |text| text.len() == 24 && hex(text)),
    ("uri", uri::is_request_uri),
    ("email", email),
    ("hostname", hostname),
    ("ipv4", |text| text.contains('.') && (ipv4(text) || ipv6(text))),
    ("ipv6", ipv6),
    ("cidr", cidr),
    ("mac", mac),
    ("uuid", |text| uuid(text, None, false)),
    ("uuid3", |text| uuid(text, Some('3'), false)),
    ("uuid4", |text| uuid(text, Some('4'), true)),
    ("uuid5", |text| uuid(text, Some('5'), true)),
    ("isbn", |text| isbn10(text) || isbn13(text)),
    ("isbn10", isbn10),
    ("isbn13", isbn13),
    ("creditcard", credit_card),
    ("ssn", ssn),
    ("hexcolor", hex_color),
    ("rgbcolor", rgb_color),
    ("byte", byte),
    ("password", |_| true),
    ("date", date),
    ("duration", duration),
    ("datetime", date_time),
    ("k8sshortname", |text| names::is_dns1123_label(text).is_empty()),
    ("k8slongname", |text| names::is_dns1123_subdomain(text).is_empty()),
];

/// The check of a format, if Kubernetes has one.
pub(super) fn find(format: &str) -> Option<Accepts> {
    let name = format.replace('-', "");
    FORMATS.iter().find(|(known, _)| *known == name).map(|(_, accepts)| *accepts)
}

/// The format of a schema, if Kubernetes checks it.
pub(super) fn known(schema: &Schema) -> Option<&str> {
    schema.constraints.as_deref()?.format.as_deref().filter(|format| find(format).is_some())
}

/// The formats of strings in an `openAPIV3Schema` that are not checked; Kubernetes warns about them.
pub(crate) fn unknown_formats(open_api: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    collect_unknown(open_api, &mut unknown);
    unknown
}

fn collect_unknown(node: &Value, unknown: &mut Vec<String>) {
    let format = text(node, "format");
    if !format.is_empty() && text(node, "type") == "string" && find(format).is_none() {
        unknown.push(format.to_owned());
    }
    children(node).for_each(|child| collect_unknown(child, unknown));
}

fn digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Each part may have leading zeros.
fn ipv4(text: &str) -> bool {
    let part = |part: &str| {
        digits(part) && part.trim_start_matches('0').len() <= 3 && part.parse().is_ok_and(|n: u32| n <= 255)
    };
    text.split('.').count() == 4 && text.split('.').all(part)
}

fn ipv6(text: &str) -> bool {
    text.parse::<Ipv6Addr>().is_ok()
}

fn cidr(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let max = if ipv4(address) { 32 } else { 128 };
    (ipv4(address) || ipv6(address)) && digits(bits) && bits.parse().is_ok_and(|bits: u32| bits <= max)
}

fn mac(text: &str) -> bool {
    let groups = |separator: char, size: usize, counts: [usize; 3]| {
        counts.contains(&text.split(separator).count())
            && text.split(separator).all(|group| group.len() == size && hex(group))
    };
    groups(':', 2, [6, 8, 20]) || groups('-', 2, [6, 8, 20]) || groups('.', 4, [3, 4, 10])
}

/// Hyphens between the groups may be missing.
fn uuid(text: &str, version: Option<char>, variant: bool) -> bool {
    let mut rest = text;
    let mut groups = Vec::new();
    for size in [8, 4, 4, 4, 12] {
        let Some((group, after)) = rest.split_at_checked(size) else { return false };
        groups.push(group.to_ascii_lowercase());
        rest = after.strip_prefix('-').filter(|_| groups.len() < 5).unwrap_or(after);
    }
    rest.is_empty()
        && groups.iter().all(|group| hex(group))
        && version.is_none_or(|version| groups.get(2).is_some_and(|group| group.starts_with(version)))
        && (!variant || groups.get(3).is_some_and(|group| group.starts_with(['8', '9', 'a', 'b'])))
}

fn without_spaces_and_hyphens(text: &str) -> Vec<char> {
    text.chars().filter(|char| !matches!(char, ' ' | '\t' | '\n' | '\x0c' | '\r' | '-')).collect()
}

fn isbn10(text: &str) -> bool {
    let chars = without_spaces_and_hyphens(text);
    let value = |(index, char): (usize, &char)| match char {
        'X' if index == 9 => Some(10),
        char => char.to_digit(10),
    };
    let values: Option<Vec<u32>> = chars.iter().enumerate().map(value).collect();
    values.is_some_and(|values| {
        values.len() == 10
            && values.iter().zip(1..).map(|(value, weight)| value * weight).sum::<u32>() % 11 == 0
    })
}

fn isbn13(text: &str) -> bool {
    let chars = without_spaces_and_hyphens(text);
    let values: Option<Vec<u32>> = chars.iter().map(|char| char.to_digit(10)).collect();
    values.is_some_and(|values| {
        values.len() == 13
            && values
                .iter()
                .zip([1, 3].into_iter().cycle())
                .map(|(value, weight)| value * weight)
                .sum::<u32>()
                % 10
                == 0
    })
}

fn credit_card(text: &str) -> bool {
    let number: String = text.chars().filter(char::is_ascii_digit).collect();
    let starts = |prefixes: &[&str]| prefixes.iter().any(|prefix| number.starts_with(prefix));
    let issued = match number.len() {
        13 => starts(&["4"]),
        14 => starts(&["300", "301", "302", "303", "304", "305", "36", "38"]),
        15 => starts(&["34", "37", "2131", "1800"]),
        16 => starts(&["4", "51", "52", "53", "54", "55", "6011", "65", "35"]),
        _ => false,
    };
    let checksum: u32 = number
        .chars()
        .rev()
        .filter_map(|char| char.to_digit(10))
        .enumerate()
        .map(|(index, digit)| if index % 2 == 0 { digit } else { digit * 2 % 10 + digit * 2 / 10 })
        .sum();
    issued && checksum.is_multiple_of(10)
}

fn ssn(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['-', ' ']).collect();
    text.len() == 11
        && matches!(parts[..], [a, b, c] if a.len() == 3 && b.len() == 2 && c.len() == 4 && digits(a) && digits(b) && digits(c))
}

fn hex_color(text: &str) -> bool {
    let color = text.strip_prefix('#').unwrap_or(text);
    matches!(color.len(), 3 | 6) && hex(color)
}

fn rgb_color(text: &str) -> bool {
    let Some(inner) = text.strip_prefix("rgb(").and_then(|rest| rest.strip_suffix(')')) else { return false };
    let channel = |channel: &str| {
        let channel = channel.trim_matches([' ', '\t', '\n', '\x0c', '\r']);
        digits(channel)
            && (channel == "0" || !channel.starts_with('0'))
            && channel.len() <= 3
            && channel.parse::<u32>().is_ok_and(|value| value <= 255)
    };
    inner.split(',').count() == 3 && inner.split(',').all(channel)
}

/// Base64, not empty and on one line.
fn byte(text: &str) -> bool {
    !text.is_empty() && !text.contains(['\r', '\n']) && Base64::Standard.decode(text).is_ok()
}

fn date(text: &str) -> bool {
    let shaped = text.bytes().enumerate().all(|(index, byte)| match index {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    text.len() == 10 && shaped && Timestamp::parse(&format!("{text}T00:00:00Z")).is_some()
}

/// RFC 3339, and a little more: any sign may stand before the fraction.
fn date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(day), Some(clock)) = (parts.next(), parts.next()) else { return false };
    let Some((time, rest)) = clock.split_at_checked(8) else { return false };
    let fields: Vec<&str> = time.split(':').collect();
    let [hour, minute, second] = fields[..] else { return false };
    let two = |field: &str| field.len() == 2 && digits(field);
    let in_range =
        two(hour) && two(minute) && two(second) && hour <= "23" && minute <= "59" && second <= "59";
    date(day) && in_range && (zone(rest) || fraction(rest).is_some_and(zone))
}

fn fraction(text: &str) -> Option<&str> {
    let mut chars = text.chars();
    chars.next()?;
    let rest = chars.as_str();
    let after = rest.trim_start_matches(|char: char| char.is_ascii_digit());
    (after.len() < rest.len()).then_some(after)
}

fn zone(text: &str) -> bool {
    let offset = |rest: &str| {
        rest.len() == 5
            && rest
                .bytes()
                .enumerate()
                .all(|(index, byte)| if index == 2 { byte == b':' } else { byte.is_ascii_digit() })
    };
    text == "z" || text.strip_prefix(['+', '-']).is_some_and(offset)
}

/// A Go duration, or any number with a unit somewhere in the text.
fn duration(text: &str) -> bool {
    go_duration(text) || loose_duration(text)
}

fn go_duration(text: &str) -> bool {
    let mut rest = text.strip_prefix(['+', '-']).unwrap_or(text);
    if rest == "0" {
        return true;
    }
    if rest.is_empty() {
        return false;
    }
    while !rest.is_empty() {
        let after = rest.trim_start_matches(|char: char| char.is_ascii_digit() || char == '.');
        let number = rest.strip_suffix(after).unwrap_or("");
        let has_digit = number.bytes().any(|byte| byte.is_ascii_digit());
        let unit = ["ns", "us", "µs", "μs", "ms", "s", "m", "h"].into_iter().find(|unit| {
            let end = after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
            after.get(..end) == Some(unit)
        });
        let (Some(unit), true, true) = (unit, has_digit, number.matches('.').count() < 2) else {
            return false;
        };
        rest = after.strip_prefix(unit).unwrap_or("");
    }
    true
}

fn loose_duration(text: &str) -> bool {
    const EXACT: [&str; 15] =
        ["ns", "nano", "us", "µs", "micro", "ms", "milli", "s", "sec", "m", "min", "h", "hr", "d", "w"];
    const PREFIX: [&str; 8] = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|char: char| char.is_ascii_digit()) {
        let from = rest.get(start..).unwrap_or("");
        let after = from.trim_start_matches(|char: char| char.is_ascii_digit());
        let number = from.strip_suffix(after).unwrap_or("");
        let unit_text = after.trim_start_matches([' ', '\t', '\n', '\x0c', '\r']);
        let next = unit_text.trim_start_matches(|char: char| char.is_ascii_alphabetic() || char == 'µ');
        let unit = unit_text.strip_suffix(next).unwrap_or("").to_lowercase();
        if !unit.is_empty() {
            if number.parse::<i64>().is_err() {
                return false;
            }
            found |= EXACT.contains(&unit.as_str())
                || unit == "wk"
                || PREFIX.iter().any(|prefix| unit.starts_with(prefix));
        }
        rest = next;
    }
    found
}

static LABEL: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^[0-9A-Za-z\p{S}\p{L}]+$").ok());
static LETTERS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}{2}\p{L}*$").ok());

/// Labels may have letters of any script and symbols; the last of several has letters only. A single
/// label may have a hyphen only as its second character.
fn hostname(text: &str) -> bool {
    let label = |text: &str| LABEL.as_ref().is_some_and(|label| label.is_match(text));
    if text.len() > 255 || text.split('.').any(|part| part.len() > 63) {
        return false;
    }
    let Some((front, last)) = text.rsplit_once('.') else {
        let unhyphenated: String = text
            .chars()
            .enumerate()
            .filter(|(index, char)| *index != 1 || *char != '-')
            .map(|(_, char)| char)
            .collect();
        return label(&unhyphenated);
    };
    let inner = |part: &str| {
        let outside = !part.starts_with('-') && !part.ends_with('-');
        outside && label(&part.replace('-', ""))
    };
    front.split('.').all(inner) && LETTERS.as_ref().is_some_and(|letters| letters.is_match(last))
}

/// A mail address of RFC 5322, with or without a name before it.
fn email(text: &str) -> bool {
    let text = text.trim_matches([' ', '\t']);
    let address = match text.strip_suffix('>') {
        Some(front) => match front.rsplit_once('<') {
            Some((_, address)) => address,
            None => return false,
        },
        None => text,
    };
    let Some((local, domain)) = address.rsplit_once('@') else { return false };
    let atom = |text: &str| {
        !text.is_empty()
            && text.chars().all(|char| {
                char.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(char) || !char.is_ascii()
            })
    };
    let quoted = local.len() > 2 && local.starts_with('"') && local.ends_with('"');
    let literal = domain.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    (quoted || local.split('.').all(atom))
        && literal.map_or_else(
            || domain.split('.').all(atom),
            |literal| ipv4(literal) || ipv6(literal.trim_start_matches("IPv6:")),
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_accept_what_kubernetes_accepts() {
        let cases: [(&str, &[&str], &[&str]); 26] = [
            (
                "bsonobjectid",
                &["507f1f77bcf86cd799439011"],
                &["507f1f77bcf86cd79943901", "zz7f1f77bcf86cd799439011"],
            ),
            (
                "uri",
                &["http://foo.bar/#com", "/a/b", "mailto:a@b.c", "*", "http://[::1]:80/x"],
                &["", "foo", "http://a b/", "http://x:y/", "/%zz", ":a"],
            ),
            ("email", &["a@b.c", "A B <a@b.c>", "\"a b\"@c.d"], &["", "a", "a@", "@b", "a b@c"]),
            (
                "hostname",
                &["a", "a.example", "1a.b-c.com", "☁.com", "a-"],
                &["", "-a", "ab-", "a_b", "a.b.c.1", "a..b", ".a"],
            ),
            (
                "ipv4",
                &["1.2.3.4", "01.2.3.4", "::ffff:1.2.3.4"],
                &["", "1.2.3", "256.1.1.1", "a.b.c.d", "::1"],
            ),
            ("ipv6", &["::1", "fe80::1", "::ffff:1.2.3.4"], &["", "1.2.3.4", "fe80::1%eth0", "g::1"]),
            (
                "cidr",
                &["1.2.3.0/24", "10.0.0.1/08", "::/0"],
                &["1.2.3.4", "1.2.3.4/33", "::/129", "a/1", "1.2.3.4/"],
            ),
            (
                "mac",
                &["01:23:45:67:89:ab", "01-23-45-67-89-ab-cd-ef", "0123.4567.89ab"],
                &["", "01:23", "01:23-45:67:89:ab"],
            ),
            (
                "uuid",
                &["123e4567-e89b-12d3-a456-426614174000", "123E4567E89B12D3A456426614174000"],
                &["", "123e4567", "123e4567-e89b-12d3-a456-42661417400g"],
            ),
            ("uuid3", &["123e4567-e89b-32d3-0456-426614174000"], &["123e4567-e89b-42d3-a456-426614174000"]),
            ("uuid4", &["123e4567-e89b-42d3-a456-426614174000"], &["123e4567-e89b-42d3-0456-426614174000"]),
            ("uuid5", &["123e4567-e89b-52d3-b456-426614174000"], &["123e4567-e89b-42d3-a456-426614174000"]),
            ("isbn", &["0321751043", "978-0321751041"], &["", "0321751044"]),
            ("isbn10", &["0321751043", "080442957X"], &["978-0321751041", "0321751044"]),
            ("isbn13", &["978-0321751041"], &["0321751043", "978-0321751042"]),
            ("creditcard", &["4111-1111-1111-1111"], &["", "4111-1111-1111-1112", "1234567890123"]),
            ("ssn", &["111-11-1111", "111 11 1111"], &["", "11111-1111", "111111111"]),
            ("hexcolor", &["#FFFFFF", "fff"], &["", "#ff", "#gggggg"]),
            ("rgbcolor", &["rgb(255, 0,1)"], &["", "rgb(256,0,0)", "rgb(1,2)", "rgb(01,2,3)"]),
            ("byte", &["YWI=", "YQ==", "abcd"], &["", "abc", "a$bc", "===="]),
            ("password", &["", "anything"], &[]),
            (
                "date",
                &["2026-02-28", "2024-02-29"],
                &["", "2026-02-29", "2026-2-1", "12026-1-02", "2026-01-02T00:00:00Z"],
            ),
            ("duration", &["1h30m", "-1.5s", "0", "22 ns", "3 days", "1 week"], &["", "1", "h", "1x"]),
            (
                "date-time",
                &["2026-01-02T03:04:05Z", "2026-01-02t03:04:05.678+01:00"],
                &["", "2026-01-02", "2026-01-02T24:00:00Z", "2026-01-02T03:04:05", "2026-13-02T03:04:05Z"],
            ),
            ("k8s-short-name", &["a", "a-1", "0"], &["", "A", "-a", "a.b", "a_b"]),
            ("k8s-long-name", &["a", "a.b-c.1"], &["", "a..b", "A.b", "a_b"]),
        ];
        for (format, good, bad) in cases {
            let accepts = find(format).unwrap();
            good.iter().for_each(|text| assert!(accepts(text), "{format} must accept {text:?}"));
            bad.iter().for_each(|text| assert!(!accepts(text), "{format} must refuse {text:?}"));
        }
        assert!(find("int32").is_none());
    }
}
