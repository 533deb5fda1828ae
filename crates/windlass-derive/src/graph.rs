//! What must hold between the states: one start, no way back, nothing out of reach.

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt;

use crate::attribute::State;
use crate::errors::Errors;
use crate::nearest::suggestion;

/// States by their index in the enum, with the edges between them.
pub(crate) struct Graph<'a> {
    states: &'a [State],
    edges: Vec<Vec<Edge>>,
}

/// One name in a `next(...)`.
struct Edge {
    to: usize,
    written: Span,
}

impl<'a> Graph<'a> {
    /// Finds the states that the `next` of each name, and checks the whole.
    pub(crate) fn check(enumeration: &Ident, states: &'a [State], errors: &mut Errors) -> Self {
        let names: Vec<String> = states.iter().map(State::name).collect();
        let half_read = states.iter().any(|state| state.half_read);
        let edges: Vec<Vec<Edge>> =
            states.iter().map(|state| edges_of(state, enumeration, &names, errors)).collect();
        let edges_are_known =
            !half_read && states.iter().zip(&edges).all(|(state, edges)| state.next.len() == edges.len());
        let graph = Graph { states, edges };
        graph.check_second_initial(errors);
        graph.check_conditions(errors);
        graph.check_cycles(errors);
        // What is missing may stand in the part that made no sense; to report it as well would be noise.
        if !half_read {
            graph.check_has_initial(enumeration, errors);
        }
        if edges_are_known {
            graph.check_reachable(errors);
        }
        graph
    }

    /// The states that may follow each state, by index.
    pub(crate) fn next(&self) -> impl Iterator<Item = Vec<usize>> {
        self.edges.iter().map(|edges| edges.iter().map(|edge| edge.to).collect())
    }

    fn initial(&self) -> impl Iterator<Item = (usize, &State, Span)> {
        self.states.iter().enumerate().filter_map(|(index, state)| Some((index, state, state.initial?)))
    }

    fn check_has_initial(&self, enumeration: &Ident, errors: &mut Errors) {
        if self.initial().next().is_none() {
            errors.at(
                enumeration.span(),
                format!("`{enumeration}` has no initial state: put `#[state(initial)]` on the variant that a reconcile starts with"),
            );
        }
    }

    fn check_second_initial(&self, errors: &mut Errors) {
        let mut initial = self.initial();
        let Some((_, first, _)) = initial.next() else { return };
        for (_, second, span) in initial {
            errors.at(
                span,
                format!(
                    "`{}` is a second initial state, after `{}`: keep `initial` on one of them",
                    second.ident, first.ident
                ),
            );
        }
    }

    fn check_conditions(&self, errors: &mut Errors) {
        let with_condition: Vec<_> =
            self.states.iter().filter_map(|state| Some((state, &state.condition.as_ref()?.kind))).collect();
        for (index, (state, kind)) in with_condition.iter().enumerate() {
            let earlier = with_condition.iter().take(index).find(|(_, other)| other.value() == kind.value());
            if let Some((other, _)) = earlier {
                errors.at(
                    kind.span(),
                    format!(
                        "`{}` and `{}` have the same condition `{}`: each would overwrite the other's, so give this one its own",
                        other.ident,
                        state.ident,
                        kind.value()
                    ),
                );
            }
        }
    }

    /// Follows all edges depth first; one that leads back to the path it came by closes a cycle.
    fn check_cycles(&self, errors: &mut Errors) {
        let mut finished = vec![false; self.states.len()];
        let roots = self.initial().map(|(index, ..)| index).chain(0..self.states.len());
        for root in roots {
            self.follow(root, &mut Vec::new(), &mut finished, errors);
        }
    }

    fn follow(&self, index: usize, path: &mut Vec<usize>, finished: &mut [bool], errors: &mut Errors) {
        if finished.get(index).copied().unwrap_or(true) {
            return;
        }
        path.push(index);
        for edge in self.edges.get(index).into_iter().flatten() {
            match path.iter().position(|earlier| *earlier == edge.to) {
                Some(start) => {
                    let cycle = path.iter().skip(start).chain([&edge.to]).copied();
                    errors.at(edge.written, self.explain_cycle(cycle));
                }
                None => self.follow(edge.to, path, finished, errors),
            }
        }
        path.pop();
        if let Some(done) = finished.get_mut(index) {
            *done = true;
        }
    }

    fn explain_cycle(&self, cycle: impl Iterator<Item = usize>) -> String {
        let names: Vec<String> = cycle.filter_map(|index| self.states.get(index)).map(State::name).collect();
        let what = if names.len() == 2 { "this state follows itself" } else { "these states form a cycle" };
        format!(
            "{what}: {}. A reconcile must come to an end: take one of these states out of a `next`; to try again later, requeue instead",
            names.join(" -> ")
        )
    }

    fn check_reachable(&self, errors: &mut Errors) {
        let mut pending: Vec<usize> = self.initial().map(|(index, ..)| index).collect();
        let Some(initial) = pending.first().and_then(|index| self.states.get(*index)) else {
            return;
        };
        let mut reached = vec![false; self.states.len()];
        while let Some(index) = pending.pop() {
            if reached.get_mut(index).is_some_and(|seen| !std::mem::replace(seen, true)) {
                pending.extend(self.edges.get(index).into_iter().flatten().map(|edge| edge.to));
            }
        }
        for (state, _) in self.states.iter().zip(&reached).filter(|(_, seen)| !**seen) {
            errors.at(
                state.ident.span(),
                format!(
                    "`{}` cannot be reached from the initial state `{}`: name it in the `next(...)` of the state before it, or remove it",
                    state.ident, initial.ident
                ),
            );
        }
    }
}

fn edges_of(state: &State, enumeration: &Ident, names: &[String], errors: &mut Errors) -> Vec<Edge> {
    let mut edges = Vec::new();
    for written in &state.next {
        let wanted = written.unraw().to_string();
        match names.iter().position(|name| *name == wanted) {
            Some(to) => edges.push(Edge { to, written: written.span() }),
            None => {
                let help = suggestion(&wanted, names, "variants");
                errors.at(written.span(), format!("`{enumeration}` has no variant `{wanted}`: {help}"));
            }
        }
    }
    edges
}
