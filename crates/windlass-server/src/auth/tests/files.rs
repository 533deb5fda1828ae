//! Secrets are readable by their owner only, and files are replaced whole.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::auth::files::{self, PRIVATE, PUBLIC};

use super::Folder;

#[test]
fn files_are_replaced_with_their_mode_and_nothing_is_left_behind() {
    let folder = Folder::new("replace");
    let path = folder.join("below/secret");
    files::replace(&path, "one", PRIVATE).unwrap();
    files::replace(&path, "two", PRIVATE).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), "two");
    assert_eq!((folder.mode("below"), folder.mode("below/secret")), (0o700, 0o600));
    files::replace(&folder.join("open"), "all may read", PUBLIC).unwrap();
    assert_eq!(folder.mode("open"), 0o644);
    assert_eq!(folder.names(), ["below", "open"]);
    assert_eq!(fs::read_dir(folder.join("below")).unwrap().count(), 1);
}

#[test]
fn what_cannot_be_replaced_stays_and_is_named() {
    let folder = Folder::new("stays");
    fs::create_dir(folder.join("taken")).unwrap();
    fs::write(folder.join("taken/inside"), "kept").unwrap();
    let error = files::replace(&folder.join("taken"), "text", PRIVATE).unwrap_err();
    assert!(error.to_string().starts_with("cannot replace "), "{error}");
    assert!(error.to_string().contains("taken"), "{error}");
    assert_eq!(folder.names(), ["taken"], "the temporary file is removed");
    assert_eq!(fs::read_to_string(folder.join("taken/inside")).unwrap(), "kept");
}

#[test]
fn others_lose_the_right_to_read_a_secret() {
    let folder = Folder::new("protect");
    fs::write(folder.join("secret"), "text").unwrap();
    fs::set_permissions(folder.join("secret"), fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(files::read_private(&folder.join("secret")).unwrap().as_deref(), Some("text"));
    assert_eq!(folder.mode("secret"), 0o600);
    assert_eq!(files::read_private(&folder.join("none")).unwrap(), None);
}
