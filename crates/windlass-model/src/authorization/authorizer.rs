//! The decision: whether a user may do what a request wants.

use std::sync::Arc;

use super::attributes::Attributes;
use super::roles::{Binding, Roles};
use super::rule::Rule;
use crate::authentication::User;

/// Members of this group may do anything, whatever the roles say.
const MASTERS: &str = "system:masters";

/// Who decides.
#[derive(Clone, Copy)]
pub enum Authorizer<'a> {
    /// Everybody may do everything.
    AlwaysAllow,
    /// Roles and bindings say who may do what.
    Rbac(&'a dyn Roles),
}

/// Whether a request may go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decision {
    /// Whether it may.
    pub allowed: bool,
    /// Which binding allows it, or why some could not be consulted; often empty.
    pub reason: String,
}

/// All that a user is given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grants {
    /// The rules of all roles that the user has.
    pub rules: Vec<Rule>,
    /// Roles that bindings name and that do not exist; empty if there are none.
    pub error: String,
}

impl Authorizer<'_> {
    /// Decides about one request.
    pub fn authorize(&self, user: &User, attributes: &Attributes) -> Decision {
        let Authorizer::Rbac(roles) = self else { return Decision { allowed: true, reason: String::new() } };
        if user.groups.iter().any(|group| group == MASTERS) {
            return Decision { allowed: true, reason: String::new() };
        }
        let namespace = match attributes {
            Attributes::Resource(wanted) => wanted.namespace.as_str(),
            Attributes::NonResource { .. } => "",
        };
        let mut errors = Vec::new();
        for (binding, rules) in bound(*roles, user, namespace) {
            match rules {
                Ok(rules) if rules.iter().any(|rule| rule.allows(attributes)) => {
                    let subject = binding.subject_for(user);
                    let description = subject.map(|subject| binding.description(subject));
                    let reason = format!("RBAC: allowed by {}", description.unwrap_or_default());
                    return Decision { allowed: true, reason };
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        let error = joined(errors);
        let reason = if error.is_empty() { error } else { format!("RBAC: {error}") };
        Decision { allowed: false, reason }
    }

    /// All that a user may do in a namespace, and outside namespaces.
    pub(crate) fn grants(&self, user: &User, namespace: &str) -> Grants {
        let Authorizer::Rbac(roles) = self else {
            return Grants { rules: everything(), error: String::new() };
        };
        let (mut all, mut errors) = (Vec::new(), Vec::new());
        for (_, rules) in bound(*roles, user, namespace) {
            match rules {
                Ok(rules) => all.extend(rules.iter().cloned()),
                Err(error) => errors.push(error),
            }
        }
        Grants { rules: all, error: joined(errors) }
    }
}

/// The rules that allow everything.
pub(super) fn everything() -> Vec<Rule> {
    let all = || vec!["*".to_owned()];
    let resources = Rule { verbs: all(), api_groups: all(), resources: all(), ..Rule::default() };
    let paths = Rule { verbs: all(), non_resource_urls: all(), ..Rule::default() };
    vec![resources, paths]
}

type Bound = (Arc<Binding>, Result<Arc<[Rule]>, String>);

/// The bindings that name the user, those outside namespaces first, with the rules that they give.
fn bound<'a>(roles: &'a dyn Roles, user: &'a User, namespace: &'a str) -> impl Iterator<Item = Bound> + 'a {
    let scopes = [Some(""), Some(namespace).filter(|namespace| !namespace.is_empty())];
    let bindings = scopes.into_iter().flatten().flat_map(|scope| roles.bindings(scope));
    bindings.filter(|binding| binding.subject_for(user).is_some()).map(|binding| {
        let rules = binding.role.rules(roles, &binding.namespace);
        (binding, rules)
    })
}

/// One error as it is, several as a list; each once.
fn joined(errors: Vec<String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for error in errors {
        if !distinct.contains(&error) {
            distinct.push(error);
        }
    }
    match distinct.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
