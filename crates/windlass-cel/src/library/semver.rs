//! Semantic versions. Their comparisons are shared with quantities.

use std::cmp::Ordering;
use std::fmt;

use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::value::Value;

pub(super) const FUNCTIONS: Table =
    &[("semver", semver), ("isSemver", is_semver), ("major", major), ("minor", minor), ("patch", patch)];

/// A version; build metadata is checked and forgotten, since it does not count in comparisons.
#[derive(Clone, Debug)]
pub struct Semver {
    numbers: [u64; 3],
    prerelease: Vec<Identifier>,
}

/// Numbers come before words.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Identifier {
    Number(u64),
    Word(String),
}

impl Semver {
    fn parse(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("Version string empty".to_owned());
        }
        let mut parts = text.splitn(3, '.');
        let (Some(major), Some(minor), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            return Err("No Major.Minor.Patch elements found".to_owned());
        };
        let (rest, build) = split_off(rest, '+');
        let (patch, prerelease) = split_off(rest, '-');
        let numbers = [number("major", major)?, number("minor", minor)?, number("patch", patch)?];
        let prerelease =
            prerelease.map_or(Ok(Vec::new()), |text| text.split('.').map(identifier).collect())?;
        for part in build.into_iter().flat_map(|build| build.split('.')) {
            if part.is_empty() {
                return Err("Build meta data is empty".to_owned());
            }
            if !is_word(part) {
                return Err(format!("Invalid character(s) found in build meta data {part:?}"));
            }
        }
        Ok(Semver { numbers, prerelease })
    }

    /// Drops a leading `v` and leading zeros, and fills up missing numbers.
    fn parse_normalized(text: &str) -> Result<Self, String> {
        let text = text.strip_prefix('v').unwrap_or(text);
        let mut parts: Vec<String> = text.splitn(3, '.').map(without_zeros).collect();
        if parts.len() < 3 {
            if parts.last().is_some_and(|part| part.contains(['+', '-'])) {
                return Err("short version cannot contain PreRelease/Build meta data".to_owned());
            }
            parts.resize(3, "0".to_owned());
        }
        Self::parse(&parts.join("."))
    }

    /// Which of two versions is newer.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| {
            match (self.prerelease.is_empty(), other.prerelease.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => self.prerelease.cmp(&other.prerelease),
            }
        })
    }
}

impl fmt::Display for Semver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [major, minor, patch] = self.numbers;
        write!(f, "{major}.{minor}.{patch}")?;
        for (index, identifier) in self.prerelease.iter().enumerate() {
            f.write_str(if index == 0 { "-" } else { "." })?;
            match identifier {
                Identifier::Number(number) => write!(f, "{number}")?,
                Identifier::Word(word) => f.write_str(word)?,
            }
        }
        Ok(())
    }
}

fn split_off(text: &str, separator: char) -> (&str, Option<&str>) {
    text.split_once(separator).map_or((text, None), |(before, after)| (before, Some(after)))
}

fn is_word(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn has_leading_zero(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0')
}

fn to_number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| {
        let reason = if text.is_empty() { "invalid syntax" } else { "value out of range" };
        format!("strconv.ParseUint: parsing {text:?}: {reason}")
    })
}

fn number(part: &str, text: &str) -> Result<u64, String> {
    if !text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("Invalid character(s) found in {part} number {text:?}"));
    }
    if has_leading_zero(text) {
        let part = format!("{}{}", part[..1].to_uppercase(), &part[1..]);
        return Err(format!("{part} number must not contain leading zeroes {text:?}"));
    }
    to_number(text)
}

fn identifier(text: &str) -> Result<Identifier, String> {
    if text.is_empty() {
        return Err("Prerelease is empty".to_owned());
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        if has_leading_zero(text) {
            return Err(format!("Numeric PreRelease version must not contain leading zeroes {text:?}"));
        }
        return to_number(text).map(Identifier::Number);
    }
    if !is_word(text) {
        return Err(format!("Invalid character(s) found in prerelease {text:?}"));
    }
    Ok(Identifier::Word(text.to_owned()))
}

fn without_zeros(part: &str) -> String {
    if part.len() <= 1 {
        return part.to_owned();
    }
    let trimmed = part.trim_start_matches('0');
    let starts_with_digit = trimmed.starts_with(|c: char| c.is_ascii_digit());
    if starts_with_digit { trimmed.to_owned() } else { format!("0{trimmed}") }
}

fn parse(call: &mut Arguments<'_, '_>) -> Result<Result<Semver, String>, EvalError> {
    let text = call.text(0)?;
    let normalize = match call.values.get(1) {
        None => false,
        Some(flag) => flag.as_bool().ok_or_else(EvalError::no_overload)?,
    };
    call.charge_walk(0)?;
    call.budget.work(text.len())?;
    Ok(if normalize { Semver::parse_normalized(&text) } else { Semver::parse(&text) })
}

fn semver<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    parse(call)?.map(|version| Value::opaque(Opaque::Semver(version))).map_err(EvalError::failed)
}

fn is_semver<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    Ok(Value::Bool(parse(call)?.is_ok()))
}

fn part<'a>(call: &mut Arguments<'_, 'a>, index: usize) -> Outcome<'a> {
    call.budget.charge(1)?;
    match &*call.opaque(0)? {
        Opaque::Semver(version) => Ok(Value::Int(version.numbers.get(index).copied().unwrap_or(0) as i64)),
        _ => Err(EvalError::no_overload()),
    }
}

fn major<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, 0)
}

fn minor<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, 1)
}

fn patch<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    part(call, 2)
}
