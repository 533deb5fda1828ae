//! Whether a repeated run shows what was wrong.

use super::ends::{End, end};
use super::{Replayed, Walk};
use crate::engine::{Model, Property, PropertyKind};
use crate::trace::{Wrong, WrongKind};

impl<M: Model> Walk<M> {
    /// Judges a run that was walked to its end, whose `end`th state is the one before anything repeats.
    pub(super) fn judge(&mut self, violation: &Wrong, end: usize) -> Replayed {
        let property = violation.property.as_deref().unwrap_or_default();
        match violation.kind {
            WrongKind::Step => self.judge_step(),
            WrongKind::Always => match self.property(PropertyKind::Always, property) {
                Ok(property) => self.judge_always(&property),
                Err(undecided) => undecided,
            },
            WrongKind::Sometimes => match self.property(PropertyKind::Sometimes, property) {
                Ok(property) => self.judge_sometimes(&property),
                Err(undecided) => undecided,
            },
            WrongKind::Eventually => match self.property(PropertyKind::Eventually, property) {
                Ok(property) => self.judge_eventually(&property, end),
                Err(undecided) => undecided,
            },
            WrongKind::End => self.judge_end(end),
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

    fn judge_step(&mut self) -> Replayed {
        match self.wrong.take() {
            Some(message) => still_wrong(message),
            None => no_longer_wrong("the last step does nothing wrong now".to_owned()),
        }
    }

    fn judge_always(&mut self, property: &Property<M>) -> Replayed {
        let states = self.states.clone();
        let broken = states.iter().position(|state| !(property.holds)(&mut self.model, state));
        match broken {
            Some(step) => still_wrong(format!("always {:?} does not hold {}", property.name, after(step))),
            None => no_longer_wrong(format!("always {:?} holds after every step", property.name)),
        }
    }

    fn judge_sometimes(&mut self, property: &Property<M>) -> Replayed {
        let states = self.states.clone();
        let seen = states.iter().position(|state| (property.holds)(&mut self.model, state));
        match seen {
            Some(step) => no_longer_wrong(format!("sometimes {:?} is true {}", property.name, after(step))),
            None => undecided(format!(
                "sometimes {:?} is not true in this run, and no single run can show that it never is",
                property.name
            )),
        }
    }

    /// A fair run stays among these states for ever, and visits all of them: the property must hold in each.
    fn judge_eventually(&mut self, property: &Property<M>, end: usize) -> Replayed {
        let stays = match self.stays(end) {
            Ok(stays) => stays,
            Err(replayed) => return replayed,
        };
        if stays.iter().all(|state| (property.holds)(&mut self.model, state)) {
            return no_longer_wrong(format!(
                "eventually {:?} holds, and stays, {}",
                property.name,
                after(end)
            ));
        }
        let for_ever =
            if stays.len() == 1 { "and nothing more happens" } else { "and the same repeats for ever" };
        still_wrong(format!("eventually {:?} does not come true {}, {for_ever}", property.name, after(end)))
    }

    fn judge_end(&mut self, end: usize) -> Replayed {
        let stays = match self.stays(end) {
            Ok(stays) => stays,
            Err(replayed) => return replayed,
        };
        match self.model.judge_end(&mut stays.into_iter()) {
            Some((_, message)) => still_wrong(format!("{message} {}", after(end))),
            // An end may also be wrong because it is another one than that of other runs.
            None => undecided(format!(
                "nothing is wrong with the end {} by itself; only the whole check can compare it with others",
                after(end)
            )),
        }
    }

    /// The states in which fair runs stay that have come to the end.
    fn stays(&mut self, place: usize) -> Result<Vec<M::State>, Replayed> {
        let state = self.states[place].clone();
        match end(&mut self.model, &state) {
            End::Stays(states) => Ok(states),
            End::Leaves => {
                Err(no_longer_wrong(format!("{}, things go on to an end elsewhere", after(place))))
            }
            // The loop alone is no proof: a fair run may leave it.
            End::TooMany => {
                Err(undecided(format!("{}, too much can happen to follow all of it", after(place))))
            }
        }
    }
}

fn after(step: usize) -> String {
    if step == 0 { "in the first state".to_owned() } else { format!("after step {step}") }
}

fn still_wrong(message: String) -> Replayed {
    Replayed::StillWrong { message }
}

fn no_longer_wrong(message: String) -> Replayed {
    Replayed::NoLongerWrong { message }
}

fn undecided(message: String) -> Replayed {
    Replayed::Undecided { message }
}
