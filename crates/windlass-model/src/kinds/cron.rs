//! Schedules of CronJobs.

use serde_json::Value;

use super::values::{Errors, text};
use crate::field::{FieldError, FieldPath, quoted};

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// One of the five fields of a schedule.
struct Field {
    least: u32,
    most: u32,
    names: &'static [&'static str],
    first_name: u32,
}

const FIELDS: [Field; 5] = [
    Field { least: 0, most: 59, names: &[], first_name: 0 },
    Field { least: 0, most: 23, names: &[], first_name: 0 },
    Field { least: 1, most: 31, names: &[], first_name: 0 },
    Field { least: 1, most: 12, names: &MONTHS, first_name: 1 },
    Field { least: 0, most: 6, names: &DAYS, first_name: 0 },
];

/// Checks the schedule of a CronJob's spec. A time zone belongs in a field of its own.
pub(super) fn check_schedule(errors: &mut Errors, path: &FieldPath, spec: &Value, old: Option<&Value>) {
    let schedule = text(&spec["schedule"]);
    if schedule.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if let Err(message) = parse(schedule) {
        errors.push(FieldError::invalid(path, schedule, message));
    }
    if !schedule.contains("TZ") {
        return;
    }
    let had_zone = old.is_some_and(|old| text(&old["schedule"]).contains("TZ"));
    if !had_zone {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid(path, schedule, detail));
    } else if spec["timeZone"].is_string() {
        let detail = "cannot use both timeZone field and TZ or CRON_TZ in schedule";
        errors.push(FieldError::invalid(path, schedule, detail));
    }
}

/// Validates a schedule.
fn parse(schedule: &str) -> Result<(), String> {
    let schedule = match schedule.strip_prefix("TZ=").or_else(|| schedule.strip_prefix("CRON_TZ=")) {
        Some(rest) => rest.split_once(' ').map_or("", |(_, rest)| rest.trim()),
        None => schedule,
    };
    if schedule.starts_with('@') {
        return parse_descriptor(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    fields
        .iter()
        .zip(&FIELDS)
        .try_for_each(|(text, field)| text.split(',').try_for_each(|part| range(part, field)))
}

fn parse_descriptor(descriptor: &str) -> Result<(), String> {
    match descriptor {
        "@yearly" | "@annually" | "@monthly" | "@weekly" | "@daily" | "@midnight" | "@hourly" => Ok(()),
        every if every.starts_with("@every ") => Ok(()),
        other => Err(format!("unrecognized descriptor: {other}")),
    }
}

/// `5`, `1-5`, `*/15`, `mon-fri`
fn range(text: &str, field: &Field) -> Result<(), String> {
    let (span, step) = match text.split_once('/') {
        Some((_, step)) if step.contains('/') => return Err(format!("too many slashes: {text}")),
        Some((span, step)) => (span, Some(step)),
        None => (text, None),
    };
    let (start, end) = match span.split_once('-') {
        _ if matches!(span, "*" | "?") => (field.least, field.most),
        Some((_, end)) if end.contains('-') => return Err(format!("too many hyphens: {text}")),
        Some((start, end)) => (value(start, field)?, value(end, field)?),
        None => {
            let start = value(span, field)?;
            (start, if step.is_some() { field.most } else { start })
        }
    };
    if let Some(step) = step
        && number(step)? == 0
    {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    if start < field.least {
        return Err(format!("beginning of range ({start}) below minimum ({}): {text}", field.least));
    }
    if end > field.most {
        return Err(format!("end of range ({end}) above maximum ({}): {text}", field.most));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {text}"));
    }
    Ok(())
}

fn value(text: &str, field: &Field) -> Result<u32, String> {
    let lower = text.to_ascii_lowercase();
    match field.names.iter().position(|name| *name == lower) {
        Some(index) => Ok(field.first_name + index as u32),
        None => number(text),
    }
}

fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {}: invalid syntax", quoted(text))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules() {
        for good in ["* * * * *", "*/5 0-6 1,15 jan MON-fri", "@hourly", "0 0 ? * 0", "5/10 * * * *"] {
            assert_eq!(parse(good), Ok(()), "{good}");
        }
        for (bad, message) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"),
            ("@never", "unrecognized descriptor: @never"),
        ] {
            assert_eq!(parse(bad), Err(message.to_owned()));
        }
    }
}
