//! From one peer to the others: new blocks are pushed, and a client's block is acknowledged when others have it.

use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use tonic::Code;

use super::block::{Block, BlockKind};
use super::events::count;
use super::node::{KeepError, Node};
use super::roster::Contact;
use crate::wire::CallError;

/// How many blocks another peer may be behind for these to be pushed; beyond, it fetches the chain itself.
const FURTHEST_BEHIND: usize = 64;

/// Why a client's block is not acknowledged.
#[derive(Debug, thiserror::Error)]
pub enum PersistError {
    /// This peer does not keep it.
    #[error(transparent)]
    Keep(#[from] KeepError),
    /// No other peer has taken it. It is kept here, and may still reach the others later.
    #[error(
        "block {id} is kept here only, as none of the {others} other peers has taken it ({problems}); \
         it is not acknowledged, but may still appear"
    )]
    NotReplicated {
        /// The block.
        id: String,
        /// How many others there are.
        others: usize,
        /// What each said.
        problems: String,
    },
}

impl Node {
    /// Adds a client's block; returns its identifier when it is safe: here on the disk, if there is one, and taken by
    /// all others that are live, or by one other at least.
    pub(super) async fn persist(&self, payload: Vec<u8>) -> Result<String, PersistError> {
        let outcome = self.try_persist(payload).await;
        let tally = &self.witness.tally;
        count(if outcome.is_ok() { &tally.persists_done } else { &tally.persists_failed });
        outcome
    }

    async fn try_persist(&self, payload: Vec<u8>) -> Result<String, PersistError> {
        let made = self.keep(None, |chain| vec![self.block(chain.tip(), BlockKind::Client, payload)]).await?;
        let block = made.first().expect("a block with a random identifier is new");
        let spread = self.spread(block).await;
        if spread.others > 0 && spread.taken == 0 {
            let problems = spread.problems.join("; ");
            return Err(PersistError::NotReplicated {
                id: block.id.clone(),
                others: spread.others,
                problems,
            });
        }
        Ok(block.id.clone())
    }

    /// Gives a block to all peers that are counted. Waits for all that are live; for those in doubt only as long as
    /// no peer has taken it.
    pub(super) async fn spread(&self, block: &Arc<Block>) -> Spread {
        let counted = self.state().roster.counted();
        let mut awaited = counted.iter().filter(|(_, live)| *live).count();
        let mut spread = Spread { others: counted.len(), taken: 0, problems: Vec::new() };
        let mut calls: FuturesUnordered<_> = counted
            .into_iter()
            .map(|(contact, live)| async move {
                let outcome = self.push(&contact, block).await;
                (contact.address, live, outcome)
            })
            .collect();
        while awaited > 0 || spread.taken == 0 {
            let Some((address, live, outcome)) = calls.next().await else { break };
            awaited -= usize::from(live);
            match outcome {
                Ok(()) => spread.taken += 1,
                Err(error) if error.is_gone() => {
                    spread.others -= 1;
                    self.gone(&address, error.to_string());
                }
                Err(error) => {
                    // Only checks count towards dropping it, but no call waits for it until then.
                    self.state().roster.suspect(&address);
                    spread.problems.push(error.to_string());
                }
            }
        }
        spread
    }

    /// Gives a block to one peer, and before it those that it lacks below.
    pub(super) async fn push(&self, contact: &Contact, block: &Arc<Block>) -> Result<(), CallError> {
        let client = self.client(&contact.address, self.settings.call_deadline)?;
        let hints = contact.hints(self.network());
        let mut to_send = vec![block.clone()];
        while let Some(next) = to_send.last() {
            match client.notify(next.to_wire(), &hints).await {
                Ok(()) => drop(to_send.pop()),
                Err(error)
                    if error.code() == Some(Code::FailedPrecondition) && to_send.len() < FURTHEST_BEHIND =>
                {
                    let below = self.state().chain.get(&next.previous).cloned();
                    to_send.push(below.ok_or(error)?);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes a block that another peer announces. Returns whether it was new.
    pub(super) async fn hear(&self, block: Block, network: Option<&str>) -> Result<bool, KeepError> {
        Ok(!self.keep(network, |_| vec![block]).await?.is_empty())
    }
}

/// How far a block came.
#[derive(Debug)]
pub(super) struct Spread {
    /// To how many members it was sent.
    others: usize,
    /// How many took it.
    taken: usize,
    /// What the rest said.
    problems: Vec<String>,
}
