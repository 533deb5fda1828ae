//! Takes out of answers what differs between two runs of the same script.
//!
//! Uids, resource versions, generated names, cluster addresses and node ports get numbers in the order in which they are first seen, so that it still
//! shows where two of them are the same. Times of this age become `<time>`: scripts that care for a time
//! choose one before 2024.

use std::collections::BTreeMap;
use std::mem;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use crate::exchange::Answer;
use crate::json_query;
use crate::render::render;

/// The headers that are compared.
const HEADERS: [&str; 3] = ["Content-Type", "Warning", "Retry-After"];

static UID: LazyLock<Regex> =
    LazyLock::new(|| regex("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"));
static TIME: LazyLock<Regex> =
    LazyLock::new(|| regex(r"20(?:2[4-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(?:Z|[+-]\d\d:\d\d)"));
static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r"eyJ[\w-]+\.[\w-]+\.[\w-]+"));
static VERSION_IN_TEXT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)(resource ?version(?: in [a-z ]+)?|current):? \(?(\d+)\)?(?: \((\d+)\))?"));
/// Where in the source code of Kubernetes a scheme was made: it depends on how it was built.
static SCHEME: LazyLock<Regex> = LazyLock::new(|| regex(r#" in scheme "[^"]*""#));
/// A value of a type that is internal to Kubernetes, as JSON.
static INTERNAL_VALUE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(Invalid|Unsupported) value: (?:\{.*?\}|\[\{.*?\}\]): "));
/// The differences of two such values, line by line.
static INTERNAL_DIFFERENCE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)\n@@ .*"));
/// All errors of an object; the causes report the same ones separately.
static ALL_FAULTS: LazyLock<Regex> = LazyLock::new(|| regex(r"(?s)is invalid: \[.*\]"));
/// An object that stands in a message, quoted.
static OBJECT_IN_TEXT: LazyLock<Regex> = LazyLock::new(|| regex(r#""(\{(?:\\.|[^"\\])*\})""#));
/// An address of the range from which Services get theirs.
static CLUSTER_IP: LazyLock<Regex> = LazyLock::new(|| regex(r"^10\.(?:9[6-9]|10\d|11[01])\.\d+\.\d+$"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"^(\d+[dhms])+$"));

/// The range from which node ports are drawn.
const NODE_PORTS: std::ops::RangeInclusive<i64> = 30_000..=32_767;
/// A run of at least this many letters comes from `{fill}`.
const FILLING_MIN: usize = 1000;

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the patterns above are correct")
}

/// What is known so far in one run of a script.
#[derive(Debug, Default)]
pub struct Normaliser {
    uids: BTreeMap<String, String>,
    versions: BTreeMap<String, String>,
    names: BTreeMap<String, String>,
    addresses: BTreeMap<String, String>,
    ports: BTreeMap<String, String>,
    /// Finds names that the server made up, by the prefixes that it was given.
    generated: Vec<Regex>,
}

impl Normaliser {
    /// An answer as text: its code, its headers and its body, or the parts of the body that are to be shown.
    pub fn answer(&mut self, answer: &Answer, show: &[String]) -> String {
        let mut text = answer.code.to_string();
        for name in HEADERS {
            for value in answer.headers_named(name) {
                let value = self.text(value);
                text.push_str(&format!("\n{name}: {value}"));
            }
        }
        match answer.value() {
            Some(value) => text.push_str(&format!("\n{}", self.value(&value, show))),
            None if answer.body.is_empty() => {}
            None => text.push_str(&format!("\n{}", self.text(answer.text().trim_end()))),
        }
        text
    }

    /// A body or an event as text.
    pub fn value(&mut self, value: &Value, show: &[String]) -> String {
        let mut value = value.clone();
        self.normalise(&mut value);
        if show.is_empty() {
            return render(&value);
        }
        let parts = show.iter().map(|path| match json_query::find(&value, path) {
            Some(found) => format!("{path}: {}", render(found)),
            None => format!("{path} is absent"),
        });
        parts.collect::<Vec<_>>().join("\n")
    }

    /// From now on, names that the server completes from this prefix are numbered.
    pub fn expect_names(&mut self, prefix: &str) {
        let pattern = format!("{}[bcdfghjklmnpqrstvwxz2456789]{{5}}", regex::escape(prefix));
        self.generated.push(regex(&pattern));
    }

    fn normalise(&mut self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.text(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.normalise(item)),
            Value::Object(fields) => {
                // The version of a list or a bookmark is that of the whole store, which others write to as well.
                let of_store = fields.contains_key("items")
                    || fields.contains_key("rows")
                    || fields.get("type").is_some_and(|kind| kind == "BOOKMARK");
                if of_store {
                    blank_version(fields.get_mut("metadata"));
                    blank_version(fields.get_mut("object").and_then(|object| object.get_mut("metadata")));
                }
                for (key, value) in fields.iter_mut() {
                    self.normalise_field(key, value);
                }
                // Who owns a reference to an owner is said under its uid.
                if fields.keys().any(|key| UID.is_match(key)) {
                    *fields =
                        mem::take(fields).into_iter().map(|(key, value)| (self.text(&key), value)).collect();
                }
            }
            _ => {}
        }
    }

    fn normalise_field(&mut self, key: &str, value: &mut Value) {
        match (key, &mut *value) {
            ("resourceVersion", Value::String(text))
                if text.parse::<u64>().is_ok_and(|number| number > 0) =>
            {
                *text = numbered(&mut self.versions, text, "version");
            }
            ("clusterIP", Value::String(ip)) if CLUSTER_IP.is_match(ip) => {
                *ip = numbered(&mut self.addresses, ip, "address");
            }
            ("clusterIPs", Value::Array(ips)) => {
                for ip in ips.iter_mut().filter(|ip| ip.as_str().is_some_and(|ip| CLUSTER_IP.is_match(ip))) {
                    *ip = numbered(&mut self.addresses, ip.as_str().unwrap_or_default(), "address").into();
                }
            }
            ("nodePort" | "healthCheckNodePort", Value::Number(port))
                if port.as_i64().is_some_and(|port| NODE_PORTS.contains(&port)) =>
            {
                *value = numbered(&mut self.ports, &port.to_string(), "node port").into();
            }
            // Kubernetes walks maps of managers and of properties here, in any order.
            ("causes", Value::Array(causes)) => {
                causes.sort_by_key(Value::to_string);
                self.normalise(value);
            }
            // Entries are ordered by the second in which they were made, which may differ from run to run.
            ("managedFields", Value::Array(entries)) => {
                let part = |entry: &Value, field: &str| entry[field].as_str().unwrap_or_default().to_owned();
                entries.sort_by_key(|entry| {
                    ["operation", "manager", "subresource"].map(|field| part(entry, field))
                });
                self.normalise(value);
            }
            // The words in which Kubernetes describes its columns are its own.
            ("columnDefinitions", Value::Array(columns)) => {
                for description in columns.iter_mut().filter_map(|column| column.get_mut("description")) {
                    *description = "<description>".into();
                }
            }
            ("continue", Value::String(text)) if !text.is_empty() => *text = "<continue>".to_owned(),
            ("cells", Value::Array(cells)) => {
                for cell in
                    cells.iter_mut().filter(|cell| cell.as_str().is_some_and(|cell| AGE.is_match(cell)))
                {
                    *cell = "<age>".into();
                }
                self.normalise(value);
            }
            _ => self.normalise(value),
        }
    }

    fn text(&mut self, text: &str) -> String {
        let text = &short(text);
        let text = OBJECT_IN_TEXT.replace_all(text, |found: &Captures<'_>| self.quoted_object(&found[0]));
        let text = TOKEN.replace_all(&text, "<token>");
        let text = SCHEME.replace_all(&text, "");
        let text = INTERNAL_DIFFERENCE.replace_all(&text, "");
        let text = INTERNAL_VALUE.replace_all(&text, "$1 value: <object>: ");
        let text = ALL_FAULTS.replace_all(&text, "is invalid: <all causes>");
        let text = UID.replace_all(&text, |found: &Captures<'_>| numbered(&mut self.uids, &found[0], "uid"));
        let text = TIME.replace_all(&text, |found: &Captures<'_>| {
            // Clients parse fractions differently, so their length is kept.
            let digits = found.get(1).map_or(0, |fraction| fraction.len() - 1);
            if digits == 0 { "<time>".to_owned() } else { format!("<time with {digits} digits>") }
        });
        let mut text = VERSION_IN_TEXT.replace_all(&text, "$1: <version>").into_owned();
        for pattern in &self.generated {
            let names = &mut self.names;
            let name = |found: &Captures<'_>| numbered(names, &found[0], "name");
            text = pattern.replace_all(&text, name).into_owned();
        }
        text
    }

    /// Kubernetes writes the fields of an object in the order of its source code, which does not matter.
    fn quoted_object(&mut self, quoted: &str) -> String {
        let object =
            serde_json::from_str::<String>(quoted).ok().and_then(|text| serde_json::from_str(&text).ok());
        let Some(mut object): Option<Value> = object else { return quoted.to_owned() };
        self.normalise(&mut object);
        Value::from(object.to_string()).to_string()
    }
}

/// Shows the length of a filling instead of its letters.
fn short(text: &str) -> String {
    let mut shown = String::with_capacity(text.len().min(FILLING_MIN));
    let mut rest = text;
    while let Some(start) = rest.find('x') {
        let (before, from) = rest.split_at(start);
        let length = from.bytes().take_while(|byte| *byte == b'x').count();
        shown.push_str(before);
        match length < FILLING_MIN {
            true => shown.push_str(&from[..length]),
            false => shown.push_str(&format!("<{length} x>")),
        }
        rest = &from[length..];
    }
    shown + rest
}

fn numbered(known: &mut BTreeMap<String, String>, text: &str, what: &str) -> String {
    let number = known.len() + 1;
    known.entry(text.to_owned()).or_insert_with(|| format!("<{what} {number}>")).clone()
}

fn blank_version(metadata: Option<&mut Value>) {
    if let Some(version) = metadata.and_then(|metadata| metadata.get_mut("resourceVersion"))
        && version.as_str().is_some_and(|text| !text.is_empty())
    {
        *version = "<version>".into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(value: Value, expected: &Value) {
        assert_eq!(
            serde_json::from_str::<Value>(&Normaliser::default().value(&value, &[])).unwrap(),
            *expected
        );
    }

    #[test]
    fn what_differs_between_runs_is_numbered() {
        let uid = "01234567-89ab-cdef-0123-456789abcdef";
        check(
            json!({ "metadata": { "uid": uid, "resourceVersion": "17", "creationTimestamp": "2025-01-02T03:04:05Z" },
                    "old": { "resourceVersion": "0" }, "message": format!("uid {uid}, resource version: 17") }),
            &json!({ "metadata": { "uid": "<uid 1>", "resourceVersion": "<version 1>", "creationTimestamp": "<time>" },
                     "old": { "resourceVersion": "0" }, "message": "uid <uid 1>, resource version: <version>" }),
        );
        let key = format!("k:{{\"uid\":\"{uid}\"}}");
        check(json!({ key: uid }), &json!({ "k:{\"uid\":\"<uid 1>\"}": "<uid 1>" }));
        check(json!({ "text": "1999-01-01T00:00:00Z" }), &json!({ "text": "1999-01-01T00:00:00Z" }));
        check(
            json!({ "text": r#"value: "{\"b\":1,\"a\":{\"resourceVersion\":\"17\"}}": no"# }),
            &json!({ "text": r#"value: "{\"a\":{\"resourceVersion\":\"<version 1>\"},\"b\":1}": no"# }),
        );
        let mut normaliser = Normaliser::default();
        normaliser.expect_names("a-");
        let shown = normaliser.value(&json!(["a-24568", "a-bcdfg is not a-24568", "a-other"]), &[]);
        assert_eq!(shown, r#"["<name 1>","<name 2> is not <name 1>","a-other"]"#);
    }

    #[test]
    fn addresses_and_ports_are_numbered() {
        check(
            json!({ "clusterIP": "10.96.7.1", "clusterIPs": ["10.96.7.1"],
                    "ports": [{ "nodePort": 30_001 }, { "nodePort": 31_000 }], "healthCheckNodePort": 30_001 }),
            &json!({ "clusterIP": "<address 1>", "clusterIPs": ["<address 1>"],
                     "ports": [{ "nodePort": "<node port 1>" }, { "nodePort": "<node port 2>" }], "healthCheckNodePort": "<node port 1>" }),
        );
        let others =
            json!({ "clusterIP": "None", "clusterIPs": ["None"], "ip": "10.96.7.1", "port": 30_001 });
        check(others.clone(), &others);
    }

    #[test]
    fn fillings_are_counted() {
        let filling = "x".repeat(1000);
        check(json!([format!("ax {filling}y"), "xx"]), &json!(["ax <1000 x>y", "xx"]));
    }

    #[test]
    fn versions_of_the_store_are_not_distinguished() {
        let item = json!({ "metadata": { "resourceVersion": "5" } });
        check(
            json!({ "metadata": { "resourceVersion": "9", "continue": "abc" }, "items": [item, item] }),
            &json!({ "metadata": { "resourceVersion": "<version>", "continue": "<continue>" },
                     "items": [{ "metadata": { "resourceVersion": "<version 1>" } }, { "metadata": { "resourceVersion": "<version 1>" } }] }),
        );
    }

    #[test]
    fn only_what_is_asked_for_is_shown() {
        let answer = Answer {
            code: 200,
            headers: vec![
                ("content-type".into(), "application/json".into()),
                ("Date".into(), "today".into()),
            ],
            body: br#"{"kind":"A","rest":1}"#.to_vec(),
        };
        let show = ["kind".to_owned(), "other".to_owned()];
        assert_eq!(
            Normaliser::default().answer(&answer, &show),
            "200\nContent-Type: application/json\nkind: \"A\"\nother is absent"
        );
    }
}
