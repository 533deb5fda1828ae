//! Admission policies are a part of every state: the newest, one of before, and that of a folder that is opened again.

use super::*;

fn write(plural: &str, spec: Value) -> Request {
    let resource = ResourceId::new("admissionregistration.k8s.io", "v1", plural);
    let body = json!({ "metadata": { "name": "p" }, "spec": spec });
    Request::new(Verb::Create, resource).with_body(body)
}

async fn add_policy(storage: &Storage) {
    let policy = json!({
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
        }] },
        "validations": [{ "expression": "object.data.text != 'bad'" }],
    });
    let binding = json!({ "policyName": "p", "validationActions": ["Deny"] });
    for create in
        [write("validatingadmissionpolicies", policy), write("validatingadmissionpolicybindings", binding)]
    {
        let made = request(storage, create).await.unwrap();
        assert_eq!(made.code, 201, "{made:?}");
    }
}

#[tokio::test]
async fn a_folder_that_is_opened_again_has_its_policies() {
    let folder = TemporaryFolder::new();
    let storage = Storage::open(&folder.options()).unwrap();
    add_namespace(&storage, "default").await;
    add_policy(&storage).await;
    drop(storage);
    let storage = Storage::open(&folder.options()).unwrap();
    assert_eq!(request(&storage, create("a", "bad")).await.unwrap().code, 422);
    assert_eq!(request(&storage, create("a", "good")).await.unwrap().code, 201);
}

/// A server that is started without the feature gate keeps the policies, and neither serves nor evaluates them.
#[tokio::test]
async fn mutating_policies_of_a_folder_hold_while_their_gate_is_open() {
    let folder = TemporaryFolder::new();
    let open = StoreOptions {
        gates: FeatureGates { mutating_admission_policy: true, ..FeatureGates::default() },
        ..folder.options()
    };
    let storage = Storage::open(&open).unwrap();
    add_namespace(&storage, "default").await;
    let policy = json!({
        "reinvocationPolicy": "Never",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"],
        }] },
        "mutations": [{
            "patchType": "ApplyConfiguration",
            "applyConfiguration": { "expression": "Object{data: {'text': 'changed'}}" },
        }],
    });
    for (plural, spec) in [
        ("mutatingadmissionpolicies", policy),
        ("mutatingadmissionpolicybindings", json!({ "policyName": "p" })),
    ] {
        let mut create = write(plural, spec);
        create.resource.version = "v1beta1".into();
        let made = request(&storage, create).await.unwrap();
        assert_eq!(made.code, 201, "{made:?}");
    }
    drop(storage);
    for (options, name, expected) in [(&open, "a", "changed"), (&folder.options(), "b", "own")] {
        let storage = Storage::open(options).unwrap();
        let made = request(&storage, create(name, "own")).await.unwrap();
        assert_eq!(made.to_value()["data"]["text"], expected, "{made:?}");
    }
}

#[tokio::test]
async fn a_state_of_before_has_the_policies_of_then() {
    let storage = in_memory();
    add_namespace(&storage, "default").await;
    let before = storage.snapshot().version();
    add_policy(&storage).await;
    let code = |snapshot: &Snapshot| evaluate(create("a", "bad"))(snapshot).response.code;
    assert_eq!(code(&storage.snapshot()), 422);
    assert_eq!(code(&storage.at(before).unwrap()), 201);
}

/// A write that was evaluated before a policy was created must not slip past it.
#[tokio::test]
async fn a_write_is_evaluated_again_if_a_policy_was_created_meanwhile() {
    let storage = in_memory();
    add_namespace(&storage, "default").await;
    let mut first = true;
    let other = storage.clone();
    let written = storage
        .write(|snapshot| {
            let effect = evaluate(create("a", "bad"))(snapshot);
            if std::mem::take(&mut first) {
                let other = other.clone();
                std::thread::spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    runtime.block_on(add_policy(&other));
                })
                .join()
                .unwrap();
            }
            effect
        })
        .await
        .unwrap();
    assert_eq!(written.effect.response.code, 422);
}
