//! JSON patch, merge patch and strategic merge patch. Server-side apply is in [`crate::apply`].

pub mod json;
mod json_failure;
#[cfg(test)]
mod laws;
pub mod merge;
pub mod strategic;
mod strategic_list;

pub use self::json::apply_json_patch;
pub(crate) use self::json_failure::{PatchFailure, explained_json_patch};
pub use self::merge::{apply_merge_patch, merge_patch_between};
pub use self::strategic::apply_strategic_patch;
