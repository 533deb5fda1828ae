//! Which reconciles a change triggers, by the watches that each process has declared.

use serde_json::Value;
use windlass::Trigger;
use windlass_model::{Change, Key, Store};

use super::Parts;
use crate::ids::{ClusterId, JobId, JobSetId, MarksId};
use crate::index::ProcessIndex;
use crate::steps::Job;
use crate::world::canonical::other_numbers;

impl Parts {
    pub(super) fn marks_of(&mut self, changes: &[Change]) -> MarksId {
        let sets = ProcessIndex::all(self.setup.processes.len())
            .map(|process| self.jobs_for(process, changes))
            .collect();
        self.marks.id(sets)
    }

    /// The number of the set of jobs that some changes concern.
    fn jobs_for(&mut self, process: ProcessIndex, changes: &[Change]) -> JobSetId {
        let mut jobs = Vec::new();
        for Change { key, before, after, .. } in changes {
            jobs.extend(self.jobs_of(process, key, before.as_deref(), after.as_deref()));
        }
        self.job_set(jobs)
    }

    fn job_set(&mut self, mut jobs: Vec<JobId>) -> JobSetId {
        jobs.sort_unstable();
        jobs.dedup();
        self.job_sets.id(jobs)
    }

    pub(super) fn jobs_of(
        &mut self,
        process: ProcessIndex,
        key: &Key,
        before: Option<&Value>,
        after: Option<&Value>,
    ) -> Vec<JobId> {
        let declaration = self.setup.processes[process.index()].declaration();
        let creates_missing = declaration.creates_missing();
        let triggers = declaration.triggers(key, before, after);
        if self.tries_other_numbers() {
            let other =
                |found: Option<&Value>| found.map(|found| other_numbers::with_other_numbers(key, found));
            if declaration.triggers(key, other(before).as_ref(), other(after).as_ref()) != triggers {
                let name = self.setup.processes[process.index()].name();
                let what =
                    format!("which parents controller `{name}` reconciles after a change of {}", key.plural);
                self.note_dependence(&what);
            }
        }
        let job = |trigger: Trigger| Job {
            controller: process,
            target: trigger.parent,
            create_missing: creates_missing && trigger.cause.creates_missing(),
        };
        triggers.into_iter().map(|trigger| self.jobs.id(job(trigger))).collect()
    }

    /// The jobs of a controller that starts to watch: one for everything that concerns it.
    pub(crate) fn relist(&mut self, cluster: ClusterId, process: ProcessIndex) -> JobSetId {
        let cluster = self.database.cluster(cluster).clone();
        let mut jobs = Vec::new();
        for (key, found) in cluster.store().all() {
            jobs.extend(self.jobs_of(process, &key, None, Some(&found)));
        }
        self.job_set(jobs)
    }
}
