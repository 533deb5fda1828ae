//! How the next pod joins: the steps of the stack, and whose fault it is if it does not.

use k8s_openapi::api::core::v1::Pod;
use windlass::{Cx, Error};

use super::controller::{LightNetworks, lose};
use super::mistake::Mistake;
use super::pod::{Reachability, network_id_of, reachability};
use super::resource::{Contact, LightNetwork, Waiting};
use super::round::{Round, is_same};
use super::service::{Health, Joining};

/// Maximum number of failing pods that are tried in one reconcile: each may take as long as the timeout of a call.
const MAX_FAILURES: usize = 3;
/// Maximum number of healthy contacts that are tried for a pod that cannot reach them.
const MAX_CONTACTS: usize = 3;

impl LightNetworks {
    /// Lets the first pod join that can. Returns those that were not tried.
    pub(super) async fn join_one(
        &self,
        cx: &Cx<LightNetwork>,
        round: &mut Round,
    ) -> Result<Vec<Waiting>, Error> {
        let joiners = std::mem::take(&mut round.joiners);
        let asked = cx.all(joiners.iter().map(|joiner| Health::of(cx, joiner, false)));
        let answers: Vec<Health> = asked.await.into_iter().collect::<Result<_, _>>()?;
        let (mut untried, mut failures) = (Vec::new(), 0);
        for (joiner, health) in joiners.into_iter().zip(answers) {
            let peer = match health {
                Health::Serving { peer } => peer,
                Health::Failing { why } => {
                    round.fail(&joiner, why);
                    continue;
                }
            };
            if round.joined || failures == MAX_FAILURES {
                untried.push(Waiting { pod: joiner.pod, why: "it is to join next".to_owned() });
                continue;
            }
            let joiner = Contact { peer: peer.filter(|_| !self.has(Mistake::KnowsAddressesOnly)), ..joiner };
            // What it calls itself is known, so this is asked after it: then both are about one pod.
            if !self.is_still_there(cx, &joiner).await? {
                continue;
            }
            match self.join(cx, round, &joiner).await? {
                Ok(peer) => {
                    round.stack.insert(0, Contact { peer, ..joiner });
                    round.joined = true;
                }
                Err(why) => {
                    round.fail(&joiner, why);
                    failures += 1;
                }
            }
        }
        Ok(untried)
    }

    /// Joins a pod through the newest contact that lives: what its peer calls itself then, or why it is no member.
    async fn join(
        &self,
        cx: &Cx<LightNetwork>,
        round: &mut Round,
        joiner: &Contact,
    ) -> Result<Result<Option<String>, String>, Error> {
        let mut problem = String::new();
        let mut index = 0;
        while let Some(contact) = round.stack.get(index).cloned() {
            // A contact that does not say who it is may have been replaced by now.
            if contact.peer.is_none() && !self.is_still_there(cx, &contact).await? {
                round.stack.remove(index);
                continue;
            }
            let (why, blames_contact) = match self.request_join(cx, joiner, Some(&contact)).await? {
                Joining::Done { peer } => return Ok(Ok(peer)),
                Joining::Failed { why, blames_contact } => (why, blames_contact),
            };
            let dead = Health::of(cx, &contact, true).await?.problem_of(&contact);
            if let Some(why) = dead {
                round.stack.remove(index);
                lose(cx, round, &contact, why);
            } else if self.has(Mistake::PopsOnAnyFailure) {
                round.stack.remove(index);
            } else {
                // The contact lives, so it stays, and whoever wants to join tries again later.
                problem = format!("it cannot join through pod {}: {why}", contact.pod);
                index += 1;
                if !blames_contact || index == MAX_CONTACTS {
                    return Ok(Err(problem));
                }
            }
        }
        if !round.stack.is_empty() {
            return Ok(Err(problem));
        }
        // Without any contact it is the only known member of the network; a peer of ours is assigned to it.
        if joiner.peer.is_none() {
            return Ok(Ok(None));
        }
        match self.request_join(cx, joiner, None).await? {
            Joining::Done { peer } => Ok(Ok(peer)),
            Joining::Failed { why, .. } => Ok(Err(format!("it does not begin the network: {why}"))),
        }
    }

    async fn request_join(
        &self,
        cx: &Cx<LightNetwork>,
        joiner: &Contact,
        contact: Option<&Contact>,
    ) -> Result<Joining, Error> {
        let network = format!("{}/{}", cx.namespace(), cx.parent().spec.network_id);
        let network = Some(network).filter(|_| !self.has(Mistake::KnowsAddressesOnly));
        let joining = Joining::of(cx, joiner, contact, network).await?;
        // A peer that does not say what it is called now is called as before.
        Ok(match joining {
            Joining::Done { peer } => Joining::Done { peer: peer.or_else(|| joiner.peer.clone()) },
            failed => failed,
        })
    }

    /// Whether a pod is still there, with its address, in this network. Never stale: as long as a pod has an address,
    /// no other has it.
    async fn is_still_there(&self, cx: &Cx<LightNetwork>, contact: &Contact) -> Result<bool, Error> {
        if self.has(Mistake::TrustsWhatItSawBefore) || self.has(Mistake::KnowsAddressesOnly) {
            return Ok(true);
        }
        let Some(pod) = cx.get::<Pod>(&contact.pod).await? else { return Ok(false) };
        let is_member = network_id_of(&pod) == Some(cx.parent().spec.network_id.as_str());
        Ok(is_member && matches!(reachability(&pod), Reachability::Reachable(now) if is_same(&now, contact)))
    }
}
