//! The formats of names, keys and label values, with the messages that Kubernetes gives for each.
//!
//! Every function returns the violations of the text; an empty list means that it is valid.

const LABEL_FORMAT: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const SUBDOMAIN_FORMAT: &str = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*";
const LABEL_KEY_FORMAT: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const LABEL_KEY_RULE: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const LABEL_KEY_EXAMPLES: &[&str] = &["MyName", "my.name", "123-abc"];

const LABEL_MAX: usize = 63;
const SUBDOMAIN_MAX: usize = 253;

/// Validates a name. The flag says that something will be appended to it.
pub type NameRule = fn(&str, bool) -> Vec<String>;

/// An RFC 1123 label: `my-name`.
pub fn is_dns1123_label(text: &str) -> Vec<String> {
    let mut violations = too_long(text, LABEL_MAX, "characters");
    if !label_shaped(text) {
        violations.push(if subdomain_shaped(text) {
            "must not contain dots".to_owned()
        } else {
            let rule = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
            format_error(rule, LABEL_FORMAT, &["my-name", "123-abc"])
        });
    }
    violations
}

/// An RFC 1123 subdomain: `example.com`.
pub fn is_dns1123_subdomain(text: &str) -> Vec<String> {
    subdomain(text, "characters")
}

/// An RFC 1035 label: like an RFC 1123 label, but it starts with a letter.
pub fn is_dns1035_label(text: &str) -> Vec<String> {
    let mut violations = too_long(text, LABEL_MAX, "characters");
    if !label_shaped(text) || !text.starts_with(|first: char| first.is_ascii_lowercase()) {
        let rule = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
        violations.push(format_error(rule, "[a-z]([-a-z0-9]*[a-z0-9])?", &["my-name", "abc-123"]));
    }
    violations
}

/// A label key, annotation key or finalizer: `example.com/MyName`, with or without the prefix.
pub fn is_qualified_name(text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    let name = match text.split_once('/') {
        None => text,
        Some((_, rest)) if rest.contains('/') => {
            let rule = format_error(LABEL_KEY_RULE, LABEL_KEY_FORMAT, LABEL_KEY_EXAMPLES);
            let tail = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            return vec![format!("a valid label key {rule} {tail}")];
        }
        Some(("", name)) => {
            violations.push("prefix part must be non-empty".to_owned());
            name
        }
        Some((prefix, name)) => {
            violations
                .extend(subdomain(prefix, "bytes").iter().map(|message| format!("prefix part {message}")));
            name
        }
    };
    if name.is_empty() {
        violations.push("name part must be non-empty".to_owned());
    }
    violations
        .extend(too_long(name, LABEL_MAX, "bytes").iter().map(|message| format!("name part {message}")));
    if !label_key_shaped(name) {
        let rule = format_error(LABEL_KEY_RULE, LABEL_KEY_FORMAT, LABEL_KEY_EXAMPLES);
        violations.push(format!("name part {rule}"));
    }
    violations
}

/// The value of a label; it may be empty.
pub fn is_valid_label_value(text: &str) -> Vec<String> {
    let mut violations = too_long(text, LABEL_MAX, "bytes");
    if !text.is_empty() && !label_key_shaped(text) {
        let rule = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
        let format = format!("({LABEL_KEY_FORMAT})?");
        violations.push(format_error(rule, &format, &["MyValue", "my_value", "12345"]));
    }
    violations
}

/// The name of a port: at most 15 lower-case letters, digits and single hyphens.
pub fn is_valid_port_name(text: &str) -> Vec<String> {
    let mut violations = too_long(text, 15, "characters");
    if text.is_empty() || !text.bytes().all(label_byte) {
        violations.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !text.bytes().any(|byte| byte.is_ascii_lowercase()) {
        violations.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        violations.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        violations.push("must not begin or end with a hyphen".to_owned());
    }
    violations
}

/// A port number from 1 to 65535.
pub fn is_valid_port_number(port: i64) -> Vec<String> {
    if (1..=65_535).contains(&port) {
        return Vec::new();
    }
    vec!["must be between 1 and 65535, inclusive".to_owned()]
}

/// A key of a ConfigMap or Secret.
pub fn is_config_map_key(text: &str) -> Vec<String> {
    let mut violations = too_long(text, SUBDOMAIN_MAX, "characters");
    if text.is_empty() || !text.bytes().all(name_byte) {
        let rule = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'";
        violations.push(format_error(rule, "[-._a-zA-Z0-9]+", &["key.name", "KEY_NAME", "key-name"]));
    }
    if text == "." || text == ".." {
        violations.push(format!("must not be '{text}'"));
    } else if text.starts_with("..") {
        violations.push("must not start with '..'".to_owned());
    }
    violations
}

/// The name of an environment variable: printable ASCII other than `=`.
pub fn is_env_var_name(text: &str) -> Vec<String> {
    let mut violations = Vec::new();
    if text.is_empty() {
        violations.push("environment variable name must be non-empty".to_owned());
    }
    if text.bytes().any(|byte| !(b' '..=b'~').contains(&byte) || byte == b'=') {
        let rule = "a valid environment variable name must consist only of printable ASCII characters other than '='";
        violations.push(rule.to_owned());
    }
    violations
}

/// A percentage: `25%`.
pub fn is_valid_percent(text: &str) -> Vec<String> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let rule = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![format_error(rule, "[0-9]+%", &["1%", "93%"])]
}

/// A name that can stand between two slashes of a URL.
pub fn is_path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    is_path_segment_prefix(text)
}

/// The start of a name that can stand between two slashes of a URL.
fn is_path_segment_prefix(text: &str) -> Vec<String> {
    ["/", "%"]
        .iter()
        .filter(|banned| text.contains(**banned))
        .map(|banned| format!("may not contain '{banned}'"))
        .collect()
}

/// [`NameRule`]: an RFC 1123 subdomain.
pub fn subdomain_name(name: &str, prefix: bool) -> Vec<String> {
    is_dns1123_subdomain(&masked(name, prefix))
}

/// [`NameRule`]: an RFC 1123 label.
pub fn label_name(name: &str, prefix: bool) -> Vec<String> {
    is_dns1123_label(&masked(name, prefix))
}

/// [`NameRule`]: an RFC 1035 label.
pub fn dns1035_name(name: &str, prefix: bool) -> Vec<String> {
    is_dns1035_label(&masked(name, prefix))
}

/// [`NameRule`]: anything that can stand in a URL.
pub fn path_segment_name(name: &str, prefix: bool) -> Vec<String> {
    if prefix { is_path_segment_prefix(name) } else { is_path_segment(name) }
}

/// Something is appended to a prefix, so a trailing dash is no fault. Kubernetes replaces the last
/// two characters by one, and this does the same: it matters only to lengths.
fn masked(name: &str, prefix: bool) -> String {
    if prefix
        && name.ends_with('-')
        && let Some(start) = name.len().checked_sub(2).and_then(|end| name.get(..end))
    {
        return format!("{start}a");
    }
    name.to_owned()
}

fn subdomain(text: &str, unit: &str) -> Vec<String> {
    let mut violations = too_long(text, SUBDOMAIN_MAX, unit);
    if !subdomain_shaped(text) {
        let rule = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
        violations.push(format_error(rule, SUBDOMAIN_FORMAT, &["example.com"]));
    }
    violations
}

fn too_long(text: &str, max: usize, unit: &str) -> Vec<String> {
    if text.len() <= max {
        return Vec::new();
    }
    vec![format!("must be no more than {max} {unit}")]
}

fn format_error(rule: &str, format: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{rule} (e.g. {}regex used for validation is '{format}')", examples.join(" or "))
}

fn subdomain_shaped(text: &str) -> bool {
    text.split('.').all(label_shaped)
}

fn label_shaped(text: &str) -> bool {
    framed(text, label_byte, |byte| byte.is_ascii_lowercase() || byte.is_ascii_digit())
}

fn label_key_shaped(text: &str) -> bool {
    framed(text, name_byte, |byte| byte.is_ascii_alphanumeric())
}

/// Whether the text is not empty, has only bytes of one kind, and at both ends those of another.
fn framed(text: &str, inner: fn(u8) -> bool, edge: fn(u8) -> bool) -> bool {
    match text.as_bytes() {
        [] => false,
        [only] => edge(*only),
        [first, middle @ .., last] => edge(*first) && edge(*last) && middle.iter().all(|byte| inner(*byte)),
    }
}

fn label_byte(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
}

fn name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    type Rule = fn(&str) -> Vec<String>;

    fn check(rule: Rule, good: &[&str], bad: &[&str]) {
        for text in good {
            assert_eq!(rule(text), Vec::<String>::new(), "{text:?}");
        }
        for text in bad {
            assert_ne!(rule(text), Vec::<String>::new(), "{text:?}");
        }
    }

    #[test]
    fn labels_and_subdomains() {
        let long = "a".repeat(63);
        let longer = "a".repeat(64);
        check(is_dns1123_label, &["a", "0", "a-b", "0a", &long], &["", "-", "a-", "A", "a.b", "ä", &longer]);
        check(is_dns1035_label, &["a", "a-1"], &["", "0a", "a-", "A", "1"]);
        let domain = format!("{long}.{long}.{long}.{}", "a".repeat(61));
        check(is_dns1123_subdomain, &["a.b", "a", "0.1", &domain], &["", ".", "a..b", "a.", ".a", "a_b"]);
        assert_eq!(is_dns1123_subdomain(&format!("{domain}a")), ["must be no more than 253 characters"]);
    }

    #[test]
    fn kinds_of_dns_names_are_distinguished() {
        // Label of RFC 1035, label of RFC 1123, subdomain.
        let cases = [
            ("abc-1", true, true, true),
            ("1abc", false, true, true),
            ("a.b", false, false, true),
            ("A", false, false, false),
            ("a-", false, false, false),
            ("", false, false, false),
            ("a..b", false, false, false),
        ];
        for (text, letter_first, label, subdomain) in cases {
            assert_eq!(is_dns1035_label(text).is_empty(), letter_first, "{text}");
            assert_eq!(is_dns1123_label(text).is_empty(), label, "{text}");
            assert_eq!(is_dns1123_subdomain(text).is_empty(), subdomain, "{text}");
        }
        assert_eq!(is_dns1035_label(&"a".repeat(64)), ["must be no more than 63 characters"]);
    }

    #[test]
    fn messages_name_the_rule() {
        let cases: [(Rule, &str, &str); 18] = [
            (is_dns1123_label, "", "a lowercase RFC 1123 label"),
            (is_dns1123_label, "A", "a lowercase RFC 1123 label"),
            (is_dns1123_label, "a-", "a lowercase RFC 1123 label"),
            (is_dns1123_subdomain, "a..b", "a lowercase RFC 1123 subdomain"),
            (is_valid_port_name, "0123456789abcdef", "must be no more than 15 characters"),
            (is_valid_port_name, "80", "must contain at least one letter"),
            (is_valid_port_name, "a--b", "must not contain consecutive hyphens"),
            (is_valid_port_name, "-a", "must not begin or end"),
            (is_valid_port_name, "A", "must contain only alpha-numeric"),
            (is_qualified_name, "", "name part must be non-empty"),
            (is_qualified_name, "a/b/c", "a valid label key must consist of"),
            (is_qualified_name, "-a", "name part must consist of"),
            (is_qualified_name, "Ä/b", "prefix part a lowercase"),
            (is_config_map_key, "", "a valid config key"),
            (is_config_map_key, "..", "must not be '..'"),
            (is_config_map_key, "..a", "must not start with"),
            (is_env_var_name, "A=", "a valid environment variable"),
            (is_env_var_name, "ä", "a valid environment variable"),
        ];
        for (rule, text, start) in cases {
            let violations = rule(text);
            assert!(violations.iter().any(|message| message.starts_with(start)), "{text}: {violations:?}");
        }
    }

    #[test]
    fn messages_carry_the_format() {
        assert_eq!(is_dns1123_label("a.b"), ["must not contain dots"]);
        assert_eq!(
            is_dns1123_subdomain("Bad_Name"),
            [
                r"a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
            ]
        );
        assert_eq!(
            is_valid_label_value("-"),
            [
                "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
            ]
        );
    }

    #[test]
    fn qualified_names() {
        let long = "a".repeat(64);
        check(
            is_qualified_name,
            &["a", "A_b.c", "example.com/Name", "0"],
            &["", "/", "/a", "a/", "a/b/c", "A/b", "-a"],
        );
        assert_eq!(is_qualified_name(&long), ["name part must be no more than 63 bytes"]);
        assert_eq!(is_qualified_name("/a"), ["prefix part must be non-empty"]);
        let prefix = format!("{}/a", "a.".repeat(127) + "a");
        assert_eq!(is_qualified_name(&prefix), ["prefix part must be no more than 253 bytes"]);
        assert!(is_qualified_name("a/")[0].starts_with("name part must be non-empty"));
        assert!(is_qualified_name("a/b/c")[0].ends_with("(e.g. 'example.com/MyName')"));
    }

    #[test]
    fn smaller_formats() {
        check(is_valid_label_value, &["", "a", "A_.b"], &["-a", "a/b", "a b"]);
        check(is_valid_port_name, &["http", "a1-b"], &["", "80", "-a", "a--b", "HTTP", "abcdefghijklmnop"]);
        check(is_config_map_key, &["a", ".a", "A_b"], &["", ".", "..", "..a", "a/b"]);
        check(is_env_var_name, &["A", "a b"], &["", "a=b", "ä"]);
        check(is_valid_percent, &["1%", "100%"], &["", "%", "1", "-1%"]);
        check(is_path_segment, &["a", "system:node", "..."], &[".", "..", "a/b", "a%"]);
        assert_eq!(is_valid_port_number(0), ["must be between 1 and 65535, inclusive"]);
    }

    #[test]
    fn a_prefix_may_end_with_a_dash() {
        assert!(subdomain_name("abc-", true).is_empty());
        assert!(!subdomain_name("abc-", false).is_empty());
        assert!(!subdomain_name("-", true).is_empty());
        assert!(!subdomain_name("ä-", true).is_empty());
        assert!(path_segment_name("..", true).is_empty());
        // One character goes with the dash, so 64 characters pass.
        assert!(label_name(&format!("{}-", "a".repeat(63)), true).is_empty());
    }
}
