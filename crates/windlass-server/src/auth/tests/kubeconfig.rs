//! What a kubeconfig says, and whose file is never touched.

use std::fs;

use serde_json::{Value, json};
use windlass_model::base64::Base64;

use crate::auth::{Kubeconfig, KubeconfigError};

use super::Folder;

fn config() -> Kubeconfig {
    Kubeconfig {
        server: "https://127.0.0.1:6443".to_owned(),
        authority: Some("PEM".to_owned()),
        token: Some("a\"b".to_owned()),
    }
}

#[test]
fn it_says_where_and_who() {
    let read: Value = serde_saphyr::from_str(&config().to_string()).unwrap();
    assert_eq!(
        read,
        json!({
            "apiVersion": "v1", "kind": "Config", "preferences": {}, "current-context": "windlass",
            "clusters": [{
                "name": "windlass",
                "cluster": {
                    "server": "https://127.0.0.1:6443",
                    "certificate-authority-data": Base64::Standard.encode(b"PEM"),
                },
            }],
            "contexts": [{ "name": "windlass", "context": { "cluster": "windlass", "user": "windlass" } }],
            "users": [{ "name": "windlass", "user": { "token": "a\"b" } }],
        })
    );
    let plain = Kubeconfig { authority: None, token: None, ..config() };
    let read: Value = serde_saphyr::from_str(&plain.to_string()).unwrap();
    assert_eq!(read["clusters"][0]["cluster"], json!({ "server": "https://127.0.0.1:6443" }));
    assert_eq!(read["users"], json!([{ "name": "windlass", "user": {} }]));
}

#[test]
fn it_is_written_for_its_owner_alone_and_replaced() {
    let folder = Folder::new("kubeconfig");
    let path = folder.join("new/folder/config");
    config().write(&path).unwrap();
    assert_eq!(folder.mode("new/folder/config"), 0o600);
    let other = Kubeconfig { server: "https://127.0.0.1:7000".to_owned(), ..config() };
    other.write(&path).unwrap();
    assert_eq!(fs::read_to_string(&path).unwrap(), other.to_string());
    // As `mktemp` makes them, and as `kubectl config` rewrites them.
    fs::write(folder.join("empty"), "").unwrap();
    config().write(&folder.join("empty")).unwrap();
    assert_eq!(folder.mode("empty"), 0o600);
    let rewritten = json!({
        "kind": "Config", "clusters": [{ "name": "windlass" }], "users": [{ "name": "windlass" }],
        "contexts": [{ "name": "windlass", "context": { "namespace": "x" } }],
    });
    fs::write(&path, rewritten.to_string()).unwrap();
    config().write(&path).unwrap();
}

#[test]
fn a_link_is_followed() {
    let folder = Folder::new("link");
    fs::write(folder.join("real"), "").unwrap();
    std::os::unix::fs::symlink("real", folder.join("link")).unwrap();
    config().write(&folder.join("link")).unwrap();
    assert_eq!(fs::read_to_string(folder.join("real")).unwrap(), config().to_string());
    assert!(fs::symlink_metadata(folder.join("link")).unwrap().is_symlink());
}

#[test]
fn files_of_others_are_left_alone() {
    let folder = Folder::new("others");
    let path = folder.join("config");
    let clusters = "kind: Config\nclusters:\n- name: windlass\n";
    let users = format!("{clusters}users:\n- name: me\n");
    let contexts = format!("{clusters}contexts:\n- name: mine\n");
    let mixed = "kind: Config\nclusters:\n- name: windlass\n- name: production\n";
    for text in [
        "hello\n",
        "kind: Config\nclusters:\n- name: kind\n",
        mixed,
        &users,
        &contexts,
        "kind: Config\n",
        "{",
        "[1]\n",
        "\u{0}",
    ] {
        fs::write(&path, text).unwrap();
        let error = config().write(&path).unwrap_err();
        assert!(matches!(error, KubeconfigError::NotOurs { .. }), "{text:?}: {error}");
        assert!(error.to_string().contains("name another file"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    let error = config().write(&folder).unwrap_err();
    assert!(matches!(error, KubeconfigError::NotAFile { .. }), "{error}");
}
