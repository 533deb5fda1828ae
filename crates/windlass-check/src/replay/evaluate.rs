//! Whether a repeated run reproduces the violation.

use super::ends::{End, end};
use super::{Replayed, Walk};
use crate::engine::{Model, Property, PropertyKind};
use crate::trace::{BrokenRule, RuleKind};

impl<M: Model> Walk<M> {
    /// Evaluates a run that was walked to its end, whose `end`th state is the one before anything repeats.
    pub(super) fn evaluate(&mut self, violation: &BrokenRule, end: usize) -> Replayed {
        let property = violation.property.as_deref().unwrap_or_default();
        match violation.kind {
            RuleKind::Step => self.evaluate_step(),
            RuleKind::Always => match self.property(PropertyKind::Always, property) {
                Ok(property) => self.evaluate_always(&property),
                Err(undecided) => undecided,
            },
            RuleKind::Sometimes => match self.property(PropertyKind::Sometimes, property) {
                Ok(property) => self.evaluate_sometimes(&property),
                Err(undecided) => undecided,
            },
            RuleKind::Eventually => match self.property(PropertyKind::Eventually, property) {
                Ok(property) => self.evaluate_eventually(&property, end),
                Err(undecided) => undecided,
            },
            RuleKind::End => self.evaluate_end(end),
        }
    }

    /// The property that was recorded, which may be there no more.
    fn property(&self, kind: PropertyKind, name: &str) -> Result<Property<M>, Replayed> {
        let mut properties = self.model.properties();
        properties.retain(|property| property.kind == kind);
        let known: Vec<String> = properties.iter().map(|property| format!("{:?}", property.name)).collect();
        properties.into_iter().find(|property| property.name == name).ok_or_else(|| {
            let kind = format!("{kind:?}").to_lowercase();
            let others =
                if known.is_empty() { "none".to_owned() } else { format!("only {}", known.join(", ")) };
            undecided(format!("the check has no property {kind} {name:?} any more, {others}"))
        })
    }

    fn evaluate_step(&mut self) -> Replayed {
        match self.violation.take() {
            Some(message) => reproduced(message),
            None => not_reproduced("the last step does nothing wrong now".to_owned()),
        }
    }

    fn evaluate_always(&mut self, property: &Property<M>) -> Replayed {
        let states = self.states.clone();
        let broken = states.iter().position(|state| !(property.holds)(&mut self.model, state));
        match broken {
            Some(step) => reproduced(format!("always {:?} does not hold {}", property.name, after(step))),
            None => not_reproduced(format!("always {:?} holds after every step", property.name)),
        }
    }

    fn evaluate_sometimes(&mut self, property: &Property<M>) -> Replayed {
        let states = self.states.clone();
        let seen = states.iter().position(|state| (property.holds)(&mut self.model, state));
        match seen {
            Some(step) => not_reproduced(format!("sometimes {:?} is true {}", property.name, after(step))),
            None => undecided(format!(
                "sometimes {:?} is not true in this run, and no single run can show that it never is",
                property.name
            )),
        }
    }

    /// A fair run stays among these states for ever, and visits all of them: the property must hold in each.
    fn evaluate_eventually(&mut self, property: &Property<M>, end: usize) -> Replayed {
        let stays = match self.stays(end) {
            Ok(stays) => stays,
            Err(replayed) => return replayed,
        };
        if stays.iter().all(|state| (property.holds)(&mut self.model, state)) {
            return not_reproduced(format!(
                "eventually {:?} holds, and stays, {}",
                property.name,
                after(end)
            ));
        }
        let for_ever =
            if stays.len() == 1 { "and nothing more happens" } else { "and the same repeats for ever" };
        reproduced(format!("eventually {:?} does not come true {}, {for_ever}", property.name, after(end)))
    }

    fn evaluate_end(&mut self, end: usize) -> Replayed {
        let stays = match self.stays(end) {
            Ok(stays) => stays,
            Err(replayed) => return replayed,
        };
        match self.model.evaluate_end(&mut stays.into_iter()) {
            Some((_, message)) => reproduced(format!("{message} {}", after(end))),
            // An end may also be a violation because it is another one than that of other runs.
            None => undecided(format!(
                "nothing is wrong with the end {} by itself; only the whole check can compare it with others",
                after(end)
            )),
        }
    }

    /// The states in which fair runs stay that have come to the end.
    fn stays(&mut self, end_index: usize) -> Result<Vec<M::State>, Replayed> {
        let state = self.states[end_index].clone();
        match end(&mut self.model, &state) {
            End::Stays(states) => Ok(states),
            End::Leaves => {
                Err(not_reproduced(format!("{}, things go on to an end elsewhere", after(end_index))))
            }
            // The loop alone is no proof: a fair run may leave it.
            End::TooMany => {
                Err(undecided(format!("{}, too much can happen to follow all of it", after(end_index))))
            }
        }
    }
}

fn after(step: usize) -> String {
    if step == 0 { "in the first state".to_owned() } else { format!("after step {step}") }
}

fn reproduced(message: String) -> Replayed {
    Replayed::Reproduced { message }
}

fn not_reproduced(message: String) -> Replayed {
    Replayed::NotReproduced { message }
}

fn undecided(message: String) -> Replayed {
    Replayed::Undecided { message }
}
