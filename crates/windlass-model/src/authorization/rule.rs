//! One rule of a role: what it allows, and whether other rules cover it.

use serde_json::{Map, Value};

use super::attributes::Attributes;
use crate::field::quoted;
use crate::object::texts;

const ALL: &str = "*";

/// A `PolicyRule`: verbs on resources, or on paths that are no resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rule {
    /// What may be done; `*` is everything.
    pub verbs: Vec<String>,
    /// In which groups; `*` is all, the empty text the core group.
    pub api_groups: Vec<String>,
    /// With which resources: `pods`, `pods/log`, `*/scale`, `*`.
    pub resources: Vec<String>,
    /// With which objects; all if it is empty.
    pub resource_names: Vec<String>,
    /// With which paths: `/healthz`, `/healthz/*`, `*`.
    pub non_resource_urls: Vec<String>,
}

impl Rule {
    /// Reads a rule as it stands in a role.
    fn of(value: &Value) -> Self {
        Rule {
            verbs: texts(&value["verbs"]),
            api_groups: texts(&value["apiGroups"]),
            resources: texts(&value["resources"]),
            resource_names: texts(&value["resourceNames"]),
            non_resource_urls: texts(&value["nonResourceURLs"]),
        }
    }

    /// The rules of a role.
    pub(crate) fn all_of(role: &Value) -> Vec<Self> {
        role["rules"].as_array().into_iter().flatten().map(Rule::of).collect()
    }

    /// The rule as it stands in a role: empty lists are left out, but for the verbs.
    pub fn to_value(&self) -> Value {
        let mut fields = Map::new();
        for (name, list) in [
            ("verbs", &self.verbs),
            ("apiGroups", &self.api_groups),
            ("resources", &self.resources),
            ("resourceNames", &self.resource_names),
            ("nonResourceURLs", &self.non_resource_urls),
        ] {
            if !list.is_empty() || name == "verbs" {
                fields.insert(name.to_owned(), list.as_slice().into());
            }
        }
        fields.into()
    }

    /// Whether the rule allows a request.
    pub(crate) fn allows(&self, attributes: &Attributes) -> bool {
        match attributes {
            Attributes::NonResource { verb, path } => {
                holds(&self.verbs, verb) && self.non_resource_urls.iter().any(|url| url_covers(url, path))
            }
            Attributes::Resource(wanted) => {
                holds(&self.verbs, &wanted.verb)
                    && holds(&self.api_groups, &wanted.group)
                    && self.resources.iter().any(|own| matches(own, &wanted.resource, &wanted.subresource))
                    && (self.resource_names.is_empty() || self.resource_names.contains(&wanted.name))
            }
        }
    }

    /// This rule as rules that each have one verb and one resource, name or path.
    fn broken_down(&self) -> Vec<Rule> {
        let names: Vec<Vec<String>> = if self.resource_names.is_empty() {
            vec![Vec::new()]
        } else {
            self.resource_names.iter().map(|name| vec![name.clone()]).collect()
        };
        let mut simple = Vec::new();
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    simple.extend(names.iter().map(|names| Rule {
                        verbs: vec![verb.clone()],
                        api_groups: vec![group.clone()],
                        resources: vec![resource.clone()],
                        resource_names: names.clone(),
                        non_resource_urls: Vec::new(),
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            simple.extend(self.verbs.iter().map(|verb| Rule {
                verbs: vec![verb.clone()],
                non_resource_urls: vec![url.clone()],
                ..Rule::default()
            }));
        }
        simple
    }

    /// Whether this rule allows all that a broken-down rule allows.
    fn covers(&self, simple: &Rule) -> bool {
        let names = match simple.resource_names.as_slice() {
            _ if self.resource_names.is_empty() => true,
            [] => false,
            names => names.iter().all(|name| self.resource_names.contains(name)),
        };
        names
            && simple.verbs.iter().all(|verb| holds(&self.verbs, verb))
            && simple.api_groups.iter().all(|group| holds(&self.api_groups, group))
            && simple.resources.iter().all(|resource| {
                let subresource = resource.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
                holds(&self.resources, resource)
                    || subresource.is_some_and(|wild| self.resources.contains(&wild))
            })
            && simple
                .non_resource_urls
                .iter()
                .all(|path| self.non_resource_urls.iter().any(|own| url_covers(own, path)))
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`, as refusals show it.
    fn compact(&self) -> String {
        let parts = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let shown = parts.into_iter().filter(|(_, list)| !list.is_empty());
        let shown: Vec<String> = shown.map(|(name, list)| format!("{name}:{}", quoted_list(list))).collect();
        format!("{{{}}}", shown.join(", "))
    }
}

/// What of some rules others do not cover, one line each; empty if they cover everything.
pub(super) fn missing(owned: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let mut left: Vec<Rule> = Vec::new();
    for simple in wanted.iter().flat_map(Rule::broken_down) {
        if owned.iter().any(|rule| rule.covers(&simple)) {
            continue;
        }
        // Rules that differ only by their verbs are shown as one.
        let same = |other: &&mut Rule| {
            simple.non_resource_urls.is_empty()
                && other.api_groups == simple.api_groups
                && other.resources == simple.resources
                && other.resource_names == simple.resource_names
        };
        match left.iter_mut().find(same) {
            Some(known) => known.verbs.extend(simple.verbs),
            None => left.push(simple),
        }
    }
    let mut lines: Vec<String> = left.iter().map(Rule::compact).collect();
    lines.sort();
    lines.dedup();
    lines
}

/// `["a" "b"]`
pub(super) fn quoted_list(list: &[String]) -> String {
    let quoted: Vec<String> = list.iter().map(|text| quoted(text)).collect();
    format!("[{}]", quoted.join(" "))
}

/// Whether a list names a value, or everything.
fn holds(list: &[String], value: &str) -> bool {
    list.iter().any(|own| own == ALL || own == value)
}

/// Whether `pods`, `pods/log`, `*/log` or `*` stands for a resource and its subresource.
fn matches(own: &str, resource: &str, subresource: &str) -> bool {
    if own == ALL || subresource.is_empty() {
        return own == ALL || own == resource;
    }
    let below = |parent: &str| own.strip_prefix(parent).and_then(|rest| rest.strip_prefix('/'));
    below(ALL) == Some(subresource) || below(resource) == Some(subresource)
}

/// Whether a path is one that ends in any number of stars, or lies below it.
fn url_covers(own: &str, path: &str) -> bool {
    own == path || own.ends_with('*') && path.starts_with(own.trim_end_matches('*'))
}
