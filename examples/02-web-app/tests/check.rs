//! What must hold of web apps, on every interleaving of user actions and faults.

use serde_json::{Value, json};
use web_app::{Dns, Zone, worlds};
use windlass::Service as _;
use windlass_check::Violation;

#[test]
fn an_app_that_is_hidden_again_loses_its_name_and_its_service() {
    println!("{}", worlds::hidden_again().assert());
}

#[test]
fn nothing_starts_before_the_secret_is_there() {
    println!("{}", worlds::waiting_for_a_secret().assert());
}

#[test]
fn a_deleted_app_leaves_nothing() {
    println!("{}", worlds::deleted().assert());
}

/// A DNS that accepts every call lets a late one bring a name back, so the generation is needed.
#[test]
fn a_dns_without_memory_is_caught() {
    let forgetful = |zone: &mut Value, request: &Value| {
        let mut request = request.clone();
        request["generation"] = json!(0);
        Zone::answer(zone, &request)
    };
    let report = worlds::deleted().service(Dns::NAME, json!({ "owners": {} }), forgetful).run();
    let Some(Violation::Always { property, trace }) = &report.violation else {
        panic!("it was not caught: {report}");
    };
    assert_eq!(property, "a name only for an app that exists", "{trace}");
}
