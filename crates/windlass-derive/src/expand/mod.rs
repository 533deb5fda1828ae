//! From the enum to its implementation of `States`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::spanned::Spanned;
use syn::{Data, DataEnum, DeriveInput};

use crate::attribute::{Condition, State, refuse_misplaced};
use crate::errors::Errors;
use crate::graph::Graph;

/// The implementation, or the errors together with an empty implementation.
pub(crate) fn expand_or_explain(input: &DeriveInput) -> TokenStream {
    expand(input).unwrap_or_else(|error| {
        let errors = error.into_compile_error();
        let stand_in = stand_in(input);
        quote! { #errors #stand_in }
    })
}

/// The implementation, or all mistakes in the enum.
pub(crate) fn expand(input: &DeriveInput) -> syn::Result<TokenStream> {
    let data = enum_of(input)?;
    let mut errors = Errors::default();
    if !input.generics.params.is_empty() {
        errors.at(
            input.generics.span(),
            format!(
                "`{}` is generic, and the states of a machine are one type: name the types in its variants",
                input.ident
            ),
        );
    }
    refuse_misplaced(input.attrs.iter(), &mut errors);
    let states: Vec<State> = data.variants.iter().map(|variant| State::read(variant, &mut errors)).collect();
    let graph = Graph::check(&input.ident, &states, &mut errors);
    let implementation = implementation(input, &states, &graph);
    errors.finish(implementation)
}

fn enum_of(input: &DeriveInput) -> syn::Result<&DataEnum> {
    let name = &input.ident;
    match &input.data {
        Data::Enum(data) if data.variants.is_empty() => Err(syn::Error::new(
            name.span(),
            format!(
                "`{name}` has no states: add a variant with `#[state(initial)]` for the first step of the reconcile"
            ),
        )),
        Data::Enum(data) => Ok(data),
        Data::Struct(_) | Data::Union(_) => Err(syn::Error::new(
            name.span(),
            format!(
                "`{name}` is not an enum: `States` is derived for an enum with a variant for each step of the reconcile"
            ),
        )),
    }
}

fn implementation(input: &DeriveInput, states: &[State], graph: &Graph) -> TokenStream {
    let name = &input.ident;
    let infos = states.iter().zip(graph.next()).map(|(state, next)| state_info(state, &next));
    let initial = states.iter().find(|state| state.initial.is_some()).map(|state| &state.ident);
    let variants = states.iter().map(|state| &state.ident);
    let indexes = 0..states.len();
    quote! {
        #[automatically_derived]
        impl ::windlass::States for #name {
            const GRAPH: &'static [::windlass::StateInfo] = &[#(#infos),*];

            fn initial() -> Self {
                Self::#initial
            }

            fn index(&self) -> usize {
                match self {
                    #(Self::#variants { .. } => #indexes,)*
                }
            }
        }
    }
}

fn state_info(state: &State, next: &[usize]) -> TokenStream {
    let name = state.name();
    let initial = state.initial.is_some();
    let condition = match &state.condition {
        Some(Condition { kind, when_true, when_false }) => {
            let kind = kind.value();
            quote! {
                ::core::option::Option::Some(::windlass::ConditionInfo {
                    kind: #kind,
                    when_true: #when_true,
                    when_false: #when_false,
                })
            }
        }
        None => quote! { ::core::option::Option::None },
    };
    quote! {
        ::windlass::StateInfo { name: #name, condition: #condition, next: &[#(#next),*], initial: #initial }
    }
}

/// An empty implementation, so that the compiler does not also complain wherever the enum is used.
fn stand_in(input: &DeriveInput) -> TokenStream {
    let name = &input.ident;
    // The states of a generic type cannot be named, and its parameters may not be `'static`.
    if !input.generics.params.is_empty() {
        return TokenStream::new();
    }
    quote! {
        #[automatically_derived]
        impl ::windlass::States for #name {
            const GRAPH: &'static [::windlass::StateInfo] = &[];

            fn initial() -> Self {
                ::core::unreachable!()
            }

            fn index(&self) -> usize {
                ::core::unreachable!()
            }
        }
    }
}

#[cfg(test)]
mod tests;
