//! Properties that hold for all configurations.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// Any spec of the custom type, small enough that two of them overlap.
fn any_spec() -> impl Strategy<Value = Value> {
    let port = (80..83, prop::option::of(prop_oneof![Just("TCP"), Just("UDP")]), prop::option::of("[a-b]"))
        .prop_map(|(port, protocol, name)| {
            present(vec![
                ("port", Some(json!(port))),
                ("protocol", protocol.map(Value::from)),
                ("name", name.map(Value::from)),
            ])
        });
    let ports = prop::collection::vec(port, 0..3).prop_map(|ports| {
        distinct(ports, |port| format!("{}{}", port["port"], port["protocol"].as_str().unwrap_or("TCP")))
    });
    let container =
        ("[a-d]", prop::option::of("[x-y]"), prop::option::of(ports), prop::option::of(any_strings()))
            .prop_map(|(name, image, ports, env)| {
                present(vec![
                    ("name", Some(json!(name))),
                    ("image", image.map(Value::from)),
                    ("ports", ports),
                    ("env", env),
                ])
            });
    let containers = prop::collection::vec(container, 0..4)
        .prop_map(|containers| distinct(containers, |container| container["name"].to_string()));
    let tags = prop::collection::vec("[a-d]", 0..4)
        .prop_map(|tags| distinct(tags.into_iter().map(Value::from).collect(), Value::to_string));
    (
        prop::option::of(0..3),
        prop::option::of(any_strings()),
        prop::option::of(tags),
        prop::option::of(containers),
        prop::option::of(any_extra()),
    )
        .prop_map(|(replicas, selector, tags, containers, extra)| {
            present(vec![
                ("replicas", replicas.map(Value::from)),
                ("selector", selector),
                ("tags", tags),
                ("containers", containers),
                ("extra", extra),
            ])
        })
}

fn any_strings() -> impl Strategy<Value = Value> {
    prop::collection::btree_map("[a-c]", "[x-z]", 0..3).prop_map(|map| json!(map))
}

/// Anything, where the schema says nothing.
fn any_extra() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(json!(1)), Just(json!("x")), Just(json!(null)), Just(json!([1])), Just(json!({}))];
    let nested = leaf.prop_recursive(2, 6, 3, |inner| {
        prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|map| json!(map))
    });
    prop::collection::btree_map("[a-c]", nested, 0..3).prop_map(|map| json!(map))
}

fn present(fields: Vec<(&str, Option<Value>)>) -> Value {
    fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

fn distinct(items: Vec<Value>, key: impl Fn(&Value) -> String) -> Value {
    let mut seen = std::collections::BTreeSet::new();
    items.into_iter().filter(|item| seen.insert(key(item))).collect()
}

/// The fields of each manager, without times and order.
fn owned(object: &Value) -> std::collections::BTreeMap<(String, String), Value> {
    owners(object).into_iter().map(|(manager, operation, _, fields)| ((manager, operation), fields)).collect()
}

proptest! {
    #[test]
    fn applying_again_changes_nothing(before in any_spec(), spec in any_spec()) {
        let live = create(with_spec(before), "other", 1);
        let config = with_spec(spec);
        let once = force(Some(&live), &config, "me", 2);
        prop_assert_eq!(apply(Some(&once), &config, "me", 3).unwrap(), once);
    }

    #[test]
    fn applying_shows_what_was_applied(before in any_spec(), replicas in 0..9, tag in "[a-f]") {
        let live = create(with_spec(before), "other", 1);
        let config = with_spec(json!({"replicas": replicas, "tags": [tag]}));
        let new = force(Some(&live), &config, "me", 2);
        prop_assert_eq!(&new["spec"]["replicas"], replicas);
        prop_assert!(new["spec"]["tags"].as_array().unwrap().contains(&json!(tag)));
    }

    #[test]
    fn giving_up_everything_leaves_what_others_own(mut before in any_spec(), spec in any_spec()) {
        before["paused"] = json!(true);
        let live = create(with_spec(before), "other", 1);
        let Ok(applied) = apply(Some(&live), &with_spec(spec), "me", 2) else { return Ok(()) };
        let given_up = apply(Some(&applied), &with_spec(json!({})), "me", 3).unwrap();
        let again = apply(Some(&given_up), &with_spec(json!({})), "me", 4).unwrap();
        prop_assert_eq!(&again, &given_up);
        let other = ("other".to_owned(), "Update".to_owned());
        prop_assert_eq!(owned(&given_up).remove(&other), owned(&live).remove(&other));
    }

    #[test]
    fn the_order_of_appliers_does_not_matter(mut left in any_spec(), mut right in any_spec()) {
        // An applier that owns nothing leaves no trace, so both own something.
        (left["paused"], right["paused"]) = (json!(true), json!(true));
        let (left, right) = (with_spec(left), with_spec(right));
        let one_then_two = apply(None, &left, "one", 1).and_then(|live| apply(Some(&live), &right, "two", 2));
        let two_then_one = apply(None, &right, "two", 1).and_then(|live| apply(Some(&live), &left, "one", 2));
        let (Ok(a), Ok(b)) = (one_then_two, two_then_one) else { return Ok(()) };
        prop_assert_eq!(owned(&a), owned(&b));
        prop_assert_eq!(sorted(a["spec"].clone()), sorted(b["spec"].clone()));
    }

    #[test]
    fn conflicts_are_refused_and_force_takes_the_fields(left in any_spec(), right in any_spec()) {
        let live = apply(None, &with_spec(left), "one", 1).unwrap();
        let config = with_spec(right);
        let forced = force(Some(&live), &config, "two", 2);
        match apply(Some(&live), &config, "two", 2) {
            Ok(new) => prop_assert_eq!(new, forced),
            Err(status) => {
                prop_assert_eq!(status.code, 409);
                let one = ("one".to_owned(), "Apply".to_owned());
                prop_assert!(owned(&forced).get(&one) != owned(&live).get(&one));
            }
        }
    }

    #[test]
    fn updates_give_away_exactly_what_differs(before in any_spec(), after in any_spec()) {
        let live = create(with_spec(before.clone()), "one", 1);
        let mut new = live.clone();
        new["spec"] = after.clone();
        let new = update(&live, new, "two", 2);
        let none_for_two = !owned(&new).contains_key(&("two".into(), "Update".into()));
        // Only removals leave the second manager with nothing.
        if sorted(before.clone()) == sorted(after.clone()) {
            prop_assert!(none_for_two);
            prop_assert_eq!(owned(&new), owned(&live));
        }
    }
}

/// The value with the lists whose order may differ in one order.
fn sorted(mut spec: Value) -> Value {
    if let Some(tags) = spec.get_mut("tags").and_then(Value::as_array_mut) {
        tags.sort_by_key(ToString::to_string);
    }
    if let Some(containers) = spec.get_mut("containers").and_then(Value::as_array_mut) {
        for container in containers.iter_mut() {
            if let Some(ports) = container.get_mut("ports").and_then(Value::as_array_mut) {
                // An absent protocol may or may not have been filled in by the other.
                for port in ports.iter_mut() {
                    port["protocol"] = json!(port["protocol"].as_str().unwrap_or("TCP"));
                }
                ports.sort_by_key(ToString::to_string);
            }
        }
        containers.sort_by_key(|container| container["name"].to_string());
    }
    spec
}
