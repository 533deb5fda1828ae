//! Which parent is reconciled next, and which has to wait.
