//! The kinds of requests that are measured.

use std::time::Duration;

use anyhow::Result;

use crate::Arguments;
use crate::contestant::Contestant;
use windlass_bench_load::{all, fan_out, get, rate, with_body};

const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
/// Number of objects that each client goes round.
const OWN: u64 = 100;
/// Number of objects that are made before creates are counted.
const WARM_UP: u64 = 1_000;
/// The length of the lists.
const LISTED: u64 = 1_000;

/// One kind of request.
pub(crate) struct Phase {
    pub(crate) name: &'static str,
    /// How many times as fast ours is to be.
    pub(crate) bar: f64,
    pub(crate) run: fn(&Contestant, &Arguments, Duration) -> Result<f64>,
}

/// In this order: later ones need what earlier ones wrote.
pub(crate) const ALL: [&Phase; 6] = [
    &Phase { name: "creates/s", bar: 5.0, run: creates },
    &Phase { name: "gets/s", bar: 1.0, run: gets },
    &Phase { name: "lists of 1,000/s", bar: 1.0, run: lists },
    &Phase { name: "updates/s", bar: 1.0, run: updates },
    &Phase { name: "applies/s", bar: 5.0, run: applies },
    &Phase { name: "watch events/s to all watchers", bar: 1.0, run: watch_events },
];

/// A config map of about 600 bytes.
pub(crate) fn config_map(name: &str, value: &str) -> String {
    let filler = "0123456789abcdef".repeat(24);
    format!(
        r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"{name}","labels":{{"app":"bench"}}}},"data":{{"value":"{value}","filler":"{filler}"}}}}"#
    )
}

fn maps(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps")
}

/// Makes a namespace, and objects in it.
pub(crate) fn prepare(
    contestant: &Contestant,
    arguments: &Arguments,
    namespace: &str,
    objects: u64,
) -> Result<()> {
    let body = format!(r#"{{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{namespace}"}}}}"#);
    all(&contestant.target, 1, 1, |_| {
        with_body("POST", "/api/v1/namespaces".to_owned(), JSON, body.clone())
    })?;
    all(&contestant.target, arguments.clients, objects, |number| {
        with_body("POST", maps(namespace), JSON, config_map(&format!("o-{number}"), "0"))
    })?;
    Ok(())
}

/// A fixed number, so that both servers hold the same objects and their memory can be compared. Those before are not
/// counted: what a server does for the first time it does slowly.
fn creates(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    prepare(contestant, arguments, "creates", WARM_UP)?;
    let count = (span.as_secs_f64() * 2000.0) as u64;
    let took = all(&contestant.target, arguments.clients, count, |number| {
        with_body("POST", maps("creates"), JSON, config_map(&format!("c-{number}"), "0"))
    })?;
    Ok(count as f64 / took.as_secs_f64())
}

fn gets(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    let clients = arguments.clients as u64;
    prepare(contestant, arguments, "own", OWN * clients)?;
    rate(&contestant.target, arguments.clients, span, |client, number| {
        get(&format!("{}/o-{}", maps("own"), client as u64 * OWN + number % OWN))
    })
}

fn lists(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    prepare(contestant, arguments, "listed", LISTED)?;
    rate(&contestant.target, arguments.clients, span, |_, _| get(&maps("listed")))
}

fn updates(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    rate(&contestant.target, arguments.clients, span, |client, number| {
        let name = format!("o-{}", client as u64 * OWN + number % OWN);
        let path = format!("{}/{name}", maps("own"));
        with_body("PUT", path, JSON, config_map(&name, &format!("u{number}")))
    })
}

fn applies(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    prepare(contestant, arguments, "applied", 0)?;
    rate(&contestant.target, arguments.clients, span, |client, number| {
        let name = format!("a-{}", client as u64 * OWN + number % OWN);
        let path = format!("{}/{name}?fieldManager=bench&force=true", maps("applied"));
        with_body("PATCH", path, APPLY, config_map(&name, &format!("a{number}")))
    })
}

fn watch_events(contestant: &Contestant, arguments: &Arguments, span: Duration) -> Result<f64> {
    prepare(contestant, arguments, "watched", 10)?;
    let changes = (span.as_secs_f64() * 400.0) as u64;
    let path = format!(
        "{}?watch=true&resourceVersion=0&sendInitialEvents=false&resourceVersionMatch=NotOlderThan",
        maps("watched")
    );
    let took = fan_out(&contestant.target, arguments.watchers, &path, changes, || {
        all(&contestant.target, arguments.clients, changes, |number| {
            let name = format!("o-{}", number % 10);
            let path = format!("{}/{name}", maps("watched"));
            with_body("PUT", path, JSON, config_map(&name, &format!("w{number}")))
        })?;
        Ok(())
    })?;
    Ok((changes * arguments.watchers as u64) as f64 / took.as_secs_f64())
}
