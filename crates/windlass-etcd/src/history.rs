//! Notices when etcd is not the one that it was: restored from a backup, emptied, or replaced by another cluster.
//!
//! The protocol rests on registers that only go forward. After a restore, an instance that still knows the newer ring would
//! keep to it, while others act on the older one that is in etcd. So nothing is answered any more, and every instance stops
//! acting when its renewal is too old.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::EtcdError;
use crate::wire::ResponseHeader;

/// What was seen of etcd so far.
#[derive(Debug, Default)]
pub(crate) struct History(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    cluster: Option<u64>,
    /// The greatest revision that a linearizable answer had.
    revision: i64,
    problem: Option<String>,
}

impl History {
    /// The revision that a linearizable answer must have at least, if it is asked for now.
    pub(crate) fn revision(&self) -> Result<i64, EtcdError> {
        let state = self.state();
        match &state.problem {
            None => Ok(state.revision),
            Some(problem) => Err(EtcdError::OtherHistory { problem: problem.clone() }),
        }
    }

    /// Checks where an answer comes from.
    pub(crate) fn check_cluster(&self, header: Option<&ResponseHeader>) -> Result<(), EtcdError> {
        let Some(header) = header else {
            return Err(EtcdError::Answer { problem: "an answer without a header".to_owned() });
        };
        let mut state = self.state();
        let known = *state.cluster.get_or_insert(header.cluster_id);
        if known != header.cluster_id {
            let problem = format!("it was cluster {known:x}, and is cluster {:x}", header.cluster_id);
            state.problem = Some(problem.clone());
            return Err(EtcdError::OtherHistory { problem });
        }
        Ok(())
    }

    /// Checks a linearizable answer to a question that was asked when this revision was known.
    pub(crate) fn check(&self, known: i64, header: Option<&ResponseHeader>) -> Result<(), EtcdError> {
        self.check_cluster(header)?;
        let revision = header.map_or(0, |header| header.revision);
        let mut state = self.state();
        if revision < known {
            let problem = format!("it was at revision {known}, and is at revision {revision}");
            state.problem = Some(problem.clone());
            return Err(EtcdError::OtherHistory { problem });
        }
        state.revision = state.revision.max(revision);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(cluster_id: u64, revision: i64) -> ResponseHeader {
        ResponseHeader { cluster_id, revision, ..ResponseHeader::default() }
    }

    #[test]
    fn revisions_go_forward() {
        let history = History::default();
        history.check(0, Some(&header(7, 5))).unwrap();
        // It was asked before the last answer came.
        history.check(0, Some(&header(7, 4))).unwrap();
        assert_eq!(history.revision(), Ok(5));
        let error = history.check(5, Some(&header(7, 3))).unwrap_err().to_string();
        assert!(error.contains("it was at revision 5, and is at revision 3"), "{error}");
        // Nothing is believed any more, although the next answer would do.
        assert!(history.revision().is_err());
    }

    #[test]
    fn another_cluster_is_noticed() {
        let history = History::default();
        history.check_cluster(Some(&header(7, 5))).unwrap();
        assert!(history.check(0, Some(&header(8, 9))).is_err());
        assert!(history.revision().is_err());
        assert!(History::default().check(0, None).is_err());
    }
}
