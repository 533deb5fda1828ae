//! Kubernetes controllers as finite state machines.
//!
//! Start with [`Machine`]: an enum of steps, one `async fn`, one [`Cx`]. A reconcile is a pure
//! [`Coroutine`]: it does no I/O and reads no clock. Whoever drives it performs what it asks for, so the
//! same code runs in the checker, in a test and on a cluster.
//!
//! ```
//! use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
//! use windlass::model::Cluster;
//! use windlass::{Controller, Cx, Declaration, Machine, ObjectRef, Outcome, ReconcileResult, States, Verb};
//! use windlass::{done, requeue_after, secs, to};
//!
//! /// Waits until each namespace has a ConfigMap `settings`.
//! struct Settings;
//!
//! #[derive(States)]
//! enum Step {
//!     #[state(initial, next(Settled))]
//!     Lookup,
//!     #[state(condition = "Settled")]
//!     Settled,
//! }
//!
//! impl Machine for Settings {
//!     type Parent = Namespace;
//!     type State = Step;
//!
//!     fn declare(&self, declaration: &mut Declaration) {
//!         // What it asks for beyond its parents, outputs and watches.
//!         declaration.may::<ConfigMap>([Verb::Get]);
//!     }
//!
//!     async fn run(&self, step: Step, cx: &Cx<Namespace>) -> Outcome<Step> {
//!         match step {
//!             Step::Lookup => match cx.get_in::<ConfigMap>(cx.name(), "settings").await? {
//!                 Some(_) => to(Step::Settled),
//!                 None => requeue_after(secs(5), "NoSettings"),
//!             },
//!             Step::Settled => done(),
//!         }
//!     }
//! }
//!
//! let mut local = windlass::local::Local::new(Cluster::new());
//! let ended = local.reconcile(&Controller::new(Settings), &ObjectRef::new("", "default"))?;
//! assert!(matches!(ended.result, ReconcileResult::Requeue { .. }));
//! assert_eq!(ended.path, ["Lookup"]);
//! # Ok::<(), windlass::Bug>(())
//! ```

mod ask;
mod bug;
pub mod changed;
mod conditions;
mod contested;
mod coroutine;
mod cx;
mod declaration;
mod detail;
mod ensure;
mod field_manager;
mod io;
mod kind;
pub mod local;
mod machine;
mod outcome;
mod output;
mod ownership;
pub mod permissions;
mod prune;
mod random;
mod reconcile;
mod reconcile_result;
mod record;
pub mod recording;
mod report;
mod run;
mod states;
mod status;
mod write;

pub use ask::{Answer, Ask, Shortcut};
pub use bug::Bug;
pub use conditions::{READY, SUSPENDED};
pub use contested::{CONTESTED, Contested, Rival};
pub use coroutine::{Coroutine, CoroutineState};
pub use cx::{Cx, Select, Service};
pub use declaration::{
    CONTROLLER_LABEL, Cause, Declaration, OWNER_ANNOTATION, OWNER_LABEL, OutputKind, SUSPEND_ANNOTATION,
    Trigger, WatchDeclaration, Watching, only_metadata, owner_label, watching, watching_metadata,
};
pub use detail::Detail;
pub use kind::{Kind, KindInfo, ObjectRef, from_value, to_value};
pub use kube_core::metadata::PartialObjectMeta;
pub use machine::{Controller, Finalizer, Machine};
pub use outcome::{
    CallError, Error, Outcome, Transition, done, done_and_requeue_after, fail, fail_for_good, requeue_after,
    secs, to, waiting,
};
pub use output::Output;
pub use permissions::Verb;
pub use random::RandomBytes;
pub use reconcile_result::{Event, ReadyChange, ReconcileResult, Reconciled};
pub use record::{Condition, ControllerRecord, MachineStatus, OutputRecord};
pub use states::{ConditionInfo, StateInfo, States};
pub use windlass_derive::States;
/// The Kubernetes API as a pure function.
pub use windlass_model as model;
