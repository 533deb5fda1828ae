//! Who may do what: service accounts with the rights that roles give them, and no others.

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role, RoleBinding};
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, Config};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::served::Served;

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("it has this shape")
}

/// A client that shows another token, or none.
async fn client_with(served: &Served, token: Option<String>) -> Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(served.kubeconfig()).expect("a kubeconfig");
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &Default::default()).await.expect("usable");
    config.auth_info = kube::config::AuthInfo { token: token.map(Into::into), ..Default::default() };
    Client::try_from(config).expect("a client")
}

fn code<T: std::fmt::Debug>(answer: Result<T, kube::Error>) -> (u16, String) {
    match answer {
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        other => panic!("this should have been refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_service_account_may_do_what_its_role_says() {
    let served = Served::start(&["--authorization", "rbac"]);
    let admin = served.client().await;
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), "default");
    accounts
        .create(&PostParams::default(), &object(json!({"metadata": {"name": "reader"}})))
        .await
        .expect("the administrator may do everything");
    let asked: TokenRequest =
        object(json!({"metadata": {}, "spec": {"audiences": [], "expirationSeconds": 3600}}));
    let granted =
        accounts.create_token_request("reader", &PostParams::default(), &asked).await.expect("a token");
    let reader = client_with(&served, granted.status.expect("a status").token).await;

    let maps: Api<ConfigMap> = Api::namespaced(reader.clone(), "default");
    let (refused, message) = code(maps.list(&ListParams::default()).await);
    assert_eq!(refused, 403);
    assert_eq!(
        message,
        "configmaps is forbidden: User \"system:serviceaccount:default:reader\" cannot list resource \
         \"configmaps\" in API group \"\" in the namespace \"default\""
    );
    let roles: Api<Role> = Api::namespaced(admin.clone(), "default");
    let rules = json!([{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]}]);
    roles
        .create(&PostParams::default(), &object(json!({"metadata": {"name": "reads"}, "rules": rules})))
        .await
        .expect("a role");
    let bindings: Api<RoleBinding> = Api::namespaced(admin, "default");
    let binding = json!({
        "metadata": {"name": "reads"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reads"},
        "subjects": [{"kind": "ServiceAccount", "name": "reader", "namespace": "default"}],
    });
    bindings.create(&PostParams::default(), &object(binding)).await.expect("a binding");

    maps.list(&ListParams::default()).await.expect("now it may list");
    let (refused, _) =
        code(maps.create(&PostParams::default(), &object(json!({"metadata": {"name": "a"}}))).await);
    assert_eq!(refused, 403, "but not write");
    let secrets: Api<Secret> = Api::namespaced(reader.clone(), "default");
    assert_eq!(code(secrets.list(&ListParams::default()).await).0, 403);
    let elsewhere: Api<ConfigMap> = Api::namespaced(reader, "kube-system");
    assert_eq!(code(elsewhere.list(&ListParams::default()).await).0, 403);
}

#[tokio::test]
async fn requests_without_a_token_are_anonymous() {
    let open = Served::start(&[]);
    let maps: Api<ConfigMap> = Api::namespaced(client_with(&open, None).await, "default");
    assert_eq!(code(maps.list(&ListParams::default()).await), (401, "Unauthorized".to_owned()));
    let guessing = client_with(&open, Some("guessed".to_owned())).await;
    assert_eq!(
        code(Api::<ConfigMap>::namespaced(guessing, "default").list(&ListParams::default()).await).0,
        401
    );

    let guarded = Served::start(&["--authorization", "rbac"]);
    let anonymous = client_with(&guarded, None).await;
    let maps: Api<ConfigMap> = Api::namespaced(anonymous.clone(), "default");
    let (refused, message) = code(maps.list(&ListParams::default()).await);
    assert_eq!(refused, 403);
    assert!(message.contains("User \"system:anonymous\""), "{message}");
    anonymous.apiserver_version().await.expect("the version needs no token");
}

#[tokio::test]
async fn the_roles_that_every_cluster_has() {
    let served = Served::start(&["--authorization", "rbac"]);
    let roles: Api<ClusterRole> = Api::all(served.client().await);
    let names: Vec<String> = roles
        .list(&ListParams::default())
        .await
        .expect("listed")
        .into_iter()
        .filter_map(|role| role.metadata.name)
        .collect();
    for name in ["admin", "cluster-admin", "edit", "view", "system:discovery"] {
        assert!(names.iter().any(|known| known == name), "{name}");
    }
}
