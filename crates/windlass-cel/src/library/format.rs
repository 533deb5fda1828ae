//! Named formats: `format.dns1123Label().validate(text)`.

use super::time::CelTimestamp;
use super::url::Url;
use super::{Arguments, Opaque, Outcome, Table};
use crate::error::EvalError;
use crate::formats::base64::Base64;
use crate::formats::names;
use crate::value::Value;

pub(super) const FUNCTIONS: Table = &[
    ("format.named", named),
    ("validate", validate),
    ("format.dns1123Label", |call| constant(call, "dns1123Label")),
    ("format.dns1123Subdomain", |call| constant(call, "dns1123Subdomain")),
    ("format.dns1035Label", |call| constant(call, "dns1035Label")),
    ("format.qualifiedName", |call| constant(call, "qualifiedName")),
    ("format.dns1123LabelPrefix", |call| constant(call, "dns1123LabelPrefix")),
    ("format.dns1123SubdomainPrefix", |call| constant(call, "dns1123SubdomainPrefix")),
    ("format.dns1035LabelPrefix", |call| constant(call, "dns1035LabelPrefix")),
    ("format.labelValue", |call| constant(call, "labelValue")),
    ("format.uri", |call| constant(call, "uri")),
    ("format.uuid", |call| constant(call, "uuid")),
    ("format.byte", |call| constant(call, "byte")),
    ("format.date", |call| constant(call, "date")),
    ("format.datetime", |call| constant(call, "datetime")),
];

/// A format: its name, what its pattern counts for in costs, and what it says against a text.
#[derive(Debug)]
pub struct NamedFormat {
    pub(super) name: &'static str,
    pattern_size: u64,
    problems: fn(&str) -> Vec<String>,
}

const FORMATS: &[NamedFormat] = &[
    NamedFormat { name: "dns1123Label", pattern_size: 30, problems: names::is_dns1123_label },
    NamedFormat { name: "dns1123Subdomain", pattern_size: 60, problems: names::is_dns1123_subdomain },
    NamedFormat { name: "dns1035Label", pattern_size: 30, problems: names::is_dns1035_label },
    NamedFormat { name: "qualifiedName", pattern_size: 60, problems: names::is_qualified_name },
    NamedFormat {
        name: "dns1123LabelPrefix",
        pattern_size: 30,
        problems: |text| names::label_name(text, true),
    },
    NamedFormat {
        name: "dns1123SubdomainPrefix",
        pattern_size: 60,
        problems: |text| names::subdomain_name(text, true),
    },
    NamedFormat {
        name: "dns1035LabelPrefix",
        pattern_size: 30,
        problems: |text| names::dns1035_name(text, true),
    },
    NamedFormat { name: "labelValue", pattern_size: 40, problems: names::is_valid_label_value },
    NamedFormat { name: "uri", pattern_size: 1103, problems: uri },
    NamedFormat {
        name: "uuid",
        pattern_size: 72,
        problems: |text| unless(is_uuid(text), "does not match the UUID format"),
    },
    NamedFormat {
        name: "byte",
        pattern_size: 84,
        problems: |text| unless(!text.is_empty() && Base64::Standard.decode(text).is_ok(), "invalid base64"),
    },
    NamedFormat {
        name: "date",
        pattern_size: 70,
        problems: |text| unless(CelTimestamp::parse_date(text).is_some(), "invalid date"),
    },
    NamedFormat {
        name: "datetime",
        pattern_size: 70,
        problems: |text| unless(is_date_time(text), "invalid datetime"),
    },
];

fn find(name: &str) -> Option<Value<'static>> {
    let format = FORMATS.iter().find(|format| format.name == name)?;
    Some(Value::opaque(Opaque::Format(format)))
}

fn constant<'a>(call: &mut Arguments<'_, 'a>, name: &str) -> Outcome<'a> {
    call.budget.charge(1)?;
    find(name).ok_or_else(EvalError::no_overload)
}

fn named<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    call.budget.charge(1)?;
    Ok(Value::optional(find(&call.text(0)?)))
}

fn validate<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (opaque, text) = (call.opaque(0)?, call.text(1)?);
    let Opaque::Format(format) = &*opaque else { return Err(EvalError::no_overload()) };
    let text_cost = (call.get(1)?.size() + 1).div_ceil(10);
    call.budget.charge(text_cost.saturating_mul(format.pattern_size.div_ceil(4)))?;
    call.budget.work(text.len())?;
    let problems = (format.problems)(&text);
    let listed = (!problems.is_empty()).then(|| Value::list(problems.into_iter().map(Value::text).collect()));
    Ok(Value::optional(listed))
}

fn unless(valid: bool, problem: &str) -> Vec<String> {
    if valid { Vec::new() } else { vec![problem.to_owned()] }
}

fn uri(text: &str) -> Vec<String> {
    Url::parse(text).err().into_iter().collect()
}

/// 8-4-4-4-12 hexadecimal digits; each dash may be missing.
fn is_uuid(text: &str) -> bool {
    let mut rest = text;
    for (index, length) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            rest = rest.strip_prefix('-').unwrap_or(rest);
        }
        let Some((group, tail)) = rest.split_at_checked(length) else { return false };
        if !group.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return false;
        }
        rest = tail;
    }
    rest.is_empty()
}

/// RFC 3339 in either case, with any character before the fraction.
fn is_date_time(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let Some((date, time)) = lower.split_once('t') else { return false };
    let time = time.split('t').next().unwrap_or("");
    let Some((clock, rest)) = time.split_at_checked(8) else { return false };
    let digits_end = |text: &str| text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let fraction = rest.chars().next().filter(|c| !matches!(c, 'z' | '+' | '-'));
    let zone = match fraction {
        Some(separator) => {
            let digits = &rest[separator.len_utf8()..];
            let end = digits_end(digits);
            if end == 0 {
                return false;
            }
            &digits[end..]
        }
        None => rest,
    };
    CelTimestamp::parse(&format!("{}T{clock}{}", date, zone.to_ascii_uppercase())).is_some()
}
