//! What the compiler itself shows for broken enums: the right message, on the right line, and nothing else.
//!
//! The test has cargo compile this very file once more, with `tests/ui/bad_enums.rs` in it.

#![expect(unexpected_cfgs, reason = "only the test below sets `bad_enums`")]

extern crate self as windlass;

use std::process::Command;

use serde_json::Value;

include!("contract/mod.rs");

#[cfg(bad_enums)]
#[path = "ui/bad_enums.rs"]
mod bad_enums;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/ui/bad_enums.rs");

/// The lines with what is expected there, as the file itself says.
fn expected() -> Vec<(u64, String)> {
    let mut expected = Vec::new();
    let mut pending = Vec::new();
    for (line, number) in std::fs::read_to_string(FILE).expect("the broken enums").lines().zip(1..) {
        match line.trim().strip_prefix("//~ ") {
            Some(part) => pending.push(part.to_owned()),
            None => expected.extend(pending.drain(..).map(|part| (number, part))),
        }
    }
    expected
}

/// The line and text of each error, in the order of lines.
fn reported() -> Vec<(u64, String)> {
    let output = Command::new(env!("CARGO"))
        .args(["rustc", "--quiet", "--offline", "--package", "windlass-derive", "--test", "ui"])
        .args(["--message-format", "json", "--", "--cfg", "bad_enums"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(!output.status.success(), "the broken enums compiled");
    let stdout = String::from_utf8_lossy(&output.stdout);
    let messages = stdout.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut errors: Vec<(u64, String)> = messages
        .map(|line| line["message"].clone())
        .filter(|message| message["level"] == "error")
        .filter_map(|message| {
            let line = message["spans"].get(0)?["line_start"].as_u64()?;
            Some((line, message["message"].as_str()?.to_owned()))
        })
        .collect();
    assert!(!errors.is_empty(), "no errors: {}", String::from_utf8_lossy(&output.stderr));
    errors.sort_by_key(|(line, _)| *line);
    errors
}

#[test]
fn the_compiler_points_at_each_mistake() {
    let (expected, mut reported) = (expected(), reported());
    let all = format!("{reported:#?}");
    for (line, part) in &expected {
        let found = reported.iter().position(|(at, message)| at == line && message.contains(part));
        assert!(found.is_some(), "line {line}: no error says {part:?}; there are {all}");
        found.map(|index| reported.remove(index));
    }
    assert!(reported.is_empty(), "unexpected errors: {reported:#?}");
}
