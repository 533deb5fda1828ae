//! Mistakes found so far, so that all of them are shown at once.

use std::fmt::Display;

use proc_macro2::Span;

/// Collects errors; the last step is [`Errors::finish`].
#[derive(Default)]
pub(crate) struct Errors(Option<syn::Error>);

impl Errors {
    /// Adds a mistake with its span.
    pub(crate) fn at(&mut self, span: Span, message: impl Display) {
        self.add(syn::Error::new(span, message));
    }

    /// Adds an error that is made already.
    pub(crate) fn add(&mut self, error: syn::Error) {
        match &mut self.0 {
            Some(all) => all.combine(error),
            None => self.0 = Some(error),
        }
    }

    /// The value, if there were no mistakes.
    pub(crate) fn finish<T>(self, value: T) -> syn::Result<T> {
        match self.0 {
            Some(error) => Err(error),
            None => Ok(value),
        }
    }
}
