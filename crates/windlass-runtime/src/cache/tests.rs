//! How the cache handles events that come twice, late, or in another order.

use serde_json::json;

use super::*;

fn object(name: &str, uid: &str, version: u64) -> (Head, Arc<str>) {
    owned(name, uid, version, None)
}

fn owned(name: &str, uid: &str, version: u64, owner: Option<&str>) -> (Head, Arc<str>) {
    let labels = owner.map(|owner| json!({ windlass::OWNER_LABEL: owner }));
    let text = json!({
        "kind": "ConfigMap",
        "metadata": {
            "name": name, "namespace": "ns", "uid": uid, "resourceVersion": version.to_string(), "labels": labels,
        },
    });
    let text: Arc<str> = text.to_string().into();
    (head(&text), text)
}

fn head(text: &str) -> Head {
    Head::read(text, &Cache::default().indexed()).expect("a head")
}

fn key(name: &str) -> ObjectRef {
    ObjectRef::new("ns", name)
}

impl Cache {
    fn see(&self, (head, text): (Head, Arc<str>)) -> bool {
        self.put(head, text, Source::Informer).is_some()
    }

    fn wrote(&self, (head, text): (Head, Arc<str>)) -> bool {
        self.put(head, text, Source::OwnWrite).is_some()
    }

    fn version_of(&self, name: &str) -> Option<u64> {
        self.get(&key(name)).map(|found| found.version)
    }
}

#[test]
fn the_echo_of_an_own_write_is_no_event() {
    let cache = Cache::default();
    assert!(cache.wrote(object("a", "1", 5)));
    assert!(!cache.see(object("a", "1", 5)));
    assert_eq!((cache.version_of("a"), cache.reached()), (Some(5), 5));
    // What somebody else wrote next is.
    assert!(cache.see(object("a", "1", 6)));
}

#[test]
fn an_older_event_does_not_undo_an_own_write() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.wrote(object("a", "1", 7)));
    assert!(!cache.see(object("a", "1", 6)));
    assert_eq!(cache.version_of("a"), Some(7));
}

#[test]
fn a_late_answer_does_not_bring_back_what_is_gone() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.deleted(&object("a", "1", 6).0).is_some());
    assert!(!cache.wrote(object("a", "1", 5)));
    assert_eq!(cache.version_of("a"), None);
}

#[test]
fn what_we_deleted_stays_gone() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.delete_own(&key("a"), Some("2")).is_none());
    assert!(cache.delete_own(&key("a"), Some("1")).is_some());
    // The watch is behind: it reports changes before the delete.
    assert!(!cache.see(object("a", "1", 6)));
    assert_eq!(cache.version_of("a"), None);
    // Another object of the same name is another object.
    assert!(cache.wrote(object("a", "2", 9)));
    assert!(cache.deleted(&object("a", "1", 8).0).is_none());
    assert_eq!(cache.version_of("a"), Some(9));
    assert!(cache.read().tombstones.is_empty());
}

#[test]
fn a_list_older_than_an_own_write_does_not_undo_it() {
    let cache = Cache::default();
    assert!(cache.wrote(object("new", "1", 20)));
    assert!(cache.see(object("old", "2", 4)));
    assert!(cache.see(object("gone", "3", 5)));
    let changes = cache.relist(vec![object("old", "2", 4), object("other", "4", 8)], 10);
    let names: Vec<(String, bool)> =
        changes.iter().map(|change| (change.key.name.clone(), change.after.is_some())).collect();
    assert_eq!(names, [("gone".to_owned(), false), ("other".to_owned(), true)]);
    assert_eq!(cache.version_of("new"), Some(20));
    assert_eq!(cache.reached(), 10);
}

#[test]
fn a_list_that_still_has_what_we_deleted_does_not_bring_it_back() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.delete_own(&key("a"), None).is_some());
    assert!(cache.relist(vec![object("a", "1", 5)], 6).is_empty());
    assert_eq!(cache.version_of("a"), None);
    assert!(cache.relist(vec![], 7).is_empty());
    assert!(cache.read().tombstones.is_empty());
}

#[test]
fn another_store_resets_the_cache() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 100)));
    assert!(cache.see(object("b", "2", 101)));
    let changes = cache.relist(vec![object("a", "9", 3)], 4);
    assert_eq!(changes.len(), 2);
    assert_eq!((cache.version_of("a"), cache.version_of("b"), cache.reached()), (Some(3), None, 4));
    assert!(cache.see(object("a", "9", 5)));
}

#[test]
fn a_newer_list_is_right_about_what_it_has() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 10)));
    // The same name in another store that has grown past this one.
    assert_eq!(cache.relist(vec![object("a", "2", 8)], 20).len(), 1);
    assert_eq!(cache.version_of("a"), Some(8));
    assert!(cache.relist(vec![object("a", "2", 8)], 21).is_empty());
}

#[test]
fn a_bookmark_that_goes_back_makes_no_sense() {
    let cache = Cache::default();
    assert!(cache.bookmark(10) && cache.bookmark(10) && cache.bookmark(12));
    assert!(!cache.bookmark(11));
    assert_eq!(cache.reached(), 12);
}

#[test]
fn lists_are_by_namespace_and_owner() {
    let cache = Cache::default();
    let elsewhere: Arc<str> =
        r#"{"metadata":{"name":"z","namespace":"ns2","uid":"9","resourceVersion":"4"}}"#.into();
    assert!(cache.wrote((head(&elsewhere), elsewhere)));
    assert!(cache.wrote(owned("b", "1", 1, Some("ns.p"))));
    assert!(cache.wrote(owned("a", "2", 2, Some("ns.p"))));
    assert!(cache.wrote(owned("c", "3", 3, None)));
    let owner = "windlass.dev/owner=ns.p";
    assert_eq!(names(&cache, None, ""), "a b c z");
    assert_eq!(names(&cache, Some("ns"), ""), "a b c");
    assert_eq!(names(&cache, Some("n"), ""), "");
    assert_eq!(names(&cache, None, owner), "a b");
    assert_eq!(names(&cache, Some("other"), owner), "");
    assert!(cache.wrote(owned("a", "2", 5, None)));
    assert_eq!(names(&cache, None, owner), "b");
    assert!(cache.delete_own(&key("b"), None).is_some());
    assert!(cache.read().by_label.is_empty());
}

/// The names of what is listed, with what an index does not rule out.
fn names(cache: &Cache, namespace: Option<&str>, selector: &str) -> String {
    let found = cache.list(namespace, &LabelSelector::parse(selector).expect("a selector"));
    found.iter().map(|found| head(&found.text).key.name).collect::<Vec<String>>().join(" ")
}

#[test]
fn an_index_finds_what_a_selector_demands() {
    let cache = Cache::default();
    cache.index("network");
    let put = |name: &str, labels: serde_json::Value| {
        let metadata =
            json!({"name": name, "namespace": "ns", "uid": name, "resourceVersion": "1", "labels": labels});
        let text: Arc<str> = json!({ "metadata": metadata }).to_string().into();
        let head = Head::read(&text, &cache.indexed()).expect("a head");
        assert!(cache.wrote((head, text)));
    };
    put("a", json!({"network": "one", "windlass.dev/owner": "p"}));
    put("b", json!({"network": "two", "windlass.dev/owner": "p"}));
    put("c", json!({"network": "two", "windlass.dev/owner": "q"}));
    put("d", json!({"network": "three", "colour": "red"}));
    put("e", json!(null));
    for (selector, expected) in [
        ("network=one", "a"),
        ("network==two", "b c"),
        ("network in (two,one,none)", "a b c"),
        ("network=none", ""),
        // The smaller of two indexes.
        ("network=one,windlass.dev/owner=p", "a"),
        ("network=two,windlass.dev/owner=q", "c"),
        ("colour=red,network=three", "d"),
        // No index applies: the caller looks at all.
        ("colour=red", "a b c d e"),
        ("network!=one", "a b c d e"),
        ("network", "a b c d e"),
    ] {
        assert_eq!(names(&cache, None, selector), expected, "{selector}");
        assert_eq!(names(&cache, Some("ns"), selector), expected, "{selector}");
    }
    // Too late: what is there would be missing.
    cache.index("colour");
    assert_eq!(names(&cache, None, "colour=red"), "a b c d e");
}

#[test]
fn what_is_no_longer_selected_can_come_back() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.unselect_own(&object("a", "2", 7).0).is_none(), "another object");
    assert!(cache.unselect_own(&object("a", "1", 5).0).is_none(), "older than what is known");
    assert!(cache.unselect_own(&object("a", "1", 7).0).is_some());
    // What the watch reports late is from before.
    assert!(!cache.see(object("a", "1", 6)));
    assert_eq!(cache.version_of("a"), None);
    // It is selected again, by a write of ours, before the watch reports that it was not.
    assert!(cache.wrote(object("a", "1", 8)));
    assert!(cache.deleted(&object("a", "1", 7).0).is_none());
    assert_eq!(cache.version_of("a"), Some(8));
    assert!(cache.read().tombstones.is_empty());
}

#[test]
fn a_list_decides_what_is_selected_unless_it_is_older() {
    let cache = Cache::default();
    assert!(cache.see(object("a", "1", 5)));
    assert!(cache.unselect_own(&object("a", "1", 9).0).is_some());
    assert!(cache.relist(vec![object("a", "1", 5)], 8).is_empty());
    assert_eq!(cache.version_of("a"), None);
    assert_eq!(cache.relist(vec![object("a", "1", 10)], 11).len(), 1);
    assert_eq!(cache.version_of("a"), Some(10));
    assert!(cache.read().tombstones.is_empty());
}

#[test]
fn an_apply_is_remembered_for_one_version() {
    let cache = Cache::default();
    assert!(cache.wrote(object("a", "1", 5)));
    cache.remember_applied(&key("a"), 4, 77);
    assert!(!cache.is_applied(&key("a"), 5, 77));
    cache.remember_applied(&key("a"), 5, 77);
    assert!(cache.is_applied(&key("a"), 5, 77));
    assert!(!cache.is_applied(&key("a"), 5, 78));
    assert!(cache.see(object("a", "1", 6)));
    assert!(!cache.is_applied(&key("a"), 6, 77));
}

#[test]
fn cache_that_absorbs_another_goes_on_where_that_was() {
    let (other, cache) = (Cache::default(), Cache::default());
    other.relist(vec![object("a", "1", 1), object("b", "2", 2)], 7);
    cache.absorb(&other, |key, _, _| key.name == "a");
    assert_eq!((cache.len(), cache.reached()), (1, 7));
    let changes = cache.relist(vec![object("a", "1", 1), object("c", "3", 8)], 9);
    let names: Vec<&str> = changes.iter().map(|change| change.key.name.as_str()).collect();
    assert_eq!(names, ["c"], "what is known is not new");
    cache.forget(|key, _| key.name == "c");
    assert_eq!(cache.len(), 1);
}
