//! Regular expressions in the dialect of Go (RE2), compiled by the `regex` crate within limits.

use regex::{Regex, RegexBuilder};

/// Sizes to which a pattern may compile; the smallest that suffices is charged.
const SIZES: [usize; 3] = [16 << 10, 256 << 10, 4 << 20];
/// What all patterns of one schema may use together, in bytes.
const ALLOWANCE: usize = 64 << 20;
/// Go refuses to repeat more often.
const MAX_REPEAT: u32 = 1000;

/// What the patterns of one schema may still use, so that many small patterns cannot take much memory.
#[derive(Debug)]
pub(super) struct Allowance(usize);

impl Default for Allowance {
    fn default() -> Self {
        Allowance(ALLOWANCE)
    }
}

impl Allowance {
    /// Compiles a pattern and charges for it.
    pub(super) fn compile(&mut self, pattern: &str) -> Result<Regex, String> {
        let translated = translate(pattern)?;
        let mut failure = String::new();
        for size in SIZES {
            if size > self.0 {
                return Err("the patterns of the schema are too large together".to_owned());
            }
            match RegexBuilder::new(&translated).size_limit(size).nest_limit(200).build() {
                Ok(regex) => {
                    self.0 -= size;
                    return Ok(regex);
                }
                Err(regex::Error::CompiledTooBig(_)) => "expression too large".clone_into(&mut failure),
                Err(error) => return Err(reason(&error, pattern)),
            }
        }
        Err(format!("error parsing regexp: {failure}: `{pattern}`"))
    }
}

/// The last line of the parser's report, which is the one that says why.
fn reason(error: &regex::Error, pattern: &str) -> String {
    let text = error.to_string();
    let line = text.lines().last().unwrap_or("").trim().trim_start_matches("error: ");
    format!("error parsing regexp: {line}: `{pattern}`")
}

/// Rewrites what Go and the `regex` crate read differently.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut rest = pattern;
    let mut class = false;
    while let Some(char) = rest.chars().next() {
        let after = &rest[char.len_utf8()..];
        rest = match char {
            '\\' => escape(after, class, &mut out),
            '[' if class && after.starts_with(':') => posix_class(rest, &mut out),
            '[' if class => literal("\\[", after, &mut out),
            '[' => {
                class = true;
                open_class(after, &mut out)
            }
            ']' if class => {
                class = false;
                literal("]", after, &mut out)
            }
            // Doubled, these are operations on sets; Go has none.
            '&' | '~' if class => literal(if char == '&' { "\\&" } else { "\\~" }, after, &mut out),
            '-' if class && after.starts_with('-') => literal("\\-", after, &mut out),
            '{' if !class => repetition(after, &mut out)?,
            '(' if !class && after.starts_with('?') => {
                known_flags(after, pattern)?;
                literal("(", after, &mut out)
            }
            other => {
                out.push(other);
                after
            }
        };
    }
    Ok(out)
}

fn literal<'a>(text: &str, rest: &'a str, out: &mut String) -> &'a str {
    out.push_str(text);
    rest
}

/// `\d`, `\w` and `\s` are ASCII in Go; `\Q..\E` quotes; `\<` and `\>` are no word boundaries.
fn escape<'a>(after: &'a str, class: bool, out: &mut String) -> &'a str {
    let Some(char) = after.chars().next() else {
        out.push('\\');
        return after;
    };
    let rest = &after[char.len_utf8()..];
    if let Some(rest) = octal(after, out) {
        return rest;
    }
    let text = match (char, class) {
        ('d', true) => "0-9",
        ('d', false) => "[0-9]",
        ('D', _) => "[^0-9]",
        ('w', true) => "0-9A-Za-z_",
        ('w', false) => "[0-9A-Za-z_]",
        ('W', _) => "[^0-9A-Za-z_]",
        ('s', true) => "\\t\\n\\f\\r ",
        ('s', false) => "[\\t\\n\\f\\r ]",
        ('S', _) => "[^\\t\\n\\f\\r ]",
        ('b', false) => "(?-u:\\b)",
        ('<', _) => "<",
        ('>', _) => ">",
        ('Q', false) => {
            let (quoted, rest) = rest.split_once("\\E").unwrap_or((rest, ""));
            out.push_str(&regex::escape(quoted));
            return rest;
        }
        _ => {
            out.push('\\');
            out.push(char);
            return braced(char, rest, out);
        }
    };
    literal(text, rest, out)
}

/// `\0`, `\12` and `\123` are characters; a single digit would be a reference, which is refused later.
fn octal<'a>(after: &'a str, out: &mut String) -> Option<&'a str> {
    let digits = after.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let (code, rest) = after.split_at_checked(digits)?;
    let code = u32::from_str_radix(code, 8).ok().filter(|code| digits > 1 || *code == 0)?;
    out.push_str(&format!("\\x{{{code:x}}}"));
    Some(rest)
}

/// `\p{Greek}` and `\x{10FFFF}`: these braces are no repetition.
fn braced<'a>(char: char, rest: &'a str, out: &mut String) -> &'a str {
    let end = rest.bytes().take(64).position(|byte| byte == b'}');
    match end.and_then(|end| rest.split_at_checked(end + 1)) {
        Some((name, rest)) if matches!(char, 'p' | 'P' | 'x') && name.starts_with('{') => {
            literal(name, rest, out)
        }
        _ => rest,
    }
}

/// `[^]a]`: a bracket that stands first is a member.
fn open_class<'a>(after: &'a str, out: &mut String) -> &'a str {
    out.push('[');
    let rest = match after.strip_prefix('^') {
        Some(rest) => literal("^", rest, out),
        None => after,
    };
    match rest.strip_prefix(']') {
        Some(rest) => literal("\\]", rest, out),
        None => rest,
    }
}

fn posix_class<'a>(rest: &'a str, out: &mut String) -> &'a str {
    // The names are short; looking further would take quadratic time.
    let end = rest.char_indices().take(16).map(|(at, _)| at).find(|at| rest[*at..].starts_with(":]"));
    match end {
        Some(end) => literal(&rest[..end + 2], &rest[end + 2..], out),
        None => literal("\\[", &rest[1..], out),
    }
}

/// A brace that opens no repetition is a brace.
fn repetition<'a>(after: &'a str, out: &mut String) -> Result<&'a str, String> {
    // Long numbers are refused anyhow; looking further would take quadratic time.
    let end = after.bytes().take(64).position(|byte| byte == b'}');
    let Some((inside, rest)) = end.and_then(|end| Some((after.get(..end)?, after.get(end + 1..)?))) else {
        return Ok(literal("\\{", after, out));
    };
    let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !number(low) || !(high.is_empty() || number(high)) {
        return Ok(literal("\\{", after, out));
    }
    for count in [low, high].iter().filter(|count| !count.is_empty()) {
        if count.parse::<u32>().ok().is_none_or(|count| count > MAX_REPEAT) {
            return Err(format!("error parsing regexp: invalid repeat count: `{{{inside}}}`"));
        }
    }
    out.push('{');
    out.push_str(inside);
    Ok(literal("}", rest, out))
}

/// Go knows the flags `i`, `m`, `s` and `U` only.
fn known_flags(after: &str, pattern: &str) -> Result<(), String> {
    let flags: String =
        after.chars().skip(1).take_while(|char| char.is_ascii_alphabetic() || *char == '-').collect();
    let named = after.starts_with("?P<") || after.starts_with("?<");
    if named || flags.chars().all(|flag| "imsU-".contains(flag)) {
        return Ok(());
    }
    Err(format!("error parsing regexp: invalid or unsupported Perl syntax: `{pattern}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_mean_what_they_mean_in_go() {
        let cases = [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١٢", false),
            (r"^[\d_]+$", "1_2", true),
            (r"^\w+$", "é", false),
            (r"^[^\W]+$", "ab", true),
            (r"^\s$", "\u{a0}", false),
            (r"^a{,2}$", "a{,2}", true),
            (r"^{x}$", "{x}", true),
            (r"^a{2,3}$", "aaa", true),
            (r"^[[]$", "[", true),
            (r"^[]a]+$", "]a", true),
            (r"^[^]]$", "]", false),
            (r"^[a&&b]+$", "&", true),
            (r"^[a--]+$", "-", true),
            (r"^[[:alpha:]]+$", "abc", true),
            (r"^\Qa.b\E$", "a.b", true),
            (r"^\Qa.b\E$", "axb", false),
            (r"^\<a\>$", "<a>", true),
            (r"^\p{L}{1,61}$", "éa", true),
            (r"^\p{Greek}\x{41}[\p{Lu}]$", "αAB", true),
            (r"^\x41\101\60$", "AA0", true),
            (r"(?i)^ABC$", "abc", true),
            (r"^(?P<n>a)$", "a", true),
            (r"\bfoo\b", "a foo b", true),
        ];
        for (pattern, text, wanted) in cases {
            assert_eq!(
                Allowance::default().compile(pattern).unwrap().is_match(text),
                wanted,
                "{pattern} on {text}"
            );
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in
            ["(", "[a", "a{1001}", "(?x)a b", "(?=a)", "(?!a)", r"\8", "*", "(?:a{1000}){1000}", r"\"]
        {
            let error = Allowance::default().compile(pattern).unwrap_err();
            assert!(!error.contains('\n'), "{pattern}: {error}");
        }
    }

    #[test]
    fn many_patterns_share_one_allowance() {
        let mut allowance = Allowance::default();
        let compiled = (0..10_000).take_while(|_| allowance.compile("a").is_ok()).count();
        assert!((1_000..10_000).contains(&compiled), "{compiled}");
    }
}
