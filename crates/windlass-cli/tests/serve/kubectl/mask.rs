//! Takes out of an output what is different each time: times, ages, versions, addresses.

use std::sync::LazyLock;

use regex::Regex;

static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    [
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME"),
        (r"\b[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [+-]\d{4} [A-Z]+", "TIME"),
        (r"(?m)^[EWI]\d{4} \d\d:\d\d:\d\d\.\d+ +\d+ ", "LOG "),
        // A client whose time is over complains of it or not, as it happens.
        (r#"(?m)^LOG reflector\.go.*context deadline exceeded.*\n"#, ""),
        (r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", "UID"),
        (r"\b\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ [+-]\d{4}", "TIME"),
        (r#"(resourceVersion\\?"?: ?\\?")\d+(\\?")"#, "${1}VERSION${2}"),
        (r"(Resource Version: +)\d+", "${1}VERSION"),
        (r"/\S+/(LIVE|MERGED)-\d+/", "$1/"),
        (r"https://127\.0\.0\.1:\d+", "SERVER"),
        // Tables are as wide as their widest cell, and ages are cells.
        (r"(?m)(\S) {2,}", "$1  "),
        (r"(?m)(^|  )\d+m?s( \(x\d+ over )\d+m?s\)", "${1}AGE${2}AGE)"),
        (r"(?m)(^|  )\d+m?s( |$)", "${1}AGE$2"),
        (r"(?m)[ \t]+$", ""),
        (r"\n{2,}", "\n"),
    ]
    .map(|(pattern, replacement)| (Regex::new(pattern).expect("a pattern"), replacement))
    .into()
});

/// The output with placeholders for what differs from run to run, and without blank lines.
pub(super) fn masked(output: &str) -> String {
    let mut text = output.to_owned();
    for (pattern, replacement) in MASKS.iter() {
        text = pattern.replace_all(&text, *replacement).into_owned();
    }
    text.trim_matches('\n').to_owned()
}

#[test]
fn what_differs_each_time_is_masked() {
    let table = "NAME   DATA   AGE\na      1      0s\nb      2      12s   \n\n\nother 3s text\n";
    assert_eq!(masked(table), "NAME  DATA  AGE\na  1  AGE\nb  2  AGE\nother 3s text");
    let object = "  creationTimestamp: \"2024-01-02T03:04:05Z\"\n  resourceVersion: \"12\"\n  \
                  uid: 0f8fad5b-d9cb-469f-a165-70867728950e\n";
    let hidden = "  creationTimestamp: \"TIME\"\n  resourceVersion: \"VERSION\"\n  uid: UID";
    assert_eq!(masked(object), hidden);
    assert_eq!(masked("at https://127.0.0.1:1234/api"), "at SERVER/api");
}
