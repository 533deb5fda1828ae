//! What was compared so far, and how long the rest will take.

use std::fmt;
use std::time::{Duration, Instant};

use crate::compare::Compared;

/// How often a line says how far it is.
const PROGRESS_EVERY: Duration = Duration::from_secs(15);

/// What was compared.
pub(crate) struct Tally {
    wanted: u64,
    holding: u64,
    violated: u64,
    /// Compared by verdict only, because code has a bug.
    by_verdict_only: u64,
    /// Too large to be compared.
    pub(crate) skipped: u64,
    pub(crate) disagreeing: Vec<u64>,
    /// States that were visited naively, with no reductions and with all.
    states: [usize; 3],
    start: Instant,
    /// When a line last said how far it is; `None` if none is wanted.
    last_line: Option<Instant>,
}

impl Tally {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long the comparison takes is no part of what is compared"
    )]
    pub(crate) fn new(wanted: u64, shows_progress: bool) -> Self {
        let start = Instant::now();
        Tally {
            wanted,
            holding: 0,
            violated: 0,
            by_verdict_only: 0,
            skipped: 0,
            disagreeing: Vec::new(),
            states: [0; 3],
            start,
            last_line: shows_progress.then_some(start),
        }
    }

    pub(crate) fn add(&mut self, seed: u64, compared: Compared) {
        match compared {
            Compared::Agree(agreement) => {
                self.holding += u64::from(agreement.violated == 0);
                self.violated += u64::from(agreement.violated > 0);
                self.by_verdict_only += u64::from(agreement.has_bug);
                for (sum, states) in self.states.iter_mut().zip(agreement.states) {
                    *sum += states;
                }
            }
            Compared::TooLarge => self.skipped += 1,
            Compared::Disagree(_) => self.disagreeing.push(seed),
        }
        self.show_progress();
    }

    pub(crate) fn compared(&self) -> u64 {
        self.holding + self.violated + self.disagreeing.len() as u64
    }

    pub(crate) fn is_full(&self) -> bool {
        self.compared() >= self.wanted
    }

    fn show_progress(&mut self) {
        let Some(last) = self.last_line.filter(|last| last.elapsed() >= PROGRESS_EVERY) else { return };
        self.last_line = Some(last + last.elapsed());
        let seconds = self.start.elapsed().as_secs_f64();
        let rate = self.compared() as f64 / seconds;
        let left = (self.wanted.saturating_sub(self.compared())) as f64 / rate.max(0.01);
        println!(
            "{} of {} worlds compared, {} too large, {} disagree, {rate:.1} per second, {:.0} s left",
            self.compared(),
            self.wanted,
            self.skipped,
            self.disagreeing.len(),
            left
        );
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [naive, plain, reduced] = self.states;
        write!(
            f,
            "{} worlds compared in {:.1} s: in {} all rules hold, in {} some are violated ({} by verdict only), {} disagree; \
             {} were too large; states: {naive} naively, {plain} with no reductions, {reduced} with all",
            self.compared(),
            self.start.elapsed().as_secs_f64(),
            self.holding,
            self.violated,
            self.by_verdict_only,
            self.disagreeing.len(),
            self.skipped
        )
    }
}
