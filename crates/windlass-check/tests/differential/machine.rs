//! The machine that runs a program, and the objects that it works on.

use std::collections::BTreeMap;
use std::pin::Pin;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use windlass::model::{Propagation, Request, Timestamp, Verb};
use windlass::{
    CallError, Cx, Declaration, Error, Finalizer, Kind, Machine, MachineStatus, ObjectRef, Outcome, Output,
    Select, Service, States, Transition, secs,
};

use crate::program::{Call, Fence, MAX_VALUE, Map, Op, PARENTS, Program, Source, Test};

/// What time it is in a check, in seconds, unless a clock jumps.
pub(crate) const START: i64 = 1_767_225_600;

/// The name of the second controller.
pub(crate) const COPIER: &str = "copier";

/// What parents are made of: one value, to be copied.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[kube(group = "test.windlass.dev", version = "v1", kind = "Thing", namespaced, status = "ThingStatus")]
pub(crate) struct ThingSpec {
    #[serde(default)]
    pub(crate) value: String,
}

/// What the framework writes, and what a machine reports.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct ThingStatus {
    #[serde(flatten)]
    machine: MachineStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

/// An external service that has one value.
pub(crate) struct Register;

impl Service for Register {
    const NAME: &'static str = "register";
    type Request = Value;
    type Response = String;
}

/// What the service does with a request: see [`Call`].
pub(crate) fn respond(state: &mut Value, request: &Value) -> Result<Value, CallError> {
    if let Some(value) = request.get("put") {
        *state = value.clone();
    }
    if let Some(most) = request.get("add").and_then(Value::as_u64) {
        *state = next(state.as_str().unwrap_or_default(), most as u32).into();
    }
    Ok(state.clone())
}

/// Whether a request to the service changes nothing.
pub(crate) fn is_read(request: &Value) -> bool {
    request.get("read").is_some()
}

/// The states of every machine; most programs use the first only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, States)]
pub(crate) enum Stage {
    #[state(initial, condition = "FirstDone", next(Second, Third))]
    First,
    #[state(condition = "SecondDone", next(Third))]
    Second,
    #[state(condition = "ThirdDone")]
    Third,
}

/// The one state of what happens before a parent goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, States)]
pub(crate) enum Cleanup {
    #[state(initial, condition = "CleanedUp")]
    Only,
}

/// A second controller: whenever `shared` changes, `p-x` gets its value. Its parents are ConfigMaps, which have no status,
/// so it writes nothing else.
pub(crate) struct Copier;

impl Machine for Copier {
    type Parent = ConfigMap;
    type State = Cleanup;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(COPIER).may::<ConfigMap>([windlass::Verb::Patch]);
    }

    async fn run(&self, _state: Cleanup, cx: &Cx<ConfigMap>) -> Outcome<Cleanup> {
        if cx.name() == "shared" {
            let value = cx.parent().data.as_ref().and_then(|data| data.get("value").cloned());
            let patch = json!({ "data": data(&value.unwrap_or_default()) });
            drop(cx.patch::<ConfigMap>("p-x", patch).await?);
        }
        Ok(Transition::Done)
    }
}

/// The machine that runs before a parent goes.
struct CleanupMachine(Vec<Op>);

/// What a run of a state has learnt.
#[derive(Default)]
struct Learnt {
    read: Option<ConfigMap>,
    answer: Option<String>,
}

/// How a program ends a state.
enum End {
    To(usize),
    Done,
    Requeue,
    Fail,
    FailForGood,
}

impl Machine for Program {
    type Parent = Thing;
    type State = Stage;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name(self.name).output::<ConfigMap>().may::<ConfigMap>([
            windlass::Verb::Get,
            windlass::Verb::List,
            windlass::Verb::Create,
            windlass::Verb::Update,
            windlass::Verb::Patch,
            windlass::Verb::Delete,
        ]);
        if self.watches_shared {
            declaration.watches::<ConfigMap>(|map| match map.metadata.name.as_deref() {
                Some("shared") => PARENTS.map(|name| ObjectRef::new("default", name)).to_vec(),
                _ => Vec::new(),
            });
        }
    }

    async fn run(&self, stage: Stage, cx: &Cx<Thing>) -> Outcome<Stage> {
        let ops = self.stages.get(stage.index()).map_or(&[][..], Vec::as_slice);
        match run_all(ops, cx, &mut Learnt::default()).await? {
            Some(End::To(1)) => windlass::to(Stage::Second),
            Some(End::To(_)) => windlass::to(Stage::Third),
            end => outcome(end),
        }
    }

    fn finalizer(&self) -> Option<Finalizer<Thing>> {
        self.cleanup.clone().map(|ops| Finalizer::new(CleanupMachine(ops)))
    }
}

impl Machine for CleanupMachine {
    type Parent = Thing;
    type State = Cleanup;

    async fn run(&self, _state: Cleanup, cx: &Cx<Thing>) -> Outcome<Cleanup> {
        outcome(run_all(&self.0, cx, &mut Learnt::default()).await?)
    }
}

fn outcome<S>(end: Option<End>) -> Outcome<S> {
    match end {
        None | Some(End::Done | End::To(_)) => Ok(Transition::Done),
        Some(End::Requeue) => windlass::requeue_after(secs(5), "Waiting"),
        Some(End::Fail) => windlass::fail("Failed", "it failed"),
        Some(End::FailForGood) => windlass::fail_for_good("Failed", "it failed for good"),
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Option<End>, Error>> + Send + 'a>>;

/// Runs steps until one ends the state.
fn run_all<'a>(ops: &'a [Op], cx: &'a Cx<Thing>, learnt: &'a mut Learnt) -> Running<'a> {
    Box::pin(async move {
        for op in ops {
            let end = match op {
                Op::If(test, then) if holds(*test, cx, learnt).await? => run_all(then, cx, learnt).await?,
                Op::If(..) => None,
                Op::To(stage) => Some(End::To(*stage)),
                Op::Done => Some(End::Done),
                Op::Requeue => Some(End::Requeue),
                Op::Fail => Some(End::Fail),
                Op::FailForGood => Some(End::FailForGood),
                op => {
                    run_one(op, cx, learnt).await?;
                    None
                }
            };
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    })
}

async fn run_one(op: &Op, cx: &Cx<Thing>, learnt: &mut Learnt) -> Result<(), Error> {
    let value = |source: &Source| value_of(*source, cx, learnt);
    match op {
        Op::Get(map) => learnt.read = cx.get::<ConfigMap>(&name_of(*map, cx)).await?,
        Op::Cached(map) => learnt.read = cx.cached::<ConfigMap>(&name_of(*map, cx)).await?,
        Op::Pause => drop(cx.list::<ConfigMap>(Select::all()).await?),
        Op::Ensure(map, source, fence) => ensure(*map, &value(source), *fence, cx, learnt),
        Op::Create(map, source) => drop(cx.create(&config_map(&name_of(*map, cx), &value(source))).await?),
        Op::Update { value: source, versioned } => {
            let value = value(source);
            if let Some(mut read) = learnt.read.clone() {
                read.data = Some(data(&value));
                if !versioned {
                    read.metadata.resource_version = None;
                }
                learnt.read = Some(cx.update(&read).await?);
            }
        }
        Op::Patch(map, source) => {
            let patch = json!({ "data": data(&value(source)) });
            drop(cx.patch::<ConfigMap>(&name_of(*map, cx), patch).await?);
        }
        Op::PatchRead(source) => {
            let value = value(source);
            if let Some(read) = &learnt.read {
                let metadata = json!({ "resourceVersion": read.metadata.resource_version });
                let patch = json!({ "metadata": metadata, "data": data(&value) });
                let name = read.metadata.name.clone().unwrap_or_default();
                learnt.read = Some(cx.patch::<ConfigMap>(&name, patch).await?);
            }
        }
        Op::DeleteRead => {
            if let Some(read) = learnt.read.take() {
                cx.delete(&read).await?;
            }
        }
        Op::Delete(map) => {
            let request = Request::new(Verb::Delete, ConfigMap::kind_info().resource);
            let mut request = request.in_namespace(cx.namespace()).named(&name_of(*map, cx));
            request.options.propagation = Some(Propagation::Background);
            cx.request(request).await;
        }
        Op::Report(source) => cx.report(&json!({ "note": value(source) }))?,
        Op::Both(patches) => {
            let patch = |(map, source): &(Map, Source)| {
                let (name, patch) = (name_of(*map, cx), json!({ "data": data(&value(source)) }));
                async move { cx.patch::<ConfigMap>(&name, patch).await }
            };
            for patched in cx.all(patches.iter().map(patch)).await {
                patched?;
            }
        }
        Op::Call(call) => {
            let request = match call {
                Call::Read => json!({ "read": true }),
                Call::Put(source) => json!({ "put": value(source) }),
                Call::Add(most) => json!({ "add": most }),
            };
            learnt.answer = Some(cx.call(Register, request).await?);
        }
        Op::If(..) | Op::To(_) | Op::Done | Op::Requeue | Op::Fail | Op::FailForGood => {
            unreachable!("run_all takes branches and ends")
        }
    }
    Ok(())
}

fn ensure(map: Map, value: &str, fence: Fence, cx: &Cx<Thing>, learnt: &Learnt) {
    let output = Output::from(config_map(&name_of(map, cx), value));
    match (fence, &learnt.read) {
        (Fence::None, _) => cx.ensure(output),
        (Fence::Forced, _) => cx.ensure(output.forced()),
        (Fence::Unchanged, _) => cx.ensure(output.fenced()),
        (Fence::Absent, _) => cx.ensure(output.only_if_absent()),
        (Fence::SinceRead, Some(read)) => cx.ensure(output.forced().if_unchanged_since(read)),
        (Fence::SinceRead, None) => {}
    }
}

async fn holds(test: Test, cx: &Cx<Thing>, learnt: &Learnt) -> Result<bool, Error> {
    Ok(match test {
        Test::Found => learnt.read.is_some(),
        Test::Missing => learnt.read.is_none(),
        Test::ReadIs(source) => {
            learnt.read.is_some() && value_of(Source::ReadValue, cx, learnt) == value_of(source, cx, learnt)
        }
        Test::ParentIs(value) => cx.parent().spec.value == value,
        Test::AtLeast(count) => cx.list::<ConfigMap>(Select::all()).await?.len() >= count,
        Test::ClockAhead => cx.now().await > Timestamp::from_unix_seconds(START),
        Test::AnswerIs(value) => learnt.answer.as_deref() == Some(value),
    })
}

fn value_of(source: Source, cx: &Cx<Thing>, learnt: &Learnt) -> String {
    let parent = &cx.parent().metadata;
    let read = learnt.read.as_ref();
    let read_value = || read.and_then(|read| read.data.as_ref()?.get("value").cloned());
    let value = match source {
        Source::Is(value) => Some(value.to_owned()),
        Source::ParentName => Some(cx.name().to_owned()),
        Source::ParentValue => Some(cx.parent().spec.value.clone()),
        Source::ParentGeneration => parent.generation.map(|generation| generation.to_string()),
        Source::ParentVersion => parent.resource_version.clone(),
        Source::ParentUid => parent.uid.clone(),
        Source::ReadValue => read_value(),
        Source::Next => Some(next(&read_value().unwrap_or_default(), MAX_VALUE)),
        Source::ReadVersion => read.and_then(|read| read.metadata.resource_version.clone()),
        Source::Answer => learnt.answer.clone(),
    };
    value.unwrap_or_default()
}

/// One more, up to a bound; what is no number counts as none.
fn next(value: &str, most: u32) -> String {
    value.parse().map_or(0, |value: u32| value.saturating_add(1).min(most)).to_string()
}

fn name_of(map: Map, cx: &Cx<Thing>) -> String {
    match map {
        Map::X => format!("{}-x", cx.name()),
        Map::Y => format!("{}-y", cx.name()),
        Map::Shared => "shared".to_owned(),
    }
}

/// A parent.
pub(crate) fn thing(name: &str, value: &str) -> Thing {
    Thing::new(name, ThingSpec { value: value.to_owned() })
}

/// A ConfigMap with one value.
pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(data(value)),
        ..ConfigMap::default()
    }
}

fn data(value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([("value".to_owned(), value.to_owned())])
}
