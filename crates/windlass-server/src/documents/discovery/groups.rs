//! Groups and versions in the order in which clients are to prefer them.

use std::cmp::Reverse;
use std::sync::Arc;

use windlass_model::compare_versions;
use windlass_model::{TypeInfo, Types};

/// How much a group is preferred when two have a resource of the same name; those of CRDs come last.
const PRIORITIES: &[(&str, u32)] = &[
    ("", 18_000),
    ("apps", 17_800),
    ("events.k8s.io", 17_750),
    ("authentication.k8s.io", 17_700),
    ("authorization.k8s.io", 17_600),
    ("autoscaling", 17_500),
    ("batch", 17_400),
    ("certificates.k8s.io", 17_300),
    ("networking.k8s.io", 17_200),
    ("policy", 17_100),
    ("rbac.authorization.k8s.io", 17_000),
    ("storage.k8s.io", 16_800),
    ("apiextensions.k8s.io", 16_700),
    ("admissionregistration.k8s.io", 16_700),
    ("scheduling.k8s.io", 16_600),
    ("coordination.k8s.io", 16_500),
    ("node.k8s.io", 16_300),
    ("discovery.k8s.io", 16_200),
];
const CUSTOM_PRIORITY: u32 = 1_000;

/// One group and the types of each of its versions.
#[derive(Clone, Debug)]
pub(crate) struct GroupVersions<'a> {
    /// Empty for the core group.
    pub(crate) name: &'a str,
    /// The preferred version first; types by plural.
    pub(crate) versions: Vec<(&'a str, Vec<&'a TypeInfo>)>,
}

/// All groups, the core group among them, the most preferred first.
pub(crate) fn groups(types: &Types) -> Vec<GroupVersions<'_>> {
    let mut groups: Vec<GroupVersions<'_>> = Vec::new();
    // Types come by group, then version, then plural.
    for info in types.iter().map(Arc::as_ref) {
        let (name, version) = (info.resource.group.as_str(), info.resource.version.as_str());
        match groups.last_mut().filter(|group| group.name == name) {
            Some(group) => match group.versions.last_mut().filter(|(last, _)| *last == version) {
                Some((_, all)) => all.push(info),
                None => group.versions.push((version, vec![info])),
            },
            None => groups.push(GroupVersions { name, versions: vec![(version, vec![info])] }),
        }
    }
    for group in &mut groups {
        group.versions.sort_by(|(left, _), (right, _)| compare_versions(right, left));
    }
    groups.sort_by_key(|group| (Reverse(priority(group.name)), group.name));
    groups
}

fn priority(group: &str) -> u32 {
    let known = PRIORITIES.iter().find(|(name, _)| *name == group);
    known.map_or(CUSTOM_PRIORITY, |(_, priority)| *priority)
}
