//! kube-rs: typed and dynamic clients, watchers, reflectors, a controller with a finalizer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchEvent,
    WatchParams,
};
use kube::core::{GroupVersionKind, ObjectMeta};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event as FinalizerEvent, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, WatchStreamExt, reflector, watcher};
use kube::{Client, CustomResource, CustomResourceExt, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::served::Served;

#[derive(CustomResource, Serialize, Deserialize, Clone, Debug, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
struct GreetingSpec {
    text: String,
    #[serde(default = "one")]
    times: i32,
}

fn one() -> i32 {
    1
}

#[derive(Serialize, Deserialize, Clone, Debug, Default, JsonSchema)]
struct GreetingStatus {
    greeted: i32,
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    ConfigMap {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([("key".to_owned(), value.to_owned())])),
        ..ConfigMap::default()
    }
}

async fn install_crd(client: &Client) {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Greeting::crd()).await.expect("the definition is taken");
    let established = await_condition(crds, "greetings.example.com", conditions::is_crd_established());
    tokio::time::timeout(Duration::from_secs(30), established).await.expect("in time").expect("established");
}

/// `kubectl wait` fails on a definition whose conditions are null, as they are for a moment after a write in Kubernetes.
#[tokio::test]
async fn a_definition_has_conditions_as_soon_as_its_write_is_answered() {
    let served = Served::start(&[]);
    let crds: Api<CustomResourceDefinition> = Api::all(served.client().await);
    for number in 0..20 {
        let mut definition = Greeting::crd();
        let group = format!("group{number}.example.com");
        definition.metadata.name = Some(format!("greetings.{group}"));
        definition.spec.group = group;
        let created =
            crds.create(&PostParams::default(), &definition).await.expect("the definition is taken");
        let found = crds.get(&created.name_any()).await.expect("it is there");
        let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
        assert!(
            conditions.iter().any(|condition| condition.type_ == "Established"),
            "{number}: {conditions:?}"
        );
    }
}

#[tokio::test]
async fn typed_objects() {
    let served = Served::start(&[]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    let made = maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    assert!(made.uid().is_some() && made.resource_version().is_some());
    let again = maps.create(&PostParams::default(), &config_map("a", "1")).await.expect_err("taken");
    assert!(matches!(&again, kube::Error::Api(status) if status.is_already_exists()), "{again}");
    let patch = Patch::Merge(json!({"data": {"key": "2"}}));
    let patched = maps.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    assert_eq!(patched.data.as_ref().expect("data")["key"], "2");
    let stale = maps.replace("a", &PostParams::default(), &made).await.expect_err("stale");
    assert!(matches!(&stale, kube::Error::Api(status) if status.is_conflict()), "{stale}");
    let apply = Patch::Apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"key": "3"}}));
    let conflict = maps.patch("a", &PatchParams::apply("other"), &apply).await.expect_err("owned by another");
    assert!(matches!(&conflict, kube::Error::Api(status) if status.is_conflict()), "{conflict}");
    let forced = maps.patch("a", &PatchParams::apply("other").force(), &apply).await.expect("forced");
    assert_eq!(forced.data.as_ref().expect("data")["key"], "3");
    assert_eq!(maps.list(&ListParams::default()).await.expect("listed").items.len(), 1);
    assert_eq!(maps.list_metadata(&ListParams::default()).await.expect("listed").items[0].name_any(), "a");
    maps.delete("a", &DeleteParams::default()).await.expect("deleted");
    assert!(maps.get_opt("a").await.expect("answered").is_none());
}

#[tokio::test]
async fn dynamic_objects_of_a_custom_type() {
    let served = Served::start(&[]);
    let client = served.client().await;
    install_crd(&client).await;
    let discovered =
        kube::discovery::pinned_kind(&client, &GroupVersionKind::gvk("example.com", "v1", "Greeting"))
            .await
            .expect("discovered");
    let resource: ApiResource = discovered.0;
    assert_eq!(resource.plural, "greetings");
    let greetings: Api<DynamicObject> = Api::namespaced_with(client, "default", &resource);
    let object = DynamicObject::new("hello", &resource).data(json!({"spec": {"text": "hi", "unknown": 1}}));
    let made = greetings.create(&PostParams::default(), &object).await.expect("created");
    assert_eq!(made.data["spec"], json!({"text": "hi", "times": 1}), "pruned and defaulted");
    let bad = DynamicObject::new("bad", &resource).data(json!({"spec": {"text": 5}}));
    let refused = greetings.create(&PostParams::default(), &bad).await.expect_err("the type is wrong");
    assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{refused}");
}

#[tokio::test]
async fn watchers_and_reflectors_follow() {
    let served = Served::start(&[]);
    let maps: Api<ConfigMap> = Api::namespaced(served.client().await, "default");
    maps.create(&PostParams::default(), &config_map("before", "1")).await.expect("created");
    for config in [watcher::Config::default(), watcher::Config::default().streaming_lists()] {
        let (reader, writer) = reflector::store();
        let stream = reflector(writer, watcher(maps.clone(), config)).default_backoff().applied_objects();
        let mut stream = std::pin::pin!(stream);
        let first = stream.try_next().await.expect("well").expect("one");
        assert_eq!(first.name_any(), "before");
        maps.create(&PostParams::default(), &config_map("after", "1")).await.expect("created");
        let second = stream.try_next().await.expect("well").expect("one more");
        assert_eq!(second.name_any(), "after");
        assert_eq!(reader.state().len(), 2);
        maps.delete("after", &DeleteParams::default()).await.expect("deleted");
    }
}

#[tokio::test]
async fn a_watch_ends_with_its_type() {
    let served = Served::start(&[]);
    let client = served.client().await;
    install_crd(&client).await;
    let greetings: Api<Greeting> = Api::namespaced(client.clone(), "default");
    let greeting = Greeting::new("hello", GreetingSpec { text: "hi".to_owned(), times: 2 });
    greetings.create(&PostParams::default(), &greeting).await.expect("created");
    let parameters = WatchParams::default().disable_bookmarks();
    let mut events = greetings.watch(&parameters, "0").await.expect("a watch").boxed();
    assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
    let crds: Api<CustomResourceDefinition> = Api::all(client);
    crds.delete("greetings.example.com", &DeleteParams::default()).await.expect("deleted");
    let rest = tokio::time::timeout(Duration::from_secs(30), events.try_collect::<Vec<_>>());
    let rest = rest.await.expect("the watch ends").expect("it ends well");
    assert!(matches!(rest.as_slice(), [.., WatchEvent::Deleted(_)]), "the object goes first: {rest:?}");
}

/// A controller that greets in a ConfigMap, and cleans up with a finalizer, as kube-rs' documentation shows it.
#[tokio::test]
async fn a_controller_with_a_finalizer() {
    let served = Served::start(&[]);
    let client = served.client().await;
    install_crd(&client).await;
    let greetings: Api<Greeting> = Api::namespaced(client.clone(), "default");
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    let (running, context) = (greetings.clone(), Arc::new(client.clone()));
    let controller = tokio::spawn(async move {
        Controller::new(running, watcher::Config::default())
            .owns(Api::<ConfigMap>::all((*context).clone()), watcher::Config::default())
            .run(reconcile, |_, _, _| Action::requeue(Duration::from_millis(100)), context)
            .for_each(|_| std::future::ready(()))
            .await;
    });
    let greeting = Greeting::new("hello", GreetingSpec { text: "hi".to_owned(), times: 2 });
    greetings.create(&PostParams::default(), &greeting).await.expect("created");
    let greeted = await_condition(greetings.clone(), "hello", |object: Option<&Greeting>| {
        object.and_then(|object| object.status.as_ref()).is_some_and(|status| status.greeted == 2)
    });
    tokio::time::timeout(Duration::from_secs(30), greeted).await.expect("in time").expect("greeted");
    let made = maps.get("hello").await.expect("made by the controller");
    assert_eq!(made.data.expect("data")["text"], "hi");
    maps.delete("hello", &DeleteParams::default()).await.expect("deleted");
    let repaired = await_condition(maps.clone(), "hello", |object: Option<&ConfigMap>| object.is_some());
    tokio::time::timeout(Duration::from_secs(30), repaired).await.expect("in time").expect("made again");
    greetings.delete("hello", &DeleteParams::default()).await.expect("deleted");
    let gone = await_condition(greetings, "hello", |object: Option<&Greeting>| object.is_none());
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("in time").expect("gone");
    // What it owned is collected.
    let collected = await_condition(maps.clone(), "hello", |object: Option<&ConfigMap>| object.is_none());
    tokio::time::timeout(Duration::from_secs(30), collected).await.expect("in time").expect("collected");
    assert!(maps.get_opt("farewell").await.expect("answered").is_some(), "the finalizer ran");
    controller.abort();
}

async fn reconcile(
    greeting: Arc<Greeting>,
    client: Arc<Client>,
) -> Result<Action, kube::runtime::finalizer::Error<kube::Error>> {
    let greetings: Api<Greeting> = Api::namespaced((*client).clone(), "default");
    finalizer(&greetings, "example.com/farewell", greeting, |event| async {
        let maps: Api<ConfigMap> = Api::namespaced((*client).clone(), "default");
        match event {
            FinalizerEvent::Apply(greeting) => {
                use kube::Resource;
                let mut map = config_map(&greeting.name_any(), "");
                map.metadata.owner_references = greeting.controller_owner_ref(&()).map(|owner| vec![owner]);
                map.data = Some(BTreeMap::from([("text".to_owned(), greeting.spec.text.clone())]));
                let parameters = PatchParams::apply("greeter").force();
                maps.patch(&greeting.name_any(), &parameters, &Patch::Apply(&map)).await?;
                let status = json!({"status": {"greeted": greeting.spec.times}});
                let greetings: Api<Greeting> = Api::namespaced((*client).clone(), "default");
                greetings
                    .patch_status(&greeting.name_any(), &PatchParams::default(), &Patch::Merge(status))
                    .await?;
                Ok(Action::await_change())
            }
            FinalizerEvent::Cleanup(_) => {
                maps.create(&PostParams::default(), &config_map("farewell", "bye")).await?;
                Ok(Action::await_change())
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_namespace_goes_with_all_that_is_in_it() {
    let served = Served::start(&[]);
    let client = served.client().await;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let namespace: Namespace =
        serde_json::from_value(json!({"metadata": {"name": "short-lived"}})).expect("fits");
    namespaces.create(&PostParams::default(), &namespace).await.expect("created");
    let maps: Api<ConfigMap> = Api::namespaced(client, "short-lived");
    maps.create(&PostParams::default(), &config_map("a", "1")).await.expect("created");
    namespaces.delete("short-lived", &DeleteParams::default()).await.expect("deleted");
    let gone = await_condition(namespaces, "short-lived", |object: Option<&Namespace>| object.is_none());
    tokio::time::timeout(Duration::from_secs(30), gone).await.expect("in time").expect("gone");
    assert!(maps.get_opt("a").await.expect("answered").is_none());
}
