//! Regular expressions: `matches`, `find`, `findAll`, in the syntax of RE2.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use super::{Arguments, Outcome, Table};
use crate::error::EvalError;
use crate::value::{Text, Value};

pub(super) const FUNCTIONS: Table = &[("matches", matches), ("find", find), ("findAll", find_all)];

/// Bytes that a compiled pattern may take.
const SIZE_LIMIT: usize = 1 << 20;

/// Compiles a pattern as RE2 would read it. The error is worded as Go words it.
pub(crate) fn compile(pattern: &str) -> Result<Regex, String> {
    let translated = Translator::run(pattern).map_err(|reason| format!("error parsing regexp: {reason}"))?;
    RegexBuilder::new(&translated).size_limit(SIZE_LIMIT).build().map_err(|error| {
        let reason = match &error {
            regex::Error::CompiledTooBig(_) => "expression too large".to_owned(),
            other => reworded(&other.to_string()),
        };
        format!("error parsing regexp: {reason}: `{pattern}`")
    })
}

/// The commonest complaints in Go's words.
fn reworded(error: &str) -> String {
    let reason = error.lines().last().unwrap_or("").trim_start_matches("error: ");
    match reason {
        "unclosed group" => "missing closing )",
        "unopened group" => "unexpected )",
        "repetition operator missing expression" => "missing argument to repetition operator",
        other => other,
    }
    .to_owned()
}

/// Rewrites what RE2 and Rust's dialect read differently: classes such as `\d` are ASCII, a bracket or
/// a doubled operator within a class is literal, and so is a brace that is no repetition.
struct Translator<'p> {
    rest: &'p str,
    out: String,
    /// Where the class began that we are in.
    class: Option<&'p str>,
    /// The repetition right before the current position. No other may follow it.
    repetition: Option<&'p str>,
}

impl<'p> Translator<'p> {
    fn run(pattern: &'p str) -> Result<String, String> {
        let out = String::with_capacity(pattern.len());
        let mut translator = Translator { rest: pattern, out, class: None, repetition: None };
        while let Some(c) = translator.rest.chars().next() {
            let length =
                if translator.class.is_some() { translator.in_class(c) } else { translator.outside(c)? };
            translator.rest = translator.rest.get(length..).unwrap_or("");
        }
        match translator.class {
            Some(class) => Err(format!("missing closing ]: `{class}`")),
            None => Ok(translator.out),
        }
    }

    /// One step outside a class; returns how much was read.
    fn outside(&mut self, c: char) -> Result<usize, String> {
        let rest = self.rest;
        let repeated = match c {
            '*' | '+' | '?' => 1,
            '{' => repetition_length(rest),
            _ => 0,
        };
        if repeated > 0 {
            let lazy = usize::from(rest[repeated..].starts_with('?'));
            let (operator, _) = rest.split_at(repeated + lazy);
            if let Some(previous) = self.repetition.replace(operator) {
                return Err(format!("invalid nested repetition operator: `{previous}{operator}`"));
            }
            self.out.push_str(operator);
            return Ok(operator.len());
        }
        self.repetition = None;
        match c {
            '\\' => return Ok(self.escape(false)),
            '[' => {
                self.class = Some(rest);
                self.out.push('[');
                // A bracket right after the opening is literal.
                let negated = rest[1..].starts_with('^');
                let literal = rest[1 + usize::from(negated)..].starts_with(']');
                self.out.push_str(if negated { "^" } else { "" });
                self.out.push_str(if literal { "\\]" } else { "" });
                return Ok(1 + usize::from(negated) + usize::from(literal));
            }
            '{' => self.out.push_str("\\{"),
            c => self.out.push(c),
        }
        Ok(c.len_utf8())
    }

    /// One step within a class; returns how much was read.
    fn in_class(&mut self, c: char) -> usize {
        let rest = self.rest;
        match c {
            '\\' => return self.escape(true),
            '[' => {
                if let Some(end) = rest.find(":]").filter(|_| rest.starts_with("[:")) {
                    self.out.push_str(&rest[..end + 2]);
                    return end + 2;
                }
                self.out.push_str("\\[");
            }
            ']' => {
                self.class = None;
                self.out.push(']');
            }
            '&' | '~' => {
                self.out.push('\\');
                self.out.push(c);
            }
            '-' if rest.starts_with("--") => {
                // A range that ends in a dash, not a difference of classes.
                self.out.push_str("-\\-");
                return 2;
            }
            c => self.out.push(c),
        }
        c.len_utf8()
    }

    /// Writes the escape that stands here, and says how long it is.
    fn escape(&mut self, in_class: bool) -> usize {
        let Some(c) = self.rest[1..].chars().next() else {
            self.out.push('\\');
            return 1;
        };
        let ascii = match c {
            'd' => "0-9",
            'w' => "0-9A-Za-z_",
            's' => "\\t\\n\\x0C\\r ",
            'D' => "^0-9",
            'W' => "^0-9A-Za-z_",
            'S' => "^\\t\\n\\x0C\\r ",
            _ => "",
        };
        match c {
            _ if !ascii.is_empty() => {
                let bare = in_class && !ascii.starts_with('^');
                self.out.push_str(if bare { "" } else { "[" });
                self.out.push_str(ascii);
                self.out.push_str(if bare { "" } else { "]" });
            }
            'Q' if !in_class => {
                // Everything up to `\E` is literal.
                let quoted = &self.rest[2..];
                let end = quoted.find("\\E").unwrap_or(quoted.len());
                self.out.push_str(&regex::escape(&quoted[..end]));
                return (2 + end + 2).min(self.rest.len());
            }
            'b' | 'B' if !in_class => self.out.push_str(&format!("(?-u:\\{c})")),
            '<' | '>' | '_' => self.out.push(c),
            _ => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        1 + c.len_utf8()
    }
}

/// How long `{2}`, `{2,}` or `{2,3}` at the start of the text is; 0 if there is none.
fn repetition_length(text: &str) -> usize {
    let Some((inner, _)) = text[1..].split_once('}') else { return 0 };
    let (low, high) = inner.split_once(',').unwrap_or((inner, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !low.is_empty() && digits(low) && digits(high) { inner.len() + 2 } else { 0 }
}

/// Charges as Kubernetes does: a tenth per character, times a quarter per character of the pattern.
fn charge(call: &mut Arguments<'_, '_>) -> Result<(), EvalError> {
    let text_cost = (call.get(0)?.size() + 1).div_ceil(10);
    let pattern_cost = call.get(1)?.size().div_ceil(4);
    call.budget.charge(text_cost.saturating_mul(pattern_cost))
}

/// The pattern, compiled unless it is a literal. Compiling counts: a short pattern with counted
/// repetitions can take milliseconds.
fn pattern(call: &mut Arguments<'_, '_>, to_error: fn(String) -> EvalError) -> Result<Arc<Regex>, EvalError> {
    if let Some(regex) = call.regex {
        return Ok(regex.clone());
    }
    let text = call.text(1)?;
    let repetitions = text.matches('{').count().min(1) * 100_000;
    call.budget.work(1_000 + text.len() * 100 + repetitions)?;
    compile(&text).map(Arc::new).map_err(to_error)
}

fn matches<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    charge(call)?;
    let regex = pattern(call, EvalError::failed)?;
    call.budget.work(text.len())?;
    Ok(Value::Bool(regex.is_match(&text)))
}

fn illegal(message: String) -> EvalError {
    EvalError::failed(format!("Illegal regex: {message}"))
}

fn find<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    charge(call)?;
    let regex = pattern(call, illegal)?;
    let found = regex.find(&text).map_or("", |found| found.as_str());
    call.made(found.to_owned())
}

fn find_all<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let (text, _) = (call.text(0)?, call.text(1)?);
    let limit = if call.has(2) { usize::try_from(call.int(2)?).unwrap_or(usize::MAX) } else { usize::MAX };
    charge(call)?;
    let regex = pattern(call, illegal)?;
    let mut found = Vec::new();
    for matched in regex.find_iter(&text).take(limit) {
        call.budget.work(matched.len() + size_of::<Value<'_>>())?;
        found.push(Value::String(Text::Shared(matched.as_str().into())));
    }
    Ok(Value::list(found))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_patterns_as_re2_does() {
        for (pattern, text, matches) in [
            (r"^\d+$", "123", true),
            (r"^\d+$", "١٢٣", false),
            (r"^\w$", "é", false),
            (r"^\W$", "é", true),
            (r"^[\w-]+$", "a-b_c", true),
            (r"^[^\d]$", "x", true),
            (r"^[\D]$", "1", false),
            (r"^\s$", "\u{a0}", false),
            (r"^.$", "é", true),
            (r"a{", "a{", true),
            (r"^{x}$", "{x}", true),
            (r"^a{,2}$", "a{,2}", true),
            (r"^a{1,2}$", "aa", true),
            (r"^[[]$", "[", true),
            (r"^[]]$", "]", true),
            (r"^[^]]$", "x", true),
            (r"^[a&&b]+$", "a&b", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^[[:alpha:]_]+$", "a_c", true),
            (r"^\<a\>$", "<a>", true),
            (r"^\/\-\_$", "/-_", true),
            (r"\bfoo\b", "a foo b", true),
            (r"^\Q.[\E+$", ".[[", true),
            (r"^\Qa*", "a*", true),
            (r"^a{2}?b??$", "aab", true),
            (r"^[+--]+$", "+,-", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn refuses_bad_and_huge_patterns() {
        for pattern in ["[", "(", "a**", "a{2}{3}", "a+??", "(a)\\1", "(?=x)", "\\", "((a{100}){100}){100}"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
        assert!(compile(&"(".repeat(10_000)).is_err());
        assert!(compile(&format!("{}{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
    }
}
