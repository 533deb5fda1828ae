//! What a server with roles allows, and what it says it has; and that the roles suffice for a reconcile.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::CustomResourceExt;
use two_configmaps::{Pair, PairSpec, TwoConfigMaps, config_map, pair};
use windlass::model::PatchKind;
use windlass::model::authorization::Rule;
use windlass::permissions::{Verb as Right, roles};
use windlass::{
    Answer, Ask, CoroutineState, Cx, Declaration, Finalizer, Kind, Machine, ObjectRef, Outcome,
    ReconcileResult, Reconciled, States, done, fail, to_value,
};

use super::*;
use crate::operations::clock;
use crate::operations::endpoints::Check;
use crate::operations::test_server::TestServer;

const USER: &str = "system:serviceaccount:default:operator";

/// Does all that a controller can: outputs in other namespaces, a finalizer, watches, parents that it makes.
struct Everything;

#[derive(States)]
enum Only {
    #[state(initial)]
    Only,
}

impl Machine for Everything {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("everything")
            .output_anywhere::<ConfigMap>()
            .watches::<Namespace>(|_| Vec::new())
            .create_missing(|target: &ObjectRef| Pair::new(&target.name, PairSpec::default()));
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let mut elsewhere = config_map("elsewhere", cx.parent());
        elsewhere.metadata.namespace = Some("kube-public".to_owned());
        cx.ensure(elsewhere);
        if cx.parent().spec.value.is_empty() {
            cx.ensure(config_map("empty", cx.parent()));
        }
        done()
    }

    fn finalizer(&self) -> Option<Finalizer<Pair>> {
        Some(Finalizer::new(Farewell))
    }
}

struct Farewell;

impl Machine for Farewell {
    type Parent = Pair;
    type State = Only;

    async fn run(&self, _: Only, _: &Cx<Pair>) -> Outcome<Only> {
        done()
    }
}

/// Makes a ClusterRole, or a Role in a namespace, and binds it to the user.
async fn grant(server: &TestServer, namespace: Option<&str>, name: &str, rules: &[Rule]) {
    let (kind, plural) = match namespace {
        Some(_) => ("Role", "roles"),
        None => ("ClusterRole", "clusterroles"),
    };
    let (group, role_namespace) = ("rbac.authorization.k8s.io", namespace.unwrap_or_default());
    let rules: Vec<Value> = rules.iter().map(Rule::to_value).collect();
    let role = json!({ "metadata": { "name": name }, "rules": rules });
    server.create(ResourceId::new(group, "v1", plural), role_namespace, role).await;
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": group, "kind": kind, "name": name },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": USER }],
    });
    let bindings = format!("{}bindings", plural.trim_end_matches('s'));
    server.create(ResourceId::new(group, "v1", &bindings), role_namespace, binding).await;
}

/// A server with roles, with the CRD of pairs or without.
async fn serve_with(crd: bool) -> TestServer {
    let server = TestServer::with_roles().await;
    if crd {
        let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        server.create(definitions, "", json!(Pair::crd())).await;
    }
    server
}

async fn grant_all(server: &TestServer, needed: &[Permission]) {
    for (namespace, rules) in roles(needed) {
        grant(server, namespace.as_deref(), "operator", &rules).await;
    }
}

fn words(problems: &[Problem]) -> Vec<String> {
    problems.iter().map(Problem::to_string).collect()
}

#[tokio::test]
async fn the_roles_of_a_controller_satisfy_its_preflight() {
    let server = serve_with(true).await;
    let controllers = [Controller::new(TwoConfigMaps), Controller::new(Everything)];
    let scope = Scope { lease_namespace: Some("default".to_owned()), ..Scope::default() };
    grant_all(&server, &permissions(&controllers, &scope)).await;
    let api = server.user(USER);
    assert_eq!(words(&preflight(&*api, &controllers, &scope).await), Vec::<String>::new());
    server.shutdown().await;
}

#[tokio::test]
async fn reports_each_missing_permission() {
    let server = serve_with(true).await;
    let controllers = [Controller::new(Everything)];
    let needed = permissions(&controllers, &Scope::default());
    let (granted, missing): (Vec<_>, Vec<_>) = needed.into_iter().partition(|permission| {
        permission.subresource.is_empty()
            && !(permission.resource == "configmaps" && permission.verb == "watch")
    });
    assert!(missing.len() > 2, "{missing:?}");
    grant_all(&server, &granted).await;
    let problems = preflight(&*server.user(USER), &controllers, &Scope::default()).await;
    assert_eq!(problems, missing.into_iter().map(Problem::Forbidden).collect::<Vec<_>>());
    assert_eq!(
        problems[0].to_string(),
        "this process may not watch configmaps in the whole cluster: add the verb \"watch\" on the resource \
         \"configmaps\" in the API group \"\" to its ClusterRole"
    );
    server.shutdown().await;
}

#[tokio::test]
async fn a_controller_is_not_ready_until_it_may_do_all_that_it_declares() {
    let server = serve_with(true).await;
    let controllers = [Controller::new(Meddler)];
    let needed = permissions(&controllers, &Scope::default());
    let (beyond, granted): (Vec<_>, Vec<_>) = needed
        .into_iter()
        .partition(|permission| permission.verb == "update" && permission.resource == "secrets");
    assert_eq!(beyond.len(), 1, "{beyond:?}");
    grant_all(&server, &granted).await;
    let (api, degraded) = (server.user(USER), Degraded::default());
    assert!(!degraded.ask(&*api, &controllers, &Scope::default()).await);
    let expected = "this process may not update secrets in the whole cluster: add the verb \"update\" on the resource \
                    \"secrets\" in the API group \"\" to its ClusterRole";
    let check = |problem: Option<&str>| Check {
        name: "preflight of meddler".to_owned(),
        problem: problem.map(str::to_owned),
    };
    assert_eq!(degraded.checks(), [check(Some(expected))]);
    for (namespace, rules) in roles(&beyond) {
        grant(&server, namespace.as_deref(), "beyond", &rules).await;
    }
    assert!(degraded.ask(&*api, &controllers, &Scope::default()).await);
    assert_eq!(degraded.checks(), [check(None)]);
    server.shutdown().await;
}

/// Reads, replaces, patches and deletes Secrets that are not its outputs.
struct Meddler;

impl Machine for Meddler {
    type Parent = Pair;
    type State = Only;

    fn declare(&self, declaration: &mut Declaration) {
        declaration
            .name("meddler")
            .may::<Secret>([Right::Get, Right::Update, Right::Patch, Right::Delete])
            .may_on::<Pair>("status", [Right::Get]);
    }

    async fn run(&self, _: Only, cx: &Cx<Pair>) -> Outcome<Only> {
        let Some(mut secret) = cx.get::<Secret>("shared").await? else { return done() };
        secret.type_ = None;
        secret.metadata.annotations = Some([("seen-by".to_owned(), cx.name().to_owned())].into());
        let secret = cx.update(&secret).await?;
        let kind = Secret::kind_info();
        let patch = Request::new(Verb::Patch(PatchKind::Merge), kind.resource)
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

#[tokio::test]
async fn the_roles_suffice_for_what_is_declared_beyond_outputs_and_for_no_more() {
    let server = serve_with(true).await;
    let controller = Controller::new(Meddler);
    let needed = permissions(std::slice::from_ref(&controller), &Scope::default());
    let (api, target) = (server.user(USER), ObjectRef::new("default", "a"));
    let pairs = controller.declaration().parent().resource.clone();
    let secrets = Secret::kind_info().resource;
    server.create(pairs, "default", to_value(&pair("a")).expect("a pair is an object")).await;
    let shared = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "shared" } });
    server.create(secrets.clone(), "default", shared).await;
    // Without one of the verbs beyond its outputs it gets as far as that.
    let without_delete: Vec<_> =
        needed.iter().filter(|permission| permission.verb != "delete").cloned().collect();
    grant_all(&server, &without_delete).await;
    let ReconcileResult::Failed { message, .. } = drive(&*api, &controller, &target).await.result else {
        panic!("it may not delete secrets");
    };
    assert!(message.contains("cannot delete resource \"secrets\""), "{message}");
    let found = &server.list(secrets.clone()).await[0]["metadata"];
    assert_eq!((&found["annotations"]["seen-by"], &found["labels"]["patched"]), (&json!("a"), &json!("yes")));
    for (namespace, rules) in roles(&needed) {
        grant(&server, namespace.as_deref(), "all", &rules).await;
    }
    assert_eq!(
        drive(&*api, &controller, &target).await.result,
        ReconcileResult::Done { requeue_after: None }
    );
    assert_eq!(server.list(secrets).await, Vec::<Value>::new());
    server.shutdown().await;
}

#[tokio::test]
async fn a_process_that_is_confined_needs_no_more_than_its_namespaces() {
    let server = serve_with(true).await;
    let controllers = [Controller::new(TwoConfigMaps)];
    let scope = Scope { namespaces: vec!["default".to_owned()], ..Scope::default() };
    let needed = permissions(&controllers, &scope);
    assert_eq!(roles(&needed).keys().cloned().collect::<Vec<_>>(), [Some("default".to_owned())]);
    grant_all(&server, &needed).await;
    let api = server.user(USER);
    assert_eq!(words(&preflight(&*api, &controllers, &scope).await), Vec::<String>::new());
    let whole = preflight(&*api, &controllers, &Scope::default()).await;
    assert_eq!(whole.len(), permissions(&controllers, &Scope::default()).len());
    server.shutdown().await;
}

#[tokio::test]
async fn reports_a_missing_crd_and_what_to_do() {
    let server = serve_with(false).await;
    let controllers = [Controller::new(TwoConfigMaps)];
    grant_all(&server, &permissions(&controllers, &Scope::default())).await;
    let problems = preflight(&*server.user(USER), &controllers, &Scope::default()).await;
    let expected =
        "the cluster has no pairs example.windlass.dev/v1: apply the CustomResourceDefinition of Pair";
    assert_eq!(words(&problems), [expected]);
    server.shutdown().await;
}

/// What the preflight says of a cluster that has a CRD with a change.
async fn with_changed_crd(change: impl FnOnce(&mut Value)) -> Vec<String> {
    let server = TestServer::start().await;
    let mut definition = json!(Pair::crd());
    change(&mut definition["spec"]["versions"][0]);
    let definitions = ResourceId::new("apiextensions.k8s.io", "v1", "customresourcedefinitions");
    server.create(definitions, "", definition).await;
    let problems = preflight(&*server.admin, &[Controller::new(TwoConfigMaps)], &Scope::default()).await;
    server.shutdown().await;
    words(&problems)
}

#[tokio::test]
async fn reports_a_crd_of_another_version() {
    let expected = "the cluster has no pairs example.windlass.dev/v1: it serves v2 of that group, so apply the \
                    CustomResourceDefinition of Pair that has v1";
    assert_eq!(with_changed_crd(|version| version["name"] = "v2".into()).await, [expected]);
}

#[tokio::test]
async fn reports_a_crd_without_status() {
    let expected = "pairs.example.windlass.dev has no status subresource: add `subresources: { status: {} }` to \
                    version v1 of its CustomResourceDefinition";
    assert_eq!(with_changed_crd(|version| drop(version["subresources"].take())).await, [expected]);
}

#[tokio::test]
async fn an_api_that_does_not_answer_is_reported_as_unknown() {
    let server = TestServer::start().await;
    let api = server.admin.clone();
    server.shutdown().await;
    let controllers = [Controller::new(TwoConfigMaps)];
    let problems = preflight(&*api, &controllers, &Scope::default()).await;
    assert!(problems.iter().all(|problem| matches!(problem, Problem::Unknown { .. })), "{problems:?}");
    assert_eq!(problems.len(), permissions(&controllers, &Scope::default()).len() + 2);
}

/// Runs a reconcile to its end, request by request.
async fn drive(api: &dyn Perform, controller: &Controller, target: &ObjectRef) -> Reconciled {
    let mut coroutine = controller.reconcile(target, true);
    let mut answers = Vec::new();
    loop {
        match coroutine.resume(std::mem::take(&mut answers)) {
            CoroutineState::End(ended) => return ended,
            CoroutineState::Bug(bug) => panic!("{bug:?}"),
            CoroutineState::Ask(asks) => {
                for ask in asks {
                    answers.push(match &ask {
                        Ask::Api { request, .. } => Answer::Api(api.perform(request).await),
                        Ask::Now => Answer::Now(clock::now()),
                        Ask::Random { .. } => unreachable!("the controllers of this test draw nothing"),
                        Ask::Call { .. } => panic!("no service is called here"),
                    });
                }
            }
        }
    }
}

#[tokio::test]
async fn the_roles_suffice_for_a_life_from_creation_to_deletion() {
    let server = serve_with(true).await;
    let controller = Controller::new(Everything);
    grant_all(&server, &permissions(std::slice::from_ref(&controller), &Scope::default())).await;
    let api = server.user(USER);
    let target = ObjectRef::new("default", "a");
    let done = ReconcileResult::Done { requeue_after: None };
    // It does not exist, so it is made; then its outputs; then one of them is pruned; then all goes.
    assert_eq!(drive(&*api, &controller, &target).await.result, done);
    let mut changed = to_value(&pair("a")).expect("a pair is an object");
    changed["spec"]["value"] = "x".into();
    let pairs = controller.declaration().parent().resource.clone();
    let merge = Request::new(Verb::Patch(windlass::model::PatchKind::Merge), pairs.clone());
    server.perform(merge.in_namespace("default").named("a").with_body(changed)).await;
    assert_eq!(drive(&*api, &controller, &target).await.result, done);
    let delete = Request::new(Verb::Delete, pairs.clone()).in_namespace("default").named("a");
    server.perform(delete).await;
    drive(&*api, &controller, &target).await;
    assert_eq!(server.list(pairs).await, Vec::<Value>::new());
    let left = server.list(ResourceId::new("", "v1", "configmaps")).await;
    let names: Vec<&Value> = left.iter().map(|map| &map["metadata"]["name"]).collect();
    assert!(!names.iter().any(|name| *name == "a-elsewhere" || *name == "a-empty"), "{names:?}");
    server.shutdown().await;
}

#[test]
fn roles_have_one_rule_for_what_is_alike() {
    let needed = permissions(&[Controller::new(TwoConfigMaps)], &Scope::default());
    let all = roles(&needed);
    let rules: Vec<String> = all[&None].iter().map(|rule| rule.to_value().to_string()).collect();
    assert_eq!(
        rules,
        [
            r#"{"apiGroups":[""],"resources":["configmaps"],"verbs":["get","list","watch","create","patch","delete"]}"#,
            r#"{"apiGroups":["events.k8s.io"],"resources":["events"],"verbs":["create","patch"]}"#,
            r#"{"apiGroups":["example.windlass.dev"],"resources":["pairs"],"verbs":["get","list","watch"]}"#,
            r#"{"apiGroups":["example.windlass.dev"],"resources":["pairs/status"],"verbs":["patch"]}"#,
            r#"{"apiGroups":["example.windlass.dev"],"resources":["pairs/finalizers"],"verbs":["update"]}"#,
        ]
    );
}
