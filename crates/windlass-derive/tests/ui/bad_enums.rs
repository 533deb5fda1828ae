//! Enums that must not compile. A comment that starts with a tilde is part of a message about the line below.

use windlass_derive::States;

#[derive(States)]
//~ `NoStart` has no initial state
enum NoStart {
    A,
}

#[derive(States)]
enum Cycle {
    #[state(initial, next(Second))]
    First,
    #[state(next(Third))]
    Second,
    //~ First -> Second -> Third -> First
    #[state(next(First))]
    Third,
}

#[derive(States)]
enum ManyMistakes {
    //~ `Ready` is written by Windlass
    //~ did you mean `Second`?
    #[state(initial, condition = "Ready", next(Secnd))]
    //~ `First` is the initial state, which carries no data
    First { token: String },
    #[state(
        //~ unknown key `retries`
        retries = 3,
        //~ `when_true` is the message of a condition
        when_true = "done",
    )]
    Second,
}

#[derive(States)]
enum Unreachable {
    #[state(initial)]
    A,
    //~ `B` cannot be reached
    B(u32),
}

#[derive(States)]
//~ `NotAnEnum` is not an enum
struct NotAnEnum;

#[derive(States)]
//~ is generic
enum Generic<'a> {
    #[state(initial, next(B))]
    A,
    B(&'a str),
}

/// A broken enum is still a `States`: no complaint here.
fn uses() -> [usize; 2] {
    fn states_of<S: super::States>() -> usize {
        S::GRAPH.len()
    }
    [states_of::<Cycle>(), states_of::<ManyMistakes>()]
}
