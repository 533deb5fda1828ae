//! What is logged at INFO about how reconciles end.

use std::fmt::{Debug, Write};
use std::sync::Mutex;
use std::time::Duration;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};
use two_configmaps::TwoConfigMaps;
use windlass::{Controller, Cx, Machine, Outcome, States, done};

use super::*;
use crate::operations::metrics::Metrics;
use crate::queue::{Due, QueueSettings};

/// Keeps the lines that are logged, from INFO on.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        write!(self.0, " {}={value:?}", field.name()).expect("a text takes everything");
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut line = Line("SPAN".to_owned());
        span.record(&mut line);
        self.0.lock().expect("lock is not poisoned").push(line.0);
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        if *event.metadata().level() <= Level::INFO {
            let mut line = Line(event.metadata().level().to_string());
            event.record(&mut line);
            self.0.lock().expect("lock is not poisoned").push(line.0);
        }
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// The lines that something logs.
fn logged(something: impl FnOnce()) -> Vec<String> {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), something);
    std::mem::take(&mut *log.0.lock().expect("lock is not poisoned"))
}

/// A machine whose parents have no room for conditions.
struct Nothing;

#[derive(States)]
enum Step {
    #[state(initial)]
    Only,
}

impl Machine for Nothing {
    type Parent = k8s_openapi::api::core::v1::ConfigMap;
    type State = Step;

    async fn run(&self, _: Step, _: &Cx<Self::Parent>) -> Outcome<Step> {
        done()
    }
}

fn context(controller: Controller) -> ControllerContext {
    let metrics = Metrics::new().controller(controller.name());
    ControllerContext::new(controller, QueueSettings::default(), metrics)
}

fn ended(result: ReconcileResult, ready: Option<ReadyChange>) -> Reconciled {
    Reconciled { result, path: vec!["First"], bug: None, events: Vec::new(), ready }
}

fn waits_for(reason: &str) -> ReconcileResult {
    ReconcileResult::Requeue { after: Duration::from_secs(5), reason: reason.to_owned() }
}

fn change(status: &'static str, reason: &str) -> Option<ReadyChange> {
    let (previous_status, previous_reason) = ("Unknown".to_owned(), String::new());
    let (reason, message) = (reason.to_owned(), "why".to_owned());
    Some(ReadyChange { status, reason, message, previous_status, previous_reason })
}

const DONE: ReconcileResult = ReconcileResult::Done { requeue_after: None };

#[test]
fn each_change_of_ready_is_logged_and_nothing_else() {
    let pairs = context(Controller::new(TwoConfigMaps));
    let key = ObjectRef::new("default", "a");
    let lines = |result, ready| {
        logged(|| {
            log_result(&pairs, &key, &ended(result, ready));
        })
    };
    let waits = lines(waits_for("NoSecret"), change("False", "NoSecret"));
    let [line] = waits.as_slice() else { panic!("{waits:?}") };
    for part in ["INFO", "Ready changed: why", "status=\"False\"", "reason=\"NoSecret\""] {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert_eq!(lines(waits_for("NoSecret"), None), Vec::<String>::new(), "it still waits");
    let ready = lines(DONE, change("True", "AllDone"));
    assert!(ready.len() == 1 && ready[0].contains("status=\"True\""), "success is said: {ready:?}");
    assert_eq!(lines(DONE, None), Vec::<String>::new(), "and not again");
}

#[test]
fn parents_without_conditions_are_logged_when_the_reason_changes() {
    let maps = context(Controller::new(Nothing));
    let key = ObjectRef::new("default", "a");
    let lines = |result| {
        let all = logged(|| {
            log_result(&maps, &key, &ended(result, None));
        });
        all.len()
    };
    let results = [waits_for("A"), waits_for("A"), waits_for("B"), DONE, DONE, waits_for("B")];
    assert_eq!(results.map(lines), [1, 0, 1, 1, 0, 1]);
}

#[test]
fn lines_are_of_a_controller_an_object_and_a_reconcile() {
    let work = Work {
        key: ObjectRef::new("shop", "a"),
        causes: Default::default(),
        due: Due::Change,
        create_missing: false,
        waited: Duration::ZERO,
        attempt: 1,
    };
    let spans = logged(|| drop((spans::reconcile_span("pair", &work), spans::reconcile_span("pair", &work))));
    for part in ["controller=\"pair\"", "namespace=\"shop\"", " name=\"a\"", "reconcile_id="] {
        assert!(spans[0].contains(part), "{part}: {spans:?}");
    }
    assert_ne!(spans[0], spans[1], "each reconcile has an id of its own");
}
