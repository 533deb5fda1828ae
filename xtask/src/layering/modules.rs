//! The modules of a crate form no cycle: each can be read when those below it have been read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::sources::rust_files;
use crate::workspace::Package;

/// The crates whose top-level modules must have an order.
const ORDERED: [&str; 1] = ["windlass-model"];

/// Which modules a module uses, each with a file in which it does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// A cycle of modules, if the crate must not have any and has one.
pub(super) fn fault(package: &Package) -> Result<Option<String>> {
    if !ORDERED.contains(&package.name.as_str()) {
        return Ok(None);
    }
    let source = package.directory.join("src");
    let mut files = Vec::new();
    for path in rust_files(&source)? {
        let text = fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
        let parsed = syn::parse_file(&text).with_context(|| format!("parsing {}", path.display()))?;
        files.push((module_path(path.strip_prefix(&source).unwrap_or(&path)), parsed));
    }
    let cycle = cycle(&uses(&files));
    Ok(cycle.map(|steps| format!("the modules of {} form a cycle: {}", package.name, steps.join(", "))))
}

/// `["verbs", "create"]` for `verbs/create.rs`, nothing for the root of the crate.
fn module_path(file: &Path) -> Vec<String> {
    let mut path: Vec<String> =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| matches!(last.as_str(), "mod" | "lib")) {
        path.pop();
    }
    path
}

fn uses(files: &[(Vec<String>, syn::File)]) -> Uses {
    let modules: BTreeSet<&str> =
        files.iter().filter_map(|(path, _)| path.first()).map(String::as_str).collect();
    let exported = exports(files);
    let mut uses = Uses::new();
    for (path, file) in files {
        let Some(own) = path.first() else { continue };
        let mut finder = PathFinder { module: path.clone(), found: BTreeSet::new() };
        finder.visit_file(file);
        for name in finder.found {
            let module = exported.get(&name).unwrap_or(&name);
            if module != own && modules.contains(module.as_str()) {
                let file = format!("{}.rs", path.join("/"));
                uses.entry(own.clone()).or_default().entry(module.clone()).or_insert(file);
            }
        }
    }
    uses
}

/// The modules behind the names that the root of the crate exports.
fn exports(files: &[(Vec<String>, syn::File)]) -> BTreeMap<String, String> {
    let root = files.iter().filter(|(path, _)| path.is_empty()).flat_map(|(_, file)| &file.items);
    let mut exports = BTreeMap::new();
    for item in root {
        let Item::Use(item) = item else { continue };
        for path in paths(&item.tree) {
            if let [module, .., name] = path.as_slice() {
                exports.insert(name.clone(), module.clone());
            }
        }
    }
    exports
}

/// Finds what code takes from the root of its crate.
struct PathFinder {
    /// Where the code stands.
    module: Vec<String>,
    found: BTreeSet<String>,
}

impl PathFinder {
    fn note(&mut self, path: &[String]) {
        let above = path.iter().take_while(|part| *part == "super").count();
        let rest = match path.first().map(String::as_str) {
            Some("crate") => path.get(1),
            Some("super") if above == self.module.len() => path.get(above),
            _ => None,
        };
        self.found.extend(rest.cloned());
    }

    /// Macros are not parsed: of what stands in them, paths are read that start with `crate`.
    fn note_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    path.push(name.to_string());
                    if let ["crate", _] = path.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                        self.note(&path);
                    }
                }
                TokenTree::Punct(mark) if mark.as_char() == ':' => {}
                TokenTree::Group(group) => {
                    path.clear();
                    self.note_tokens(group.stream());
                }
                _ => path.clear(),
            }
        }
    }
}

impl<'ast> Visit<'ast> for PathFinder {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_test(item) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        paths(&item.tree).iter().for_each(|path| self.note(path));
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(&names);
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        self.note_tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }

    // `pub(in crate::x)` takes nothing from there.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}
}

fn is_test(item: &Item) -> bool {
    let attributes: &[Attribute] = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => &[],
    };
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Path>().is_ok_and(|condition| condition.is_ident("test"))
    })
}

/// The paths that a `use` names.
fn paths(tree: &UseTree) -> Vec<Vec<String>> {
    match tree {
        UseTree::Path(path) => {
            let below = paths(&path.tree).into_iter();
            below.map(|rest| [vec![path.ident.to_string()], rest].concat()).collect()
        }
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(rename) => vec![vec![rename.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(paths).collect(),
    }
}

/// The steps of a cycle, each with the file that makes it; `None` if there is none.
fn cycle(uses: &Uses) -> Option<Vec<String>> {
    let mut rest = uses.clone();
    // What uses nothing that is left is no part of a cycle.
    loop {
        let before = rest.len();
        let left: BTreeSet<String> = rest.keys().cloned().collect();
        rest.values_mut().for_each(|used| used.retain(|module, _| left.contains(module)));
        rest.retain(|_, used| !used.is_empty());
        if rest.len() == before {
            break;
        }
    }
    // Everything that is left uses something that is left, so that this walk comes around.
    let mut module = rest.keys().next()?.clone();
    let mut walk: Vec<(String, String)> = Vec::new();
    loop {
        if let Some(start) = walk.iter().position(|(from, _)| *from == module) {
            return Some(walk.drain(start..).map(|(_, step)| step).collect());
        }
        let (next, file) = rest.get(&module)?.iter().next()?;
        walk.push((module.clone(), format!("{module} -> {next} ({file})")));
        module = next.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], expected: Option<&[&str]>) {
        let files: Vec<_> = files
            .iter()
            .map(|(name, text)| (module_path(Path::new(name)), syn::parse_file(text).unwrap()))
            .collect();
        let expected = expected.map(|steps| steps.iter().map(|step| (*step).to_owned()).collect());
        assert_eq!(cycle(&uses(&files)), expected);
    }

    #[test]
    fn finds_a_cycle_however_it_is_written() {
        let back = "use crate::a::Thing;";
        for forth in [
            "use crate::b::Other;",
            "use super::b::Other;",
            "use crate::{c, b::{self, Other}};",
            "fn f() { crate::b::g(); }",
            "fn f() { println!(\"{}\", crate::b::NUMBER); }",
            "mod inner { use super::super::b; }",
            "use crate::Exported;",
        ] {
            let root = "pub mod a; pub mod b; pub use b::Exported;";
            let steps: &[&str] = &["a -> b (a.rs)", "b -> a (b.rs)"];
            check(&[("lib.rs", root), ("a.rs", forth), ("b.rs", back)], Some(steps));
        }
    }

    #[test]
    fn names_the_file_below_a_module() {
        let files =
            [("a/mod.rs", "mod deep;"), ("a/deep.rs", "use super::super::b;"), ("b.rs", "use crate::a;")];
        check(&files, Some(&["a -> b (a/deep.rs)", "b -> a (b.rs)"]));
    }

    #[test]
    fn tests_and_own_parts_do_not_count() {
        let files = [
            ("a/mod.rs", "mod deep; use crate::a::deep::Thing; #[cfg(test)] mod tests { use crate::b; }"),
            ("a/deep.rs", "use super::Own;"),
            ("b.rs", "use crate::a; pub(in crate::c) fn f() {}"),
            ("c.rs", "use crate::b;"),
        ];
        check(&files, None);
    }
}
