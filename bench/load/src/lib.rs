//! What the benchmarks of servers and controllers share: many clients that send as fast as they are answered, and what
//! a process has used.

pub mod process;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use conformance::exchange::{Answer, Sent};
use conformance::target::Session;
use conformance::target::http::HttpTarget;

/// Sends from some clients for a while, and returns how many requests were answered in a second.
///
/// Each client has a connection, which is open before the time begins.
///
/// # Errors
/// An answer that is neither 200 nor 201 ends it all.
pub fn rate(
    target: &HttpTarget,
    clients: usize,
    span: Duration,
    request: impl Fn(usize, u64) -> Sent + Sync,
) -> Result<f64> {
    let answered = AtomicU64::new(0);
    let over = AtomicBool::new(false);
    let barrier = std::sync::Barrier::new(clients + 1);
    let elapsed = std::thread::scope(|scope| -> Result<Duration> {
        let workers: Vec<_> = (0..clients)
            .map(|client| {
                let (answered, over, barrier, request) = (&answered, &over, &barrier, &request);
                scope.spawn(move || -> Result<()> {
                    let mut session = target.session();
                    let ready = session.send(&get("/readyz"));
                    barrier.wait();
                    expect(&ready?)?;
                    for number in 0.. {
                        if over.load(Ordering::Relaxed) {
                            break;
                        }
                        expect(&session.send(&request(client, number))?)?;
                        answered.fetch_add(1, Ordering::Relaxed);
                    }
                    Ok(())
                })
            })
            .collect();
        barrier.wait();
        let started = Instant::now();
        std::thread::sleep(span);
        over.store(true, Ordering::Relaxed);
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(started.elapsed())
    })?;
    Ok(answered.load(Ordering::Relaxed) as f64 / elapsed.as_secs_f64())
}

/// Sends numbered requests, spread over some clients, and returns how long that took.
///
/// # Errors
/// An answer that is neither 200 nor 201 ends it all.
pub fn all(
    target: &HttpTarget,
    clients: usize,
    count: u64,
    request: impl Fn(u64) -> Sent + Sync,
) -> Result<Duration> {
    let next = AtomicU64::new(0);
    let started = Instant::now();
    std::thread::scope(|scope| -> Result<()> {
        let workers: Vec<_> = (0..clients)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let mut session = target.session();
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= count {
                            return Ok(());
                        }
                        expect(&session.send(&request(number))?)?;
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().map_err(|_| anyhow::anyhow!("a client panicked"))??;
        }
        Ok(())
    })?;
    Ok(started.elapsed())
}

/// Watches with some watchers while something happens, until each has seen a number of events; returns how long that took
/// from the start of what happens.
///
/// # Errors
/// If a watch ends early, or what happens fails.
pub fn fan_out(
    target: &HttpTarget,
    watchers: usize,
    path: &str,
    events: u64,
    happen: impl FnOnce() -> Result<()>,
) -> Result<Duration> {
    let barrier = std::sync::Barrier::new(watchers + 1);
    std::thread::scope(|scope| {
        let seen: Vec<_> = (0..watchers)
            .map(|_| {
                let barrier = &barrier;
                scope.spawn(move || -> Result<()> {
                    let watch = target.session().watch(&get(path));
                    barrier.wait();
                    let (answer, stream) = watch?;
                    let mut stream = stream.with_context(|| format!("no watch: {}", answer.code))?;
                    for _ in 0..events {
                        stream.skip().context("the watch ended early")?;
                    }
                    Ok(())
                })
            })
            .collect();
        barrier.wait();
        let started = Instant::now();
        happen()?;
        for watcher in seen {
            watcher.join().map_err(|_| anyhow::anyhow!("a watcher panicked"))??;
        }
        Ok(started.elapsed())
    })
}

/// A GET.
pub fn get(path: &str) -> Sent {
    Sent { method: "GET".to_owned(), path: path.to_owned(), ..Sent::default() }
}

/// A request with a body.
pub fn with_body(method: &str, path: String, content_type: &str, body: String) -> Sent {
    Sent {
        method: method.to_owned(),
        path,
        headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
        body: body.into_bytes(),
    }
}

fn expect(answer: &Answer) -> Result<()> {
    if matches!(answer.code, 200 | 201) {
        return Ok(());
    }
    bail!("answered with {}: {}", answer.code, answer.text())
}
