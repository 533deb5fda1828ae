//! What one reconcile knows of a network: its contacts, and who might join.

use k8s_openapi::api::core::v1::Pod;

use super::mistake::Mistake;
use super::pod::{Reachability, reachability};
use super::resource::{Contact, Known, Waiting};

/// What one reconcile knows of a network.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Round {
    /// The members, the newest first.
    pub(super) stack: Vec<Contact>,
    /// Those that can be called and are not members, in the order in which they are tried.
    pub(super) joiners: Vec<Contact>,
    /// Those that cannot be called until somebody changes them.
    pub(super) unusable: Vec<Waiting>,
    /// Those that cannot be called yet.
    pub(super) starting: Vec<Waiting>,
    /// Those that do not answer, or refuse.
    pub(super) failed: Vec<Waiting>,
    /// Whether one of them has joined.
    pub(super) joined: bool,
}

impl Round {
    /// Compares what was recorded with the pods that there are.
    pub(super) fn new(recorded: &Known, pods: &[Pod], mistake: Option<Mistake>) -> Self {
        let mut round = Round::default();
        let mut reachable = Vec::new();
        for pod in pods {
            let waiting = |why| Waiting { pod: pod.metadata.name.clone().unwrap_or_default(), why };
            match reachability(pod) {
                Reachability::Reachable(contact) => reachable.push(contact),
                Reachability::Starting(why) => round.starting.push(waiting(why)),
                Reachability::Unusable(why) => round.unusable.push(waiting(why)),
                Reachability::Ending => {}
            }
        }
        let is_member = |contact: &Contact| {
            mistake == Some(Mistake::KnowsAddressesOnly) || reachable.iter().any(|pod| is_same(pod, contact))
        };
        round.stack = recorded.stack.iter().filter(|contact| is_member(contact)).cloned().collect();
        let members = match mistake {
            Some(Mistake::JoinsWhoeverIsSeen) => &[],
            Some(Mistake::JoinsMembersAgain) => &round.stack[..round.stack.len().min(1)],
            _ => round.stack.as_slice(),
        };
        let is_new = |pod: &Contact| !members.iter().any(|known| is_same(pod, known));
        round.joiners = reachable.iter().filter(|pod| is_new(pod)).cloned().collect();
        // Those that failed before come last, in the order in which they are to be tried again.
        let failed_before =
            |pod: &Contact| recorded.waiting.iter().position(|waiting| waiting.pod == pod.pod);
        round.joiners.sort_by_key(failed_before);
        round
    }

    /// Someone does not answer, or refuses.
    pub(super) fn fail(&mut self, contact: &Contact, why: String) {
        self.failed.push(Waiting { pod: contact.pod.clone(), why });
    }
}

/// Whether both are the lightpeer of one pod.
pub(super) fn is_same(one: &Contact, other: &Contact) -> bool {
    one.uid == other.uid && one.address == other.address
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(name: &str, uid: &str, ip: &str) -> Pod {
        let pod = json!({
            "metadata": { "name": name, "uid": uid },
            "spec": { "containers": [{ "name": "lightpeer" }] },
            "status": { "phase": "Running", "podIP": ip },
        });
        serde_json::from_value(pod).expect("a pod")
    }

    fn contact(name: &str, uid: &str, ip: &str) -> Contact {
        let (pod, uid) = (name.to_owned(), uid.to_owned());
        Contact { pod, uid, address: format!("{ip}:9081"), peer: None }
    }

    #[test]
    fn a_contact_is_a_pod_with_its_address() {
        let recorded = Known {
            stack: vec![
                contact("kept", "1", "10.0.0.1"),
                contact("gone", "2", "10.0.0.2"),
                contact("replaced", "3", "10.0.0.3"),
                contact("moved", "4", "10.0.0.4"),
            ],
            ..Known::default()
        };
        let pods = [
            pod("kept", "1", "10.0.0.1"),
            pod("new", "9", "10.0.0.2"),
            pod("replaced", "5", "10.0.0.3"),
            pod("moved", "4", "10.0.0.9"),
        ];
        let round = Round::new(&recorded, &pods, None);
        let names =
            |contacts: &[Contact]| contacts.iter().map(|contact| contact.pod.clone()).collect::<Vec<_>>();
        assert_eq!(names(&round.stack), ["kept"]);
        assert_eq!(names(&round.joiners), ["new", "replaced", "moved"]);
    }

    #[test]
    fn those_that_failed_before_come_last() {
        let waiting = |pod: &str| Waiting { pod: pod.to_owned(), why: String::new() };
        let recorded = Known { waiting: vec![waiting("b"), waiting("a")], ..Known::default() };
        let pods = ["a", "b", "c"].map(|name| pod(name, name, &format!("10.0.0.{}", name.len())));
        let round = Round::new(&recorded, &pods, None);
        let order: Vec<&str> = round.joiners.iter().map(|contact| contact.pod.as_str()).collect();
        assert_eq!(order, ["c", "b", "a"]);
    }
}
