//! Which requests are within a controller's rights, and what is said about the others.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service};
use serde_json::json;
use windlass::local::Local;
use windlass::model::{Cluster, PatchKind, Request, Verb as RequestVerb};
use windlass::permissions::{Permission, Scope, permissions};
use windlass::{
    Bug, Controller, Cx, Declaration, Finalizer, Kind, Machine, ObjectRef, Outcome, States, Verb, done,
};

/// A machine with whatever it is to declare.
struct Declared {
    declare: fn(&mut Declaration),
    finalizer: bool,
}

#[derive(States)]
enum Step {
    #[state(initial)]
    Lookup,
}

impl Machine for Declared {
    type Parent = Namespace;
    type State = Step;

    fn declare(&self, declaration: &mut Declaration) {
        declaration.name("tenants");
        (self.declare)(declaration);
    }

    async fn run(&self, _: Step, cx: &Cx<Namespace>) -> Outcome<Step> {
        cx.get_in::<Secret>(cx.name(), "login").await?;
        done()
    }

    fn finalizer(&self) -> Option<Finalizer<Namespace>> {
        self.finalizer.then(|| Finalizer::new(Declared { declare: |_| {}, finalizer: false }))
    }
}

fn controller(declare: fn(&mut Declaration)) -> Controller {
    Controller::new(Declared { declare, finalizer: false })
}

fn request<K: Kind>(verb: RequestVerb) -> Request {
    Request::new(verb, K::kind_info().resource).in_namespace("a").named("x")
}

/// What is missing, and the remedy; empty if nothing is.
fn missing(controller: &Controller, request: &Request) -> String {
    let missing = controller.permits(request).err();
    missing.map(|missing| format!("{missing}: {}", missing.remedy())).unwrap_or_default()
}

#[test]
fn what_follows_from_the_declaration_needs_no_word() {
    let tenants = controller(|declaration| {
        declaration.output::<ConfigMap>().watches::<Service>(|_| Vec::new());
    });
    let apply = RequestVerb::Patch(PatchKind::Apply);
    for verb in [RequestVerb::Get, RequestVerb::List, RequestVerb::Create, RequestVerb::Delete, apply] {
        assert_eq!(missing(&tenants, &request::<ConfigMap>(verb)), "", "{verb:?}");
    }
    assert_eq!(missing(&tenants, &request::<Service>(RequestVerb::List)), "");
    assert_eq!(missing(&tenants, &Request::new(RequestVerb::Get, Namespace::kind_info().resource)), "");
}

#[test]
fn everything_else_is_refused_with_what_to_declare() {
    let tenants = controller(|declaration| {
        declaration.output::<ConfigMap>().watches::<Service>(|_| Vec::new());
    });
    let refused = [
        (request::<Secret>(RequestVerb::Get), "get secrets: may::<Secret>([Verb::Get])"),
        (request::<ConfigMap>(RequestVerb::Update), "update configmaps: may::<ConfigMap>([Verb::Update])"),
        (request::<Service>(RequestVerb::Delete), "delete services: may::<Service>([Verb::Delete])"),
        (
            request::<Namespace>(RequestVerb::Patch(PatchKind::Merge)),
            "patch namespaces: may::<Namespace>([Verb::Patch])",
        ),
        (
            request::<ConfigMap>(RequestVerb::DeleteCollection),
            "deletecollection configmaps: may::<ConfigMap>([Verb::DeleteCollection])",
        ),
    ];
    for (request, expected) in refused {
        assert_eq!(missing(&tenants, &request), expected);
    }
    let mut scale = request::<Deployment>(RequestVerb::Update);
    scale.subresource = Some("scale".to_owned());
    let expected = "update deployments/scale (apps): may_on::<Deployment>(\"scale\", [Verb::Update])";
    assert_eq!(missing(&tenants, &scale), expected);
}

#[test]
fn what_is_declared_is_allowed_and_no_more() {
    let tenants = controller(|declaration| {
        declaration
            .may::<Secret>([Verb::Get, Verb::Update])
            .may_in::<Service>("kube-system", [Verb::List])
            .may_on::<Deployment>("scale", [Verb::Update]);
    });
    assert_eq!(missing(&tenants, &request::<Secret>(RequestVerb::Get)), "");
    assert_eq!(missing(&tenants, &request::<Secret>(RequestVerb::Update)), "");
    assert_ne!(missing(&tenants, &request::<Secret>(RequestVerb::List)), "");
    let mut scale = request::<Deployment>(RequestVerb::Update);
    assert_ne!(missing(&tenants, &scale), "");
    scale.subresource = Some("scale".to_owned());
    assert_eq!(missing(&tenants, &scale), "");
    let services = Request::new(RequestVerb::List, Service::kind_info().resource);
    assert_eq!(missing(&tenants, &services.clone().in_namespace("kube-system")), "");
    assert_ne!(missing(&tenants, &services.clone().in_namespace("default")), "");
    assert_ne!(missing(&tenants, &services), "", "a list of all namespaces");
}

#[test]
fn an_apply_that_may_create_needs_both_verbs() {
    let tenants = controller(|declaration| {
        declaration.may::<Secret>([Verb::Patch]);
    });
    let apply = request::<Secret>(RequestVerb::Patch(PatchKind::Apply));
    let anonymous = apply.clone().with_body(json!({"metadata": {"name": "x"}}));
    assert_eq!(missing(&tenants, &anonymous), "create secrets: may::<Secret>([Verb::Create])");
    let known = apply.with_body(json!({"metadata": {"name": "x", "uid": "u"}}));
    assert_eq!(missing(&tenants, &known), "");
}

#[test]
fn a_finalizer_may_be_set_and_removed() {
    let patch = request::<Namespace>(RequestVerb::Patch(PatchKind::Merge));
    let with = |finalizer| Controller::new(Declared { declare: |_| {}, finalizer });
    assert_eq!(missing(&with(true), &patch), "");
    assert_ne!(missing(&with(false), &patch), "");
}

#[test]
fn permissions_are_where_the_process_works() {
    let tenants = controller(|declaration| {
        declaration.may::<Secret>([Verb::Get]).may_in::<Service>("kube-system", [Verb::Update]);
    });
    let of = |namespaces: &[&str]| {
        let namespaces = namespaces.iter().map(|name| (*name).to_owned()).collect();
        let needed =
            permissions(std::slice::from_ref(&tenants), &Scope { namespaces, lease_namespace: None });
        let of_interest = |permission: &&Permission| matches!(&*permission.resource, "secrets" | "services");
        needed.iter().filter(of_interest).map(Permission::to_string).collect::<Vec<_>>()
    };
    let services = "update services in the namespace kube-system";
    assert_eq!(of(&[]), ["get secrets in the whole cluster", services]);
    assert_eq!(
        of(&["b", "a"]),
        ["get secrets in the namespace a", "get secrets in the namespace b", services]
    );
}

#[test]
#[should_panic(expected = "may_in(\"a\", ..) is about Namespace, which has no namespaces")]
fn a_namespace_for_what_has_none_cannot_be_declared() {
    controller(|declaration| {
        declaration.may_in::<Namespace>("a", [Verb::Get]);
    });
}

#[test]
fn a_local_reconcile_is_refused_what_a_role_would_refuse() {
    let mut local = Local::new(Cluster::new());
    let target = ObjectRef::new("", "default");
    let refused = local.reconcile(&controller(|_| {}), &target).expect_err("it is not declared");
    assert_eq!(
        refused,
        Bug::NotPermitted {
            controller: "tenants".to_owned(),
            state: "Lookup".to_owned(),
            request: "get secrets".to_owned(),
            remedy: "may::<Secret>([Verb::Get])".to_owned(),
        }
    );
    let declared = controller(|declaration| {
        declaration.may::<Secret>([Verb::Get]);
    });
    assert_eq!(local.reconcile(&declared, &target).map(|ended| ended.path), Ok(vec!["Lookup"]));
}
