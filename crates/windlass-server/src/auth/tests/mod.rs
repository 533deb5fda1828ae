//! Tokens, what is refused, and the files that keys live in.

mod files;
mod folder;
mod kubeconfig;
mod tokens;

pub(super) use folder::Folder;
