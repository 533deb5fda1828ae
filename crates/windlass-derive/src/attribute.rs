//! What `#[state(...)]` on a variant says.

use proc_macro2::Span;
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::meta::ParseNestedMeta;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Fields, Ident, LitStr, Path, Token, Variant};

use crate::condition;
use crate::errors::Errors;
use crate::nearest::suggestion;

const KEYS: [&str; 5] = ["initial", "condition", "when_true", "when_false", "next"];

/// One variant with its attribute, not yet compared with the other variants.
pub(crate) struct State {
    /// The variant.
    pub(crate) ident: Ident,
    /// The span of `initial`, if it is the initial state.
    pub(crate) initial: Option<Span>,
    /// Its condition, if it has one.
    pub(crate) condition: Option<Condition>,
    /// The states that may follow, as written.
    pub(crate) next: Vec<Ident>,
    /// Part of the attribute made no sense, and may have been meant to say `initial` or `next`.
    pub(crate) half_read: bool,
}

/// The status condition of a state.
pub(crate) struct Condition {
    /// Its type.
    pub(crate) kind: LitStr,
    /// Its message once the state is done.
    pub(crate) when_true: String,
    /// Its message until then.
    pub(crate) when_false: String,
}

/// The keys of an attribute, as written.
#[derive(Default)]
struct Keys {
    initial: Option<Span>,
    condition: Option<LitStr>,
    when_true: Option<LitStr>,
    when_false: Option<LitStr>,
    next: Vec<Ident>,
    seen: Vec<String>,
    half_read: bool,
}

impl State {
    /// Reads a variant. Mistakes go to `errors`, the rest is kept.
    pub(crate) fn read(variant: &Variant, errors: &mut Errors) -> Self {
        let ident = variant.ident.clone();
        let mut keys = Keys::default();
        let mut attributes = variant.attrs.iter().filter(|attribute| is_state(attribute));
        if let Some(attribute) = attributes.next() {
            keys.read(attribute, errors);
        }
        for second in attributes {
            keys.half_read = true;
            errors.at(
                second.span(),
                format!("`{ident}` has a second `#[state]`: write all of its keys in one attribute"),
            );
        }
        if keys.initial.is_some() && !matches!(variant.fields, Fields::Unit) {
            errors.at(
                variant.fields.span(),
                format!("`{ident}` is the initial state, which carries no data: a reconcile starts with nothing, so read it in the state"),
            );
        }
        refuse_misplaced(variant.fields.iter().flat_map(|field| &field.attrs), errors);
        let condition = keys.take_condition(&ident, errors);
        State { ident, initial: keys.initial, condition, next: keys.next, half_read: keys.half_read }
    }

    /// The variant's name, as it appears in graphs and messages.
    pub(crate) fn name(&self) -> String {
        self.ident.unraw().to_string()
    }
}

/// Refuses `#[state]` where the derive would not look for it.
pub(crate) fn refuse_misplaced<'a>(attributes: impl Iterator<Item = &'a Attribute>, errors: &mut Errors) {
    for attribute in attributes.filter(|attribute| is_state(attribute)) {
        errors.at(attribute.span(), "`#[state]` means nothing here: write it on a variant of the enum");
    }
}

fn is_state(attribute: &Attribute) -> bool {
    attribute.path().is_ident("state")
}

impl Keys {
    fn read(&mut self, attribute: &Attribute, errors: &mut Errors) {
        // Only broken syntax ends the reading; other mistakes are recorded and skipped.
        if let Err(error) = attribute.parse_nested_meta(|meta| self.read_key(&meta, errors)) {
            self.half_read = true;
            errors.add(error);
        }
    }

    fn read_key(&mut self, meta: &ParseNestedMeta, errors: &mut Errors) -> syn::Result<()> {
        let key = meta.path.to_token_stream().to_string();
        if self.seen.contains(&key) {
            self.half_read |= key == "next";
            errors.at(meta.path.span(), format!("`{key}` is given twice: keep one of them"));
            return skip_value(meta);
        }
        match key.as_str() {
            "initial" => {
                self.initial = Some(meta.path.span());
                if meta.input.peek(Token![=]) || meta.input.peek(syn::token::Paren) {
                    errors.at(meta.path.span(), "`initial` takes no value: write `#[state(initial)]`");
                }
                skip_value(meta)?;
            }
            "condition" => self.condition = string(meta, &key, errors)?,
            "when_true" => self.when_true = string(meta, &key, errors)?,
            "when_false" => self.when_false = string(meta, &key, errors)?,
            "next" => self.read_next(meta, errors)?,
            _ => {
                self.half_read = true;
                let help = suggestion(&key, &KEYS.map(str::to_owned), "keys");
                errors.at(meta.path.span(), format!("unknown key `{key}`: {help}"));
                return skip_value(meta);
            }
        }
        self.seen.push(key);
        Ok(())
    }

    /// Reads `(First, Second)`. What is not the name of a variant is noted as an error and left out.
    fn read_next(&mut self, meta: &ParseNestedMeta, errors: &mut Errors) -> syn::Result<()> {
        if !meta.input.peek(syn::token::Paren) {
            self.half_read = true;
            errors
                .at(meta.path.span(), "`next` takes the states that may follow: write `next(Second, Third)`");
            return skip_value(meta);
        }
        let content;
        syn::parenthesized!(content in meta.input);
        for path in Punctuated::<Path, Token![,]>::parse_terminated(&content)? {
            match path.get_ident() {
                Some(name) if self.next.contains(name) => {
                    errors
                        .at(name.span(), format!("`{name}` is already named in this `next`: remove it here"));
                }
                Some(name) => self.next.push(name.clone()),
                None => {
                    self.half_read = true;
                    errors.at(
                        path.span(),
                        "`next` takes names of variants alone: write `Second`, not `Step::Second`",
                    );
                }
            }
        }
        Ok(())
    }

    fn take_condition(&mut self, ident: &Ident, errors: &mut Errors) -> Option<Condition> {
        if !self.seen.iter().any(|key| key == "condition") {
            for (key, message) in [("when_true", &self.when_true), ("when_false", &self.when_false)] {
                if let Some(message) = message {
                    errors.at(
                        message.span(),
                        format!("`{key}` is the message of a condition, and `{ident}` has none: add `condition = \"...\"`, or remove it"),
                    );
                }
            }
        }
        let kind = self.condition.take()?;
        if let Some(refusal) = condition::refusal(&kind.value()) {
            errors.at(kind.span(), refusal);
            return None;
        }
        let when_true =
            self.when_true.take().map_or_else(|| format!("{} is done", ident.unraw()), |text| text.value());
        let when_false = self.when_false.take().map_or_else(String::new, |text| text.value());
        Some(Condition { kind, when_true, when_false })
    }
}

/// Reads `= "text"`. Anything else is noted as an error and passed over.
fn string(meta: &ParseNestedMeta, key: &str, errors: &mut Errors) -> syn::Result<Option<LitStr>> {
    if meta.input.peek(Token![=]) {
        let value: syn::Expr = meta.value()?.parse()?;
        if let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value {
            return Ok(Some(text));
        }
        errors.at(value.span(), format!("`{key}` takes a string: write `{key} = \"...\"`"));
    } else {
        errors.at(meta.path.span(), format!("`{key}` takes a string: write `{key} = \"...\"`"));
        skip_value(meta)?;
    }
    Ok(None)
}

/// Passes over `= value` or `(value)`, so that the keys after it are read as well.
fn skip_value(meta: &ParseNestedMeta) -> syn::Result<()> {
    if meta.input.peek(Token![=]) {
        meta.value()?.parse::<syn::Expr>()?;
    } else if meta.input.peek(syn::token::Paren) {
        let content;
        syn::parenthesized!(content in meta.input);
        content.parse::<proc_macro2::TokenStream>()?;
    }
    Ok(())
}
