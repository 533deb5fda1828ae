//! What happens on the cluster, one line at a time: what is made, and how each parent stands.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use futures::{StreamExt, TryStreamExt};
use kube::api::{Api, ApiResource, DynamicObject, WatchEvent, WatchParams};
use kube::{Client, ResourceExt};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{error::Elapsed, timeout_at};

use windlass_app::output::is_coloured;

/// Timeout of each step of the demonstration.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Watches some kinds, prints what happens to them, and knows how each object stands.
pub(super) struct Progress {
    begun: Instant,
    changes: mpsc::UnboundedReceiver<anyhow::Result<(String, WatchEvent<DynamicObject>)>>,
    objects: BTreeMap<(String, String), Value>,
    lines: Lines,
}

/// Where lines go: with colours on a terminal, plain elsewhere.
struct Lines {
    coloured: bool,
}

impl Progress {
    /// Watches these kinds in the namespace `default` from now on.
    pub(super) fn watch(client: &Client, kinds: Vec<ApiResource>, begun: Instant) -> Self {
        let (sender, changes) = mpsc::unbounded_channel();
        for kind in kinds {
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
            let sender = sender.clone();
            tokio::spawn(async move {
                let watched = async {
                    let mut events = api.watch(&WatchParams::default(), "0").await?.boxed();
                    while let Some(event) = events.try_next().await? {
                        let _ = sender.send(Ok((kind.kind.clone(), event)));
                    }
                    anyhow::Ok(())
                };
                if let Err(error) = watched.await {
                    let _ = sender.send(Err(error).context(format!("cannot watch {}", kind.plural)));
                }
            });
        }
        let lines = Lines { coloured: is_coloured(&std::io::stdout()) };
        Progress { begun, changes, objects: BTreeMap::new(), lines }
    }

    /// An object as it was last seen; null if there is none.
    pub(super) fn object(&self, kind: &str, name: &str) -> &Value {
        self.objects.get(&(kind.to_owned(), name.to_owned())).unwrap_or(&Value::Null)
    }

    /// Whether an object is there and its Ready condition is true.
    pub(super) fn is_ready(&self, kind: &str, name: &str) -> bool {
        condition(self.object(kind, name)).is_some_and(|ready| ready["status"] == "True")
    }

    /// Prints what happens until something is so.
    pub(super) async fn until(
        &mut self,
        what: &str,
        is_so: impl Fn(&Progress) -> bool,
    ) -> anyhow::Result<()> {
        let deadline = tokio::time::Instant::now() + TIMEOUT;
        while !is_so(self) {
            match timeout_at(deadline, self.changes.recv()).await {
                Ok(Some(change)) => {
                    let (kind, event) = change?;
                    self.take(&kind, event)?;
                }
                Ok(None) => bail!("all watches ended before {what}"),
                Err(Elapsed { .. }) => bail!("it took too long: {what}\n{}", self.standing()),
            }
        }
        Ok(())
    }

    /// How every parent stands, for a message.
    fn standing(&self) -> String {
        let parents = self.objects.iter().filter(|(_, object)| condition(object).is_some());
        parents.map(|((kind, name), object)| format!("  {kind} {name}: {}\n", stands(object))).collect()
    }

    fn take(&mut self, kind: &str, event: WatchEvent<DynamicObject>) -> anyhow::Result<()> {
        let (object, gone) = match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => (object, false),
            WatchEvent::Deleted(object) => (object, true),
            WatchEvent::Bookmark(_) => return Ok(()),
            WatchEvent::Error(status) => bail!("a watch of {kind} failed: {}", status.message),
        };
        let key = (kind.to_owned(), object.name_any());
        let after = serde_json::to_value(&object)?;
        let before = if gone { self.objects.remove(&key) } else { self.objects.insert(key, after.clone()) };
        let subject = format!("{kind} {}", object.name_any());
        match before {
            _ if gone => self.lines.print(self.begun, &subject, "deleted"),
            None => self.lines.print(self.begun, &subject, "created"),
            Some(_) => {}
        }
        let shown = stands(&after);
        if !gone && !shown.is_empty() && before.as_ref().is_none_or(|before| stands(before) != shown) {
            self.lines.print(self.begun, &subject, &shown);
        }
        Ok(())
    }
}

impl Lines {
    fn print(&self, begun: Instant, subject: &str, what: &str) {
        let seconds = begun.elapsed().as_secs_f64();
        let coloured = |code: &str, text: &str| {
            if self.coloured { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
        };
        let what = if what.starts_with("Ready") { coloured("32", what) } else { what.to_owned() };
        let time = coloured("2", &format!("{seconds:6.2} s"));
        say!("   {time}  {subject:<26} {what}");
    }
}

/// The Ready condition, if there is one.
fn condition(object: &Value) -> Option<&Value> {
    object["status"]["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

/// `Ready`, or why not: the reason, and the message for people.
fn stands(object: &Value) -> String {
    let Some(ready) = condition(object) else { return String::new() };
    let text = |field: &str| ready[field].as_str().unwrap_or_default();
    match (text("status"), text("message")) {
        ("True", _) => "Ready".to_owned(),
        (_, "") => text("reason").to_owned(),
        (_, message) => format!("{}: {message}", text("reason")),
    }
}
