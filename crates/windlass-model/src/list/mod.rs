//! Lists: the objects that a request selects, page by page.

mod source;
mod token;

use crate::field::{FieldError, FieldPath, quoted};
use crate::filter::Filter;
use crate::request::{Options, Request};
use crate::response::List;
use crate::status::{Cause, Details, Reason, Status};
use crate::store::{Key, Store};
use crate::types::TypeInfo;

pub use source::ListSource;
pub use token::ContinueToken;

/// Answers a list request from what the store holds now.
///
/// Only as much of the store is read as the page needs; but a page of a list without selectors says how
/// many objects are left, and those are counted.
///
/// A store has one version, the current one. So a list at exactly an older version is refused as expired,
/// and a further page shows the current objects under the version of the first page: who then watches
/// from that version misses nothing. A store that keeps older versions can look into the
/// [`ContinueToken`] and pass the right one.
pub fn list<S: Store + ?Sized>(store: &S, info: &TypeInfo, request: &Request) -> Result<List, Status> {
    list_from(store, info, request)
}

/// Answers a list request with the items of a source.
///
/// # Errors
/// The refusal: options that contradict each other, selectors that cannot be read, versions that are over.
pub fn list_from<S: ListSource + ?Sized>(
    source: &S,
    info: &TypeInfo,
    request: &Request,
) -> Result<List<S::Item>, Status> {
    let options = &request.options;
    check_options(options)?;
    let filter = Filter::of(info, request)?;
    let only = filter.only_key(info);
    let token = match options.continue_token.as_deref() {
        Some(text) if !text.is_empty() && only.is_none() => Some(ContinueToken::decode(text)?),
        _ => None,
    };
    let current = source.version(&filter.group, &filter.plural);
    let version = list_version(options, token.as_ref(), current)?;
    let page = match only {
        Some(key) => Page::of_one(source, &filter, &key),
        None => Page::scan(source, &filter, info, token.as_ref(), options.limit),
    };
    let continue_token = page.last.map(|key| {
        let after = if filter.namespace.is_none() && info.namespaced {
            format!("{}/{}", key.namespace, key.name)
        } else {
            key.name.to_string()
        };
        ContinueToken { version: Some(version), after, remaining: page.remaining }.encode()
    });
    Ok(List {
        api_version: filter.api_version,
        kind: info.list_kind.clone(),
        origin: info.origin,
        resource_version: version.to_string(),
        continue_token,
        remaining_items: page.remaining,
        items: page.items,
    })
}

/// Checks `resourceVersionMatch` against the other options of a list: 422 where they contradict.
pub(crate) fn check_options(options: &Options) -> Result<(), Status> {
    let wanted = options.resource_version_match.as_deref().unwrap_or_default();
    let version = options.resource_version.as_deref().unwrap_or_default();
    let mut errors = Vec::new();
    let path = FieldPath::of("resourceVersionMatch");
    if !wanted.is_empty() {
        if version.is_empty() {
            let detail = "resourceVersionMatch is forbidden unless resourceVersion is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
        if options.continue_token.as_deref().is_some_and(|token| !token.is_empty()) {
            let detail = "resourceVersionMatch is forbidden when continue is provided";
            errors.push(FieldError::forbidden(&path, detail));
        }
        if !matches!(wanted, "Exact" | "NotOlderThan") {
            errors.push(FieldError::not_supported(&path, wanted, &["Exact", "NotOlderThan", ""]));
        }
        if wanted == "Exact" && version == "0" {
            let detail = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("meta.k8s.io", "ListOptions", "", &errors)) }
}

/// Reads a resource version; empty and `0` mean any. The error is the message of Kubernetes.
pub(crate) fn parse_resource_version(text: &str) -> Result<u64, String> {
    if text.is_empty() {
        return Ok(0);
    }
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    match text.parse() {
        Ok(version) if digits => Ok(version),
        _ => {
            let why = if digits { "value out of range" } else { "invalid syntax" };
            let detail = format!("strconv.ParseUint: parsing {}: {why}", quoted(text));
            Err(FieldError::invalid(&FieldPath::of("resourceVersion"), text, detail).to_string())
        }
    }
}

/// 504: the client has seen a version that this server has not reached yet.
pub fn too_large_version(wanted: u64, current: u64) -> Status {
    let message = format!("Timeout: Too large resource version: {wanted}, current: {current}");
    let mut status = Status::failure(504, Reason::Timeout, message);
    let cause = Cause {
        reason: Some("ResourceVersionTooLarge".to_owned()),
        message: Some("Too large resource version".to_owned()),
        field: None,
    };
    status.details =
        Some(Details { causes: vec![cause], retry_after_seconds: Some(1), ..Details::default() });
    status
}

/// The version that the list shows.
fn list_version(options: &Options, token: Option<&ContinueToken>, current: u64) -> Result<u64, Status> {
    let text = options.resource_version.as_deref().unwrap_or_default();
    if let Some(token) = token {
        if !matches!(text, "" | "0") {
            let message = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(message));
        }
        let version = token.version.unwrap_or(current);
        return if version > current { Err(too_large_version(version, current)) } else { Ok(version) };
    }
    let wanted = parse_resource_version(text)
        .map_err(|why| Status::bad_request(format!("invalid resource version: {why}")))?;
    if wanted > current {
        return Err(too_large_version(wanted, current));
    }
    // Without a match, a version on a limited list asks for exactly that version.
    let exact = match options.resource_version_match.as_deref().unwrap_or_default() {
        "" => options.limit > 0 && wanted > 0,
        wanted_match => wanted_match == "Exact",
    };
    if exact && wanted < current {
        return Err(Status::expired("The resourceVersion for the provided list is too old."));
    }
    Ok(current)
}

/// Some objects, and where the next page begins if there is one.
struct Page<Item> {
    items: Vec<Item>,
    /// The last key that was looked at, if there are more.
    last: Option<Key>,
    remaining: Option<u64>,
}

impl<Item> Page<Item> {
    fn of_one<S: ListSource<Item = Item> + ?Sized>(source: &S, filter: &Filter, key: &Key) -> Self {
        let found = source.item(key).and_then(|item| source.selected(filter, key, item));
        Page { items: found.into_iter().collect(), last: None, remaining: None }
    }

    fn scan<S: ListSource<Item = Item> + ?Sized>(
        source: &S,
        filter: &Filter,
        info: &TypeInfo,
        token: Option<&ContinueToken>,
        limit: u64,
    ) -> Self {
        let after = token.map(|token| start_key(filter, info, token));
        let mut scan =
            source.items(&filter.group, &filter.plural, filter.namespace.as_deref(), after.as_ref());
        let mut page = Page { items: Vec::new(), last: None, remaining: None };
        for (key, item) in scan.by_ref() {
            let Some(item) = source.selected(filter, &key, item) else { continue };
            page.items.push(item);
            if limit > 0 && page.items.len() as u64 >= limit {
                page.last = Some(key);
                break;
            }
        }
        // A full page has a successor if any key is left, whether or not it would match.
        let Some(last) = &page.last else { return page };
        if scan.next().is_none() {
            page.last = None;
        } else if filter.is_unselective() {
            let namespace = filter.namespace.as_deref();
            let counted = || source.count_after(&filter.group, &filter.plural, namespace, last);
            let known =
                token.and_then(|token| token.remaining_at(source.version(&filter.group, &filter.plural)));
            let left = known.and_then(|known| known.checked_sub(page.items.len() as u64));
            page.remaining = Some(left.filter(|left| *left > 0).unwrap_or_else(counted));
        }
        page
    }
}

/// The key after which the page begins. That of a token of another list lies somewhere too.
fn start_key(filter: &Filter, info: &TypeInfo, token: &ContinueToken) -> Key {
    let after = token.after.as_str();
    let (namespace, name) = match &filter.namespace {
        Some(namespace) => (namespace.as_str(), after),
        None if info.namespaced => after.split_once('/').unwrap_or((after, "")),
        None => ("", after),
    };
    Key::new(&filter.group, &filter.plural, namespace, name)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::object;
    use crate::request::{ResourceId, Verb};
    use crate::store::{Change, MemoryStore};
    use crate::types::fixtures::custom;

    /// Counts what is read.
    struct Counting<'a>(&'a MemoryStore, Cell<usize>);

    impl Store for Counting<'_> {
        fn get(&self, key: &Key) -> Option<Arc<Value>> {
            self.1.set(self.1.get() + 1);
            self.0.get(key)
        }

        fn scan<'a>(
            &'a self,
            group: &str,
            plural: &str,
            namespace: Option<&str>,
            after: Option<&Key>,
        ) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
            let scan = self.0.scan(group, plural, namespace, after);
            Box::new(scan.inspect(|_| self.1.set(self.1.get() + 1)))
        }

        fn all<'a>(&'a self) -> Box<dyn Iterator<Item = (Key, Arc<Value>)> + 'a> {
            self.0.all()
        }

        fn next_version(&self, key: &Key, nth: u64) -> u64 {
            self.0.next_version(key, nth)
        }

        fn list_version(&self, group: &str, plural: &str) -> u64 {
            self.0.list_version(group, plural)
        }

        fn entropy(&self, key: &Key, salt: u64) -> u128 {
            self.0.entropy(key, salt)
        }
    }

    fn store(names: &[(&str, &str)]) -> MemoryStore {
        let mut store = MemoryStore::default();
        for (index, (namespace, name)) in names.iter().enumerate() {
            let parity = if index % 2 == 0 { "even" } else { "odd" };
            let object = json!({
                "apiVersion": "example.com/v1", "kind": "Widget",
                "metadata": {"name": name, "namespace": namespace, "uid": format!("{index:08}-0000-4000-8000-000000000000"), "labels": {"parity": parity}},
            });
            let key = Key::new("example.com", "widgets", namespace, name);
            let after = Some(Arc::new(object));
            store.commit(&Change { key, before: None, after, version: 1 });
        }
        store
    }

    fn info() -> TypeInfo {
        custom("example.com", "v1", "widgets", "Widget")
    }

    fn request(set: impl FnOnce(&mut Options)) -> Request {
        let mut request = Request::new(Verb::List, ResourceId::new("example.com", "v1", "widgets"));
        set(&mut request.options);
        request
    }

    fn names(list: &List) -> Vec<String> {
        let name = |item: &Arc<Value>| format!("{}/{}", object::namespace(item), object::name(item));
        list.items.iter().map(name).collect()
    }

    /// All pages, with what each says is left.
    fn pages(store: &MemoryStore, mut request: Request) -> Vec<(Vec<String>, Option<u64>)> {
        let mut pages = Vec::new();
        loop {
            let page = list(store, &info(), &request).unwrap();
            pages.push((names(&page), page.remaining_items));
            match page.continue_token {
                None => return pages,
                token => request.options.continue_token = token,
            }
        }
    }

    #[test]
    fn lists_by_namespace_and_name() {
        let store = store(&[("b", "x"), ("a", "z"), ("a", "y")]);
        let all = list(&store, &info(), &request(|_| {})).unwrap();
        assert_eq!(names(&all), ["a/y", "a/z", "b/x"]);
        assert_eq!((all.api_version.as_str(), all.kind.as_str()), ("example.com/v1", "WidgetList"));
        assert_eq!(all.resource_version, "3");
        assert_eq!((all.continue_token, all.remaining_items), (None, None));
        let one = list(&store, &info(), &request(|_| {}).in_namespace("b")).unwrap();
        assert_eq!(names(&one), ["b/x"]);
        assert!(list(&store, &info(), &request(|_| {}).in_namespace("c")).unwrap().items.is_empty());
    }

    #[test]
    fn pages_join_to_the_whole() {
        let store = store(&[("a", "1"), ("a", "2"), ("b", "1"), ("b", "2"), ("b", "3")]);
        assert_eq!(
            pages(&store, request(|options| options.limit = 2)),
            [
                (vec!["a/1".to_owned(), "a/2".to_owned()], Some(3)),
                (vec!["b/1".to_owned(), "b/2".to_owned()], Some(1)),
                (vec!["b/3".to_owned()], None),
            ]
        );
        assert_eq!(
            pages(&store, request(|options| options.limit = 2).in_namespace("b")),
            [(vec!["b/1".to_owned(), "b/2".to_owned()], Some(1)), (vec!["b/3".to_owned()], None)]
        );
        assert_eq!(pages(&store, request(|options| options.limit = 5)).len(), 1);
    }

    #[test]
    fn pages_with_selectors_do_not_say_what_is_left() {
        let store = store(&[("a", "1"), ("a", "2"), ("b", "1"), ("b", "2")]);
        let selective = request(|options| {
            options.limit = 1;
            options.label_selector = Some("parity=even".to_owned());
        });
        // The last page is empty: that nothing else matches is only known after a scan of the rest.
        assert_eq!(
            pages(&store, selective),
            [(vec!["a/1".to_owned()], None), (vec!["b/1".to_owned()], None), (vec![], None)]
        );
    }

    #[test]
    fn complementary_shards_join_to_the_whole() {
        let names: Vec<String> = (0..20).map(|index| format!("n{index:02}")).collect();
        let store = store(&names.iter().map(|name| ("a", name.as_str())).collect::<Vec<_>>());
        let shard = |start: &str, end: &str| {
            let selector = format!("shardRange(object.metadata.uid,'{start}','{end}')");
            let request = request(|options| {
                options.limit = 3;
                options.shard_selector = Some(selector);
            });
            let pages = pages(&store, request);
            assert!(pages.iter().all(|(_, remaining)| remaining.is_none()), "{pages:?}");
            pages.into_iter().flat_map(|(names, _)| names).collect::<Vec<_>>()
        };
        let lower = shard("0x0000000000000000", "0x8000000000000000");
        let upper = shard("0x8000000000000000", "0x10000000000000000");
        assert!(lower.len() > 3 && upper.len() > 3, "{lower:?} {upper:?}");
        let mut both = [lower, upper].concat();
        both.sort();
        assert_eq!(both, names.iter().map(|name| format!("a/{name}")).collect::<Vec<_>>());
    }

    #[test]
    fn reads_no_more_than_it_must() {
        let many: Vec<String> = (0..1_000).map(|index| format!("n{index:04}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| ("a", name.as_str())).collect();
        let memory = store(&many);
        let store = Counting(&memory, Cell::new(0));
        let selective = request(|options| {
            options.limit = 10;
            options.label_selector = Some("parity".to_owned());
        });
        assert_eq!(list(&store, &info(), &selective).unwrap().items.len(), 10);
        assert_eq!(store.1.get(), 11);
        store.1.set(0);
        let named = request(|options| options.field_selector = Some("metadata.name=n0500".to_owned()));
        assert_eq!(list(&store, &info(), &named.in_namespace("a")).unwrap().items.len(), 1);
        assert_eq!(store.1.get(), 1);
    }

    #[test]
    fn versions() {
        let store = store(&[("a", "1"), ("a", "2")]);
        let code = |version: &str, wanted: Option<&str>, limit: u64| {
            let request = request(|options| {
                options.resource_version = Some(version.to_owned());
                options.resource_version_match = wanted.map(str::to_owned);
                options.limit = limit;
            });
            list(&store, &info(), &request).map_or_else(|status| status.code, |_| 200)
        };
        for (version, wanted, limit, expected) in [
            ("", None, 0, 200),
            ("0", None, 0, 200),
            ("1", None, 0, 200),
            ("2", None, 0, 200),
            ("3", None, 0, 504),
            ("1", None, 1, 410),
            ("2", None, 1, 200),
            ("1", Some("NotOlderThan"), 1, 200),
            ("1", Some("Exact"), 0, 410),
            ("2", Some("Exact"), 0, 200),
            ("3", Some("Exact"), 0, 504),
            ("0", Some("Exact"), 0, 422),
            ("", Some("Exact"), 0, 422),
            ("1", Some("Other"), 0, 422),
            ("x", None, 0, 400),
            ("-1", None, 0, 400),
            ("+1", None, 0, 400),
        ] {
            assert_eq!(code(version, wanted, limit), expected, "{version} {wanted:?} {limit}");
        }
    }

    #[test]
    fn a_continued_list_keeps_its_version() {
        let mut store = store(&[("a", "1"), ("a", "2")]);
        let first = list(&store, &info(), &request(|options| options.limit = 1)).unwrap();
        let key = Key::new("example.com", "widgets", "a", "3");
        let after = Some(Arc::new(json!({"metadata": {"name": "3"}})));
        store.commit(&Change { key, before: None, after, version: 1 });
        let mut next = request(|options| options.continue_token = first.continue_token.clone());
        let second = list(&store, &info(), &next).unwrap();
        assert_eq!((second.resource_version.as_str(), second.items.len()), ("2", 2));
        next.options.resource_version = Some("2".to_owned());
        assert_eq!(list(&store, &info(), &next).unwrap_err().code, 400);
        next.options.resource_version_match = Some("Exact".to_owned());
        assert_eq!(list(&store, &info(), &next).unwrap_err().code, 422);
    }

    #[test]
    fn a_token_of_another_list_is_a_place_like_any_other() {
        let store = store(&[("a", "1"), ("a", "2")]);
        for (after, namespace, left) in [("1", "", 2), ("a/1", "a", 0), ("a/1/2", "", 1), ("a/1", "", 1)] {
            let token = ContinueToken { version: Some(2), after: after.to_owned(), remaining: None }.encode();
            let request = request(|options| options.continue_token = Some(token)).in_namespace(namespace);
            let page = list(&store, &info(), &request).unwrap();
            assert_eq!(page.items.len(), left, "{after} {namespace}");
        }
        let future = ContinueToken { version: Some(9), after: "a/1".to_owned(), remaining: None }.encode();
        let request = request(|options| options.continue_token = Some(future));
        assert_eq!(list(&store, &info(), &request).unwrap_err().code, 504);
    }

    #[test]
    fn version_errors_read_like_those_of_kubernetes() {
        assert_eq!(
            parse_resource_version("x").unwrap_err(),
            "resourceVersion: Invalid value: \"x\": strconv.ParseUint: parsing \"x\": invalid syntax"
        );
        assert!(parse_resource_version("99999999999999999999").unwrap_err().ends_with("value out of range"));
        let status = too_large_version(5, 3);
        assert_eq!(status.message, "Timeout: Too large resource version: 5, current: 3");
        let cause = &status.details.unwrap().causes[0];
        assert_eq!(cause.reason.as_deref(), Some("ResourceVersionTooLarge"));
    }
}
