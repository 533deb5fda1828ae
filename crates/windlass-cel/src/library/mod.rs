//! The functions that Kubernetes 1.35 offers to expressions, one file per library.

mod authorization;
pub(super) mod convert;
mod format;
pub(super) mod format_string;
mod json_patch;
pub(super) mod lists;
mod network;
mod optional;
mod quantity;
pub(super) mod regex;
mod semver;
mod sets;
pub(super) mod strings;
pub(super) mod time;
mod url;

use std::fmt;
use std::sync::Arc;

use super::budget::Budget;
use super::environment::Scope;
use super::error::EvalError;
use super::value::{List, Text, Value};
use crate::permission::{ResourcePermission, Subject};

/// What a function returns.
pub(super) type Outcome<'a> = Result<Value<'a>, EvalError>;

/// The implementation of a function; a receiver is the first argument.
pub(super) type Native = for<'c, 'a> fn(&mut Arguments<'c, 'a>) -> Outcome<'a>;

/// Functions and the names they go by.
type Table = &'static [(&'static str, Native)];

const TABLES: [Table; 15] = [
    authorization::FUNCTIONS,
    convert::FUNCTIONS,
    format::FUNCTIONS,
    format_string::FUNCTIONS,
    lists::FUNCTIONS,
    json_patch::FUNCTIONS,
    network::FUNCTIONS,
    optional::FUNCTIONS,
    quantity::FUNCTIONS,
    regex::FUNCTIONS,
    semver::FUNCTIONS,
    sets::FUNCTIONS,
    strings::FUNCTIONS,
    time::FUNCTIONS,
    url::FUNCTIONS,
];

/// The function of a name; whether it takes given arguments is for the checker to say.
pub(super) fn find(name: &str) -> Option<Native> {
    let mut functions = TABLES.iter().flat_map(|table| table.iter());
    functions.find(|(known, _)| *known == name).map(|(_, native)| *native)
}

/// Whether only expressions that make patches know a function.
pub(super) fn is_for_patches(name: &str) -> bool {
    json_patch::FUNCTIONS.iter().any(|(known, _)| *known == name)
}

/// The names of all functions.
#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLES.iter().flat_map(|table| table.iter()).map(|(name, _)| *name)
}

/// The arguments of one call, and what it may cost.
pub(super) struct Arguments<'c, 'a> {
    pub(super) values: &'c [Value<'a>],
    pub(super) budget: &'c mut Budget,
    /// The compiled pattern, where it is a literal.
    pub(super) regex: Option<&'c Arc<::regex::Regex>>,
    /// Who decides about permissions, where the expression may ask.
    pub(super) scope: Option<&'c dyn Scope<'a>>,
}

impl<'a> Arguments<'_, 'a> {
    fn get(&self, index: usize) -> Result<&Value<'a>, EvalError> {
        self.values.get(index).ok_or_else(EvalError::no_overload)
    }

    fn has(&self, index: usize) -> bool {
        index < self.values.len()
    }

    fn text(&self, index: usize) -> Result<Text<'a>, EvalError> {
        match self.get(index)? {
            Value::String(text) => Ok(text.clone()),
            _ => Err(EvalError::no_overload()),
        }
    }

    fn int(&self, index: usize) -> Result<i64, EvalError> {
        self.get(index)?.as_int().ok_or_else(EvalError::no_overload)
    }

    fn list(&self, index: usize) -> Result<List<'a>, EvalError> {
        match self.get(index)? {
            Value::List(list) => Ok(list.clone()),
            _ => Err(EvalError::no_overload()),
        }
    }

    fn opaque(&self, index: usize) -> Result<Arc<Opaque>, EvalError> {
        match self.get(index)? {
            Value::Opaque(opaque) => Ok(opaque.clone()),
            _ => Err(EvalError::no_overload()),
        }
    }

    /// Charges for walking the given argument once.
    fn charge_walk(&mut self, index: usize) -> Result<(), EvalError> {
        let size = self.get(index)?.size();
        self.budget.charge_traversal(size)
    }

    /// Text made by the function; its bytes are counted.
    fn made(&mut self, text: String) -> Outcome<'a> {
        self.budget.work(text.len())?;
        Ok(Value::text(text))
    }
}

/// A value of a Kubernetes library.
#[derive(Debug)]
pub enum Opaque {
    /// An amount with a suffix.
    Quantity(quantity::Quantity),
    /// An IP address.
    Ip(std::net::IpAddr),
    /// An IP network.
    Cidr(network::Cidr),
    /// A URL.
    Url(url::Url),
    /// A semantic version.
    Semver(semver::Semver),
    /// A named format.
    Format(&'static format::NamedFormat),
    /// A step of asking for a permission.
    Authorization(authorization::Inquiry),
}

impl Opaque {
    /// The `authorizer` of a policy: whoever made the request.
    pub fn authorizer() -> Self {
        Opaque::Authorization(authorization::Inquiry::of(Subject::Requester))
    }

    /// The `authorizer.requestResource` of a policy: what the request itself is about.
    pub fn request_resource(wanted: ResourcePermission) -> Self {
        Opaque::Authorization(authorization::Inquiry::about(Subject::Requester, wanted))
    }
}

impl Opaque {
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Opaque::Quantity(_) => "kubernetes.Quantity",
            Opaque::Ip(_) => "net.IP",
            Opaque::Cidr(_) => "net.CIDR",
            Opaque::Url(_) => "kubernetes.URL",
            Opaque::Semver(_) => "kubernetes.Semver",
            Opaque::Format(_) => "kubernetes.NamedFormat",
            Opaque::Authorization(inquiry) => inquiry.type_name(),
        }
    }

    pub(super) fn size(&self) -> u64 {
        match self {
            Opaque::Ip(std::net::IpAddr::V4(_)) => 4,
            Opaque::Ip(std::net::IpAddr::V6(_)) => 16,
            Opaque::Cidr(cidr) => u64::from(cidr.bits).div_ceil(8),
            _ => 1,
        }
    }
}

impl PartialEq for Opaque {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Opaque::Quantity(a), Opaque::Quantity(b)) => a.compare(b).is_eq(),
            (Opaque::Ip(a), Opaque::Ip(b)) => a == b,
            (Opaque::Cidr(a), Opaque::Cidr(b)) => a == b,
            (Opaque::Url(a), Opaque::Url(b)) => a == b,
            (Opaque::Semver(a), Opaque::Semver(b)) => a.compare(b).is_eq(),
            (Opaque::Format(a), Opaque::Format(b)) => a.name == b.name,
            _ => false,
        }
    }
}

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Opaque::Quantity(quantity) => quantity.fmt(f),
            Opaque::Ip(address) => address.fmt(f),
            Opaque::Cidr(cidr) => cidr.fmt(f),
            Opaque::Url(url) => url.fmt(f),
            Opaque::Semver(version) => version.fmt(f),
            Opaque::Format(format) => f.write_str(format.name),
            Opaque::Authorization(inquiry) => f.write_str(inquiry.type_name()),
        }
    }
}
