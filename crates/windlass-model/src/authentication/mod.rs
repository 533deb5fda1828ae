//! Who asks: users, the names of service accounts, and their tokens.

mod defaults;
mod token_secrets;
mod tokens;

use std::collections::BTreeMap;

pub use defaults::next_requests;
pub use token_secrets::{TokenSecret, missing_tokens};
pub use tokens::{Issuer, user_of_claims};
pub(crate) use tokens::{TokenSubject, split_service_account, token_claims};

use crate::status::{Reason, Status};

/// What the names of service accounts start with.
const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
/// The group of all service accounts; with a colon and a namespace, of those in there.
const SERVICE_ACCOUNTS: &str = "system:serviceaccounts";
/// The group of everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody else.
pub(crate) const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The name of everybody else.
pub(crate) const ANONYMOUS: &str = "system:anonymous";

/// Somebody who makes requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// `system:serviceaccount:default:builder`
    pub name: String,
    /// Empty if there is none.
    pub uid: String,
    /// `system:masters`, `system:authenticated`, …
    pub groups: Vec<String>,
    /// Whatever else is known.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// Somebody who is known, in these groups and that of everybody who is known.
    pub fn authenticated(name: &str, groups: &[&str]) -> Self {
        let groups = groups.iter().chain([&AUTHENTICATED]).map(|group| (*group).to_owned()).collect();
        User { name: name.to_owned(), groups, ..User::default() }
    }

    /// Somebody who may do anything.
    pub fn admin(name: &str) -> Self {
        User::authenticated(name, &["system:masters"])
    }

    /// Somebody who did not say who they are.
    pub fn anonymous() -> Self {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        User { name: ANONYMOUS.to_owned(), groups, ..User::default() }
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str, uid: &str) -> Self {
        let mut groups = service_account_groups(namespace);
        groups.push(AUTHENTICATED.to_owned());
        let name = format!("{SERVICE_ACCOUNT}{namespace}:{name}");
        User { name, uid: uid.to_owned(), groups, extra: BTreeMap::new() }
    }
}

/// 401: who asks is not known.
pub fn unauthorized() -> Status {
    Status::failure(401, Reason::Unauthorized, "Unauthorized")
}

/// Namespace and name of the service account that a user name stands for.
pub(crate) fn service_account_name(user_name: &str) -> Option<(&str, &str)> {
    let (namespace, name) = user_name.strip_prefix(SERVICE_ACCOUNT)?.split_once(':')?;
    let named = !namespace.is_empty() && !name.is_empty() && !name.contains(':');
    named.then_some((namespace, name))
}

pub(crate) fn service_account_groups(namespace: &str) -> Vec<String> {
    vec![SERVICE_ACCOUNTS.to_owned(), format!("{SERVICE_ACCOUNTS}:{namespace}")]
}
