//! Keeps a panic of the database, which a damaged file can cause, from ending the server.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use super::Refusal;

thread_local! {
    /// Whether panics of this thread are answered for.
    static CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Does something that may panic, and makes a refusal of that.
pub(super) fn contained<T>(work: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        // A backtrace through the database helps no one: the refusal says what was found.
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !CONTAINED.get() {
                usual(info);
            }
        }));
    });
    CONTAINED.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    CONTAINED.set(false);
    result.unwrap_or_else(|panic| Err(Refusal::Damaged(format!("the database fails: {}", message(&*panic)))))
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason given")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_refusal() {
        let result: Result<(), Refusal> = contained(|| panic!("no page {}", 7));
        assert_eq!(result.unwrap_err().to_string(), "the database fails: no page 7");
        assert!(contained(|| Ok(())).is_ok());
    }
}
