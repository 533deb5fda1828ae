//! What a specimen is: a bug, shown by two machines that differ in a few lines.

use windlass_check::Check;

/// A broken controller, its repaired twin, and the check that distinguishes them.
#[derive(Clone, Debug)]
pub struct Specimen {
    /// The name of its file.
    pub name: &'static str,
    /// What happened, in one sentence.
    pub story: &'static str,
    /// A public report of a bug of this kind, as project and number; or that the checker once had its verdict wrong.
    pub origin: &'static str,
    /// The property or the built-in rule that catches it; for a mistake in the code itself, the reason that the
    /// framework gives.
    pub reveals: &'static str,
    /// The check of the broken controller.
    pub broken: fn() -> Check,
    /// The same check of the repaired one.
    pub repaired: fn() -> Check,
}

/// Which of the two a machine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Twin {
    /// As it was when the bug was found.
    Broken,
    /// As it should have been.
    Repaired,
}
