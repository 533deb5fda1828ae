//! A program that is not the `windlass` binary has all commands for its own controllers.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Runs `examples/pairs.rs`, which cargo builds with the tests.
fn pairs(arguments: &[&str]) -> Output {
    let test = std::env::current_exe().expect("a test has a path");
    let folder: PathBuf = test.ancestors().nth(2).expect("tests are in target/PROFILE/deps").join("examples");
    let program = folder.join(format!("pairs{}", std::env::consts::EXE_SUFFIX));
    Command::new(&program)
        .args(arguments)
        .env_remove("KUBECONFIG")
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", program.display()))
}

/// The exit code, and what was printed to standard output and to standard error.
fn ended(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = pairs(arguments);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn help_names_the_program_and_its_controllers() {
    let (code, help, _) = ended(&["--help"]);
    assert_eq!(code, Some(0));
    assert!(help.starts_with("Two ConfigMaps for each Pair\n\nUsage: pairs <COMMAND>\n"), "{help}");
    let commands = [
        "run",
        "check",
        "plan",
        "replay",
        "graph",
        "crd",
        "manifests",
        "managers",
        "ring",
        "simulate",
        "completions",
    ];
    for command in commands {
        assert!(help.contains(&format!("\n  {command} ")), "{command}: {help}");
        let (code, help, _) = ended(&[command, "--help"]);
        assert_eq!(code, Some(0), "{command}");
        assert!(help.contains("\n  pairs ") || help.contains(" pairs "), "an example of {command}: {help}");
        for placeholder in ["PROGRAM", "CONTROLLER", "CHECK-NAME", "KIND-NAME"] {
            assert!(!help.contains(placeholder), "{command}: {help}");
        }
    }
    assert_eq!(ended(&["--version"]).1, "pairs 1.2.3\n");
}

#[test]
fn checks_run_and_counterexamples_replay() {
    let (code, text, _) = ended(&["check"]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.starts_with("in-order\n") && !text.contains("out-of-order"), "{text}");
    let folder = std::env::temp_dir().join(format!("windlass-app-{}", std::process::id()));
    let (code, text, _) = ended(&["check", "out-of-order", "--trace-dir", folder.to_str().expect("a path")]);
    assert_eq!(code, Some(1), "{text}");
    let saved = folder.join("out-of-order.json");
    assert!(text.contains(&format!("pairs replay {}", saved.display())), "{text}");
    let (code, text, _) = ended(&["replay", saved.to_str().expect("a path")]);
    std::fs::remove_dir_all(&folder).expect("it was made");
    assert_eq!(code, Some(1), "{text}");
    let (code, _, error) = ended(&["check", "sideways"]);
    assert_eq!(code, Some(2));
    assert_eq!(error, "error: there is no check \"sideways\"; --list prints those that there are\n");
}

#[test]
fn prints_graph_definition_and_manifests_of_its_controller() {
    let (code, graph, _) = ended(&["graph", "two-configmaps"]);
    assert!(code == Some(0) && graph.contains("First<br/><i>FirstReady</i>"), "{graph}");
    let (_, definition, _) = ended(&["crd"]);
    assert!(definition.contains("name: pairs.example.windlass.dev"), "{definition}");
    let (code, manifests, _) = ended(&["manifests"]);
    assert_eq!(code, Some(0));
    for part in ["image: pairs:latest", "- run", "kind: ClusterRole", "pairs.example.windlass.dev"] {
        assert!(manifests.contains(part), "{part}: {manifests}");
    }
    let (_, manifests, _) = ended(&["manifests", "two-configmaps", "--", "--workers", "8"]);
    assert!(
        manifests.contains("- --workers\n        - '8'")
            || manifests.contains("- --workers\n        - \"8\""),
        "{manifests}"
    );
    let (code, _, error) = ended(&["graph", "web-app"]);
    assert_eq!(code, Some(2));
    assert!(
        error.starts_with("error: there is no controller \"web-app\"; there are:\n  two-configmaps"),
        "{error}"
    );
}

#[test]
fn prints_what_controller_managers_need() {
    let (code, definitions, _) = ended(&["crd", "--sharding"]);
    assert_eq!(code, Some(0));
    for plural in ["controllermanagertypes", "controllermanagers", "controllerrings"] {
        assert!(definitions.contains(&format!("name: {plural}.windlass.dev")), "{definitions}");
    }
    assert!(!definitions.contains("example.windlass.dev"), "{definitions}");
    let (code, manifests, _) = ended(&["manifests", "--manager-type", "pods"]);
    assert_eq!(code, Some(0));
    for part in
        ["- --manager-type", "controllermanagers/status", "POD_NAME", "controllermanagertypes.windlass.dev"]
    {
        assert!(manifests.contains(part), "{part}: {manifests}");
    }
    let (_, manifests, _) = ended(&["manifests", "--manager-config", "configmap"]);
    assert!(manifests.contains("- configmaps") && !manifests.contains("POD_NAME"), "{manifests}");
    let (code, _, error) = ended(&["manifests", "--manager-config", "configmap", "--manager-id", "a"]);
    assert_eq!(code, Some(2));
    assert!(error.starts_with("error: --manager-id is for --manager-config api"), "{error}");
}

#[test]
fn plan_says_which_kinds_the_program_has() {
    let (code, _, error) = ended(&["plan", "webapp/a"]);
    assert_eq!(code, Some(2));
    assert!(
        error.contains("no controller of this program reconciles webapp (it has two-configmaps)"),
        "{error}"
    );
}

#[test]
fn completions_are_those_of_the_program() {
    let (code, script, _) = ended(&["completions", "bash"]);
    assert!(code == Some(0) && script.contains("complete -F _pairs"), "{script}");
}
