//! `jsonpatch`: help with the paths of JSON patches.

use super::{Arguments, Outcome, Table};

pub(super) const FUNCTIONS: Table = &[("jsonpatch.escapeKey", escape_key)];

/// A key as a part of a path.
fn escape_key<'a>(call: &mut Arguments<'_, 'a>) -> Outcome<'a> {
    let key = call.text(0)?;
    call.charge_walk(0)?;
    call.made(key.replace('~', "~0").replace('/', "~1"))
}
