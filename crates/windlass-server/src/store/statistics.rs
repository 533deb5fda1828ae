//! Figures for metrics.

use super::history::HistoryStatistics;

/// What a store holds and has done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Group, plural and number of objects of each resource that has some.
    pub objects: Vec<(String, String, usize)>,
    /// The version of the newest change.
    pub version: u64,
    /// The recent changes.
    pub history: HistoryStatistics,
    /// Older versions that are kept for further pages of lists.
    pub pinned_versions: usize,
    /// Number of commits, each of a batch of writes; 0 in memory.
    pub commits: u64,
    /// Number of commits that failed.
    pub failed_commits: u64,
    /// Number of writes that were evaluated a second time, since what they had read was changed by another write.
    pub evaluated_twice: u64,
    /// The size of the file; 0 in memory.
    pub file_bytes: u64,
}
