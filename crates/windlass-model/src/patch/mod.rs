//! JSON patch, merge patch and strategic merge patch. Server-side apply is in [`crate::apply`].

mod json;
mod json_failure;
#[cfg(test)]
mod laws;
pub(crate) mod merge;
mod strategic;
mod strategic_list;

pub(crate) use self::json::apply_json_patch;
pub(crate) use self::json_failure::{PatchFailure, explained_json_patch};
pub(crate) use self::strategic::apply_strategic_patch;
