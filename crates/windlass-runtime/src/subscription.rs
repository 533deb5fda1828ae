//! Connects one informer to one controller: which declared watches it serves, and which parents its events trigger.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use windlass::{ObjectRef, Trigger, WatchDeclaration};

use crate::enqueuer::Enqueuer;
use crate::informer::{EventHandler, Informer, Informers, Selection, WatchEvent};

/// The event handler of one controller at one informer.
pub(crate) struct Subscription {
    enqueuer: Arc<Enqueuer>,
    bindings: Vec<WatchBinding>,
}

/// An informer with the subscription of one controller.
pub(crate) struct Subscribed {
    pub(crate) informer: Arc<Informer>,
    pub(crate) subscription: Arc<Subscription>,
}

/// A declared watch that is served.
struct WatchBinding {
    /// Its number in the declaration.
    declared: usize,
    /// Whether the informer's selection is wider than the declared one: other objects are filtered out here.
    wider: bool,
}

impl Subscription {
    /// Opens an informer for each declared watch of a controller, and subscribes to its events.
    ///
    /// # Errors
    /// When a selector cannot be read; with the watch that it is of.
    pub(crate) fn all<'a>(
        informers: &Informers,
        enqueuer: &'a Arc<Enqueuer>,
        namespaces: &[String],
    ) -> Result<Vec<Subscribed>, (&'a WatchDeclaration, String)> {
        let mut opened: Vec<(Arc<Informer>, Vec<WatchBinding>)> = Vec::new();
        for (number, declared) in enqueuer.context.watches_from_start() {
            for selection in Selection::all_of(declared, namespaces) {
                let informer = open(informers, declared, selection.clone())?;
                let binding = WatchBinding { declared: number, wider: informer.selection != selection };
                match opened.iter_mut().find(|(known, _)| Arc::ptr_eq(known, &informer)) {
                    Some((_, bindings)) => bindings.push(binding),
                    None => opened.push((informer, vec![binding])),
                }
            }
        }
        let listen = |(informer, bindings): (Arc<Informer>, Vec<WatchBinding>)| {
            let subscription = Arc::new(Subscription { enqueuer: Arc::clone(enqueuer), bindings });
            informer.add_event_handler(Arc::clone(&subscription) as Arc<_>);
            Subscribed { informer, subscription }
        };
        Ok(opened.into_iter().map(listen).collect())
    }

    /// To an informer that is opened for one watch while the controller runs: `declared` is the number of the watch.
    pub(crate) fn to_one(enqueuer: &Arc<Enqueuer>, declared: usize) -> Self {
        let bindings = vec![WatchBinding { declared, wider: false }];
        Subscription { enqueuer: Arc::clone(enqueuer), bindings }
    }

    /// The controller that is subscribed.
    pub(crate) fn enqueuer(&self) -> &Enqueuer {
        &self.enqueuer
    }

    /// The parents that an object names which is watched beside parents and outputs. None of them need exist.
    pub(crate) fn named_by(&self, object: &Value) -> Vec<Trigger> {
        let declaration = self.enqueuer.context.controller.declaration();
        let further = self.bindings.iter().filter_map(|binding| {
            let declared = &declaration.all_watches()[binding.declared];
            let is_further = !declared.is_of_parents() && !declared.is_of_outputs();
            is_further
                .then(|| binding.selected(declared, Some(object)))
                .flatten()
                .map(|object| (declared, object))
        });
        further
            .flat_map(|(declared, object)| declaration.triggers_from(declared, None, Some(&object)))
            .collect()
    }

    /// The parents that an event triggers.
    fn triggers(&self, event: &WatchEvent) -> Vec<Trigger> {
        let declaration = self.enqueuer.context.controller.declaration();
        let mut triggers = Vec::new();
        for binding in &self.bindings {
            let declared = &declaration.all_watches()[binding.declared];
            let (before, after) = (
                binding.selected(declared, event.before.as_deref()),
                binding.selected(declared, event.after.as_deref()),
            );
            let (before, after) = (before.as_deref(), after.as_deref());
            if declared.is_of_parents() {
                self.count_parent(&ObjectRef::new(&event.key.namespace, &event.key.name), before, after);
            }
            triggers.extend(declaration.triggers_from(declared, before, after));
        }
        triggers.sort();
        triggers.dedup();
        triggers
    }

    /// Updates the condition metrics for a parent that appeared, changed or disappeared.
    fn count_parent(&self, parent: &ObjectRef, before: Option<&Value>, after: Option<&Value>) {
        let Some(object) = after.or(before) else { return };
        if self.enqueuer.owns_object(parent, object) {
            self.enqueuer.context.metrics.parent_changed(before, after);
        }
    }
}

/// Opens an informer for what is declared.
pub(crate) fn open<'a>(
    informers: &Informers,
    declared: &'a WatchDeclaration,
    selection: Selection,
) -> Result<Arc<Informer>, (&'a WatchDeclaration, String)> {
    let opened = informers.open(&declared.kind, selection, declared.indexed_labels());
    opened.map_err(|message| (declared, message))
}

impl WatchBinding {
    /// The object as the declared watch selects it; `None` if it does not.
    fn selected<'a>(&self, declared: &WatchDeclaration, object: Option<&'a Value>) -> Option<Cow<'a, Value>> {
        match object {
            Some(object) if self.wider => declared.selected(object),
            object => object.map(Cow::Borrowed),
        }
    }
}

impl EventHandler for Subscription {
    fn changed(&self, event: &WatchEvent) {
        // This calls functions of the machine; a panic in one of them must not end the informer.
        match catch_unwind(AssertUnwindSafe(|| self.triggers(event))) {
            Ok(triggers) => self.enqueuer.enqueue(triggers, event),
            Err(_) => self.enqueuer.event_dropped(event),
        }
    }
}
