//! What keeps a manager from starting, and what it says then.

use windlass_runtime::operations::leader::Timing;

use super::*;

#[tokio::test]
async fn missing_types_are_explained_with_those_that_there_are() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    let error = refusal(start(cluster, "uuid1", "pods")).await;
    assert_eq!(error, "there is no ControllerManagerType \"pods\": there are no types yet; create one");
    create_type(cluster, "jobs", json!([{ "type": "job", "workers": 1 }])).await;
    create_type(cluster, "nodes", json!([])).await;
    let error = refusal(start(cluster, "uuid1", "pods")).await;
    assert_eq!(error, "there is no ControllerManagerType \"pods\": there are jobs, nodes");
    let error = refusal(start(cluster, "uuid1", "jobs")).await;
    let expected = "the ControllerManagerType \"jobs\" names no controller of this program: it names job, and this \
                    program has two-configmaps, second";
    assert_eq!(error, expected);
    let untyped = ManagerConfig::Api(identity(cluster, "uuid2"));
    let error = refusal(program(cluster, &Tap::new()).managed(untyped).start()).await;
    let expected = "there is no ControllerManager \"uuid2\" yet, and so its type is not known: say which type it is of \
                    (--manager-type); there are jobs, nodes";
    assert_eq!(error, expected);
    assert_eq!(get(cluster, MANAGERS, "uuid2").await, Value::Null, "nothing is left behind");
}

#[tokio::test]
async fn missing_definitions_are_explained() {
    let embedded = Embedded::start().await;
    let error = refusal(start(&embedded.cluster, "uuid1", "pods")).await;
    let expected = "the cluster has no controllermanagertypes (windlass.dev/v1alpha1): apply the definitions that the \
                    command `crd --sharding` of this program prints";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn wrong_identities_are_refused() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    let error = refusal(start(cluster, "Uuid_1", "pods")).await;
    assert!(error.starts_with("\"Uuid_1\" cannot be the id of a manager"), "{error}");
    let timing = Timing { lease_duration: Duration::from_millis(1_500), ..Timing::default() };
    let identity = ManagerIdentity::new("uuid1").of_type("pods").timing(timing);
    let error = refusal(program(cluster, &Tap::new()).managed(ManagerConfig::Api(identity)).start()).await;
    assert!(error.starts_with("the lease must last longer"), "{error}");
}

#[tokio::test]
async fn manager_object_decides_about_the_type() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create_type(cluster, "pods", json!([{ "type": "second", "workers": 1 }])).await;
    create_type(cluster, "jobs", json!([{ "type": "second", "workers": 2 }])).await;
    create(cluster, MANAGERS, "uuid1", json!({ "controllerManagerType": "jobs" })).await.expect("a manager");
    let running = start(cluster, "uuid1", "pods").await.expect("it starts");
    assert_eq!(running.handle().workers("second"), Some(2));
    running.stop().await;
}
