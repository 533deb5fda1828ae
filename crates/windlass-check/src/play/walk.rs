//! Runs as schedules: random ones, and those that traces record.

use crate::check::Check;
use crate::engine::Random;
use crate::trace::Trace;

use super::Schedule;
use super::recorder::Recorder;

/// Percentage of steps that are faults, where both are possible.
const FAULTS_IN_HUNDRED: usize = 20;

impl Check {
    /// A random run of at most `steps` steps; fewer if nothing more happens. Faults strike in the first half only, so
    /// that most runs come to rest. The same seed gives the same run.
    pub fn random_schedule(&self, seed: u64, steps: usize) -> Schedule {
        self.with_sound_reductions(|subject| {
            let mut subject = subject.clone();
            let mut recorder = Recorder::new(&mut subject);
            let mut random = Random::new(seed);
            for step in 0..steps {
                let moves = recorder.moves();
                let (faults, others): (Vec<_>, Vec<_>) =
                    moves.into_iter().partition(|next| next.action.fault().is_some());
                let strikes = step < steps / 2
                    && !faults.is_empty()
                    && (others.is_empty() || random.below(100) < FAULTS_IN_HUNDRED);
                let choices = if strikes { faults } else { others };
                if choices.is_empty() {
                    break;
                }
                recorder.take(&choices[random.below(choices.len())]);
            }
            recorder.finish()
        })
    }

    /// The run of a trace of this check; `None` if it is not one of this check.
    pub fn schedule_of(&self, trace: &Trace) -> Option<Schedule> {
        self.with_sound_reductions(|subject| {
            let mut subject = subject.clone();
            let mut recorder = Recorder::new(&mut subject);
            for step in &trace.steps {
                let moves = recorder.moves();
                let next = moves.iter().find(|next| recorder.name(next) == step.action)?;
                recorder.take(next);
            }
            Some(recorder.finish())
        })
    }
}
