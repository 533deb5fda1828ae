//! The page of a trace, in a real browser.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use windlass_check::{
    BrokenRule, Counterexample, InitialObject, ObjectChange, ServiceChange, Trace, TraceStep,
};

/// What would run if any content of a trace became markup.
const HOSTILE: &str = "</script ><script >document.documentElement.dataset.broken = 1</script>\
                       <img src=x onerror=\"document.documentElement.dataset.broken = 1\">";

fn step(
    actor: &str,
    text: &str,
    fault: Option<&str>,
    before: Option<Value>,
    after: Option<Value>,
) -> TraceStep {
    let object = "configmaps default/made".to_owned();
    let summary = format!("{} {object}", if before.is_none() { "+" } else { "~" });
    let changed = before != after;
    TraceStep {
        action: text.to_owned(),
        actor: actor.to_owned(),
        receiver: Some("database".to_owned()),
        text: text.to_owned(),
        fault: fault.map(str::to_owned),
        changes: if changed { vec![ObjectChange { object, summary, before, after }] } else { Vec::new() },
        ..TraceStep::default()
    }
}

/// Three steps and a loop of one; everything that can contain words contains hostile ones.
fn counterexample() -> Counterexample {
    let map = |replicas: u32| {
        Some(json!({ "metadata": { "name": "made", "resourceVersion": "1" }, "replicas": replicas,
            "data": { HOSTILE: HOSTILE, "lines": "one\ntwo" } }))
    };
    let steps = vec![
        step("client", &format!("creates {HOSTILE}"), None, None, map(1)),
        step(HOSTILE, "crashes", Some(HOSTILE), None, None),
        step("controller", "scales", None, map(1), map(2)),
    ];
    let repeats = vec![step("controller", "asks again", None, None, None)];
    let initial = InitialObject { object: "pairs default/first".to_owned(), value: json!({ "there": true }) };
    Counterexample::new(HOSTILE, HOSTILE, BrokenRule::eventually(HOSTILE))
        .starting_with(vec![initial])
        .along(Trace { steps }, Trace { steps: repeats })
}

/// What a browser makes of the page of that trace, opened at a fragment, after a script has run in it.
fn shown(name: &str, fragment: &str, script: &str) -> String {
    shown_of(&counterexample(), name, fragment, script)
}

fn shown_of(counterexample: &Counterexample, name: &str, fragment: &str, script: &str) -> String {
    let folder = std::env::temp_dir().join(format!("windlass-page-{name}-{}", std::process::id()));
    let folder = Folder(folder);
    std::fs::create_dir_all(&folder.0).expect("a folder for the page");
    let page = folder.0.join("page.html");
    let html = counterexample.to_html().replace("</body>", &format!("<script>{script}</script></body>"));
    std::fs::write(&page, html).expect("the page is written");
    let output = Command::new("chromium")
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"])
        .arg(format!("--user-data-dir={}", folder.0.join("profile").display()))
        .arg("--dump-dom")
        .arg(format!("file://{}{fragment}", page.display()))
        .output()
        .expect("this needs chromium: install it with `apt-get install chromium`, or run `cargo xtask test`");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let shown = String::from_utf8(output.stdout).expect("a browser writes UTF-8");
    let (root, _) = shown.split_once("<head>").expect("a page has a head");
    assert!(!root.contains("data-error"), "a script has failed: {root}");
    assert!(!root.contains("data-broken"), "a content became markup: {root}");
    shown
}

/// A folder of its own for a test, removed at its end.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The number of the one step that is marked as the current one.
fn current(shown: &str) -> &str {
    let mut marked = shown.split("<a ").filter(|tag| tag.contains("aria-current=\"step\""));
    let tag = marked.next().expect("a step is marked");
    assert_eq!(marked.next(), None, "only one is");
    let (_, number) = tag.split_once("data-step=\"").expect("a step has a number");
    number.split('"').next().expect("a split has a first part")
}

#[test]
fn the_step_of_the_address_is_shown_in_a_browser() {
    for (fragment, expected) in
        [("", "0"), ("#step=1", "1"), ("#step=3", "3"), ("#step=99", "4"), ("#nonsense", "0")]
    {
        let shown = shown("address", fragment, "");
        assert_eq!(current(&shown), expected, "{fragment}");
        assert!(
            shown.contains("pairs default/first") || shown.contains("<b>default/first</b>"),
            "{fragment}"
        );
        assert_eq!(shown.contains("<b>default/made</b>"), expected != "0", "{fragment}");
    }
}

#[test]
fn what_changed_is_marked_in_a_browser() {
    let created = shown("created", "#step=1", "");
    assert!(created.contains("class=\"object added\" data-object=\"configmaps default/made\" open"));
    let changed = shown("changed", "#step=3", "");
    assert!(changed.contains("class=\"object changed\" data-object=\"configmaps default/made\" open"));
    assert!(changed.contains("<del>1</del> <ins>2</ins>"));
    assert!(changed.contains("class=\"object same\" data-object=\"pairs default/first\""));
    // Every write changes the version; it is shown on request only.
    assert!(!changed.contains("<span class=\"key\">resourceVersion</span>"));
    let asked = shown("asked", "#step=3", "document.getElementById('bookkeeping').click()");
    assert!(asked.contains("<span class=\"key\">resourceVersion</span>"));
}

#[test]
fn services_have_a_lane_and_a_state_in_a_browser() {
    let mut pays = step("pays", "call bank", None, None, None);
    pays.receiver = Some("bank".to_owned());
    pays.services.push(ServiceChange {
        service: "bank".to_owned(),
        summary: format!("~ service bank: 0 -> {HOSTILE}"),
        before: json!({ "paid": 0 }),
        after: json!({ "paid": HOSTILE }),
    });
    let document = Counterexample::new("pays", "no objects", BrokenRule::always("it pays once"))
        .with_services([("bank".to_owned(), json!({ "paid": 0 }))].into())
        .along(Trace { steps: vec![pays] }, Trace::default());
    let start = shown_of(&document, "service-start", "", "");
    assert!(start.contains("class=\"object same\" data-object=\"service bank\""), "{start}");
    assert!(start.contains("0 objects and 1 service"), "{start}");
    assert!(start.contains("<span title=\"bank\""), "{start}");
    let paid = shown_of(&document, "service-paid", "#step=1", "");
    assert!(paid.contains("class=\"object changed\" data-object=\"service bank\" open"), "{paid}");
    assert!(paid.contains("<li class=\"change\">~ service bank: 0 -&gt; "), "{paid}");
    assert!(paid.contains("<del>0</del>"), "{paid}");
}

#[test]
fn objects_of_one_name_are_two_objects_in_a_browser() {
    let pod = |uid: &str| Some(json!({ "metadata": { "name": "made", "uid": uid } }));
    let steps = vec![
        step("client", "creates it", None, None, pod("a")),
        step("client", "deletes it", None, pod("a"), None),
        step("client", "creates it again", None, None, pod("b")),
    ];
    let document = Counterexample::new("again", "no objects", BrokenRule::always("it is one"))
        .along(Trace { steps }, Trace::default());
    let shown = shown_of(&document, "again", "#step=3", "");
    assert!(shown.contains("class=\"object added\" data-object=\"configmaps default/made#2\""), "{shown}");
    assert!(!shown.contains("data-object=\"configmaps default/made\""), "{shown}");
    assert!(shown.contains("<li class=\"add\">+ configmaps default/made#1</li>"), "{shown}");
}

#[test]
fn keys_and_buttons_go_from_step_to_step_in_a_browser() {
    let press = |keys: &[&str]| {
        let pressed: Vec<String> = keys
            .iter()
            .map(|key| format!("window.dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }}));"))
            .collect();
        pressed.concat()
    };
    for (script, expected) in [
        (press(&["ArrowRight", "ArrowRight", "ArrowLeft"]), "1"),
        (press(&["ArrowLeft"]), "0"),
        (press(&["End", "ArrowRight"]), "4"),
        (press(&["End", "Home", "f"]), "2"),
        ("document.getElementById('next').click(); document.getElementById('last').click();".to_owned(), "4"),
    ] {
        let shown = shown("keys", "", &format!("{script} document.title = location.hash;"));
        assert_eq!(current(&shown), expected, "{script}");
        // The address follows, so that it can be passed on.
        let address = if expected == "0" { String::new() } else { format!("#step={expected}") };
        assert!(shown.contains(&format!("<title>{address}</title>")), "{script}");
    }
}
