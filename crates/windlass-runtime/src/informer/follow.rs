//! The loop of an informer: list, watch, resume; list again if the history has expired; back off if the server fails.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::{Instant, timeout};
use windlass::model::watch::WatchOptions;
use windlass::model::{Reason, Status};

use crate::api::{Api, Form, of_answer};
use crate::cache::Source;
use crate::queue::Backoff;

use super::events::{Event, Reader};
use super::{EventOrigin, Informer, JitteredBackoff};

/// Number of objects in one page of a list.
const PAGE_SIZE: u64 = 500;
/// The server ends a watch after this time, so that a broken connection does not go unnoticed.
const WATCH_SECONDS: u64 = 290;
/// Timeout of one page of a list.
const LIST_TIMEOUT: Duration = Duration::from_secs(60);
/// A watch that neither sends anything nor ends within this time has lost its connection.
const WATCH_TIMEOUT: Duration = Duration::from_secs(WATCH_SECONDS + 30);
/// A watch that was up for this long has not failed, even if it sent no events.
const LONG_ENOUGH: Duration = Duration::from_secs(10);
const BACKOFF: Backoff = Backoff { initial: Duration::from_millis(500), max: Duration::from_secs(30) };

/// Why a watch was interrupted.
enum Broken {
    /// The history has expired: list again.
    Expired,
    /// Somebody asks for a list.
    Refresh,
    /// It failed; try again later from where it got to.
    Failed(Box<Status>),
}

/// Keeps an informer up forever, even if a handler panics.
pub(crate) async fn follow(api: &Api, informer: &Informer) {
    let mut backoff = JitteredBackoff::new(BACKOFF);
    loop {
        let _panic = AssertUnwindSafe(follow_on(api, informer)).catch_unwind().await;
        let begun = informer.refresh.begin();
        wait(informer, begun, &mut backoff, "the watch panicked; please report this").await;
    }
}

async fn follow_on(api: &Api, informer: &Informer) {
    let mut backoff = JitteredBackoff::new(BACKOFF);
    let mut listed = false;
    loop {
        let begun = informer.refresh.begin();
        let outcome =
            if listed { watch_once(api, informer, &mut backoff).await } else { list(api, informer).await };
        match outcome {
            Ok(()) => listed = true,
            Err(Broken::Refresh) => listed = false,
            Err(Broken::Expired) if listed => {
                tracing::info!(watch = %informer.selection, "watch expired, listing again");
                listed = false;
            }
            Err(Broken::Expired) => {
                wait(informer, begun, &mut backoff, "the list expired while it was read").await;
            }
            Err(Broken::Failed(status)) => {
                wait(informer, begun, &mut backoff, &advice(informer, &status)).await;
            }
        }
    }
}

async fn wait(informer: &Informer, begun: u64, backoff: &mut JitteredBackoff, error: &str) {
    let wait = backoff.wait();
    tracing::warn!(watch = %informer.selection, again_after = ?wait, "{error}");
    informer.state.set_error(Some(error.to_owned()));
    pause(informer, begun, wait).await;
}

/// Waits after an attempt, unless somebody has asked for a list since it began: who does has just reached the server.
async fn pause(informer: &Informer, begun: u64, wait: Duration) {
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = informer.refresh.asked_since(begun) => {}
    }
}

/// What went wrong, and what to do about it.
fn advice(informer: &Informer, status: &Status) -> String {
    let selection = &informer.selection;
    match status.reason {
        Some(Reason::Forbidden) => {
            format!("cannot watch {selection}: {}; allow this account to list and watch it", status.message)
        }
        Some(Reason::NotFound) => format!(
            "cannot watch {selection}: the API server does not know it; install its CustomResourceDefinition \
             (version {})",
            selection.resource.version
        ),
        Some(Reason::Unauthorized) => {
            format!("cannot watch {selection}: {}; the credentials are not accepted", status.message)
        }
        _ => format!("cannot watch {selection}: {}", status.message),
    }
}

/// Reads everything there is, in pages of one consistent list.
async fn list(api: &Api, informer: &Informer) -> Result<(), Broken> {
    let mut request = informer.selection.request();
    request.options.limit = PAGE_SIZE;
    let form = if informer.selection.metadata_only { Form::ListOfMetadata } else { Form::Whole };
    let reader = Reader::of(informer);
    let mut items = Vec::new();
    let begun = informer.refresh.begin();
    let version = loop {
        let answering = api.answered_in(&request, form);
        let answered = timeout(LIST_TIMEOUT, answering).await.map_err(|_| silent())?;
        if !answered.is_success() {
            return Err(broken(of_answer(&answered)));
        }
        let page = reader.page(&answered).map_err(unreadable)?;
        items.extend(page.items);
        match page.continue_token {
            None => break page.version,
            token => request.options.continue_token = token,
        }
    };
    let origin = if informer.state.is_synced() { EventOrigin::Live } else { EventOrigin::Initial };
    let changes = {
        let gate = informer.gate.held();
        if gate.is_shut() {
            return Ok(());
        }
        items.retain(|(head, _)| gate.lets_in(&head.key.namespace, &head.uid));
        informer.cache.relist(items, version)
    };
    for change in &changes {
        informer.announce(change, origin);
    }
    informer.state.set_error(None);
    informer.state.set_synced();
    informer.refresh.finish(begun);
    tracing::debug!(watch = %informer.selection, objects = informer.cache.len(), version, "listed");
    Ok(())
}

/// Follows events until the server ends the watch.
async fn watch_once(api: &Api, informer: &Informer, backoff: &mut JitteredBackoff) -> Result<(), Broken> {
    let options = WatchOptions {
        resource_version: informer.cache.reached(),
        send_initial_events: false,
        allow_bookmarks: true,
        timeout_seconds: Some(WATCH_SECONDS),
    };
    let request = informer.selection.request();
    let form = if informer.selection.metadata_only { Form::Metadata } else { Form::Whole };
    let begun = informer.refresh.begin();
    let opened = tokio::select! {
        biased;
        () = informer.refresh.wanted() => return Err(Broken::Refresh),
        opened = timeout(LIST_TIMEOUT, api.watch(&request, &options, form)) => opened.map_err(|_| silent())?,
    };
    let mut lines = opened.map_err(broken)?;
    let reader = Reader::of(informer);
    informer.state.set_error(None);
    let started = Instant::now();
    loop {
        let line = tokio::select! {
            line = timeout(WATCH_TIMEOUT, lines.next()) => line.map_err(|_| silent())?,
            () = informer.refresh.wanted() => return Err(Broken::Refresh),
        };
        let Some(line) = line else { break };
        let event = reader.event(&line.map_err(broken)?).map_err(unreadable)?;
        perform(informer, event)?;
        backoff.reset();
    }
    if started.elapsed() < LONG_ENOUGH {
        // A server that ends every watch at once must not be asked without pause.
        pause(informer, begun, backoff.wait()).await;
    }
    Ok(())
}

fn perform(informer: &Informer, event: Event) -> Result<(), Broken> {
    let gate = informer.gate.held();
    let change = match event {
        // The server sends only what is selected, but not all of it is wanted any more.
        Event::Put(head, _) | Event::Deleted(head) if !gate.lets_in(&head.key.namespace, &head.uid) => {
            informer.cache.bookmark(head.version);
            None
        }
        Event::Put(head, text) => informer.cache.put(head, text, Source::Informer),
        Event::Deleted(head) => informer.cache.deleted(&head),
        Event::Bookmark(version) if !informer.cache.bookmark(version) => return Err(Broken::Expired),
        Event::Bookmark(_) => None,
        Event::Failed(status) => return Err(broken(status)),
        Event::Unknown => None,
    };
    drop(gate);
    if let Some(change) = change {
        informer.announce(&change, EventOrigin::Live);
    }
    Ok(())
}

fn broken(status: Status) -> Broken {
    let expired = status.code == 410 || matches!(status.reason, Some(Reason::Gone | Reason::Expired));
    if expired { Broken::Expired } else { Broken::Failed(status.into()) }
}

/// Nothing came back.
fn silent() -> Broken {
    let message = "the API server does not answer";
    Broken::Failed(Status::failure(504, Reason::Timeout, message).into())
}

fn unreadable(why: String) -> Broken {
    Broken::Failed(Status::unclassified(format!("the answer cannot be read: {why}")).into())
}
