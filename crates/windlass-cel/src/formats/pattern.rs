//! Regular expressions in the dialect of Go (RE2), compiled by the `regex` crate within limits.

use std::fmt;

use regex::{Regex, RegexBuilder};

/// Go refuses to repeat more often.
const MAX_REPEAT: u32 = 1000;
/// How deep groups may be nested.
const MAX_NESTING: u32 = 200;
/// Names and numbers in braces are short; looking further for a brace that closes would take quadratic time.
const BRACED_MAX: usize = 64;

/// Why a pattern was refused, in one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// What it compiles to is larger than the limit.
    TooLarge {
        /// The pattern.
        pattern: String,
    },
    /// It is none, worded as Go words it.
    Invalid(String),
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PatternError::TooLarge { pattern } => {
                write!(f, "error parsing regexp: expression too large: `{pattern}`")
            }
            PatternError::Invalid(reason) => write!(f, "error parsing regexp: {reason}"),
        }
    }
}

impl std::error::Error for PatternError {}

/// Compiles a pattern as Go would read it, to at most `size_limit` bytes.
///
/// # Errors
/// Why it is refused.
pub fn compile(pattern: &str, size_limit: usize) -> Result<Regex, PatternError> {
    let translated = Translator::run(pattern).map_err(PatternError::Invalid)?;
    let built = RegexBuilder::new(&translated).size_limit(size_limit).nest_limit(MAX_NESTING).build();
    built.map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => PatternError::TooLarge { pattern: pattern.to_owned() },
        other => PatternError::Invalid(format!("{}: `{pattern}`", reworded(&other.to_string()))),
    })
}

/// The last line of the parser's report, which is the one that says why; the commonest complaints in Go's words.
fn reworded(error: &str) -> String {
    let reason = error.lines().last().unwrap_or("").trim().trim_start_matches("error: ");
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
        let out = String::with_capacity(pattern.len() + 8);
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
            '{' => repetition_length(rest)?,
            _ => 0,
        };
        if repeated > 0 {
            return self.repeat(repeated);
        }
        self.repetition = None;
        match c {
            '\\' => return Ok(self.escape(false)),
            '[' => return Ok(self.open_class()),
            '{' => self.out.push_str("\\{"),
            '(' if rest.starts_with("(?") => {
                check_flags(rest)?;
                // Else the question mark would be read as a repetition.
                self.out.push_str("(?");
                return Ok(2);
            }
            c => self.out.push(c),
        }
        Ok(c.len_utf8())
    }

    /// A repetition of the given length, and the mark that makes it lazy.
    fn repeat(&mut self, length: usize) -> Result<usize, String> {
        let lazy = usize::from(self.rest[length..].starts_with('?'));
        let (operator, _) = self.rest.split_at(length + lazy);
        if let Some(previous) = self.repetition.replace(operator) {
            return Err(format!("invalid nested repetition operator: `{previous}{operator}`"));
        }
        self.out.push_str(operator);
        Ok(operator.len())
    }

    /// `[^]a]`: a bracket that stands first is a member.
    fn open_class(&mut self) -> usize {
        let rest = self.rest;
        self.class = Some(rest);
        self.out.push('[');
        let negated = rest[1..].starts_with('^');
        let literal = rest[1 + usize::from(negated)..].starts_with(']');
        self.out.push_str(if negated { "^" } else { "" });
        self.out.push_str(if literal { "\\]" } else { "" });
        1 + usize::from(negated) + usize::from(literal)
    }

    /// One step within a class; returns how much was read.
    fn in_class(&mut self, c: char) -> usize {
        let rest = self.rest;
        match c {
            '\\' => return self.escape(true),
            '[' => {
                if let Some(length) = posix_class_length(rest) {
                    self.out.push_str(&rest[..length]);
                    return length;
                }
                self.out.push_str("\\[");
            }
            ']' => {
                self.class = None;
                self.out.push(']');
            }
            // Doubled, these are operations on sets; Go has none.
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
        let after = &self.rest[1..];
        let Some(c) = after.chars().next() else {
            self.out.push('\\');
            return 1;
        };
        if let Some((code, digits)) = octal(after) {
            self.out.push_str(&format!("\\x{{{code:x}}}"));
            return 1 + digits;
        }
        match c {
            'd' | 'w' | 's' | 'D' | 'W' | 'S' => self.ascii_class(c, in_class),
            'Q' if !in_class => {
                // Everything up to `\E` is literal.
                let quoted = &after[1..];
                let end = quoted.find("\\E").unwrap_or(quoted.len());
                self.out.push_str(&regex::escape(&quoted[..end]));
                return (2 + end + 2).min(self.rest.len());
            }
            'b' | 'B' if !in_class => self.out.push_str(&format!("(?-u:\\{c})")),
            '<' | '>' | '_' => self.out.push(c),
            // `\p{Greek}` and `\x{10FFFF}`: these braces are no repetition.
            'p' | 'P' | 'x' if after[1..].starts_with('{') => {
                let end = after.bytes().take(BRACED_MAX).position(|byte| byte == b'}');
                let length = end.map_or(1, |end| end + 1);
                self.out.push('\\');
                self.out.push_str(&after[..length]);
                return 1 + length;
            }
            _ => {
                self.out.push('\\');
                self.out.push(c);
            }
        }
        1 + c.len_utf8()
    }

    /// `\d`, `\w` and `\s` are ASCII in Go.
    fn ascii_class(&mut self, letter: char, in_class: bool) {
        let members = match letter.to_ascii_lowercase() {
            'd' => "0-9",
            'w' => "0-9A-Za-z_",
            _ => "\\t\\n\\x0C\\r ",
        };
        match (letter.is_ascii_uppercase(), in_class) {
            (true, _) => self.out.push_str(&format!("[^{members}]")),
            (false, true) => self.out.push_str(members),
            (false, false) => self.out.push_str(&format!("[{members}]")),
        }
    }
}

/// How long `{2}`, `{2,}` or `{2,3}` at the start of the text is; 0 if there is none.
fn repetition_length(text: &str) -> Result<usize, String> {
    let end = text.bytes().take(BRACED_MAX).position(|byte| byte == b'}');
    let Some(inside) = end.and_then(|end| text.get(1..end)) else { return Ok(0) };
    let (low, high) = inside.split_once(',').unwrap_or((inside, inside));
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !number(low) || !(high.is_empty() || number(high)) {
        return Ok(0);
    }
    let too_often = |count: &str| count.parse::<u32>().ok().is_none_or(|count| count > MAX_REPEAT);
    if too_often(low) || !high.is_empty() && too_often(high) {
        return Err(format!("invalid repeat count: `{{{inside}}}`"));
    }
    Ok(inside.len() + 2)
}

/// How long `[:alpha:]` at the start of the text is.
fn posix_class_length(text: &str) -> Option<usize> {
    let inside = text.strip_prefix("[:")?;
    let end = inside.char_indices().take(16).map(|(at, _)| at).find(|at| inside[*at..].starts_with(":]"))?;
    Some(2 + end + 2)
}

/// `0`, `12` and `123` after a backslash are characters, with the number of digits; a single digit would be a
/// reference, which is refused later.
fn octal(after: &str) -> Option<(u32, usize)> {
    let digits = after.bytes().take(3).take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let code = u32::from_str_radix(after.get(..digits)?, 8).ok()?;
    (digits > 1 || code == 0).then_some((code, digits))
}

/// Go knows the flags `i`, `m`, `s` and `U` only, and names for groups.
fn check_flags(group: &str) -> Result<(), String> {
    let after = &group[2..];
    let named = after.starts_with("P<") || after.starts_with('<');
    if named {
        let name = after.trim_start_matches('P').get(1..).unwrap_or("");
        let valid = name.starts_with(|first: char| first.is_alphanumeric() || first == '_');
        return if valid { Ok(()) } else { Err(format!("invalid named capture: `{group}`")) };
    }
    let flags = after.find(|c| !"imsU-".contains(c)).unwrap_or(after.len());
    let end = after[flags..].chars().next();
    if matches!(end, Some(':' | ')')) {
        return Ok(());
    }
    let shown = 2 + flags + end.map_or(0, char::len_utf8);
    Err(format!("invalid or unsupported Perl syntax: `{}`", &group[..shown]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pattern: &str) -> Result<Regex, PatternError> {
        compile(pattern, 4 << 20)
    }

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
            assert_eq!(read(pattern).unwrap().is_match(text), matches, "{pattern} on {text}");
        }
    }

    #[test]
    fn refuses_bad_and_huge_patterns() {
        for pattern in ["[", "(", "a**", "a{2}{3}", "a+??", "(a)\\1", "(?=x)", "\\", "((a{100}){100}){100}"] {
            assert!(read(pattern).is_err(), "{pattern}");
        }
        assert!(read(&"(".repeat(10_000)).is_err());
        assert!(read(&format!("{}{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
    }

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
            assert_eq!(read(pattern).unwrap().is_match(text), wanted, "{pattern} on {text}");
        }
    }

    #[test]
    fn what_go_refuses_is_refused() {
        for pattern in [
            "(",
            "[a",
            "[a--]",
            "a{1001}",
            "(?x)a b",
            "(?=a)",
            "(?!a)",
            r"\8",
            "*",
            "(?:a{1000}){1000}",
            r"\",
        ] {
            let error = read(pattern).unwrap_err().to_string();
            assert!(!error.contains('\n'), "{pattern}: {error}");
        }
    }

    #[test]
    fn errors_are_worded_as_in_go() {
        for (pattern, expected) in [
            ("a{1001}", "invalid repeat count: `{1001}`"),
            ("(?x)a", "invalid or unsupported Perl syntax: `(?x`"),
            ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
            ("(?<=a)", "invalid named capture: `(?<=a)`"),
            ("a**", "invalid nested repetition operator: `**`"),
            ("[a", "missing closing ]: `[a`"),
            ("(", "missing closing ): `(`"),
            (")", "unexpected ): `)`"),
            ("*", "missing argument to repetition operator: `*`"),
        ] {
            assert_eq!(
                read(pattern).unwrap_err().to_string(),
                format!("error parsing regexp: {expected}"),
                "{pattern}"
            );
        }
    }
}
