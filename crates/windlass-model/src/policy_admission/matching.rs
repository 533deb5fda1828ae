//! Whether a policy or a binding is about a request.

use serde_json::Value;

use crate::policies::{Matching, MatchingRule};
use crate::request::ResourceId;
use crate::store::{Key, Store};
use crate::types::Types;

use super::review::{Kind, Review};

/// The resource that a rule knows the objects of a request by, and their kind there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Matched {
    pub(super) resource: ResourceId,
    pub(super) kind: Kind,
}

impl Matching {
    /// How a request matches; `None` if it does not.
    ///
    /// # Errors
    /// Why that cannot be said: the namespace is gone.
    pub(super) fn matches<S: Store + ?Sized>(
        &self,
        review: &Review<'_>,
        store: &S,
        types: &Types,
    ) -> Result<Option<Matched>, String> {
        let in_namespace = self.matches_namespace(review, store);
        if in_namespace == Ok(false) || !self.matches_object(review) {
            return Ok(None);
        }
        if find(&self.excluded, self.exact, review, types).is_some() {
            return Ok(None);
        }
        let matched = if self.rules.is_empty() {
            Some(Matched { resource: review.resource.clone(), kind: review.kind.clone() })
        } else {
            find(&self.rules, self.exact, review, types)
        };
        // That a namespace is gone matters only to what would match otherwise.
        if matched.is_some() { in_namespace.map(|_| matched) } else { Ok(None) }
    }

    fn matches_namespace<S: Store + ?Sized>(&self, review: &Review<'_>, store: &S) -> Result<bool, String> {
        let is_namespace = review.resource.plural == "namespaces";
        if self.namespaces.is_everything() || review.namespace.is_empty() && !is_namespace {
            return Ok(true);
        }
        // A namespace that is being written is not stored yet in the form that counts.
        if let Some(written) = review.object.filter(|_| is_namespace && review.subresource.is_empty()) {
            return Ok(self.namespaces.matches(&written["metadata"]["labels"]));
        }
        let found = store.get(&Key::new("", "namespaces", "", review.namespace));
        let found = found.ok_or_else(|| format!("namespaces {:?} not found", review.namespace))?;
        Ok(self.namespaces.matches(&found["metadata"]["labels"]))
    }

    fn matches_object(&self, review: &Review<'_>) -> bool {
        let selected = |object: Option<&Value>| {
            object.is_some_and(|object| self.objects.matches(&object["metadata"]["labels"]))
        };
        self.objects.is_everything() || selected(review.object) || selected(review.old_object)
    }
}

/// The first rule that matches, by the resource of the request or by one that stands for the same objects.
fn find(rules: &[MatchingRule], exact: bool, review: &Review<'_>, types: &Types) -> Option<Matched> {
    if rules.iter().any(|rule| rule.matches(review, review.resource)) {
        return Some(Matched { resource: review.resource.clone(), kind: review.kind.clone() });
    }
    if exact || rules.is_empty() {
        return None;
    }
    let own = types.get(review.resource)?;
    let same = types.iter().filter(|info| {
        info.resource != own.resource
            && info.resource.plural == own.resource.plural
            && info.storage_group() == own.storage_group()
    });
    let same: Vec<_> = same.collect();
    rules.iter().find_map(|rule| {
        let info = same.iter().find(|info| rule.matches(review, &info.resource))?;
        let kind = if review.kind.kind == own.kind { Kind::of(info) } else { review.kind.clone() };
        Some(Matched { resource: info.resource.clone(), kind })
    })
}

impl MatchingRule {
    fn matches(&self, review: &Review<'_>, resource: &ResourceId) -> bool {
        let any =
            |known: &[Box<str>], wanted: &str| known.iter().any(|it| matches!(&**it, "*") || **it == *wanted);
        self.matches_scope(review)
            && any(&self.operations, review.operation.name())
            && any(&self.groups, &resource.group)
            && any(&self.versions, &resource.version)
            && self.resources.iter().any(|it| matches_resource(it, &resource.plural, review.subresource))
            && (self.names.is_empty() || self.names.iter().any(|name| **name == *review.name))
    }

    fn matches_scope(&self, review: &Review<'_>) -> bool {
        let is_namespace = review.resource.plural == "namespaces" && review.resource.group.is_empty();
        let outside = is_namespace || review.namespace.is_empty();
        match &*self.scope {
            "Namespaced" => !outside,
            "Cluster" => outside,
            _ => true,
        }
    }
}

/// `pods`, `pods/status`, `*`, `*/*`: without a slash, the object itself is meant.
fn matches_resource(rule: &str, plural: &str, subresource: &str) -> bool {
    let (wanted, wanted_sub) = rule.split_once('/').unwrap_or((rule, ""));
    let is = |wanted: &str, given: &str| wanted == "*" || wanted == given;
    is(wanted, plural) && is(wanted_sub, subresource)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_name_resources_and_subresources() {
        for (rule, plural, subresource, expected) in [
            ("pods", "pods", "", true),
            ("pods", "pods", "status", false),
            ("pods/status", "pods", "status", true),
            ("pods/*", "pods", "status", true),
            ("pods/*", "pods", "", true),
            ("*", "pods", "", true),
            ("*", "pods", "status", false),
            ("*/status", "pods", "status", true),
            ("*/*", "pods", "binding", true),
            ("pods", "services", "", false),
        ] {
            assert_eq!(
                matches_resource(rule, plural, subresource),
                expected,
                "{rule} {plural}/{subresource}"
            );
        }
    }
}
