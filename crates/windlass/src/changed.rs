//! Ready-made answers to the question which changes count, for [`Watching::when`](crate::Watching::when).
//!
//! Creations and deletions pass all of them; only updates can be filtered out.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::kind::Kind;

/// The generation has changed, or deletion was requested; status and metadata are ignored.
///
/// Kinds without a generation, such as ConfigMap, do not say this: all of their changes pass.
pub fn generation<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    let counted = |meta: &ObjectMeta| meta.generation.is_some_and(|generation| generation > 0);
    let uncounted = after.is_some_and(|after| !counted(after.object_meta()));
    uncounted || differs(before, after, |meta| (meta.generation, meta.deletion_timestamp.clone()))
}

/// Its labels have changed.
pub fn labels<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |meta| meta.labels.clone().unwrap_or_default())
}

/// Its annotations have changed.
pub fn annotations<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |meta| meta.annotations.clone().unwrap_or_default())
}

/// Its finalizers have changed.
pub fn finalizers<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |meta| meta.finalizers.clone().unwrap_or_default())
}

/// It is to be deleted, which it was not before.
pub fn deletion<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |meta| meta.deletion_timestamp.is_some())
}

/// Anything but the status has changed: what the object is to be, or its labels, annotations, finalizers or owners.
///
/// For parents, this ignores all status writes: the controller's own, which saves one reconcile per change, and those of
/// all other writers.
pub fn generation_or_metadata<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    let owners = |meta: &ObjectMeta| meta.owner_references.clone().unwrap_or_default();
    generation(before, after)
        || labels(before, after)
        || annotations(before, after)
        || finalizers(before, after)
        || differs(before, after, owners)
}

/// Anything has changed at all.
pub fn resource_version<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |meta| meta.resource_version.clone())
}

/// It began or ceased to exist.
pub fn existence<K: Kind>(before: Option<&K>, after: Option<&K>) -> bool {
    differs(before, after, |_| ())
}

fn differs<K: Kind, Part: PartialEq>(
    before: Option<&K>,
    after: Option<&K>,
    part: impl Fn(&ObjectMeta) -> Part,
) -> bool {
    let (Some(before), Some(after)) = (before, after) else { return true };
    part(before.object_meta()) != part(after.object_meta())
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::{Deployment, DeploymentStatus};
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    type Counts = fn(Option<&Deployment>, Option<&Deployment>) -> bool;

    const ALL: [(&str, Counts); 8] = [
        ("generation", generation),
        ("labels", labels),
        ("annotations", annotations),
        ("finalizers", finalizers),
        ("deletion", deletion),
        ("generation_or_metadata", generation_or_metadata),
        ("resource_version", resource_version),
        ("existence", existence),
    ];

    fn old() -> Deployment {
        let mut old = Deployment::default();
        old.metadata.generation = Some(1);
        old.metadata.resource_version = Some("1".to_owned());
        old
    }

    /// The predicates for which a change counts.
    fn passed(change: impl Fn(&mut Deployment)) -> Vec<&'static str> {
        let mut new = old();
        new.metadata.resource_version = Some("2".to_owned());
        change(&mut new);
        let passed = ALL.iter().filter(|(_, counts)| counts(Some(&old()), Some(&new)));
        passed.map(|(name, _)| *name).collect()
    }

    #[test]
    fn existence_passes_everywhere() {
        for (name, counts) in ALL {
            assert!(counts(None, Some(&old())) && counts(Some(&old()), None), "{name}");
        }
    }

    #[test]
    fn each_sees_what_it_is_about() {
        let one = || Some([("a".to_owned(), "b".to_owned())].into());
        let status = |deployment: &mut Deployment| deployment.status = Some(DeploymentStatus::default());
        assert_eq!(passed(status), ["resource_version"]);
        assert_eq!(
            passed(|new| new.metadata.generation = Some(2)),
            ["generation", "generation_or_metadata", "resource_version"]
        );
        assert_eq!(
            passed(|new| new.metadata.labels = one()),
            ["labels", "generation_or_metadata", "resource_version"]
        );
        assert_eq!(
            passed(|new| new.metadata.annotations = one()),
            ["annotations", "generation_or_metadata", "resource_version"]
        );
        assert_eq!(
            passed(|new| new.metadata.finalizers = Some(vec!["a/b".to_owned()])),
            ["finalizers", "generation_or_metadata", "resource_version"]
        );
        assert_eq!(
            passed(|new| new.metadata.deletion_timestamp =
                serde_json::from_str(r#""2026-01-01T00:00:00Z""#).ok()),
            ["generation", "deletion", "generation_or_metadata", "resource_version"]
        );
    }

    #[test]
    fn kinds_without_a_generation_pass() {
        let map = ConfigMap::default();
        assert!(generation(Some(&map), Some(&map)));
    }
}
