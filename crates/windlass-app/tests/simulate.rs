//! `simulate fleet` in a program of its own: in text, in JSON and as a picture.

use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;

const SMALL: [&str; 10] =
    ["simulate", "fleet", "--instances", "5", "--slots", "64", "--objects", "1000", "--minutes", "3"];

/// The exit code, and what was printed to standard output and to standard error.
fn simulated(more: &[&str]) -> (Option<i32>, String, String) {
    let test = std::env::current_exe().expect("a test has a path");
    let folder: PathBuf = test.ancestors().nth(2).expect("tests are in target/PROFILE/deps").join("examples");
    let program = folder.join(format!("pairs{}", std::env::consts::EXE_SUFFIX));
    let Output { status, stdout, stderr } =
        Command::new(&program).args(SMALL).args(more).output().expect("cargo builds examples with tests");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

/// The document without the time that it took.
fn document(more: &[&str]) -> Value {
    let (code, text, error) = simulated(&[more, &["--output", "json"]].concat());
    assert_eq!(code, Some(0), "{text}{error}");
    let mut document: Value = serde_json::from_str(&text).expect("one document");
    let elapsed = document["elapsedSeconds"].take();
    assert!(elapsed.as_f64().expect("a time") > 0.0);
    document
}

#[test]
fn text_has_a_block_for_each_scenario_and_the_same_seed_gives_the_same() {
    let (code, text, error) = simulated(&["--seed", "3"]);
    assert_eq!((code, error.as_str()), (Some(0), ""), "{text}");
    assert!(text.starts_with("5 instances, 1,000 objects, 64 slots, seed 3; lease 6 s,"), "{text}");
    for scenario in ["rolling-restart", "flapping", "mass-failure", "weights", "scale", "chaos"] {
        assert!(text.contains(&format!("\n{scenario}: ")), "{text}");
    }
    assert_eq!(text.matches("\n  violations       0\n").count(), 6, "{text}");
    assert_eq!(text.matches("balance of costs").count(), 1, "{text}");
    let (without_time, time) = text.trim_end().rsplit_once('\n').expect("lines");
    assert!(time.starts_with("18 min of virtual time in "), "{time}");
    assert!(simulated(&["--seed", "3"]).1.starts_with(without_time));
    assert!(!simulated(&["--seed", "4"]).1.replace("seed 4", "seed 3").starts_with(without_time));
}

#[test]
fn documents_show_what_the_protocol_promises() {
    let document = document(&["--seed", "5"]);
    assert_eq!(document["verdict"], "holds");
    assert_eq!(document["fleet"]["objects"], 1000);
    let scenario = |name: &str| {
        let all = document["scenarios"].as_array().expect("a list");
        all.iter().find(|scenario| scenario["scenario"] == name).expect(name).clone()
    };
    let number = |scenario: &Value, pointer: &str| {
        scenario.pointer(pointer).and_then(Value::as_f64).expect("a number")
    };
    let rolling = scenario("rolling-restart");
    assert_eq!(rolling["moved"]["objects"], 0, "restarts under stable names move nothing");
    assert_eq!(rolling["moved"]["least"], 0);
    let failure = scenario("mass-failure");
    // The lease, the time until the last renewal is seen, two swaps, and the load.
    assert!((6_000.0..10_000.0).contains(&number(&failure, "/unownedMs/worst")), "{failure:#}");
    assert_eq!(failure["moved"]["planned"], failure["moved"]["least"], "{failure:#}");
    let flapping = scenario("flapping");
    assert!(number(&flapping, "/throughput/steady") > 0.9, "{flapping:#}");
    let scale = scenario("scale");
    assert!(number(&scale, "/moved/objects") > 500.0, "{scale:#}");
    // 13 of 64 slots where 12.8 are fair, and 16 objects in each slot, with a standard deviation of 4.
    assert!(number(&scale, "/balance/worst") < 1.25, "{scale:#}");
    let weights = scenario("weights");
    assert!(number(&weights, "/costBalance/end") < 1.1, "{weights:#}");
}

#[test]
fn the_same_seed_gives_the_same_document() {
    let both = || document(&["--scenario", "flapping,weights", "--seed", "8"]);
    assert_eq!(both(), both());
    assert_ne!(both(), document(&["--scenario", "flapping,weights", "--seed", "9"]));
}

#[test]
fn a_plot_is_one_picture_that_needs_nothing_else() {
    let path = std::env::temp_dir().join(format!("windlass-fleet-{}.svg", std::process::id()));
    let draw = || {
        let (code, text, error) = simulated(&["--plot", path.to_str().expect("a path")]);
        assert_eq!(code, Some(0), "{text}{error}");
        std::fs::read_to_string(&path).expect("it was drawn")
    };
    let svg = draw();
    assert_eq!(svg, draw(), "the same seed gives the same picture");
    std::fs::remove_file(&path).expect("it was drawn");
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    assert!(
        svg.contains("<title>5 instances share 1,000 objects in 64 slots (seed 1)</title>\n<desc>"),
        "{svg}"
    );
    assert!(svg.contains("prefers-color-scheme:dark"));
    for outside in ["href", "url(", "@import", "<script", "<image"] {
        assert!(!svg.contains(outside), "{outside}");
    }
    assert_eq!(svg.matches(r#"<path class="band""#).count(), 6, "one band for each scenario");
    // Each of five instances is killed once, and starts again.
    let rolling = svg.split("</g>").next().expect("a section");
    assert_eq!(rolling.matches("var(--stopped)\" d=").count(), 5);
    assert_eq!(rolling.matches("var(--started)\" d=").count(), 5);
}

#[test]
fn bad_usage_is_explained() {
    let (code, text, error) = simulated(&["--lease", "30"]);
    assert_eq!((code, text.as_str()), (Some(2), ""));
    assert!(error.ends_with("give --minutes 15 or more\n"), "{error}");
    let (code, _, error) = simulated(&["--plot", "/nowhere/fleet.svg"]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: /nowhere/fleet.svg cannot be written: give another file"), "{error}");
}
