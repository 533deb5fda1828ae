//! What one watch is to one controller: which of its declared watches it serves, and whom its news concern.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use windlass::{ObjectRef, Trigger, Watch as Declared};

use crate::inbox::Inbox;
use crate::watch::{Listener, News, Selection, Watch, Watches};

/// One watch, as one controller hears of it.
pub(crate) struct Subscription {
    inbox: Arc<Inbox>,
    concerns: Vec<Concern>,
}

/// A declared watch that is served.
struct Concern {
    /// Its number in the declaration.
    declared: usize,
    /// Whether the watch tells of more than was asked for: the rest must be left out here.
    wider: bool,
}

impl Subscription {
    /// Opens all that a controller wants to watch, and lets it hear of changes.
    ///
    /// # Errors
    /// When a selector cannot be read; with the watch that it is of.
    pub(crate) fn all<'a>(
        watches: &Watches,
        inbox: &'a Arc<Inbox>,
        namespaces: &[String],
    ) -> Result<Vec<Arc<Watch>>, (&'a Declared, String)> {
        let mut opened: Vec<(Arc<Watch>, Vec<Concern>)> = Vec::new();
        for (number, declared) in inbox.controller.declaration().all_watches().iter().enumerate() {
            for selection in Selection::all_of(declared, namespaces) {
                let watch = open(watches, declared, selection.clone())?;
                let concern = Concern { declared: number, wider: watch.selection != selection };
                match opened.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &watch)) {
                    Some((_, concerns)) => concerns.push(concern),
                    None => opened.push((watch, vec![concern])),
                }
            }
        }
        let listen = |(watch, concerns): (Arc<Watch>, Vec<Concern>)| {
            watch.listen(Arc::new(Subscription { inbox: Arc::clone(inbox), concerns }));
            watch
        };
        Ok(opened.into_iter().map(listen).collect())
    }

    /// The parents that a change concerns.
    fn triggers(&self, news: &News) -> Vec<Trigger> {
        let declaration = self.inbox.controller.declaration();
        let mut triggers = Vec::new();
        for concern in &self.concerns {
            let declared = &declaration.all_watches()[concern.declared];
            let (before, after) = (
                concern.told(declared, news.before.as_deref()),
                concern.told(declared, news.after.as_deref()),
            );
            let (before, after) = (before.as_deref(), after.as_deref());
            if declared.is_of_parents() {
                self.inbox.count_parent(&ObjectRef::new(&news.key.namespace, &news.key.name), before, after);
            }
            triggers.extend(declaration.triggers_from(declared, before, after));
        }
        triggers.sort();
        triggers.dedup();
        triggers
    }
}

/// Opens a watch for what is declared.
pub(crate) fn open<'a>(
    watches: &Watches,
    declared: &'a Declared,
    selection: Selection,
) -> Result<Arc<Watch>, (&'a Declared, String)> {
    let opened = watches.open(&declared.kind, selection, declared.indexed_labels());
    opened.map_err(|message| (declared, message))
}

impl Concern {
    /// What the declared watch tells of an object.
    fn told<'a>(&self, declared: &Declared, object: Option<&'a Value>) -> Option<Cow<'a, Value>> {
        match object {
            Some(object) if self.wider => declared.tells(object),
            object => object.map(Cow::Borrowed),
        }
    }
}

impl Listener for Subscription {
    fn changed(&self, news: &News) {
        // The machine's own functions are called here, and a watch must outlive their mistakes.
        match catch_unwind(AssertUnwindSafe(|| self.triggers(news))) {
            Ok(triggers) => self.inbox.add(triggers, news),
            Err(_) => self.inbox.lost(news),
        }
    }
}
