//! RBAC: who is allowed what, who may give rights away, and what the reviews say.

use serde_json::{Value, json};
use windlass_model::authentication::{User, unauthorized};
use windlass_model::authorization::{self, Attributes, Authorizer, Decision, Policy, attributes, authorize};
use windlass_model::reviews::{Reviewer, review};
use windlass_model::{Cluster, PatchKind, Request, ResourceId, Response, Verb};

use crate::support::{merge, ok, refused};

const RBAC: &str = "rbac.authorization.k8s.io";

fn write(cluster: &mut Cluster, object: Value) {
    let response = cluster.request(&create(object));
    assert_eq!(response.code, 201, "{response:?}");
}

fn create(object: Value) -> Request {
    let plural = format!("{}s", object["kind"].as_str().expect("as the tests write it").to_lowercase());
    let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default().to_owned();
    Request::new(Verb::Create, ResourceId::new(RBAC, "v1", &plural))
        .in_namespace(&namespace)
        .with_body(object)
}

fn cluster_role(name: &str, rules: Value) -> Value {
    json!({ "apiVersion": format!("{RBAC}/v1"), "kind": "ClusterRole", "metadata": { "name": name }, "rules": rules })
}

fn role(namespace: &str, name: &str, rules: Value) -> Value {
    let mut role = cluster_role(name, rules);
    role["kind"] = "Role".into();
    role["metadata"]["namespace"] = namespace.into();
    role
}

/// Binds a role to a subject, written `User/ann`, `Group/ops` or `ServiceAccount/namespace/name`.
fn binding(namespace: &str, name: &str, role: &str, subject: &str) -> Value {
    let (role_kind, role) = role.split_once('/').expect("as the tests write it");
    let parts: Vec<&str> = subject.split('/').collect();
    let subject = match parts.as_slice() {
        ["ServiceAccount", namespace, name] => {
            json!({ "kind": "ServiceAccount", "namespace": namespace, "name": name })
        }
        [kind, name] => json!({ "apiGroup": RBAC, "kind": kind, "name": name }),
        _ => panic!("{subject}"),
    };
    let kind = if namespace.is_empty() { "ClusterRoleBinding" } else { "RoleBinding" };
    let mut binding = json!({
        "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": { "name": name },
        "roleRef": { "apiGroup": RBAC, "kind": role_kind, "name": role }, "subjects": [subject],
    });
    if !namespace.is_empty() {
        binding["metadata"]["namespace"] = namespace.into();
    }
    binding
}

/// A cluster in which roles say what the table below expects.
fn cluster() -> Cluster {
    let mut cluster = Cluster::new();
    for object in [
        cluster_role(
            "reader",
            json!([{ "apiGroups": [""], "resources": ["pods", "pods/log"], "verbs": ["get", "list", "watch"] }]),
        ),
        cluster_role(
            "scaler",
            json!([{ "apiGroups": ["*"], "resources": ["*/scale"], "verbs": ["update"] }]),
        ),
        cluster_role("everything", json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }])),
        cluster_role(
            "health",
            json!([
                { "nonResourceURLs": ["/healthz", "/healthz/*", "/logs*"], "verbs": ["get"] },
                { "nonResourceURLs": ["/metrics"], "verbs": ["*"] },
            ]),
        ),
        role(
            "default",
            "one-secret",
            json!([
                { "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["s1", "s2"], "verbs": ["get", "list", "delete"] },
            ]),
        ),
        role(
            "default",
            "apps",
            json!([{ "apiGroups": ["apps"], "resources": ["deployments"], "verbs": ["get"] }]),
        ),
        binding("", "ann-reads", "ClusterRole/reader", "User/ann"),
        binding("", "ann-health", "ClusterRole/health", "User/ann"),
        binding("", "ops-scale", "ClusterRole/scaler", "Group/ops"),
        binding("default", "bob-reads", "ClusterRole/reader", "User/bob"),
        binding("default", "bob-secret", "Role/one-secret", "User/bob"),
        binding("kube-system", "bob-lost", "Role/one-secret", "User/bob"),
        binding("default", "builder", "Role/apps", "ServiceAccount/ci/builder"),
        binding("default", "all-of-ci", "ClusterRole/reader", "Group/system:serviceaccounts:ci"),
        binding("", "root", "ClusterRole/everything", "User/root"),
    ] {
        write(&mut cluster, object);
    }
    cluster
}

/// `ann`, `ann+ops` with groups, or `sa:namespace:name`.
fn user(text: &str) -> User {
    if let Some((namespace, name)) = text.strip_prefix("sa:").and_then(|rest| rest.split_once(':')) {
        return User::service_account(namespace, name, "uid");
    }
    let mut parts = text.split('+');
    let name = parts.next().expect("as the tests write it");
    User::authenticated(name, &parts.collect::<Vec<_>>())
}

/// `GET /path?query`
fn wanted(text: &str) -> Attributes {
    let (method, target) = text.split_once(' ').expect("as the tests write it");
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    attributes(method, path, query)
}

#[test]
fn roles_decide() {
    let cluster = cluster();
    let policy = Policy::of(cluster.store());
    for (who, request, allowed) in [
        // A ClusterRole bound outside namespaces holds in all of them.
        ("ann", "GET /api/v1/pods", true),
        ("ann", "GET /api/v1/namespaces/any/pods/p", true),
        ("ann", "GET /api/v1/pods?watch=1", true),
        ("ann", "POST /api/v1/namespaces/default/pods", false),
        ("ann", "DELETE /api/v1/namespaces/default/pods", false),
        ("ann", "GET /apis/apps/v1/deployments", false),
        ("ann", "GET /apis/metrics.k8s.io/v1/pods", false),
        // Subresources are distinguished from their objects.
        ("ann", "GET /api/v1/namespaces/default/pods/p/log", true),
        ("ann", "GET /api/v1/namespaces/default/pods/p/exec", false),
        ("bob+ops", "PUT /apis/apps/v1/namespaces/x/deployments/d/scale", true),
        ("bob+ops", "PUT /apis/example.com/v1/namespaces/x/widgets/d/scale", true),
        ("bob+ops", "PUT /apis/apps/v1/namespaces/x/deployments/d", false),
        ("bob+ops", "PUT /apis/apps/v1/namespaces/x/deployments/d/status", false),
        ("bob", "PUT /apis/apps/v1/namespaces/x/deployments/d/scale", false),
        // A ClusterRole bound in a namespace holds there.
        ("bob", "GET /api/v1/namespaces/default/pods", true),
        ("bob", "GET /api/v1/namespaces/kube-system/pods", false),
        ("bob", "GET /api/v1/pods", false),
        // Names of objects.
        ("bob", "GET /api/v1/namespaces/default/secrets/s1", true),
        ("bob", "GET /api/v1/namespaces/default/secrets/s3", false),
        ("bob", "GET /api/v1/namespaces/default/secrets", false),
        ("bob", "GET /api/v1/namespaces/default/secrets?fieldSelector=metadata.name=s2", true),
        ("bob", "GET /api/v1/namespaces/default/secrets?fieldSelector=metadata.name!=s2", false),
        ("bob", "DELETE /api/v1/namespaces/default/secrets", false),
        // Service accounts, and their groups.
        ("sa:ci:builder", "GET /apis/apps/v1/namespaces/default/deployments/d", true),
        ("sa:default:builder", "GET /apis/apps/v1/namespaces/default/deployments/d", false),
        ("sa:ci:other", "GET /apis/apps/v1/namespaces/default/deployments/d", false),
        ("sa:ci:other", "GET /api/v1/namespaces/default/pods", true),
        ("sa:prod:other", "GET /api/v1/namespaces/default/pods", false),
        // Paths that are no resources.
        ("ann", "GET /healthz", true),
        ("ann", "GET /healthz/etcd", true),
        ("ann", "GET /healthzz", false),
        ("ann", "GET /logs", true),
        ("ann", "GET /logs-of-today", true),
        ("ann", "POST /healthz", false),
        ("ann", "POST /metrics", true),
        ("ann", "HEAD /healthz", false),
        ("root", "GET /healthz", false),
        // Everything about resources, and everything at all.
        ("root", "DELETE /apis/example.com/v1/namespaces/x/widgets/w", true),
        ("eve", "GET /api/v1/pods", false),
        ("eve+system:masters", "DELETE /api/v1/nodes", true),
        ("eve+system:masters", "POST /anything", true),
    ] {
        let decision = authorize(cluster.store(), &user(who), &wanted(request));
        assert_eq!(decision.allowed, allowed, "{who}: {request}");
        let kept = Authorizer::Rbac(&policy).authorize(&user(who), &wanted(request));
        assert_eq!(kept, decision, "{who}: {request}");
        assert!(Authorizer::AlwaysAllow.authorize(&user(who), &wanted(request)).allowed);
    }
}

#[test]
fn decisions_have_reasons() {
    let cluster = cluster();
    let reason = |who: &str, request: &str| authorize(cluster.store(), &user(who), &wanted(request)).reason;
    for (who, request, expected) in [
        (
            "ann",
            "GET /api/v1/pods",
            "RBAC: allowed by ClusterRoleBinding \"ann-reads\" of ClusterRole \"reader\" to User \"ann\"",
        ),
        (
            "sa:ci:builder",
            "GET /apis/apps/v1/namespaces/default/deployments/d",
            "RBAC: allowed by RoleBinding \"builder/default\" of Role \"apps\" to ServiceAccount \"builder/ci\"",
        ),
        (
            "bob",
            "GET /api/v1/namespaces/kube-system/secrets/s1",
            "RBAC: role.rbac.authorization.k8s.io \"one-secret\" not found",
        ),
        ("eve", "GET /api/v1/pods", ""),
        ("eve+system:masters", "GET /api/v1/pods", ""),
    ] {
        assert_eq!(reason(who, request), expected, "{who}: {request}");
    }
}

#[test]
fn refusals_are_worded_as_in_kubernetes() {
    for (who, request, reason, expected) in [
        (
            "ann",
            "GET /api/v1/namespaces/a/secrets",
            "",
            "secrets is forbidden: User \"ann\" cannot list resource \"secrets\" in API group \"\" in the namespace \"a\"",
        ),
        (
            "ann",
            "DELETE /apis/apps/v1/namespaces/a/deployments/d",
            "RBAC: no",
            "deployments.apps \"d\" is forbidden: User \"ann\" cannot delete resource \"deployments\" in API group \"apps\" in the namespace \"a\": RBAC: no",
        ),
        (
            "<b>",
            "GET /api/v1/nodes/n/status",
            "",
            "nodes \"n\" is forbidden: User \"&lt;b&gt;\" cannot get resource \"nodes/status\" in API group \"\" at the cluster scope",
        ),
        ("ann", "GET /metrics", "", "forbidden: User \"ann\" cannot get path \"/metrics\""),
    ] {
        let status = authorization::forbidden(&user(who), &wanted(request), reason);
        assert_eq!(status.message, expected);
        assert_eq!(status.code, 403);
    }
    let status = authorization::forbidden(&user("ann"), &wanted("GET /metrics"), "").to_value();
    assert_eq!(
        status,
        json!({
            "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": 403,
            "message": "forbidden: User \"ann\" cannot get path \"/metrics\"", "reason": "Forbidden", "details": {},
        })
    );
    let status = unauthorized();
    assert_eq!((status.code, status.message.as_str()), (401, "Unauthorized"));
}

#[test]
fn a_policy_follows_the_writes() {
    let mut cluster = cluster();
    let mut policy = Policy::of(cluster.store());
    let bindings = ResourceId::new(RBAC, "v1", "clusterrolebindings");
    let requests = [
        create(binding("", "eve-reads", "ClusterRole/reader", "User/eve")),
        Request::new(Verb::Patch(PatchKind::Merge), ResourceId::new(RBAC, "v1", "clusterroles"))
            .named("reader")
            .with_body(json!({ "rules": [{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get"] }] })),
        Request::new(Verb::Delete, bindings).named("ann-reads"),
        merge("configmaps", "none", json!({})),
    ];
    for request in requests {
        let effect = cluster.handle(&request);
        for change in &effect.changes {
            assert!(policy.commit(change));
        }
        cluster.commit(&effect.changes);
        assert_eq!(policy, Policy::of(cluster.store()));
    }
    let allowed =
        |who: &str, what: &str| Authorizer::Rbac(&policy).authorize(&user(who), &wanted(what)).allowed;
    assert!(allowed("eve", "GET /api/v1/nodes/n"));
    assert!(!allowed("ann", "GET /api/v1/nodes/n"));
}

/// Does a request as somebody, if escalation rules let it pass.
fn as_user(cluster: &mut Cluster, who: &User, request: &Request) -> Response {
    let effect = cluster.handle(request);
    let roles = Policy::of(cluster.store());
    if let Some(status) = authorization::escalation(cluster.store(), &roles, who, request, &effect.response) {
        return status.into();
    }
    cluster.commit(&effect.changes);
    effect.response
}

#[test]
fn refuses_to_grant_rights_that_the_writer_lacks() {
    let mut cluster = cluster();
    let ann = user("ann");
    let pods = |verbs: &[&str]| json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": verbs }]);
    let granted = as_user(&mut cluster, &ann, &create(role("default", "mine", pods(&["get", "list"]))));
    assert_eq!(granted.code, 201);
    let held =
        as_user(&mut cluster, &ann, &create(role("default", "more", pods(&["get", "delete", "create"]))));
    refused(
        &held,
        403,
        "Forbidden",
        "roles.rbac.authorization.k8s.io \"more\" is forbidden: user \"ann\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"pods\"], Verbs:[\"delete\" \"create\"]}",
    );
    // This is found before the name is seen to be taken, and without a name nothing is named.
    let taken = create(role("default", "mine", pods(&["delete"])));
    refused(&as_user(&mut cluster, &ann, &taken), 403, "Forbidden", "\"mine\" is forbidden: user \"ann\"");
    let mut generated = role("default", "", pods(&["delete"]));
    generated["metadata"] = json!({ "namespace": "default", "generateName": "x-" });
    let response = as_user(&mut cluster, &ann, &create(generated));
    refused(&response, 403, "Forbidden", "roles.rbac.authorization.k8s.io is forbidden: user \"ann\"");
    // An object of a certain name is less than all of them, and a path is no resource.
    let one = json!([{ "apiGroups": [""], "resources": ["pods"], "resourceNames": ["p"], "verbs": ["get"] }]);
    assert_eq!(as_user(&mut cluster, &ann, &create(role("default", "one", one))).code, 201);
    let secrets = |names: &[&str]| json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": names, "verbs": ["get"] }]);
    for (name, names, code) in [("s1", &["s1"][..], 201), ("s3", &["s1", "s3"], 403), ("any", &[], 403)] {
        let response = as_user(&mut cluster, &user("bob"), &create(role("default", name, secrets(names))));
        assert_eq!(response.code, code, "{names:?}");
    }
    let paths = |path: &str| json!([{ "nonResourceURLs": [path], "verbs": ["get"] }]);
    assert_eq!(as_user(&mut cluster, &ann, &create(cluster_role("paths", paths("/healthz/x")))).code, 201);
    let all_paths = as_user(&mut cluster, &ann, &create(cluster_role("all-paths", paths("*"))));
    refused(&all_paths, 403, "Forbidden", "{NonResourceURLs:[\"*\"], Verbs:[\"get\"]}");

    let bind = |name: &str, role: &str| create(binding("default", name, role, "User/eve"));
    assert_eq!(as_user(&mut cluster, &ann, &bind("a", "ClusterRole/reader")).code, 201);
    refused(
        &as_user(&mut cluster, &ann, &bind("b", "ClusterRole/everything")),
        403,
        "Forbidden",
        "APIGroups:[\"*\"]",
    );
    refused(
        &as_user(&mut cluster, &ann, &bind("c", "ClusterRole/none")),
        404,
        "NotFound",
        "rolebindings.rbac.authorization.k8s.io \"none\" not found",
    );
    assert_eq!(
        as_user(&mut cluster, &user("x+system:masters"), &bind("d", "ClusterRole/everything")).code,
        201
    );
}

#[test]
fn changes_that_give_nothing_are_no_escalation() {
    let mut cluster = cluster();
    let ann = user("ann");
    let patch = |body: Value| {
        Request::new(Verb::Patch(PatchKind::Merge), ResourceId::new(RBAC, "v1", "clusterroles"))
            .named("everything")
            .with_body(body)
    };
    let finalizer = patch(json!({ "metadata": { "finalizers": ["example.com/hold"] } }));
    assert_eq!(as_user(&mut cluster, &ann, &finalizer).code, 200);
    let label = patch(json!({ "metadata": { "labels": { "a": "b" } } }));
    refused(&as_user(&mut cluster, &ann, &label), 403, "Forbidden", "not currently held");
    let mut dry = label.clone();
    dry.options.dry_run = true;
    refused(&as_user(&mut cluster, &ann, &dry), 403, "Forbidden", "not currently held");
    assert_eq!(
        as_user(&mut cluster, &user("bob"), &Request::new(Verb::Get, label.resource).named("reader")).code,
        200
    );
}

#[test]
fn escalate_and_bind_let_it_pass() {
    let mut cluster = cluster();
    for object in [
        cluster_role(
            "may-bind",
            json!([{ "apiGroups": [RBAC], "resources": ["clusterroles"], "resourceNames": ["everything"], "verbs": ["bind"] }]),
        ),
        cluster_role(
            "may-escalate",
            json!([{ "apiGroups": [RBAC], "resources": ["roles"], "verbs": ["escalate"] }]),
        ),
        binding("default", "eve-binds", "ClusterRole/may-bind", "User/eve"),
        binding("default", "eve-escalates", "ClusterRole/may-escalate", "User/eve"),
    ] {
        write(&mut cluster, object);
    }
    let eve = user("eve");
    let all = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
    assert_eq!(as_user(&mut cluster, &eve, &create(role("default", "all", all.clone()))).code, 201);
    assert_eq!(as_user(&mut cluster, &eve, &create(role("kube-system", "all", all.clone()))).code, 403);
    assert_eq!(as_user(&mut cluster, &eve, &create(cluster_role("all", all))).code, 403);
    let bind = |namespace: &str, role: &str| {
        create(binding(namespace, &role.replace('/', "-").to_lowercase(), role, "User/bob"))
    };
    assert_eq!(as_user(&mut cluster, &eve, &bind("default", "ClusterRole/everything")).code, 201);
    assert_eq!(as_user(&mut cluster, &eve, &bind("default", "ClusterRole/scaler")).code, 403);
    assert_eq!(as_user(&mut cluster, &eve, &bind("kube-system", "ClusterRole/everything")).code, 403);
    assert_eq!(as_user(&mut cluster, &eve, &bind("", "ClusterRole/everything")).code, 403);
}

#[test]
fn aggregation_needs_everything() {
    let mut cluster = cluster();
    let mut aggregate = cluster_role("gather", json!([]));
    aggregate["aggregationRule"] = json!({ "clusterRoleSelectors": [{ "matchLabels": { "a": "b" } }] });
    let response = as_user(&mut cluster, &user("ann"), &create(aggregate.clone()));
    refused(
        &response,
        403,
        "Forbidden",
        "\"gather\" is forbidden: must have cluster-admin privileges to use the aggregationRule",
    );
    // Who may do everything with resources may escalate.
    assert_eq!(as_user(&mut cluster, &user("root"), &create(aggregate)).code, 201);
}

#[test]
fn aggregated_roles_are_filled() {
    let mut cluster = Cluster::new();
    for request in authorization::bootstrap_requests(cluster.store()) {
        ok(&mut cluster, &request);
    }
    assert!(authorization::bootstrap_requests(cluster.store()).is_empty());
    let get = |name: &str| Request::new(Verb::Get, ResourceId::new(RBAC, "v1", "clusterroles")).named(name);
    assert_eq!(ok(&mut cluster, &get("view"))["rules"], Value::Null);
    let mut rounds = 0;
    loop {
        let requests = authorization::next_requests(cluster.store());
        if requests.is_empty() {
            break;
        }
        rounds += 1;
        requests.iter().for_each(|request| drop(ok(&mut cluster, request)));
    }
    assert!((1..=4).contains(&rounds), "{rounds}");
    write(&mut cluster, binding("default", "ann-views", "ClusterRole/view", "User/ann"));
    write(&mut cluster, binding("default", "bob-edits", "ClusterRole/edit", "User/bob"));
    write(&mut cluster, binding("default", "eve-rules", "ClusterRole/admin", "User/eve"));
    for (who, request, allowed) in [
        ("ann", "GET /api/v1/namespaces/default/pods", true),
        ("ann", "GET /api/v1/namespaces/default/secrets", false),
        ("ann", "POST /api/v1/namespaces/default/pods", false),
        ("bob", "GET /api/v1/namespaces/default/secrets", true),
        ("bob", "POST /api/v1/namespaces/default/pods", true),
        ("bob", "POST /apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", false),
        ("eve", "POST /apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", true),
        ("eve", "GET /api/v1/namespaces/default/pods", true),
        ("eve", "GET /api/v1/nodes", false),
        ("anybody", "GET /version", true),
        ("anybody", "GET /openapi/v2", true),
        ("anybody", "GET /apis/apps/v1", true),
        ("anybody", "POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true),
        ("anybody", "POST /apis/authorization.k8s.io/v1/subjectaccessreviews", false),
    ] {
        let decision = authorize(cluster.store(), &user(who), &wanted(request));
        assert_eq!(decision.allowed, allowed, "{who}: {request}");
    }
    let anonymous = |request: &str| authorize(cluster.store(), &User::anonymous(), &wanted(request)).allowed;
    assert!(anonymous("GET /version") && anonymous("GET /healthz"));
    assert!(!anonymous("GET /api") && !anonymous("GET /api/v1/pods"));
}

/// Asks something as somebody.
fn ask(cluster: &Cluster, authorizer: Authorizer<'_>, who: &str, request: &Request) -> Response {
    let verify = |token: &str, audiences: &[String]| match token {
        "good" => Ok((user("sa:ci:builder"), vec![format!("for {audiences:?}")])),
        _ => Err("[invalid bearer token]".to_owned()),
    };
    let user = user(who);
    let reviewer = Reviewer { authorizer, user: &user, now: cluster.now(), verify_token: &verify };
    review(reviewer, cluster.types(), request).expect("a review")
}

fn question(group: &str, kind: &str, namespace: &str, spec: Value) -> Request {
    let resource = ResourceId::new(group, "v1", &format!("{}s", kind.to_lowercase()));
    let body = json!({ "apiVersion": format!("{group}/v1"), "kind": kind, "spec": spec });
    Request::new(Verb::Create, resource).in_namespace(namespace).with_body(body)
}

const AUTHORIZATION: &str = "authorization.k8s.io";
const AUTHENTICATION: &str = "authentication.k8s.io";

#[test]
fn access_reviews_answer() {
    let cluster = cluster();
    let roles = Policy::of(cluster.store());
    let rbac = Authorizer::Rbac(&roles);
    let pods = json!({ "verb": "get", "resource": "pods", "namespace": "default" });
    let own = |verb: &str| {
        let mut attributes = pods.clone();
        attributes["verb"] = verb.into();
        question(AUTHORIZATION, "SelfSubjectAccessReview", "", json!({ "resourceAttributes": attributes }))
    };
    let response = ask(&cluster, rbac, "bob", &own("get"));
    assert_eq!(response.code, 201);
    assert_eq!(
        response.to_value()["status"],
        json!({
            "allowed": true,
            "reason": "RBAC: allowed by RoleBinding \"bob-reads/default\" of ClusterRole \"reader\" to User \"bob\"",
        })
    );
    assert_eq!(response.to_value()["spec"]["resourceAttributes"], pods);
    let owned = response.to_value()["metadata"]["managedFields"][0]["fieldsV1"].clone();
    let fields = json!({ ".": {}, "f:namespace": {}, "f:resource": {}, "f:verb": {} });
    assert_eq!(owned, json!({ "f:spec": { "f:resourceAttributes": fields } }));
    assert_eq!(ask(&cluster, rbac, "bob", &own("delete")).to_value()["status"], json!({ "allowed": false }));
    assert_eq!(
        ask(&cluster, Authorizer::AlwaysAllow, "bob", &own("delete")).to_value()["status"],
        json!({ "allowed": true })
    );
    for (kind, namespace) in [("SubjectAccessReview", ""), ("LocalSubjectAccessReview", "default")] {
        let spec = |user: &str| json!({ "user": user, "groups": ["g"], "resourceAttributes": pods });
        let allowed = |user: &str| {
            let response = ask(&cluster, rbac, "root", &question(AUTHORIZATION, kind, namespace, spec(user)));
            response.to_value()["status"]["allowed"].clone()
        };
        assert_eq!((allowed("bob"), allowed("eve")), (json!(true), json!(false)), "{kind}");
    }
    let path = json!({ "user": "ann", "nonResourceAttributes": { "verb": "get", "path": "/healthz/x" } });
    let response = ask(&cluster, rbac, "root", &question(AUTHORIZATION, "SubjectAccessReview", "", path));
    assert_eq!(response.to_value()["status"]["allowed"], true);
}

#[test]
fn broken_reviews_are_refused() {
    let cluster = cluster();
    let pods = json!({ "verb": "get", "resource": "pods", "namespace": "default" });
    let neither = "is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified";
    for (kind, namespace, spec, code, reason, message) in [
        ("SelfSubjectAccessReview", "", json!({}), 422, "Invalid", neither),
        (
            "SelfSubjectAccessReview",
            "",
            json!({ "resourceAttributes": pods, "nonResourceAttributes": { "path": "/" } }),
            422,
            "Invalid",
            "Invalid value: {\"Path\":\"/\",\"Verb\":\"\"}: cannot be specified in combination with resourceAttributes",
        ),
        (
            "SubjectAccessReview",
            "",
            json!({ "resourceAttributes": pods }),
            422,
            "Invalid",
            ".authorization.k8s.io \"\" is invalid: spec.user: Invalid value: \"\": at least one of user or group must be specified",
        ),
        (
            "LocalSubjectAccessReview",
            "kube-system",
            json!({ "user": "a", "resourceAttributes": pods }),
            422,
            "Invalid",
            "spec.resourceAttributes.namespace: Invalid value: \"default\": must match metadata.namespace",
        ),
        (
            "LocalSubjectAccessReview",
            "",
            json!({ "user": "a" }),
            404,
            "NotFound",
            "the server could not find",
        ),
        ("SelfSubjectRulesReview", "", json!({}), 400, "BadRequest", "no namespace on request"),
        (
            "SelfSubjectAccessReview",
            "",
            json!({ "resourceAttributes": 1 }),
            400,
            "BadRequest",
            "cannot be handled",
        ),
    ] {
        let request = question(AUTHORIZATION, kind, namespace, spec);
        refused(&ask(&cluster, Authorizer::AlwaysAllow, "ann", &request), code, reason, message);
    }
    let list = Request::new(Verb::List, ResourceId::new(AUTHORIZATION, "v1", "selfsubjectaccessreviews"));
    refused(&ask(&cluster, Authorizer::AlwaysAllow, "ann", &list), 405, "MethodNotAllowed", "");
    let get = Request::new(Verb::Get, list.resource.clone()).named("a");
    refused(&ask(&cluster, Authorizer::AlwaysAllow, "ann", &get), 404, "NotFound", "");
    // Whoever hands a review to the store by mistake is refused too.
    refused(&cluster.clone().request(&list), 405, "MethodNotAllowed", "");
    let mut named =
        question(AUTHORIZATION, "SelfSubjectAccessReview", "", json!({ "resourceAttributes": pods }));
    named.body.as_mut().expect("as the tests write it")["metadata"] = json!({ "name": "a" });
    refused(&ask(&cluster, Authorizer::AlwaysAllow, "ann", &named), 422, "Invalid", "must be empty");
}

#[test]
fn rules_and_identity_reviews_answer() {
    let cluster = cluster();
    let roles = Policy::of(cluster.store());
    let rules = question(AUTHORIZATION, "SelfSubjectRulesReview", "", json!({ "namespace": "kube-system" }));
    assert_eq!(
        ask(&cluster, Authorizer::Rbac(&roles), "bob", &rules).to_value()["status"],
        json!({
            "resourceRules": [], "nonResourceRules": [], "incomplete": false,
            "evaluationError": "role.rbac.authorization.k8s.io \"one-secret\" not found",
        })
    );
    assert_eq!(
        ask(&cluster, Authorizer::Rbac(&roles), "ann", &rules).to_value()["status"],
        json!({
            "resourceRules": [{ "verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods", "pods/log"] }],
            "nonResourceRules": [
                { "verbs": ["get"], "nonResourceURLs": ["/healthz", "/healthz/*", "/logs*"] },
                { "verbs": ["*"], "nonResourceURLs": ["/metrics"] },
            ],
            "incomplete": false,
        })
    );
    let own = question(AUTHENTICATION, "SelfSubjectReview", "", Value::Null);
    assert_eq!(
        ask(&cluster, Authorizer::AlwaysAllow, "ann+ops", &own).to_value()["status"],
        json!({ "userInfo": { "username": "ann", "groups": ["ops", "system:authenticated"] } })
    );
    let token = |token: &str| {
        question(AUTHENTICATION, "TokenReview", "", json!({ "token": token, "audiences": ["a"] }))
    };
    assert_eq!(
        ask(&cluster, Authorizer::AlwaysAllow, "ann", &token("good")).to_value()["status"],
        json!({
            "authenticated": true, "audiences": ["for [\"a\"]"],
            "user": {
                "username": "system:serviceaccount:ci:builder", "uid": "uid",
                "groups": ["system:serviceaccounts", "system:serviceaccounts:ci", "system:authenticated"],
            },
        })
    );
    assert_eq!(
        ask(&cluster, Authorizer::AlwaysAllow, "ann", &token("bad")).to_value()["status"],
        json!({ "error": "[invalid bearer token]", "user": {} })
    );
    refused(
        &ask(&cluster, Authorizer::AlwaysAllow, "ann", &token("")),
        400,
        "BadRequest",
        "token is required",
    );
}

#[test]
fn other_requests_are_no_reviews() {
    let cluster = cluster();
    let reject_all = |_: &str, _: &[String]| Err(String::new());
    let user = user("ann");
    let reviewer = Reviewer {
        authorizer: Authorizer::AlwaysAllow,
        user: &user,
        now: cluster.now(),
        verify_token: &reject_all,
    };
    let request = create(cluster_role("a", json!([])));
    assert_eq!(review(reviewer, cluster.types(), &request), None);
    assert_eq!(Decision::default(), Decision { allowed: false, reason: String::new() });
}
