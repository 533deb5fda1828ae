//! The queue by scripts, against a simple reference, and under every interleaving.

mod interleavings;
mod pools;
mod reference;
mod scripts;

use std::time::{Duration, Instant};

use windlass::{Cause, ObjectRef};

use super::{Due, Next, Priority, Queue, QueueSettings, Reason, Requeue};

fn key(name: &str) -> ObjectRef {
    ObjectRef::new("", name)
}

fn live(cause: Cause, what: &str) -> Reason {
    Reason { cause, what: what.to_owned(), priority: Priority::Live, spec_changed: false }
}

fn at(start: Instant, milliseconds: u64) -> Instant {
    start + Duration::from_millis(milliseconds)
}
