//! Many objects: whether memory, lists and watches grow no faster than their number.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use conformance::target::Session;

use crate::contestant::Contestant;
use crate::phases::config_map;
use windlass_bench_load::{all, get, with_body};

const PAGE: usize = 500;

/// What was seen at one number of objects.
pub(crate) struct Sample {
    pub(crate) objects: usize,
    /// A list of all, page by page.
    pub(crate) paged: Duration,
    /// A watch until it has sent all objects.
    pub(crate) watched: Duration,
    /// The memory that the objects take, beyond what the server had without any.
    pub(crate) bytes_per_object: f64,
    /// The length of an object's JSON.
    pub(crate) json_bytes: f64,
}

/// Fills a server, and looks at it after each quarter.
pub(crate) fn measure(windlass: &Path, objects: usize, clients: usize) -> Result<Vec<Sample>> {
    let contestant = Contestant::windlass(windlass)?;
    let empty = contestant.resident_bytes()?;
    let mut samples = Vec::new();
    let mut made = 0;
    for part in 1..=4 {
        let goal = objects * part / 4;
        all(&contestant.target, clients, (goal - made) as u64, |number| {
            let name = format!("o-{:07}", made as u64 + number);
            let path = "/api/v1/namespaces/default/configmaps".to_owned();
            with_body("POST", path, "application/json", config_map(&name, "0"))
        })?;
        made = goal;
        let grown = contestant.resident_bytes()?.saturating_sub(empty);
        let (paged, text_bytes) = paged_list(&contestant, made)?;
        samples.push(Sample {
            objects: made,
            paged,
            watched: watched(&contestant, made)?,
            bytes_per_object: grown as f64 / made as f64,
            json_bytes: text_bytes as f64 / made as f64,
        });
    }
    Ok(samples)
}

fn paged_list(contestant: &Contestant, objects: usize) -> Result<(Duration, usize)> {
    let mut session = contestant.target.session();
    let started = Instant::now();
    let (mut seen, mut text_bytes) = (0, 0);
    let mut token = String::new();
    loop {
        let path = format!("/api/v1/namespaces/default/configmaps?limit={PAGE}&continue={token}");
        let answer = session.send(&get(&path))?;
        text_bytes += answer.body.len();
        let list = answer.value().context("a list is JSON")?;
        seen += list["items"].as_array().context("a list has items")?.len();
        match list["metadata"]["continue"].as_str().filter(|token| !token.is_empty()) {
            Some(next) => token = next.to_owned(),
            None => break,
        }
    }
    if seen != objects {
        bail!("{seen} of {objects} objects were listed");
    }
    Ok((started.elapsed(), text_bytes))
}

fn watched(contestant: &Contestant, objects: usize) -> Result<Duration> {
    let started = Instant::now();
    let (_, events) =
        contestant.target.session().watch(&get("/api/v1/namespaces/default/configmaps?watch=true"))?;
    let mut events = events.context("no watch")?;
    for _ in 0..objects {
        events.skip()?;
    }
    Ok(started.elapsed())
}
