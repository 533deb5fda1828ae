//! Follows the history of one kind of objects in the order of resource versions, across restarts of the API server.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::{Api, DynamicObject, ListParams, WatchEvent, WatchParams};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::sleep;

/// Until a server that is away is asked again.
const RETRY: Duration = Duration::from_millis(50);
/// What an API server answers when it has forgotten the version after which to watch.
const GONE: u16 = 410;

/// What has happened to an object.
#[derive(Clone, Debug)]
pub enum Event {
    /// It was created or changed.
    Stored(Box<DynamicObject>),
    /// The one with this name was deleted.
    Deleted(String),
    /// A part of the history is lost; what is there follows.
    HistoryLost,
}

/// An event and when it was seen, in milliseconds.
pub type Seen = (u64, Event);

/// The clock of a run: what was seen when.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Clock(Instant::now())
    }

    /// Milliseconds since its start.
    pub fn now_ms(self) -> u64 {
        self.0.elapsed().as_millis() as u64
    }

    /// The moment that is this many milliseconds after its start.
    pub fn at(self, ms: u64) -> tokio::time::Instant {
        (self.0 + Duration::from_millis(ms)).into()
    }
}

/// A history, and how far it was followed.
struct Follower {
    api: Api<DynamicObject>,
    clock: Clock,
    events: UnboundedSender<Seen>,
    /// The last version that was seen; none before the first list, and after history was lost.
    version: Option<String>,
    /// The newest version of an object that was sent.
    newest: u64,
    /// The objects that are there.
    names: BTreeSet<String>,
}

/// Sends all events until no one receives them any more.
pub async fn follow(api: Api<DynamicObject>, clock: Clock, events: UnboundedSender<Seen>) {
    let names = BTreeSet::new();
    let mut follower = Follower { api, clock, events, version: None, newest: 0, names };
    while !follower.events.is_closed() {
        match follower.version.clone() {
            None => follower.list().await,
            Some(version) => follower.watch(&version).await,
        }
        sleep(RETRY).await;
    }
}

impl Follower {
    fn send(&self, event: Event) {
        // If no one receives it, the caller's loop ends.
        let _no_one = self.events.send((self.clock.now_ms(), event));
    }

    fn stored(&mut self, object: DynamicObject) {
        self.newest = self.newest.max(version_of(&object));
        self.names.extend(object.metadata.name.clone());
        self.send(Event::Stored(Box::new(object)));
    }

    fn deleted(&mut self, name: &str) {
        self.names.remove(name);
        self.send(Event::Deleted(name.to_owned()));
    }

    /// The server has forgotten the last version: what is there is listed again.
    fn forgotten(&mut self) {
        self.version = None;
        self.send(Event::HistoryLost);
    }

    /// Sends all that has changed since the last version, the oldest first.
    async fn list(&mut self) {
        let Ok(mut list) = self.api.list(&ListParams::default()).await else { return };
        let listed: BTreeSet<_> =
            list.items.iter().filter_map(|object| object.metadata.name.clone()).collect();
        for gone in self.names.difference(&listed).cloned().collect::<Vec<_>>() {
            self.deleted(&gone);
        }
        let newest = self.newest;
        list.items.retain(|object| version_of(object) > newest);
        list.items.sort_by_key(version_of);
        list.items.into_iter().for_each(|object| self.stored(object));
        self.version = list.metadata.resource_version;
    }

    /// Sends what changes after a version, until the watch ends.
    async fn watch(&mut self, version: &str) {
        let stream = match self.api.watch(&WatchParams::default(), version).await {
            Ok(stream) => stream,
            Err(kube::Error::Api(status)) if status.code == GONE => return self.forgotten(),
            // The server is away.
            Err(_) => return,
        };
        let mut stream = std::pin::pin!(stream);
        while let Some(Ok(event)) = stream.next().await {
            match event {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    self.version = object.metadata.resource_version.clone().or(self.version.take());
                    self.stored(object);
                }
                WatchEvent::Deleted(object) => {
                    self.version = object.metadata.resource_version.clone().or(self.version.take());
                    self.deleted(object.metadata.name.as_deref().unwrap_or_default());
                }
                WatchEvent::Bookmark(bookmark) => self.version = Some(bookmark.metadata.resource_version),
                WatchEvent::Error(status) if status.code == GONE => return self.forgotten(),
                WatchEvent::Error(_) => return,
            }
        }
    }
}

/// The resource version of an object as a number.
pub fn version_of(object: &DynamicObject) -> u64 {
    let version = object.metadata.resource_version.as_deref().unwrap_or_default();
    version.parse().unwrap_or_default()
}
