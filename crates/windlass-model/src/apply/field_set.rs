//! A set of field paths, as `managedFields` holds one per manager.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde_json::{Map, Value};

use super::path_element::{PathElement, PathElementError};

/// A set of paths. A path may be a member without the paths below it, and the reverse.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldSet {
    // Nodes that neither are members nor lead to one are never kept.
    nodes: BTreeMap<PathElement, FieldNode>,
}

/// A node of a set: whether its own path is a member, and which paths below it are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldNode {
    /// The path that leads here is in the set.
    pub member: bool,
    /// The members below, relative to this node.
    pub children: FieldSet,
}

/// Why `fieldsV1` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldSetError(String);

impl fmt::Display for FieldSetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A path from the root of an object.
pub(crate) type Path = Vec<PathElement>;

/// A path as conflicts show it: `.spec.ports[port=80].name`.
pub(crate) fn show_path(path: &[PathElement]) -> String {
    path.iter().map(ToString::to_string).collect()
}

impl FieldNode {
    /// A member with nothing below it.
    pub(crate) fn leaf() -> Self {
        FieldNode { member: true, children: FieldSet::default() }
    }

    /// Whether neither this path nor one below it is a member.
    pub(crate) fn is_empty(&self) -> bool {
        !self.member && self.children.is_empty()
    }
}

impl FieldSet {
    /// The set with no members.
    pub(crate) fn new() -> Self {
        FieldSet::default()
    }

    /// A set of paths that consist of field names only.
    pub(crate) fn of_names(paths: &[&[&str]]) -> Self {
        let mut set = FieldSet::new();
        for path in paths {
            set.insert(&path.iter().map(|name| PathElement::field(name)).collect::<Path>());
        }
        set
    }

    /// Whether there is no member.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Adds a path; the paths that lead to it are not added. The empty path is no path.
    pub(crate) fn insert(&mut self, path: &[PathElement]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.nodes.entry(first.clone()).or_default();
        if rest.is_empty() { node.member = true } else { node.children.insert(rest) }
    }

    /// Adds all that a node holds, below an element.
    pub(crate) fn attach(&mut self, element: PathElement, node: FieldNode) {
        if node.is_empty() {
            return;
        }
        match self.nodes.entry(element) {
            Entry::Vacant(entry) => drop(entry.insert(node)),
            Entry::Occupied(mut entry) => {
                let here = entry.get_mut();
                here.member |= node.member;
                here.children.add(node.children);
            }
        }
    }

    /// Adds the paths of another set.
    pub(crate) fn add(&mut self, other: FieldSet) {
        if self.is_empty() {
            *self = other;
            return;
        }
        for (element, node) in other.nodes {
            self.attach(element, node);
        }
    }

    /// Takes the paths of another set away.
    pub(crate) fn subtract(&mut self, other: &FieldSet) {
        self.thin_out(other, |here, other| {
            here.member &= !other.member;
            here.children.subtract(&other.children);
        });
    }

    /// Takes the paths of another set away, and all that are below one of them.
    pub(crate) fn subtract_with_all_below(&mut self, other: &FieldSet) {
        self.thin_out(other, |here, other| {
            if other.member {
                *here = FieldNode::default();
            } else {
                here.children.subtract_with_all_below(&other.children);
            }
        });
    }

    fn thin_out(&mut self, other: &FieldSet, take: impl Fn(&mut FieldNode, &FieldNode)) {
        for (element, other) in &other.nodes {
            if let Some(here) = self.nodes.get_mut(element) {
                take(here, other);
                if here.is_empty() {
                    self.nodes.remove(element);
                }
            }
        }
    }

    /// Whether a path is a member.
    pub(crate) fn contains(&self, path: &[PathElement]) -> bool {
        match path.split_first() {
            None => false,
            Some((first, rest)) => self
                .nodes
                .get(first)
                .is_some_and(|node| if rest.is_empty() { node.member } else { node.children.contains(rest) }),
        }
    }

    /// What the set holds at and below an element.
    pub(crate) fn get(&self, element: &PathElement) -> Option<&FieldNode> {
        self.nodes.get(element)
    }

    /// The first steps of all members, in order, with what is below each.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&PathElement, &FieldNode)> {
        self.nodes.iter()
    }

    /// The paths in either set.
    #[must_use]
    pub(crate) fn union(&self, other: &FieldSet) -> FieldSet {
        let mut all = self.clone();
        all.add(other.clone());
        all
    }

    /// The paths in both sets.
    #[must_use]
    pub(crate) fn intersection(&self, other: &FieldSet) -> FieldSet {
        self.filtered(|element, node| {
            let other = other.get(element)?;
            let children = node.children.intersection(&other.children);
            Some(FieldNode { member: node.member && other.member, children })
        })
    }

    /// The paths of this set that are not in the other.
    #[must_use]
    pub(crate) fn difference(&self, other: &FieldSet) -> FieldSet {
        let mut rest = self.clone();
        rest.subtract(other);
        rest
    }

    /// The members that have no member below them.
    #[must_use]
    pub(crate) fn leaves(&self) -> FieldSet {
        self.filtered(|_, node| {
            let member = node.member && node.children.is_empty();
            Some(FieldNode { member, children: node.children.leaves() })
        })
    }

    fn filtered(&self, keep: impl Fn(&PathElement, &FieldNode) -> Option<FieldNode>) -> FieldSet {
        let kept = self.nodes.iter().filter_map(|(element, node)| {
            keep(element, node).filter(|node| !node.is_empty()).map(|node| (element.clone(), node))
        });
        FieldSet { nodes: kept.collect() }
    }

    /// All members: at each node first those that end there, then those that go on.
    pub(crate) fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        self.collect_paths(&mut Path::new(), &mut paths);
        paths
    }

    fn collect_paths(&self, prefix: &mut Path, paths: &mut Vec<Path>) {
        for (element, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            let mut path = prefix.clone();
            path.push(element.clone());
            paths.push(path);
        }
        for (element, node) in &self.nodes {
            prefix.push(element.clone());
            node.children.collect_paths(prefix, paths);
            prefix.pop();
        }
    }

    /// The number of steps of the longest member.
    pub(crate) fn depth(&self) -> usize {
        self.nodes.values().map(|node| 1 + node.children.depth()).max().unwrap_or(0)
    }

    /// Reads `fieldsV1`. Elements of unknown kinds are skipped, as a later version may have written them.
    pub(crate) fn from_fields_v1(fields: &Value) -> Result<FieldSet, FieldSetError> {
        read(fields).map(|node| node.children)
    }

    /// Writes `fieldsV1`.
    pub(crate) fn to_fields_v1(&self) -> Value {
        Value::Object(self.write(false))
    }

    fn write(&self, is_member: bool) -> Map<String, Value> {
        let mut written = Map::new();
        // A node with nothing below it is a member by itself; only the others are marked.
        if is_member && !self.is_empty() {
            written.insert(".".to_owned(), Value::Object(Map::new()));
        }
        for (element, node) in &self.nodes {
            written.insert(element.to_key(), Value::Object(node.children.write(node.member)));
        }
        written
    }
}

fn read(fields: &Value) -> Result<FieldNode, FieldSetError> {
    let empty = Map::new();
    let fields = match fields {
        Value::Object(fields) => fields,
        Value::Null => &empty,
        other => return Err(FieldSetError(format!("expected an object of fields, got {other}"))),
    };
    let mut node = FieldNode::default();
    for (key, below) in fields {
        if key == "." {
            node.member = true;
            continue;
        }
        match PathElement::parse(key) {
            Ok(element) => node.children.attach(element, read(below)?),
            Err(PathElementError::UnknownKind) => {}
            Err(PathElementError::Malformed(why)) => {
                return Err(FieldSetError(format!("parsing key as path element: {why}")));
            }
        }
    }
    node.member |= node.children.is_empty();
    Ok(node)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn set(fields: Value) -> FieldSet {
        FieldSet::from_fields_v1(&fields).unwrap()
    }

    fn shown(set: &FieldSet) -> Vec<String> {
        set.paths().iter().map(|path| show_path(path)).collect()
    }

    #[test]
    fn distinguishes_members_from_the_paths_to_them() {
        let fields = json!({"f:spec": {".": {}, "f:ports": {"k:{\"port\":80}": {".": {}, "f:name": {}}}}});
        let set = set(fields.clone());
        assert_eq!(shown(&set), [".spec", ".spec.ports[port=80]", ".spec.ports[port=80].name"]);
        assert!(set.contains(&[PathElement::field("spec")]));
        assert!(!set.contains(&[PathElement::field("spec"), PathElement::field("ports")]));
        assert_eq!(set.to_fields_v1(), fields);
        assert_eq!(set.depth(), 4);
    }

    #[test]
    fn lists_members_of_a_node_before_those_below() {
        let set = set(json!({"f:a": {"f:x": {}}, "f:b": {}}));
        assert_eq!(shown(&set), [".b", ".a.x"]);
    }

    #[test]
    fn refuses_malformed_fields() {
        for fields in
            [json!(1), json!([]), json!({"spec": {}}), json!({"f:a": 1}), json!({"f:a": {"v:": {}}})]
        {
            assert!(FieldSet::from_fields_v1(&fields).is_err(), "{fields}");
        }
    }

    #[test]
    fn reads_leniently_what_kubernetes_reads() {
        assert_eq!(set(json!(null)), FieldSet::new());
        assert_eq!(shown(&set(json!({"f:a": null}))), [".a"]);
        assert_eq!(shown(&set(json!({"x:new": 3, "f:a": {"x:new": {}}}))), [".a"]);
        assert_eq!(set(json!({".": {}})), FieldSet::new());
    }

    #[test]
    fn differences() {
        let all = set(json!({"f:a": {".": {}, "f:b": {".": {}, "f:c": {}}}, "f:d": {}}));
        let some = set(json!({"f:a": {"f:b": {}}}));
        assert_eq!(shown(&all.difference(&some)), [".a", ".d", ".a.b.c"]);
        assert_eq!(shown(&all.intersection(&some)), [".a.b"]);
        assert_eq!(shown(&all.leaves()), [".d", ".a.b.c"]);
        let mut rest = all.clone();
        rest.subtract_with_all_below(&some);
        assert_eq!(shown(&rest), [".a", ".d"]);
    }

    /// Any element, from few enough that sets overlap.
    fn element() -> impl Strategy<Value = PathElement> {
        prop_oneof![
            "[a-c]".prop_map(|name| PathElement::field(&name)),
            (0..3).prop_map(|port| PathElement::key(vec![("port".into(), json!(port))])),
            prop_oneof![Just(json!("x")), Just(json!(1)), Just(json!("<&>"))].prop_map(PathElement::Value),
            (0..2_i64).prop_map(PathElement::Index),
        ]
    }

    fn paths() -> impl Strategy<Value = Vec<Path>> {
        prop::collection::vec(prop::collection::vec(element(), 1..5), 0..12)
    }

    fn of(paths: &[Path]) -> FieldSet {
        let mut set = FieldSet::new();
        paths.iter().for_each(|path| set.insert(path));
        set
    }

    proptest! {
        #[test]
        fn survives_its_json_form(paths in paths()) {
            let set = of(&paths);
            prop_assert_eq!(FieldSet::from_fields_v1(&set.to_fields_v1()).unwrap(), set);
        }

        #[test]
        fn operations_are_those_of_sets_of_paths(left in paths(), right in paths()) {
            let (a, b) = (of(&left), of(&right));
            let sorted = |mut paths: Vec<Path>| { paths.sort(); paths.dedup(); paths };
            let oracle = |keep: &dyn Fn(bool, bool) -> bool| {
                let all = left.iter().chain(&right).filter(|path| keep(left.contains(path), right.contains(path)));
                sorted(all.cloned().collect())
            };
            prop_assert_eq!(sorted(a.union(&b).paths()), oracle(&|a, b| a || b));
            prop_assert_eq!(sorted(a.intersection(&b).paths()), oracle(&|a, b| a && b));
            prop_assert_eq!(sorted(a.difference(&b).paths()), oracle(&|a, b| a && !b));
            let below = |path: &Path| (1..=path.len()).any(|end| right.contains(&path[..end].to_vec()));
            let kept = sorted(left.iter().filter(|path| !below(path)).cloned().collect());
            let mut rest = a.clone();
            rest.subtract_with_all_below(&b);
            prop_assert_eq!(sorted(rest.paths()), kept);
            for path in &left {
                prop_assert!(a.contains(path));
            }
        }
    }
}
