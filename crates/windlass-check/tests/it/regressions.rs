//! Counterexamples as regression files: saved by one version of a controller, replayed by the next.

use std::path::Path;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use windlass::{Cx, Declaration, Machine, Outcome, States, Verb, done};
use windlass_check::{Check, Counterexample, Faults, Replayed, RuleKind, check};

/// Creates a ConfigMap by hand; the careful version knows that it may be there already.
struct Creates {
    careful: bool,
}

#[derive(States)]
enum Step {
    #[state(initial)]
    Create,
}

impl Machine for Creates {
    type Parent = Namespace;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.may::<ConfigMap>([Verb::Get, Verb::Create]);
    }

    async fn run(&self, _: Step, cx: &Cx<Namespace>) -> Outcome<Step> {
        if cx.name() != "default" || (self.careful && cx.get::<ConfigMap>("default/made").await?.is_some()) {
            return done();
        }
        let mut map = ConfigMap::default();
        map.metadata.name = Some("made".to_owned());
        map.metadata.namespace = Some("default".to_owned());
        cx.create(&map).await?;
        done()
    }
}

fn creates(careful: bool) -> Check {
    check(Creates { careful })
        .faults(Faults::none().crashes(1))
        .clock(1)
        .eventually("a reconcile comes to its end", |world| world.clock("/default") == 1)
}

fn never_made(careful: bool) -> Check {
    check(Creates { careful }).always("nothing is made", |world| !world.has::<ConfigMap>("made"))
}

fn counterexample(check: &Check) -> Counterexample {
    let report = check.run();
    check.counterexample("creates", &report).unwrap_or_else(|| panic!("nothing is violated: {report}"))
}

#[test]
fn a_saved_counterexample_is_reproduced_until_the_bug_is_fixed() {
    let broken = creates(false);
    let found = counterexample(&broken);
    let folder = std::env::temp_dir().join(format!("windlass-regressions-{}", std::process::id()));
    let saved = windlass_check::save_all(&folder, &found).expect("the folder can be written");
    let loaded = Counterexample::load(&saved.json).expect("it can be read again");
    std::fs::remove_dir_all(&folder).expect("it was made here");
    assert_eq!(loaded, found);
    assert!(loaded.steps.iter().any(|step| step.fault.as_deref() == Some("crash")), "{loaded}");
    assert!(loaded.initial.iter().any(|first| first.object == "namespaces default"), "{loaded}");
    let replayed = broken.replay(&loaded);
    assert!(replayed.is_reproduced(), "{loaded}{replayed}");
    let Replayed::Diverged { step, recorded, .. } = creates(true).replay(&loaded) else {
        panic!("the careful version asks for something else: {loaded}")
    };
    assert_eq!(loaded.steps[step - 1], *recorded);
    assert!(recorded.text.contains("create configmaps default/made"), "{recorded:?}");
}

#[test]
fn an_always_is_found_again_in_the_same_state() {
    let check = never_made(false);
    let found = counterexample(&check);
    assert_eq!(found.violation.kind, RuleKind::Always);
    let steps = found.steps.len();
    assert_eq!(
        check.replay(&found).to_string(),
        format!("still wrong: always \"nothing is made\" does not hold after step {steps}\n")
    );
}

#[test]
fn a_file_that_is_not_there_is_said_to_be_missing() {
    let error = Counterexample::load(Path::new("no/such/trace.json")).expect_err("there is none");
    assert!(error.to_string().starts_with("there is no file no/such/trace.json."), "{error}");
}
