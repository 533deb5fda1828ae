//! Machines as data: a program per state, and the machine that runs it.

use std::collections::BTreeMap;
use std::pin::Pin;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::CustomResource;
use kube::core::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use windlass::model::{Propagation, Request, Verb};
use windlass::{
    Cx, Declaration, Error, Kind, Machine, MachineStatus, Next, ObjectRef, Outcome, Output, Select, States,
    secs,
};

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

/// A machine.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    pub(crate) name: &'static str,
    /// What each stage does.
    pub(crate) stages: Vec<Vec<Op>>,
    /// Whether a change of the shared ConfigMap triggers both parents.
    pub(crate) watches_shared: bool,
}

/// A ConfigMap, by the parent that is reconciled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Map {
    /// `a-x` for the parent `a`.
    X,
    /// `a-y` for the parent `a`.
    Y,
    /// `shared`.
    Shared,
}

/// Where a written value comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Is(&'static str),
    ParentValue,
    ParentGeneration,
    ParentVersion,
    ParentUid,
    /// The value of the ConfigMap that was read last.
    ReadValue,
    /// The resource version of the ConfigMap that was read last.
    ReadVersion,
}

/// What must still be so for an output to be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    None,
    Forced,
    Unchanged,
    Absent,
}

/// A condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Test {
    /// The last read has found something.
    Found,
    /// What it found has this value.
    ReadIs(Source),
    /// The parent has this value.
    ParentIs(&'static str),
    /// There are so many ConfigMaps, or more.
    AtLeast(usize),
}

/// One step of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    Get(Map),
    Cached(Map),
    If(Test, Vec<Op>),
    Ensure(Map, Source, Fence),
    Create(Map, Source),
    /// Of what was read last: with its resource version, or without.
    Update {
        value: Source,
        versioned: bool,
    },
    Patch(Map, Source),
    /// A patch of what was read last, of that very version.
    PatchRead(Source),
    /// What was read last, by its uid.
    DeleteRead,
    /// Whatever has the name.
    Delete(Map),
    Report(Source),
    /// Both at the same time: two patches.
    Both([(Map, Source); 2]),
    To(Stage),
    Done,
    Requeue,
    Fail,
    FailForGood,
}

/// What a run of a state has read.
#[derive(Default)]
struct Register {
    read: Option<ConfigMap>,
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
                Some("shared") => ["a", "b"].map(|name| ObjectRef::new("default", name)).to_vec(),
                _ => Vec::new(),
            });
        }
    }

    async fn run(&self, stage: Stage, cx: &Cx<Thing>) -> Outcome<Stage> {
        let mut register = Register::default();
        let ops = self.stages.get(stage.index()).map_or(&[][..], Vec::as_slice);
        let end = run_all(ops, cx, &mut register).await?;
        Ok(end.unwrap_or(Next::Done))
    }
}

type Running<'a> = Pin<Box<dyn Future<Output = Result<Option<Next<Stage>>, Error>> + Send + 'a>>;

/// Runs steps until one ends the state.
fn run_all<'a>(ops: &'a [Op], cx: &'a Cx<Thing>, register: &'a mut Register) -> Running<'a> {
    Box::pin(async move {
        for op in ops {
            let end = match op {
                Op::If(test, then) if holds(*test, cx, register).await? => {
                    run_all(then, cx, register).await?
                }
                Op::If(..) => None,
                op => run_one(op, cx, register).await?,
            };
            if end.is_some() {
                return Ok(end);
            }
        }
        Ok(None)
    })
}

async fn run_one(op: &Op, cx: &Cx<Thing>, register: &mut Register) -> Result<Option<Next<Stage>>, Error> {
    let value = |source: &Source| value_of(*source, cx, register);
    match op {
        Op::Get(map) => register.read = cx.get::<ConfigMap>(&name_of(*map, cx)).await?,
        Op::Cached(map) => register.read = cx.cached::<ConfigMap>(&name_of(*map, cx)).await?,
        Op::Ensure(map, source, fence) => {
            let output = Output::from(config_map(&name_of(*map, cx), &value(source)));
            cx.ensure(match fence {
                Fence::None => output,
                Fence::Forced => output.forced(),
                Fence::Unchanged => output.fenced(),
                Fence::Absent => output.only_if_absent(),
            });
        }
        Op::Create(map, source) => drop(cx.create(&config_map(&name_of(*map, cx), &value(source))).await?),
        Op::Update { value: source, versioned } => {
            let value = value(source);
            if let Some(mut read) = register.read.clone() {
                read.data = Some(data(&value));
                if !versioned {
                    read.metadata.resource_version = None;
                }
                register.read = Some(cx.update(&read).await?);
            }
        }
        Op::Patch(map, source) => {
            let patch = json!({ "data": data(&value(source)) });
            drop(cx.patch::<ConfigMap>(&name_of(*map, cx), patch).await?);
        }
        Op::PatchRead(source) => {
            let value = value(source);
            if let Some(read) = &register.read {
                let metadata = json!({ "resourceVersion": read.metadata.resource_version });
                let patch = json!({ "metadata": metadata, "data": data(&value) });
                let name = read.metadata.name.clone().unwrap_or_default();
                register.read = Some(cx.patch::<ConfigMap>(&name, patch).await?);
            }
        }
        Op::DeleteRead => {
            if let Some(read) = register.read.take() {
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
        Op::To(stage) => return Ok(Some(Next::To(*stage))),
        Op::Done => return Ok(Some(Next::Done)),
        Op::Requeue => return windlass::requeue_after(secs(5), "Waiting").map(Some),
        Op::Fail => return windlass::fail("Failed", "it failed").map(Some),
        Op::FailForGood => return windlass::fail_for_good("Failed", "it failed for good").map(Some),
        Op::If(..) => unreachable!("run_all takes the branches"),
    }
    Ok(None)
}

async fn holds(test: Test, cx: &Cx<Thing>, register: &Register) -> Result<bool, Error> {
    Ok(match test {
        Test::Found => register.read.is_some(),
        Test::ReadIs(source) => {
            register.read.is_some()
                && value_of(Source::ReadValue, cx, register) == value_of(source, cx, register)
        }
        Test::ParentIs(value) => cx.parent().spec.value == value,
        Test::AtLeast(count) => cx.list::<ConfigMap>(Select::all()).await?.len() >= count,
    })
}

fn value_of(source: Source, cx: &Cx<Thing>, register: &Register) -> String {
    let parent = &cx.parent().metadata;
    let read = register.read.as_ref();
    let value = match source {
        Source::Is(value) => Some(value.to_owned()),
        Source::ParentValue => Some(cx.parent().spec.value.clone()),
        Source::ParentGeneration => parent.generation.map(|generation| generation.to_string()),
        Source::ParentVersion => parent.resource_version.clone(),
        Source::ParentUid => parent.uid.clone(),
        Source::ReadValue => read.and_then(|read| read.data.as_ref()?.get("value").cloned()),
        Source::ReadVersion => read.and_then(|read| read.metadata.resource_version.clone()),
    };
    value.unwrap_or_default()
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
