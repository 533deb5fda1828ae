//! Which arguments each operator and function takes, and what it returns.
//!
//! A signature reads `string.(string, int) list<string>`: a receiver before the dot, the arguments, the
//! result. Capital letters are type parameters.

use std::rc::Rc;

use crate::declared;
use crate::types::{Object, Type};

/// The signatures of a name.
pub(crate) fn of(name: &str) -> impl Iterator<Item = &'static str> {
    let entry = SIGNATURES.iter().find(|(known, _)| known.split(' ').any(|known| known == name));
    entry.map_or("", |(_, signatures)| signatures).split(';').map(str::trim).filter(|text| !text.is_empty())
}

/// A parsed signature.
#[derive(Debug, PartialEq)]
pub(crate) struct Signature<'s> {
    pub(crate) member: bool,
    pub(crate) parameters: Vec<Type<'s>>,
    pub(crate) result: Type<'s>,
}

const SIGNATURES: &[(&str, &str)] = &[
    (
        "_+_",
        "(int, int) int; (uint, uint) uint; (double, double) double; (string, string) string; (bytes, bytes) bytes; (list<A>, list<A>) list<A>; (timestamp, duration) timestamp; (duration, timestamp) timestamp; (duration, duration) duration",
    ),
    (
        "_-_",
        "(int, int) int; (uint, uint) uint; (double, double) double; (timestamp, timestamp) duration; (timestamp, duration) timestamp; (duration, duration) duration",
    ),
    ("_*_ _/_", "(int, int) int; (uint, uint) uint; (double, double) double"),
    ("_%_", "(int, int) int; (uint, uint) uint"),
    ("_==_ _!=_", "(A, A) bool"),
    (
        "_<_ _<=_ _>_ _>=_",
        "(bool, bool) bool; (int, int) bool; (int, uint) bool; (int, double) bool; (uint, uint) bool; (uint, int) bool; (uint, double) bool; (double, double) bool; (double, int) bool; (double, uint) bool; (string, string) bool; (bytes, bytes) bool; (timestamp, timestamp) bool; (duration, duration) bool",
    ),
    ("@in", "(A, list<A>) bool; (A, map<A, B>) bool"),
    ("!_", "(bool) bool"),
    ("-_", "(int) int; (double) double"),
    ("_?_:_", "(bool, A, A) A"),
    (
        "_[_]",
        "(list<A>, int) A; (map<A, B>, A) B; (optional<list<A>>, int) optional<A>; (optional<map<A, B>>, A) optional<B>",
    ),
    (
        "_[?_]",
        "(list<A>, int) optional<A>; (map<A, B>, A) optional<B>; (optional<list<A>>, int) optional<A>; (optional<map<A, B>>, A) optional<B>",
    ),
    (
        "size",
        "(string) int; (bytes) int; (list<A>) int; (map<A, B>) int; string.() int; bytes.() int; list<A>.() int; map<A, B>.() int",
    ),
    ("int", "(int) int; (uint) int; (double) int; (string) int; (timestamp) int; (duration) int"),
    ("uint", "(uint) uint; (int) uint; (double) uint; (string) uint"),
    ("double", "(double) double; (int) double; (uint) double; (string) double"),
    (
        "string",
        "(string) string; (bool) string; (bytes) string; (int) string; (uint) string; (double) string; (timestamp) string; (duration) string; (net.IP) string; (net.CIDR) string",
    ),
    ("bytes", "(bytes) bytes; (string) bytes"),
    ("bool", "(bool) bool; (string) bool"),
    ("timestamp", "(timestamp) timestamp; (int) timestamp; (string) timestamp"),
    ("duration", "(duration) duration; (int) duration; (string) duration"),
    ("dyn", "(A) dyn"),
    ("type", "(A) type<A>"),
    ("startsWith endsWith contains", "string.(string) bool"),
    ("matches", "(string, string) bool; string.(string) bool"),
    ("charAt", "string.(int) string"),
    ("indexOf lastIndexOf", "string.(string) int; string.(string, int) int; list<A>.(A) int"),
    ("lowerAscii upperAscii trim", "string.() string"),
    ("replace", "string.(string, string) string; string.(string, string, int) string"),
    ("split", "string.(string) list<string>; string.(string, int) list<string>"),
    ("substring", "string.(int) string; string.(int, int) string"),
    ("join", "list<string>.() string; list<string>.(string) string"),
    ("format", "string.(list<dyn>) string"),
    ("strings.quote jsonpatch.escapeKey", "(string) string"),
    ("find", "string.(string) string"),
    ("findAll", "string.(string) list<string>; string.(string, int) list<string>"),
    (
        "isSorted",
        "list<int>.() bool; list<uint>.() bool; list<double>.() bool; list<bool>.() bool; list<duration>.() bool; list<timestamp>.() bool; list<string>.() bool; list<bytes>.() bool",
    ),
    ("sum", "list<int>.() int; list<uint>.() uint; list<double>.() double; list<duration>.() duration"),
    (
        "min max",
        "list<int>.() int; list<uint>.() uint; list<double>.() double; list<bool>.() bool; list<duration>.() duration; list<timestamp>.() timestamp; list<string>.() string; list<bytes>.() bytes",
    ),
    (
        "sort",
        "list<int>.() list<int>; list<uint>.() list<uint>; list<double>.() list<double>; list<bool>.() list<bool>; list<duration>.() list<duration>; list<timestamp>.() list<timestamp>; list<string>.() list<string>; list<bytes>.() list<bytes>",
    ),
    ("slice", "list<A>.(int, int) list<A>"),
    ("flatten", "list<list<A>>.() list<A>; list<dyn>.(int) list<dyn>"),
    ("reverse distinct", "list<A>.() list<A>"),
    ("lists.range", "(int) list<int>"),
    ("sets.contains sets.equivalent sets.intersects", "(list<A>, list<A>) bool"),
    ("optional.of optional.ofNonZeroValue", "(A) optional<A>"),
    ("optional.none", "() optional<A>"),
    ("optional.unwrap", "(list<optional<A>>) list<A>"),
    ("unwrapOpt", "list<optional<A>>.() list<A>"),
    ("value", "optional<A>.() A"),
    ("hasValue", "optional<A>.() bool"),
    ("or", "optional<A>.(optional<A>) optional<A>"),
    ("orValue", "optional<A>.(A) A"),
    ("first last", "list<A>.() optional<A>"),
    (
        "getFullYear getMonth getDate getDayOfMonth getDayOfWeek getDayOfYear",
        "timestamp.() int; timestamp.(string) int",
    ),
    (
        "getHours getMinutes getSeconds getMilliseconds",
        "timestamp.() int; timestamp.(string) int; duration.() int",
    ),
    ("url", "(string) kubernetes.URL"),
    ("isURL", "(string) bool"),
    ("getScheme getHost getHostname getPort getEscapedPath", "kubernetes.URL.() string"),
    ("getQuery", "kubernetes.URL.() map<string, list<string>>"),
    ("quantity", "(string) kubernetes.Quantity"),
    ("isQuantity", "(string) bool"),
    ("sign", "(kubernetes.Quantity) int"),
    ("isInteger", "kubernetes.Quantity.() bool"),
    ("asInteger", "kubernetes.Quantity.() int"),
    ("asApproximateFloat", "kubernetes.Quantity.() double"),
    (
        "add sub",
        "kubernetes.Quantity.(kubernetes.Quantity) kubernetes.Quantity; kubernetes.Quantity.(int) kubernetes.Quantity",
    ),
    (
        "isGreaterThan isLessThan",
        "kubernetes.Quantity.(kubernetes.Quantity) bool; kubernetes.Semver.(kubernetes.Semver) bool",
    ),
    ("compareTo", "kubernetes.Quantity.(kubernetes.Quantity) int; kubernetes.Semver.(kubernetes.Semver) int"),
    ("semver", "(string) kubernetes.Semver; (string, bool) kubernetes.Semver"),
    ("isSemver", "(string) bool; (string, bool) bool"),
    ("major minor patch", "kubernetes.Semver.() int"),
    ("ip", "(string) net.IP; net.CIDR.() net.IP"),
    ("isIP ip.isCanonical isCIDR", "(string) bool"),
    ("family", "net.IP.() int"),
    ("isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast", "net.IP.() bool"),
    ("cidr", "(string) net.CIDR"),
    ("containsIP", "net.CIDR.(string) bool; net.CIDR.(net.IP) bool"),
    ("containsCIDR", "net.CIDR.(string) bool; net.CIDR.(net.CIDR) bool"),
    ("masked", "net.CIDR.() net.CIDR"),
    ("prefixLength", "net.CIDR.() int"),
    ("format.named", "(string) optional<kubernetes.NamedFormat>"),
    ("validate", "kubernetes.NamedFormat.(string) optional<list<string>>"),
    (
        "format.dns1123Label format.dns1123Subdomain format.dns1035Label format.qualifiedName format.dns1123LabelPrefix format.dns1123SubdomainPrefix format.dns1035LabelPrefix format.labelValue format.uri format.uuid format.byte format.date format.datetime",
        "() kubernetes.NamedFormat",
    ),
    ("path", "Authorizer.(string) PathCheck"),
    ("group", "Authorizer.(string) GroupCheck"),
    ("serviceAccount", "Authorizer.(string, string) Authorizer"),
    ("resource", "GroupCheck.(string) ResourceCheck"),
    ("subresource namespace name fieldSelector labelSelector", "ResourceCheck.(string) ResourceCheck"),
    ("check", "PathCheck.(string) Decision; ResourceCheck.(string) Decision"),
    ("errored allowed", "Decision.() bool"),
    ("error reason", "Decision.() string"),
];

/// Reads one signature; `None` would mean that the table above has a mistake.
pub(crate) fn parse(text: &str) -> Option<Signature<'static>> {
    let (receiver, rest) = text.split_once('(')?;
    let (arguments, result) = rest.rsplit_once(')')?;
    let mut parameters = Vec::new();
    let receiver = receiver.strip_suffix('.');
    if let Some(receiver) = receiver {
        parameters.push(parse_type(receiver)?);
    }
    for argument in split_arguments(arguments) {
        parameters.push(parse_type(argument)?);
    }
    Some(Signature { member: receiver.is_some(), parameters, result: parse_type(result.trim())? })
}

/// Splits at commas outside angle brackets.
fn split_arguments(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let parts = text.split(move |c: char| {
        match c {
            '<' => depth += 1,
            '>' => depth -= 1,
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}

/// Reads one type.
pub(crate) fn parse_type(text: &str) -> Option<Type<'static>> {
    if let Some((name, inner)) = text.split_once('<') {
        let inner = inner.strip_suffix('>')?;
        let mut arguments = split_arguments(inner).into_iter().map(|part| parse_type(part).map(Rc::new));
        return Some(match name {
            "list" => Type::List(arguments.next()??),
            "optional" => Type::Optional(arguments.next()??),
            "type" => Type::Meta(arguments.next()??),
            "map" => Type::Map(arguments.next()??, arguments.next()??),
            _ => return None,
        });
    }
    Some(match text {
        "dyn" => Type::Dynamic,
        "bool" => Type::Bool,
        "int" => Type::Int,
        "uint" => Type::Uint,
        "double" => Type::Double,
        "string" => Type::String,
        "bytes" => Type::Bytes,
        "timestamp" => Type::Timestamp,
        "duration" => Type::Duration,
        "A" => Type::Parameter('A'),
        "B" => Type::Parameter('B'),
        "kubernetes.URL" => Type::Opaque("kubernetes.URL"),
        "kubernetes.Quantity" => Type::Opaque("kubernetes.Quantity"),
        "kubernetes.Semver" => Type::Opaque("kubernetes.Semver"),
        "kubernetes.NamedFormat" => Type::Opaque("kubernetes.NamedFormat"),
        "net.IP" => Type::Opaque("net.IP"),
        "net.CIDR" => Type::Opaque("net.CIDR"),
        "Authorizer" => Type::Opaque("kubernetes.authorization.Authorizer"),
        "PathCheck" => Type::Opaque("kubernetes.authorization.PathCheck"),
        "GroupCheck" => Type::Opaque("kubernetes.authorization.GroupCheck"),
        "ResourceCheck" => Type::Opaque("kubernetes.authorization.ResourceCheck"),
        "Decision" => Type::Opaque("kubernetes.authorization.Decision"),
        other => Type::Object(Object::Declared(declared::find(other)?)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::library;

    #[test]
    fn every_signature_parses_and_every_function_exists() {
        for (names, signatures) in SIGNATURES {
            for text in signatures.split(';') {
                assert!(parse(text.trim()).is_some(), "{names}: {text}");
            }
            for name in names.split(' ').filter(|name| !name.contains(['_', '@'])) {
                assert!(library::find(name).is_some(), "{name} has no implementation");
            }
        }
    }

    #[test]
    fn every_function_has_a_signature() {
        for name in library::names() {
            assert!(of(name).next().is_some(), "{name}");
        }
    }

    #[test]
    fn reads_receiver_arguments_and_result() {
        let signature = parse("map<string, list<A>>.(int, A) optional<A>").unwrap();
        assert!(signature.member);
        assert_eq!(signature.parameters.len(), 3);
        assert_eq!(signature.parameters[0].to_string(), "map(string, list(dyn))");
        assert_eq!(signature.result, Type::Optional(Rc::new(Type::Parameter('A'))));
    }
}
