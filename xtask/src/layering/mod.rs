//! What may depend on what: the pure crates do no I/O, and nothing but the command line knows an operator.

mod modules;
mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::process::{cargo, output};
use crate::workspace::{self, Package};

/// Async runtimes, HTTP stacks and Kubernetes clients; a trailing `*` stands for any ending.
const IMPURE: [&str; 25] = [
    "actix-*",
    "async-executor",
    "async-std",
    "axum",
    "curl",
    "h2",
    "hyper",
    "hyper-util",
    "isahc",
    "kube-client",
    "kube-runtime",
    "mio",
    "native-tls",
    "openssl",
    "quinn",
    "reqwest",
    "rustls",
    "smol",
    "socket2",
    "tokio",
    "tonic",
    "tower",
    "tower-http",
    "ureq",
    "warp",
];

/// The operator suites, and the one package that may know them.
const OPERATORS: [&str; 2] = ["windlass-mizar", "windlass-klight"];
const COMMAND_LINE: &str = "windlass-cli";

/// The direct dependencies of each package, by name.
type Graph = BTreeMap<String, BTreeSet<String>>;

/// Checks the whole workspace and reports all violations.
pub(crate) fn run(root: &Path) -> Result<()> {
    let packages = workspace::packages(root)?;
    let pure: Vec<&Package> = packages.iter().filter(|package| package.is_pure()).collect();
    let mut faults = operator_faults(&packages);
    for package in &pure {
        faults.extend(purity_fault(&package.name, &dependencies(root, &package.name)?));
        faults.extend(sources::faults(package)?);
        faults.extend(modules::fault(package)?);
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    println!("{} packages, {} of them pure", packages.len(), pure.len());
    Ok(())
}

/// What the package needs to be built, on this platform and with all of its features.
///
/// `cargo metadata` would not do: it adds up the features that the whole workspace asks for, and so
/// shows a client under a crate that only shares the types with the runtime.
fn dependencies(root: &Path, package: &str) -> Result<Graph> {
    let tree = output(
        cargo(root)
            .args(["tree", "--package", package, "--all-features"])
            .args(["--edges", "normal", "--prefix", "depth", "--format", " {p}"]),
    )?;
    from_tree(&tree).with_context(|| format!("cannot read the dependencies of {package}"))
}

/// Reads lines such as `2 serde v1.0.0 (*)`: the depth, then the package.
fn from_tree(tree: &str) -> Result<Graph> {
    let mut graph = Graph::new();
    let mut path: Vec<String> = Vec::new();
    for line in tree.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let depth: usize = words.next().and_then(|word| word.parse().ok()).context(line.to_owned())?;
        let name = words.next().context(line.to_owned())?.to_owned();
        path.truncate(depth);
        if let Some(parent) = path.last() {
            graph.entry(parent.clone()).or_default().insert(name.clone());
        }
        graph.entry(name.clone()).or_default();
        path.push(name);
    }
    Ok(graph)
}

/// The shortest way from a pure package to something that does I/O.
fn purity_fault(package: &str, graph: &Graph) -> Option<String> {
    let mut came_from: BTreeMap<&str, &str> = BTreeMap::new();
    let mut pending = std::collections::VecDeque::from([package]);
    while let Some(name) = pending.pop_front() {
        if is_impure(name) {
            let mut path = vec![name];
            while let Some(before) = path.last().and_then(|last| came_from.get(last)) {
                path.push(before);
            }
            path.reverse();
            return Some(format!("{package} must stay pure, but depends on {name}: {}", path.join(" -> ")));
        }
        for next in graph.get(name).into_iter().flatten() {
            if next != package && !came_from.contains_key(next.as_str()) {
                came_from.insert(next, name);
                pending.push_back(next);
            }
        }
    }
    None
}

fn is_impure(name: &str) -> bool {
    IMPURE.iter().any(|pattern| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    })
}

/// Packages that name an operator although they are not the command line.
fn operator_faults(packages: &[Package]) -> Vec<String> {
    let mut faults = Vec::new();
    for package in packages.iter().filter(|package| package.name != COMMAND_LINE) {
        for operator in package.dependencies.iter().filter(|name| OPERATORS.contains(&name.as_str())) {
            // A package may name itself to turn on features for its tests.
            if *operator != package.name {
                faults.push(format!("{} depends on {operator}, which only {COMMAND_LINE} may", package.name));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pure_package_may_share_types() {
        let tree = "\
0 windlass v0.1.0 (/w/crates/windlass)
1 kube v5.0.0
2 kube-core v5.0.0
3 http v1.0.0
3 serde v1.0.0
4 serde_core v1.0.0
1 serde v1.0.0 (*)
1 windlass-derive v0.1.0 (proc-macro) (/w/crates/windlass-derive)
2 syn v2.0.0
";
        let graph = from_tree(tree).unwrap();
        assert_eq!(graph["windlass"].iter().collect::<Vec<_>>(), ["kube", "serde", "windlass-derive"]);
        assert_eq!(graph["kube-core"].iter().collect::<Vec<_>>(), ["http", "serde"]);
        assert_eq!(purity_fault("windlass", &graph), None);
    }

    #[test]
    fn the_way_to_a_runtime_is_named() {
        let tree = "\
0 windlass v0.1.0 (/w/crates/windlass)
1 kube v5.0.0
2 kube-core v5.0.0
2 tower-ish v1.0.0
3 actix-rt v2.0.0
4 tokio v1.0.0
5 mio v1.0.0
";
        assert_eq!(
            purity_fault("windlass", &from_tree(tree).unwrap()).unwrap(),
            "windlass must stay pure, but depends on actix-rt: windlass -> kube -> tower-ish -> actix-rt"
        );
    }

    #[test]
    fn a_dependency_on_itself_does_not_matter() {
        let graph = from_tree("0 windlass v0.1.0\n1 a v1.0.0\n2 windlass v0.1.0 (*)\n2 h2 v1.0.0\n").unwrap();
        assert_eq!(
            purity_fault("windlass", &graph).unwrap(),
            "windlass must stay pure, but depends on h2: windlass -> a -> h2"
        );
    }

    #[test]
    fn a_tree_that_makes_no_sense_is_refused() {
        for tree in ["windlass v0.1.0\n", "0\n"] {
            assert!(from_tree(tree).is_err(), "{tree}");
        }
    }

    #[test]
    fn only_the_command_line_knows_operators() {
        let package = |name: &str, dependencies: &[&str]| {
            let dependencies: Vec<_> = dependencies.iter().map(|name| json!({ "name": name })).collect();
            json!({ "name": name, "manifest_path": format!("/w/{name}/Cargo.toml"), "dependencies": dependencies, "targets": [] })
        };
        let metadata = json!({ "packages": [
            package("windlass-cli", &["windlass-mizar", "windlass-klight", "anyhow"]),
            package("windlass-mizar", &["windlass", "windlass-mizar"]),
            package("windlass-runtime", &["windlass", "windlass-klight"]),
        ] });
        assert_eq!(
            operator_faults(&workspace::from_metadata(&metadata).unwrap()),
            ["windlass-runtime depends on windlass-klight, which only windlass-cli may"]
        );
    }
}
