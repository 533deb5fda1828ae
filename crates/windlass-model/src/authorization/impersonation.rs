//! Acting as somebody else, for those who may.

use std::collections::BTreeMap;

use super::{Authorizer, ResourceAttributes, forbidden};
use crate::authentication::{
    ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, service_account_groups, split_service_account,
};
use crate::http::percent_decoded;
use crate::status::Status;

const GROUP: &str = "authentication.k8s.io";
const EXTRA_HEADER: &str = "impersonate-extra-";

/// Whom the headers of a request ask to be.
#[derive(Default)]
struct Wanted<'a> {
    name: Option<&'a str>,
    uid: Option<&'a str>,
    groups: Vec<&'a str>,
    /// In the order of the keys.
    extra: BTreeMap<String, Vec<&'a str>>,
}

/// The user that a request is to be done as: `None` if it has no headers that ask for another than `user`.
///
/// `headers` are all headers of the request; their names may be written in capitals or not.
///
/// # Errors
/// 400 if groups or the like are asked for without a user, 403 if the user may not be, or not have, what is asked.
pub fn impersonate<'a>(
    authorizer: Authorizer<'_>,
    user: &User,
    headers: impl IntoIterator<Item = (&'a str, &'a str)>,
) -> Result<Option<User>, Status> {
    let wanted = Wanted::of(headers);
    let Some(name) = wanted.name else {
        if wanted.groups.is_empty() && wanted.extra.is_empty() && wanted.uid.is_none() {
            return Ok(None);
        }
        return Err(Status::bad_request(format!(
            "requested {} without impersonating a user",
            wanted.description()
        )));
    };
    for attributes in wanted.attributes(name) {
        let attributes = attributes.into();
        let decision = authorizer.authorize(user, &attributes);
        if !decision.allowed {
            return Err(forbidden(user, &attributes, &decision.reason));
        }
    }
    Ok(Some(wanted.user(name)))
}

impl<'a> Wanted<'a> {
    fn of(headers: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut wanted = Wanted::default();
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            match name.as_str() {
                "impersonate-user" if !value.is_empty() => drop(wanted.name.get_or_insert(value)),
                "impersonate-uid" if !value.is_empty() => drop(wanted.uid.get_or_insert(value)),
                "impersonate-group" => wanted.groups.push(value),
                other => {
                    if let Some(key) = other.strip_prefix(EXTRA_HEADER) {
                        wanted.extra.entry(unescaped(key)).or_default().push(value);
                    }
                }
            }
        }
        wanted
    }

    /// What must be allowed, one by one.
    fn attributes(&self, name: &str) -> Vec<ResourceAttributes> {
        let of = |group: &str, resource: &str, name: &str| ResourceAttributes {
            verb: "impersonate".to_owned(),
            group: group.to_owned(),
            version: "v1".to_owned(),
            resource: resource.to_owned(),
            name: name.to_owned(),
            ..ResourceAttributes::default()
        };
        let mut all = vec![match split_service_account(name) {
            Some((namespace, account)) => {
                ResourceAttributes { namespace: namespace.to_owned(), ..of("", "serviceaccounts", account) }
            }
            None => of("", "users", name),
        }];
        all.extend(self.groups.iter().map(|group| of("", "groups", group)));
        for (key, values) in &self.extra {
            all.extend(values.iter().map(|value| ResourceAttributes {
                subresource: key.clone(),
                ..of(GROUP, "userextras", value)
            }));
        }
        all.extend(self.uid.map(|uid| of(GROUP, "uids", uid)));
        all
    }

    fn user(&self, name: &str) -> User {
        let mut groups: Vec<String> = self.groups.iter().map(|group| (*group).to_owned()).collect();
        if groups.is_empty() {
            groups.extend(
                split_service_account(name)
                    .into_iter()
                    .flat_map(|(namespace, _)| service_account_groups(namespace)),
            );
        }
        let has = |group: &str| groups.iter().any(|own| own == group);
        if name == ANONYMOUS {
            if !has(UNAUTHENTICATED) {
                groups.push(UNAUTHENTICATED.to_owned());
            }
        } else if !has(AUTHENTICATED) && !has(UNAUTHENTICATED) {
            groups.push(AUTHENTICATED.to_owned());
        }
        let owned = |values: &Vec<&str>| values.iter().map(|value| (*value).to_owned()).collect();
        let extra = self.extra.iter().map(|(key, values)| (key.clone(), owned(values))).collect();
        let uid = self.uid.unwrap_or_default().to_owned();
        User { name: name.to_owned(), uid, groups, extra }
    }

    /// What is asked for, as Go shows a list of references.
    fn description(&self) -> String {
        let reference = |kind: &str, name: &str, version: &str, field: &str| {
            format!("{{{kind}  {name}  {version}  {field}}}")
        };
        let version = format!("{GROUP}/v1");
        let mut all: Vec<String> =
            self.groups.iter().map(|group| reference("Group", group, "", "")).collect();
        for (key, values) in &self.extra {
            all.extend(values.iter().map(|value| reference("UserExtra", value, &version, key)));
        }
        all.extend(self.uid.map(|uid| reference("UID", uid, &version, "")));
        format!("[{}]", all.join(" "))
    }
}

/// Keys may be percent-encoded, because header names are case-insensitive.
fn unescaped(key: &str) -> String {
    let decoded = percent_decoded(key, false).and_then(|bytes| String::from_utf8(bytes).ok());
    decoded.unwrap_or_else(|| key.to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::authorization::Policy;
    use crate::store::{Change, Key};

    /// Lets `ann` be the user `joe`, any service account of `ci`, and in the group `g`.
    fn policy() -> Policy {
        let mut policy = Policy::default();
        let mut write = |plural: &str, namespace: &str, name: &str, object: serde_json::Value| {
            let key = Key::new("rbac.authorization.k8s.io", plural, namespace, name);
            policy.commit(&Change { key, before: None, after: Some(object.into()), version: 1 });
        };
        let rule = |resources: &str, names: &[&str]| json!({ "verbs": ["impersonate"], "apiGroups": ["*"], "resources": [resources], "resourceNames": names });
        let rules = [rule("users", &["joe"]), rule("groups", &["g"]), rule("userextras/team", &["a"])];
        let subjects = json!([{ "kind": "User", "name": "ann" }]);
        write("clusterroles", "", "r", json!({ "rules": rules }));
        write("clusterroles", "", "s", json!({ "rules": [rule("serviceaccounts", &[])] }));
        write(
            "clusterrolebindings",
            "",
            "r",
            json!({
                "metadata": { "name": "r" }, "roleRef": { "kind": "ClusterRole", "name": "r" }, "subjects": subjects,
            }),
        );
        write(
            "rolebindings",
            "ci",
            "s",
            json!({
                "metadata": { "name": "s", "namespace": "ci" }, "roleRef": { "kind": "ClusterRole", "name": "s" },
                "subjects": subjects,
            }),
        );
        policy
    }

    /// `Impersonate-` stands before each name. Shows the user, or the refusal.
    fn shown(asker: &User, headers: &[(&str, &str)]) -> String {
        let policy = policy();
        let headers: Vec<(String, &str)> =
            headers.iter().map(|(name, value)| (format!("Impersonate-{name}"), *value)).collect();
        let headers = headers.iter().map(|(name, value)| (name.as_str(), *value));
        match impersonate(Authorizer::Rbac(&policy), asker, headers) {
            Err(status) => format!("{} {}", status.code, status.message),
            Ok(None) => "none".to_owned(),
            Ok(Some(User { name, uid, groups, extra })) => {
                format!("{name}|{uid}|{}|{extra:?}", groups.join(" "))
            }
        }
    }

    #[test]
    fn only_those_who_may_act_as_others() {
        let ann = User::authenticated("ann", &[]);
        let no = |resource: &str, what: &str| {
            format!("403 {resource} is forbidden: User \"ann\" cannot impersonate resource {what}")
        };
        for (headers, expected) in [
            (&[][..], "none".to_owned()),
            (&[("User", "joe")], "joe||system:authenticated|{}".to_owned()),
            (&[("user", "joe"), ("Group", "g")], "joe||g system:authenticated|{}".to_owned()),
            (
                &[("User", "joe"), ("Extra-Team", "a")],
                "joe||system:authenticated|{\"team\": [\"a\"]}".to_owned(),
            ),
            (
                &[("User", "system:serviceaccount:ci:builder")],
                "system:serviceaccount:ci:builder||system:serviceaccounts system:serviceaccounts:ci \
                 system:authenticated|{}"
                    .to_owned(),
            ),
            (&[("User", "eve")], no("users \"eve\"", "\"users\" in API group \"\" at the cluster scope")),
            (
                &[("User", "joe"), ("Group", "g"), ("Group", "system:masters")],
                no("groups \"system:masters\"", "\"groups\" in API group \"\" at the cluster scope"),
            ),
            (
                &[("User", "system:serviceaccount:prod:x")],
                no("serviceaccounts \"x\"", "\"serviceaccounts\" in API group \"\" in the namespace \"prod\""),
            ),
            (
                &[("User", "joe"), ("Extra-Team", "a"), ("Extra-Team", "b")],
                no(
                    "userextras.authentication.k8s.io \"b\"",
                    "\"userextras/team\" in API group \"authentication.k8s.io\" at the cluster scope",
                ),
            ),
            (
                &[("User", "joe"), ("Uid", "u")],
                no(
                    "uids.authentication.k8s.io \"u\"",
                    "\"uids\" in API group \"authentication.k8s.io\" at the cluster scope",
                ),
            ),
            (
                &[("Group", "g"), ("Group", "h")],
                "400 requested [{Group  g    } {Group  h    }] without impersonating a user".to_owned(),
            ),
            (
                &[("Uid", "g"), ("Extra-Foo%2fBar", "h")],
                "400 requested [{UserExtra  h  authentication.k8s.io/v1  foo/bar} {UID  g  authentication.k8s.io/v1  }] \
                 without impersonating a user"
                    .to_owned(),
            ),
        ] {
            assert_eq!(shown(&ann, headers), expected, "{headers:?}");
        }
    }

    #[test]
    fn groups_say_whether_somebody_is_known() {
        let admin = User::admin("admin");
        for (headers, expected) in [
            (&[("User", "system:anonymous")][..], "system:anonymous||system:unauthenticated|{}"),
            (&[("User", "x"), ("Group", "system:unauthenticated")], "x||system:unauthenticated|{}"),
            (&[("User", "x"), ("Group", "system:authenticated")], "x||system:authenticated|{}"),
            (&[("User", "x"), ("Uid", "u"), ("Group", "a")], "x|u|a system:authenticated|{}"),
            (
                &[("User", "system:serviceaccount:a:b"), ("Group", "g")],
                "system:serviceaccount:a:b||g system:authenticated|{}",
            ),
            // Not the name of a service account, whatever it looks like.
            (
                &[("User", "system:serviceaccount:a:B_")],
                "system:serviceaccount:a:B_||system:authenticated|{}",
            ),
        ] {
            assert_eq!(shown(&admin, headers), expected, "{headers:?}");
        }
    }
}
