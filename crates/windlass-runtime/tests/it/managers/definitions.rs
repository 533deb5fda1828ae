//! The kinds: what they accept, and which columns they have.

use serde_json::{Value, json};

use super::*;

/// A ring as the sharding protocol writes it.
fn ring_status() -> Value {
    json!({
        "locked": false,
        "lockHolder": "",
        "instances": [
            { "instanceId": "uuid1", "incarnation": 3, "lastHealthprobeAt": "2026-01-02T03:04:05.000006Z" },
            { "instanceId": "uuid2", "incarnation": 1, "leaving": true },
        ],
        "slots": [
            { "from": 0, "to": 2047, "owner": 0, "epoch": 17, "phase": "Owned", "clean": true },
            { "from": 2048, "to": 4095, "owner": 0, "epoch": 17, "phase": "Draining", "target": 1, "clean": true },
        ],
        "instanceCount": 2,
        "epoch": 17,
    })
}

async fn set_status(
    cluster: &Cluster,
    kind: (&str, &str),
    name: &str,
    status: Value,
) -> Result<Value, String> {
    let patch = Patch::Merge(json!({ "status": status }));
    let patched = api(cluster, kind).patch_status(name, &PatchParams::default(), &patch).await;
    patched.map(|object| json!(object)["status"].clone()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn worker_counts_are_validated() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    let job = |workers: Value| json!({ "type": "job", "workers": workers });
    for (controllers, problem) in [
        (json!([job(json!(5)), { "type": "pod", "workers": 0 }]), ""),
        (json!([]), ""),
        (json!([job(json!(-1))]), "should be greater than or equal to 0"),
        (json!([job(json!("many"))]), "must be of type integer"),
        (json!([{ "type": "job" }]), "Required value"),
        (json!([{ "workers": 1 }]), "Required value"),
        (json!([{ "type": "", "workers": 1 }]), "should be at least 1 chars long"),
        (json!([job(json!(1)), job(json!(2))]), "Duplicate value"),
    ] {
        let types = create(cluster, TYPES, "a", json!({ "controllers": controllers })).await;
        let spec = json!({ "controllerManagerType": "a", "controllers": controllers });
        let managers = create(cluster, MANAGERS, "a", spec).await;
        for created in [types, managers] {
            match created {
                Ok(()) => assert_eq!(problem, "", "{controllers}"),
                Err(error) => {
                    assert!(!problem.is_empty() && error.contains(problem), "{controllers}: {error}")
                }
            }
        }
        for kind in [TYPES, MANAGERS] {
            let _ = api(cluster, kind).delete("a", &Default::default()).await;
        }
    }
    let error = create(cluster, MANAGERS, "b", json!({})).await.expect_err("it has no type");
    assert!(error.contains("spec.controllerManagerType: Required value"), "{error}");
}

#[tokio::test]
async fn rings_are_validated_and_their_spec_cannot_change() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create(cluster, RINGS, "vm", json!({ "controllerType": "vm" })).await.expect("a ring");
    let spec = get(cluster, RINGS, "vm").await["spec"].clone();
    assert_eq!(spec, json!({ "controllerType": "vm", "slots": 4096, "key": "uid" }));
    for change in [json!({ "slots": 8192 }), json!({ "key": "namespace" }), json!({ "controllerType": "x" })]
    {
        let error = edit(cluster, RINGS, "vm", change).await.expect_err("it cannot change");
        assert!(error.contains("the spec of a ring cannot change"), "{error}");
    }
    for spec in [json!({ "slots": 0 }), json!({ "slots": 65536 }), json!({ "key": "name" })] {
        let mut spec = spec;
        spec["controllerType"] = "pm".into();
        create(cluster, RINGS, "pm", spec.clone()).await.expect_err(&spec.to_string());
    }
    assert_eq!(set_status(cluster, RINGS, "vm", ring_status()).await, Ok(ring_status()));
    for (pointer, wrong) in [
        ("/slots/0/phase", json!("Lost")),
        ("/slots/0/epoch", json!(0)),
        ("/slots/0/owner", json!(-1)),
        ("/instances/1/instanceId", json!("uuid1")),
        ("/instances/0/incarnation", json!(0)),
        ("/instances/0/lastHealthprobeAt", json!("yesterday")),
    ] {
        let mut status = ring_status();
        *status.pointer_mut(pointer).expect("it is there") = wrong;
        set_status(cluster, RINGS, "vm", status).await.expect_err(pointer);
    }
}

/// The columns of a table, and the cells of its first row.
async fn table(cluster: &Cluster, plural: &str) -> (Vec<String>, Value) {
    let request = http::Request::get(format!("/apis/windlass.dev/v1alpha1/{plural}"))
        .header("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
        .body(Vec::new())
        .expect("a request");
    let table: Value = cluster.client.request(request).await.expect("a table");
    let columns = table["columnDefinitions"].as_array().expect("columns");
    let names = columns.iter().map(|column| column["name"].as_str().unwrap_or_default().to_uppercase());
    (names.collect(), table["rows"][0]["cells"].clone())
}

#[tokio::test]
async fn tables_have_the_columns_that_people_look_for() {
    let embedded = start_server().await;
    let cluster = &embedded.cluster;
    create(cluster, RINGS, "vm", json!({ "controllerType": "vm" })).await.expect("a ring");
    set_status(cluster, RINGS, "vm", ring_status()).await.expect("a status");
    let (columns, cells) = table(cluster, "controllerrings").await;
    assert_eq!(columns, ["NAME", "LOCKED", "INSTANCES", "EPOCH"]);
    assert_eq!(cells, json!(["vm", false, 2, 17]));
    create(cluster, MANAGERS, "m", json!({ "controllerManagerType": "pods" })).await.expect("a manager");
    set_status(cluster, MANAGERS, "m", json!({ "isAlive": true, "controllerSummary": "job 5/2" }))
        .await
        .expect("ok");
    let (columns, cells) = table(cluster, "controllermanagers").await;
    assert_eq!(columns, ["NAME", "TYPE", "ALIVE", "LAST-HEALTHPROBE", "CONTROLLERS"]);
    assert_eq!((&cells[1], &cells[2], &cells[4]), (&json!("pods"), &json!(true), &json!("job 5/2")));
}
