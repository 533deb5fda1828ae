//! What holds for any sequence of writes, however they are mixed.

use std::collections::{BTreeMap, BTreeSet};

use crate::support::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use windlass_model::{Change, Cluster, Effect, Key, PatchKind, Propagation, Request, Store, Verb, object};

/// One write to one of three objects.
#[derive(Clone, Debug)]
enum Write {
    Create { color: u8, finalizer: bool },
    Update { color: u8, label: u8, version: Version },
    Spec(u8),
    Labels(u8),
    Status(u8),
    Scale(u8),
    Apply { color: u8 },
    Finalizers(u8),
    Delete { propagation: Option<Propagation>, stale: bool },
    Collect,
}

/// Which version an update says that it is of.
#[derive(Clone, Copy, Debug)]
enum Version {
    Current,
    Missing,
    Stale,
}

fn write() -> impl Strategy<Value = Write> {
    let version = prop_oneof![Just(Version::Current), Just(Version::Missing), Just(Version::Stale)];
    let propagation = prop_oneof![
        Just(None),
        Just(Some(Propagation::Background)),
        Just(Some(Propagation::Foreground)),
        Just(Some(Propagation::Orphan))
    ];
    prop_oneof![
        4 => (0..3u8, any::<bool>()).prop_map(|(color, finalizer)| Write::Create { color, finalizer }),
        4 => (0..3u8, 0..3u8, version).prop_map(|(color, label, version)| Write::Update { color, label, version }),
        2 => (0..3u8).prop_map(Write::Spec),
        2 => (0..3u8).prop_map(Write::Labels),
        2 => (0..3u8).prop_map(Write::Status),
        1 => (0..3u8).prop_map(Write::Scale),
        2 => (0..3u8).prop_map(|color| Write::Apply { color }),
        2 => (0..4u8).prop_map(Write::Finalizers),
        3 => (propagation, any::<bool>()).prop_map(|(propagation, stale)| Write::Delete { propagation, stale }),
        1 => Just(Write::Collect),
    ]
}

/// The request for a write, given the object that is there.
fn request_for(plural: &str, name: &str, write: &Write, live: Option<&Value>) -> Request {
    let content = if plural == "widgets" { "spec" } else { "data" };
    let mut body = if plural == "widgets" { widget(name) } else { config_map(name) };
    match write {
        Write::Create { color, finalizer } => {
            body[content]["color"] = format!("c{color}").into();
            if *finalizer {
                body["metadata"]["finalizers"] = json!(["x.io/a"]);
            }
            create(plural, body)
        }
        Write::Update { color, label, version } => {
            let mut body = live.cloned().unwrap_or(body);
            body[content]["color"] = format!("c{color}").into();
            body["metadata"]["labels"] = json!({ "label": format!("l{label}") });
            match version {
                Version::Current => {}
                Version::Missing => drop(object::remove_meta(&mut body, "resourceVersion")),
                Version::Stale => object::set_meta(&mut body, "resourceVersion", "99999"),
            }
            update(plural, body)
        }
        Write::Spec(color) => merge(plural, name, json!({ content: { "color": format!("c{color}") } })),
        Write::Labels(label) => {
            merge(plural, name, json!({ "metadata": { "labels": { "label": format!("l{label}") } } }))
        }
        Write::Status(phase) => {
            merge(plural, name, json!({ "status": { "phase": format!("p{phase}") } })).on("status")
        }
        Write::Scale(replicas) => {
            merge(plural, name, json!({ "spec": { "replicas": replicas } })).on("scale")
        }
        Write::Apply { color } => {
            body[content]["color"] = format!("c{color}").into();
            let mut request = patch(PatchKind::Apply, plural, name, body);
            request.options.force = true;
            request
        }
        Write::Finalizers(mask) => {
            let all = ["x.io/a", "x.io/b"];
            let wanted: Vec<&str> = all
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| mask & 1 << bit != 0)
                .map(|(_, name)| name)
                .collect();
            merge(plural, name, json!({ "metadata": { "finalizers": wanted } }))
        }
        Write::Delete { propagation, stale } => {
            let mut request = delete(plural, name);
            request.options.propagation = *propagation;
            request.options.preconditions.uid = stale.then(|| "other".to_owned());
            request
        }
        Write::Collect => request(Verb::DeleteCollection, plural),
    }
}

/// What has been seen of all objects so far.
#[derive(Default)]
struct Seen {
    versions: BTreeMap<Key, u64>,
    uids: BTreeSet<String>,
}

impl Seen {
    /// Checks one change against everything before it.
    fn check(&mut self, change: &Change) {
        let last = self.versions.insert(change.key.clone(), change.version).unwrap_or(0);
        assert!(change.version > last, "versions of a key only grow: {change:?}");
        match (&change.before, &change.after) {
            (None, None) => panic!("a change of nothing: {change:?}"),
            (None, Some(after)) => {
                assert!(self.uids.insert(object::uid(after).to_owned()), "a uid is given once: {change:?}");
                assert!(!object::is_deleting(after));
                assert!(matches!(object::generation(after), 0 | 1), "{change:?}");
            }
            (Some(_), None) => {}
            (Some(before), Some(after)) => check_step(before, after),
        }
        if let Some(after) = &change.after {
            assert_eq!(object::resource_version(after), change.version.to_string());
        }
    }
}

/// Checks a change within the life of one object.
fn check_step(before: &Value, after: &Value) {
    assert_eq!(object::uid(before), object::uid(after));
    for field in ["name", "namespace", "creationTimestamp"] {
        assert_eq!(before["metadata"][field], after["metadata"][field], "{field}");
    }
    assert!(!object::is_deleting(before) || object::is_deleting(after), "deleting is a one-way street");
    let respecified = before["spec"] != after["spec"];
    let doomed = !object::is_deleting(before) && object::is_deleting(after);
    let counted = object::generation(before) > 0 && (respecified || doomed);
    assert_eq!(
        object::generation(after),
        object::generation(before) + i64::from(counted),
        "{before}\n{after}"
    );
    let bare = |object: &Value| {
        let mut object = object.clone();
        object::remove_meta(&mut object, "resourceVersion");
        object
    };
    assert_ne!(bare(before), bare(after), "a write that changes nothing is no write");
}

fn run(cluster: &mut Cluster, seen: &mut Seen, request: &Request) -> Effect {
    let effect = cluster.handle(request);
    let mut store = cluster.store().clone();
    for change in &effect.changes {
        assert_eq!(store.get(&change.key), change.before, "a change starts from what there is");
        seen.check(change);
        store.commit(change);
    }
    let again = cluster.handle(request);
    assert_eq!(effect, again, "the same request in the same state has the same effect");
    cluster.commit(&effect.changes);
    if let (Some(object), true) = (effect.response.as_object(), request.subresource.is_none()) {
        let now = cluster.request(&get(&request.resource.plural, object::name(object)));
        if let (Some(now), false) = (now.as_object(), request.verb == Verb::Delete) {
            assert_eq!(now, object, "the answer is what a reader sees");
        }
    }
    effect
}

proptest! {
    #[test]
    fn any_sequence_of_writes_keeps_the_rules(
        writes in prop::collection::vec((0..3usize, any::<bool>(), write(), any::<bool>()), 1..40)
    ) {
        let mut cluster = cluster();
        let mut seen = Seen::default();
        for (which, custom, write, settle) in &writes {
            let plural = if *custom { "widgets" } else { "configmaps" };
            let name = ["a", "b", "c"][*which];
            let live = cluster.request(&get(plural, name)).as_object().cloned();
            let request = request_for(plural, name, write, live.as_deref());
            let mut dry = request.clone();
            dry.options.dry_run = true;
            prop_assert!(cluster.handle(&dry).changes.is_empty());
            run(&mut cluster, &mut seen, &request);
            cluster.set_now(cluster.now().plus_seconds(1));
            if *settle {
                for request in requests_of_controllers(&cluster) {
                    run(&mut cluster, &mut seen, &request);
                }
            }
        }
    }

    #[test]
    fn any_body_gets_an_answer(
        verb in prop_oneof![
            Just(Verb::Create), Just(Verb::Update), Just(Verb::Patch(PatchKind::Json)), Just(Verb::Patch(PatchKind::Merge)),
            Just(Verb::Patch(PatchKind::Strategic)), Just(Verb::Patch(PatchKind::Apply)), Just(Verb::Delete),
        ],
        plural in prop_oneof![
            Just("configmaps"), Just("widgets"), Just("pods"), Just("deployments"), Just("namespaces"),
            Just("customresourcedefinitions"),
        ],
        subresource in prop_oneof![
            4 => Just(None), 1 => Just(Some("status")), 1 => Just(Some("scale")), 1 => Just(Some("binding")),
            1 => Just(Some("eviction")), 1 => Just(Some("finalize")),
        ],
        body in body(),
    ) {
        let mut cluster = cluster();
        for (plural, body) in [("configmaps", config_map("a")), ("widgets", widget("a")), ("pods", pod("a"))] {
            ok(&mut cluster, &create(plural, body));
        }
        let mut request = request(verb, plural).with_body(body);
        request.name = Some("a".to_owned());
        request.subresource = subresource.map(str::to_owned);
        let response = cluster.request(&request);
        prop_assert!((200..600).contains(&response.code));
        prop_assert_eq!(response.failure().is_some(), response.code >= 400);
        prop_assert!(cluster.settle(), "{:?}", request);
    }
}

/// JSON that looks like an object of the API in places.
fn body() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![
            Just("a"),
            Just("v1"),
            Just("ConfigMap"),
            Just("orphan"),
            Just("2026-01-01T00:00:00Z"),
            Just("")
        ]
        .prop_map(Value::from),
        "\\PC{0,4}".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("metadata"),
        Just("spec"),
        Just("status"),
        Just("data"),
        Just("name"),
        Just("namespace"),
        Just("labels"),
        Just("finalizers"),
        Just("ownerReferences"),
        Just("uid"),
        Just("apiVersion"),
        Just("kind"),
        Just("conditions"),
        Just("versions"),
        Just("names"),
        Just("op"),
        Just("path"),
        Just("target"),
        Just("replicas"),
        Just("template"),
        Just("resourceVersion"),
        Just("deletionTimestamp"),
        Just("generateName"),
        Just("managedFields"),
        Just("$patch"),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}
