//! What those who run controllers see of a real kube-apiserver: roles that suffice, events in `kubectl describe`, a lease.

use std::sync::Arc;

use conformance::kubernetes::Kubernetes;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::PostParams;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use two_configmaps::{Pair, TwoConfigMaps};
use windlass::model::authorization::Rule;
use windlass::permissions::{Scope, permissions, roles};
use windlass::{
    Controller, Cx, Declaration, Event, Kind, KindInfo, Machine, Outcome, States, Verb, done, fail, model,
};
use windlass_runtime::operations::events::{EventRecorder, Regarding};
use windlass_runtime::operations::leader::{LeaderSettings, Leadership, Timing};
use windlass_runtime::operations::metrics::Metrics;
use windlass_runtime::operations::preflight::preflight;
use windlass_runtime::{Api, Manager};

use crate::support::{Cluster, client_of, eventually};

const USER: &str = "system:serviceaccount:default:operator";

/// Creates an object in the namespace of a scenario.
async fn create<K>(cluster: &Cluster, object: Value)
where
    K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>,
    K: Clone + std::fmt::Debug + serde::Serialize + DeserializeOwned,
{
    let api: kube::Api<K> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let object = serde_json::from_value(object).expect("an object");
    api.create(&PostParams::default(), &object).await.expect("it is created");
}

/// A client of somebody who may do nothing but what roles allow.
async fn client_of_user(kubernetes: &Kubernetes) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubernetes.kubeconfig()).expect("a kubeconfig");
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await;
    let mut config = config.expect("a usable kubeconfig");
    config.auth_info.impersonate = Some(USER.to_owned());
    kube::Client::try_from(config).expect("a client")
}

/// Replaces, patches and then deletes a Secret that is not its output.
struct Meddler;

#[derive(States)]
enum Only {
    #[state(initial, condition = "Tidied")]
    Only,
}

impl Machine for Meddler {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("meddler").may::<Secret>([Verb::Get, Verb::Update, Verb::Patch, Verb::Delete]);
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let Some(mut secret) = cx.get::<Secret>("shared").await? else { return done() };
        secret.metadata.annotations = Some([("seen-by".to_owned(), cx.name().to_owned())].into());
        let secret = cx.update(&secret).await?;
        let merge = model::Verb::Patch(model::PatchKind::Merge);
        let patch = model::Request::new(merge, Secret::kind_info().resource)
            .in_namespace(cx.namespace())
            .named("shared")
            .with_body(json!({ "metadata": { "labels": { "patched": "yes" } } }));
        if let Some(failure) = cx.request(patch).await.failure() {
            return fail("Patch", failure.message.clone());
        }
        cx.delete(&secret).await?;
        done()
    }
}

/// With the roles that are made for them, and no others, controllers find nothing missing and do their work.
async fn roles_suffice(cluster: &Cluster, user: kube::Client) {
    create::<Secret>(cluster, json!({ "metadata": { "name": "shared" } })).await;
    let controllers = [Controller::new(TwoConfigMaps), Controller::new(Meddler)];
    let namespaces = vec![cluster.namespace.clone()];
    let scope = Scope { lease_namespace: Some(cluster.namespace.clone()), namespaces };
    let api = Api::new(user.clone());
    let needed = permissions(&controllers, &scope);
    assert_eq!(preflight(&api, &controllers, &scope).await.len(), needed.len(), "nothing is allowed yet");
    let all = roles(&needed);
    let rules: Vec<Value> = all[&Some(cluster.namespace.clone())].iter().map(Rule::to_value).collect();
    create::<Role>(cluster, json!({ "metadata": { "name": "operator" }, "rules": rules })).await;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": { "name": "operator" },
        "roleRef": { "apiGroup": group, "kind": "Role", "name": "operator" },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": USER }],
    });
    create::<RoleBinding>(cluster, binding).await;
    eventually("the roles are known", async || preflight(&api, &controllers, &scope).await.is_empty()).await;
    let timing = Timing::default();
    let (namespace, name) = (cluster.namespace.clone(), "pairs".to_owned());
    let leader = LeaderSettings { namespace, name, identity: "one".to_owned(), timing };
    let manager = Manager::new().client(user).namespace(&cluster.namespace).leader_election(leader);
    let manager = manager.controller(TwoConfigMaps).controller(Meddler);
    let running = manager.start().await.expect("it starts");
    cluster.create_pair("a").await;
    cluster.until_ready("a").await;
    let secrets: kube::Api<Secret> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let is_deleted = async || secrets.get_opt("shared").await.expect("an answer").is_none();
    eventually("it may delete what it declares", is_deleted).await;
    running.stop().await;
}

/// `kubectl describe` shows one line for an event that came five times.
async fn describe_shows_a_series(cluster: &Cluster, kubernetes: &Kubernetes) {
    cluster.create_pair("described").await;
    let pair = cluster.pairs().get("described").await.expect("a pair");
    let kind: KindInfo = two_configmaps::Pair::kind_info();
    let about = Regarding::of(&kind, &json!(pair));
    let recorder = EventRecorder::start(Arc::new(Api::new(cluster.client.clone())), "host-1");
    let events = recorder.controller("pair-keeper");
    for _ in 0..5 {
        events.publish(&about, &Event::warning("Clashing", "somebody else writes this"));
    }
    recorder.shutdown().await;
    let mut kubectl = tokio::process::Command::new(kubernetes.kubectl());
    kubectl.arg("--kubeconfig").arg(kubernetes.kubeconfig()).args(["-n", &cluster.namespace]);
    let output = kubectl.args(["describe", "pair", "described"]).output().await.expect("kubectl runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().filter(|line| line.contains("Clashing")).collect();
    let [line] = lines.as_slice() else { panic!("one line: {text}") };
    for part in ["Warning", "(x5 over", "pair-keeper", "somebody else writes this"] {
        assert!(line.contains(part), "{part}: {line}");
    }
}

/// The lease is taken, and given back.
async fn a_lease_is_taken_and_given_back(cluster: &Cluster) {
    let identity = "host-1_1".to_owned();
    let (namespace, name) = (cluster.namespace.clone(), "alone".to_owned());
    let settings = LeaderSettings { namespace, name, identity, timing: Timing::default() };
    let api = Arc::new(Api::new(cluster.client.clone()));
    let leadership = Leadership::start(api, settings, Metrics::new()).expect("these settings work");
    leadership.leading().begin().await;
    let leases: kube::Api<Lease> = kube::Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let holder =
        async || leases.get("alone").await.expect("a lease").spec.and_then(|spec| spec.holder_identity);
    assert_eq!(holder().await.as_deref(), Some("host-1_1"));
    leadership.shutdown().await;
    assert_eq!(holder().await.as_deref(), Some(""));
}

#[tokio::test]
async fn on_kubernetes() {
    let kubernetes =
        tokio::task::spawn_blocking(Kubernetes::start).await.expect("no panic").expect("it starts");
    let client = client_of(&kubernetes.kubeconfig()).await;
    let cluster = Cluster::new(client, "operations").await;
    roles_suffice(&cluster, client_of_user(&kubernetes).await).await;
    describe_shows_a_series(&cluster, &kubernetes).await;
    a_lease_is_taken_and_given_back(&cluster).await;
    tokio::task::spawn_blocking(move || drop(kubernetes)).await.expect("it ends");
}
