//! A differential test of the checker itself: random small worlds, drawn from seeds, are explored with all reductions,
//! with none, and by a naive explorer that shares no code with the checker. The verdicts must agree, always, and so
//! must all that properties can see: states, steps, and where fair runs stay for ever.
//!
//! `WINDLASS_DIFFERENTIAL=10000` compares so many worlds instead of 300, and `WINDLASS_SEED` is the seed of the first;
//! `WINDLASS_DIFFERENTIAL=1` with the seed of a disagreement shows it again.

mod checked;
mod compare;
mod draw_program;
mod generate;
mod machine;
mod naive;
mod program;
mod random;
mod record;
mod visible;
mod world;

use compare::{Compared, Depth, compare};

/// How many worlds are compared by default, and how: as much as a test run has time for.
const WORLDS: u64 = 300;
const QUICK: Depth = Depth { most_states: 1_500, all_rules: false };
/// How worlds are compared on demand.
const THOROUGH: Depth = Depth { most_states: 4_000, all_rules: true };

#[test]
fn reductions_and_a_naive_explorer_agree() {
    let wanted = number("WINDLASS_DIFFERENTIAL");
    let (worlds, depth) = (wanted.unwrap_or(WORLDS), if wanted.is_some() { THOROUGH } else { QUICK });
    let first = number("WINDLASS_SEED").unwrap_or(1);
    let mut tally = Tally::default();
    for seed in first.. {
        if tally.compared() >= worlds {
            break;
        }
        let world = generate::world(seed);
        match compare(&world, depth) {
            Compared::Agree(agreement) => {
                tally.holding += u64::from(agreement.violated == 0);
                tally.violated += u64::from(agreement.violated > 0);
                tally.by_verdict_only += u64::from(agreement.has_bug);
                for (sum, states) in tally.states.iter_mut().zip(agreement.states) {
                    *sum += states;
                }
            }
            Compared::TooLarge => tally.skipped += 1,
            Compared::Disagree(words) => {
                println!("seed {seed}: the explorers disagree\n{words}\n{}", again(seed));
                tally.disagreeing.push(seed);
            }
        }
    }
    println!("{tally:?}");
    assert!(tally.disagreeing.is_empty(), "the explorers disagree for these seeds: {:?}", tally.disagreeing);
    assert!(
        4 * tally.skipped <= tally.compared().max(40),
        "{} worlds were too large to be compared, beside {} that were: more than one in five",
        tally.skipped,
        tally.compared()
    );
}

/// What was compared.
#[derive(Debug, Default)]
struct Tally {
    holding: u64,
    violated: u64,
    /// Compared by verdict only, because code has a bug.
    by_verdict_only: u64,
    /// Too large to be compared.
    skipped: u64,
    disagreeing: Vec<u64>,
    /// States that were visited naively, with no reductions and with all.
    states: [usize; 3],
}

impl Tally {
    fn compared(&self) -> u64 {
        self.holding + self.violated + self.disagreeing.len() as u64
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// The command that shows a disagreement again.
fn again(seed: u64) -> String {
    format!(
        "again: WINDLASS_DIFFERENTIAL=1 WINDLASS_SEED={seed} cargo test -p windlass-check --test differential -- --nocapture"
    )
}
