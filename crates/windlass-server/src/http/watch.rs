//! A watch: what there is, then every change, until the client or the server has had enough.
//!
//! A watcher is a position in the shared history. One that reads slowly delays no other; if the history moves past
//! it, it gets a 410 and lists again.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};
use windlass_model::Filter;
use windlass_model::Origin;
use windlass_model::http::{EventWriter, Format, Output, encode_event};
use windlass_model::list::too_large_version;
use windlass_model::watch::{
    Event, EventKind, WatchOptions, event_for, initial_events, last_seen, too_old_version,
};
use windlass_model::{DEFINITIONS, Request, ResourceId, Status, TypeInfo, list};

use crate::clock;
use crate::closing::Closing;
use crate::http::answer::PieceStream;
use crate::http::texts::{Item, PIECE_BYTES, ServedForm, Texts, encoded};
use crate::store::{Compacted, Feed, Record, Snapshot, Storage};

/// Interval of bookmarks.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);
/// Minimum duration of a watch without `timeoutSeconds`. Each gets a random one up to twice as long, so that clients do
/// not all come back at the same time.
const LEAST_SECONDS: u64 = 1800;
/// Pieces that wait for the network; a piece holds all that was there when it was made.
const PIECES_AHEAD: usize = 2;

/// What a watch needs to know.
pub(crate) struct WatchRequest {
    pub(crate) storage: Storage,
    pub(crate) info: Arc<TypeInfo>,
    pub(crate) request: Request,
    pub(crate) options: WatchOptions,
    pub(crate) output: Output,
    pub(crate) format: Format,
    pub(crate) closing: Closing,
    /// Timeout of a client that takes nothing.
    pub(crate) stall_timeout: Duration,
    /// Called with the number of events each time some are sent.
    pub(crate) sent: Box<dyn Fn(usize) + Send>,
}

/// Starts a watch, and returns the end from which its pieces come.
///
/// # Errors
/// The refusal, if the watch cannot begin: selectors that cannot be read, or a version of the future.
pub(crate) fn start(watch: WatchRequest) -> Result<PieceStream, Status> {
    let filter = Filter::of(&watch.info, &watch.request)?;
    let snapshot = watch.storage.snapshot();
    let beginning = Beginning::of(&watch, &filter, &snapshot)?;
    let (pieces, receiver) = mpsc::channel(PIECES_AHEAD);
    let given_up = Arc::new(AtomicBool::new(false));
    let client = Client { pieces, stall_timeout: watch.stall_timeout, given_up: Arc::clone(&given_up) };
    let encoder = Encoder::new(&watch, filter);
    tokio::spawn(run(watch, beginning, encoder, client));
    Ok(PieceStream { pieces: receiver, given_up })
}

/// Who watches.
struct Client {
    pieces: mpsc::Sender<Bytes>,
    stall_timeout: Duration,
    given_up: Arc<AtomicBool>,
}

impl Client {
    /// Says whether the client still takes what is sent to it.
    async fn takes(&self, piece: Bytes) -> bool {
        if piece.is_empty() {
            return true;
        }
        let sent = timeout(self.stall_timeout, self.pieces.send(piece)).await;
        if sent.is_err() {
            self.given_up.store(true, Ordering::Relaxed);
        }
        matches!(sent, Ok(Ok(())))
    }
}

/// Where a watch begins.
struct Beginning {
    initial: Initial,
    feed: Result<Feed, Compacted>,
    after: u64,
}

/// The events with which a watch begins.
enum Initial {
    /// As they are.
    Events(VecDeque<Event>),
    /// One for each text, and then the events that follow.
    Texts(std::vec::IntoIter<Item>, VecDeque<Event>),
}

impl Initial {
    fn of(watch: &WatchRequest, filter: &Filter, snapshot: &Snapshot) -> Result<Self, Status> {
        if !is_text(watch.output, watch.format) {
            let list = list::list(snapshot, &watch.info, &watch.request)?;
            return Ok(Initial::Events(initial_events(&list, filter, &watch.options).into()));
        }
        let mut list =
            list::list_from(&Texts::with_type(snapshot, &watch.info), &watch.info, &watch.request)?;
        let items = std::mem::take(&mut list.items);
        let end = initial_events(&list.without_items(), filter, &watch.options);
        Ok(Initial::Texts(items.into_iter(), end.into()))
    }
}

impl Beginning {
    fn of(watch: &WatchRequest, filter: &Filter, snapshot: &Snapshot) -> Result<Self, Status> {
        let (options, current) = (&watch.options, snapshot.version());
        let wanted = options.resource_version;
        let (initial, after) = if options.send_initial_events {
            if wanted > current {
                return Err(too_large_version(wanted, current));
            }
            (Initial::of(watch, filter, snapshot)?, current)
        } else {
            (Initial::Events(VecDeque::new()), if wanted == 0 { current } else { wanted })
        };
        let (storage, group, plural) = (&watch.storage, &filter.group, &filter.plural);
        let feed = match &filter.shards {
            Some(shards) => storage.feed_of_shards(group, plural, after, shards),
            None => storage.feed(group, plural, after),
        };
        Ok(Beginning { initial, feed, after })
    }
}

/// Sends events until the watch is over.
async fn run(mut watch: WatchRequest, beginning: Beginning, mut encoder: Encoder, client: Client) {
    let end = Instant::now() + lifetime(watch.options.timeout_seconds);
    let mut initial = beginning.initial;
    loop {
        let (piece, events) = encoder.initial(&mut initial);
        if events == 0 {
            break;
        }
        (watch.sent)(events);
        if !client.takes(piece).await {
            return;
        }
    }
    let mut feed = match beginning.feed {
        Ok(feed) => feed,
        Err(compacted) => {
            let over = encoder.over(beginning.after, &compacted);
            client.takes(over).await;
            return;
        }
    };
    let mut bookmark_at = Instant::now() + BOOKMARK_EVERY;
    let mut served = ServedType::of(&watch);
    loop {
        let piece = tokio::select! {
            changes = feed.next() => match changes {
                Ok(records) => {
                    let (piece, events) = encoder.changes(&records);
                    (watch.sent)(events);
                    piece
                }
                Err(compacted) => {
                    let over = encoder.over(feed.position(), &compacted);
                    client.takes(over).await;
                    return;
                }
            },
            () = sleep_until(bookmark_at) => {
                bookmark_at = Instant::now() + BOOKMARK_EVERY;
                feed.advance();
                encoder.bookmark(feed.position())
            }
            () = sleep_until(end) => {
                feed.advance();
                let last = encoder.bookmark(feed.position());
                client.takes(last).await;
                return;
            }
            () = served.end() => {
                // The last objects have gone before it.
                while let Ok(records) = feed.ready()
                    && !records.is_empty()
                    && client.takes(encoder.changes(&records).0).await
                {}
                return;
            }
            () = watch.closing.wait() => return,
            () = client.pieces.closed() => return,
        };
        if !client.takes(piece).await {
            return;
        }
    }
}

/// A custom type is served until its definition goes, or no longer has this version.
struct ServedType {
    storage: Storage,
    resource: ResourceId,
    /// What happens to definitions; nothing for a type that is built in.
    definitions: Option<Feed>,
}

impl ServedType {
    fn of(watch: &WatchRequest) -> Self {
        let (storage, resource) = (watch.storage.clone(), watch.info.resource.clone());
        let mut served = ServedType { storage, resource, definitions: None };
        if watch.info.origin != Origin::BuiltIn {
            served.follow();
        }
        served
    }

    fn follow(&mut self) {
        // There is no feed only if the history has just dropped this version: try again.
        while self.definitions.is_none() {
            let version = self.storage.snapshot().version();
            let (group, plural) = DEFINITIONS;
            self.definitions = self.storage.feed(group, plural, version).ok();
        }
    }

    /// Returns once the type is no longer served. May be dropped and called again.
    async fn end(&mut self) {
        loop {
            let Some(definitions) = &mut self.definitions else { return std::future::pending().await };
            if self.storage.snapshot().types().get(&self.resource).is_none() {
                return;
            }
            if definitions.next().await.is_err() {
                self.definitions = None;
                self.follow();
            }
        }
    }
}

fn lifetime(asked_seconds: Option<u64>) -> Duration {
    let seconds = asked_seconds.unwrap_or_else(|| LEAST_SECONDS + clock::now_nanoseconds() % LEAST_SECONDS);
    // Longer than a year is for ever.
    Duration::from_secs(seconds.min(365 * 24 * 3600))
}

/// Writes events as lines of JSON.
struct Encoder {
    info: Arc<TypeInfo>,
    filter: Filter,
    form: ServedForm,
    allow_bookmarks: bool,
    /// Whether the text of an object can be passed on as it is.
    passes_text: bool,
    writer: EventWriter,
    format: Format,
}

impl Encoder {
    fn new(watch: &WatchRequest, filter: Filter) -> Self {
        Encoder {
            info: Arc::clone(&watch.info),
            form: ServedForm::of(&filter.api_version, &filter.kind),
            filter,
            allow_bookmarks: watch.options.allow_bookmarks,
            passes_text: is_text(watch.output, watch.format),
            writer: EventWriter::new(watch.output),
            format: watch.format,
        }
    }

    /// The next piece of what the watch begins with, and how many events are in it; none if there are no more.
    fn initial(&mut self, initial: &mut Initial) -> (Bytes, usize) {
        let mut lines = BytesMut::new();
        let mut count = 0;
        while lines.len() < PIECE_BYTES {
            match initial {
                Initial::Texts(texts, rest) => match texts.next() {
                    Some(item) => put_line(&mut lines, EventKind::Added, item.text()),
                    None => {
                        *initial = Initial::Events(std::mem::take(rest));
                        continue;
                    }
                },
                Initial::Events(events) => match events.pop_front() {
                    Some(event) => self.put(&mut lines, &event),
                    None => break,
                },
            }
            count += 1;
        }
        (lines.freeze(), count)
    }

    fn events(&mut self, events: &[Event]) -> Bytes {
        let mut lines = BytesMut::new();
        for event in events {
            self.put(&mut lines, event);
        }
        lines.freeze()
    }

    /// The events that some changes are, and how many.
    fn changes(&mut self, records: &[Arc<Record>]) -> (Bytes, usize) {
        let mut lines = BytesMut::new();
        let mut count = 0;
        for record in records {
            count += usize::from(self.put_change(&mut lines, record));
        }
        (lines.freeze(), count)
    }

    fn put_change(&mut self, lines: &mut BytesMut, record: &Record) -> bool {
        // The feed has selected the shards.
        if self.passes_text && !self.filter.selects_by_content() {
            return self.put_text(lines, record);
        }
        let event = event_for(&record.to_change(), &self.filter);
        if let Some(event) = &event {
            self.put(lines, event);
        }
        event.is_some()
    }

    /// Passes the text of a change on: nothing of it depends on the watcher.
    fn put_text(&self, lines: &mut BytesMut, record: &Record) -> bool {
        let here =
            self.filter.namespace.as_ref().is_none_or(|namespace| *record.key.namespace == **namespace);
        let Some(kind) = EventKind::of(record.before.is_some(), record.after.is_some()).filter(|_| here)
        else {
            return false;
        };
        let text = match (&record.before, &record.after) {
            (_, Some(after)) => self.form.text(&self.filter, after),
            (Some(before), None) => encoded(&last_seen(&self.filter.served(&before.parse()), record.version)),
            (None, None) => return false,
        };
        put_line(lines, kind, &text);
        true
    }

    fn put(&mut self, lines: &mut BytesMut, event: &Event) {
        let value = self.writer.next(event, &self.info, clock::now());
        match encode_event(&value, self.format) {
            Ok(line) => lines.put_slice(&line),
            // What has no message was refused when the watch began.
            Err(status) => tracing::error!(message = status.message, "cannot encode watch event"),
        }
    }

    /// Says up to where the watcher has seen everything, if it wants to know.
    fn bookmark(&mut self, version: u64) -> Bytes {
        if !self.allow_bookmarks {
            return Bytes::new();
        }
        let bookmark = Event::bookmark(&self.filter, &version.to_string());
        self.events(&[bookmark])
    }

    fn over(&mut self, wanted: u64, compacted: &Compacted) -> Bytes {
        self.events(&[Event::error(&too_old_version(wanted, compacted.oldest))])
    }
}

/// Whether objects go out as the text that is stored.
fn is_text(output: Output, format: Format) -> bool {
    output == Output::Object && format != Format::Protobuf
}

/// Writes an event around the text of its object.
fn put_line(lines: &mut BytesMut, kind: EventKind, text: &[u8]) {
    lines.reserve(text.len() + 40);
    lines.put_slice(b"{\"type\":\"");
    lines.put_slice(kind.as_str().as_bytes());
    lines.put_slice(b"\",\"object\":");
    lines.put_slice(text);
    lines.put_slice(b"}\n");
}
