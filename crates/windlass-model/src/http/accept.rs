//! The form in which a client wants its answer.

use crate::field::{FieldError, FieldPath};
use crate::http::query::Query;
use crate::protobuf;
use crate::request::Verb;
use crate::status::{Details, Reason, Status};

/// What the answer shows of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The objects themselves.
    Object,
    /// A table of the printer columns, each row with the requested part of its object.
    Table(Include),
    /// Only their metadata.
    PartialMetadata,
}

/// What the row of a table carries of its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Include {
    /// Nothing.
    None,
    /// The metadata.
    Metadata,
    /// All of it.
    Object,
}

/// How the answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// All formats, the one that is preferred where the client has no preference first.
const FORMATS: [Format; 3] = [Format::Json, Format::Yaml, Format::Protobuf];

/// The media types of watches.
const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

impl Format {
    /// The `Content-Type` of an answer.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Protobuf => protobuf::MEDIA_TYPE,
        }
    }

    /// The `Content-Type` of a watch. There is none for YAML, in which no watch is written.
    pub fn watch_media_type(self) -> &'static str {
        match self {
            Format::Protobuf => "application/vnd.kubernetes.protobuf;stream=watch",
            Format::Json | Format::Yaml => "application/json",
        }
    }

    /// The format that a media type names, in letters of any case.
    pub(super) fn of(media_type: &str) -> Option<Format> {
        FORMATS.into_iter().find(|format| format.media_type().eq_ignore_ascii_case(media_type))
    }

    /// All media types, as refusals list them.
    pub(super) fn media_types() -> [&'static str; 3] {
        FORMATS.map(Format::media_type)
    }
}

/// How discovery is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscoveryForm {
    /// Everything in one document, as JSON.
    Aggregated,
    /// Piece by piece.
    Plain(Format),
}

/// One range of an `Accept` header.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

impl<'a> Clause<'a> {
    fn parameter(&self, wanted: &str) -> Option<&'a str> {
        self.parameters.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    }
}

/// Reads an `Accept` header; none means JSON. 406 if nothing in it can be served.
///
/// Custom resources have no messages, so of them only the metadata can be had as protobuf.
pub(super) fn negotiate(
    accept: Option<&str>,
    query: &Query,
    is_custom: bool,
) -> Result<(Output, Format), Status> {
    let header = accept.unwrap_or_default();
    if header.is_empty() {
        return Ok((Output::Object, Format::Json));
    }
    let acceptable = best_first(header).iter().find_map(|clause| {
        formats_of(clause).find_map(|format| match wanted_output(clause, format)? {
            Output::Object if is_custom && format == Format::Protobuf => None,
            output => Some((output, format)),
        })
    });
    match acceptable.ok_or_else(not_acceptable)? {
        (Output::Table(_), format) => Ok((Output::Table(table_include(query)?), format)),
        acceptable => Ok(acceptable),
    }
}

/// Reads the `Accept` header of a request for discovery. 406 if nothing in it can be served.
pub fn negotiate_discovery(accept: Option<&str>, can_aggregate: bool) -> Result<DiscoveryForm, Status> {
    let header = accept.unwrap_or_default();
    if header.is_empty() {
        return Ok(DiscoveryForm::Plain(Format::Json));
    }
    let acceptable = best_first(header).iter().find_map(|clause| {
        formats_of(clause).find_map(|format| match requested_kind(clause) {
            (None, None, None) => Some(DiscoveryForm::Plain(format)),
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2"))
                if can_aggregate && format == Format::Json =>
            {
                Some(DiscoveryForm::Aggregated)
            }
            _ => None,
        })
    });
    acceptable.ok_or_else(not_acceptable)
}

/// The best of some subtypes of `application`, the first of them if any will do.
pub fn first_acceptable<'a>(accept: Option<&str>, subtypes: &[&'a str]) -> Option<&'a str> {
    let header = accept.filter(|header| !header.is_empty()).unwrap_or("*/*");
    let of_kind = |clause: &Clause<'_>| matches!(clause.kind, "application" | "*");
    best_first(header).iter().filter(|clause| of_kind(clause)).find_map(|clause| {
        subtypes.iter().copied().find(|subtype| clause.subtype == "*" || clause.subtype == *subtype)
    })
}

/// Refuses a header that names no type that is known at all, whatever its parameters.
///
/// Custom resources are not asked for that.
pub(super) fn check_known(accept: Option<&str>, verb: Verb) -> Result<(), Status> {
    let header = accept.filter(|header| !header.is_empty()).unwrap_or("*/*");
    let mut types = header.split(',').map(|range| range.split(';').next().unwrap_or_default().trim());
    if types.any(|given| given == "*/*" || Format::media_types().contains(&given)) {
        return Ok(());
    }
    let streams = if verb == Verb::List { &STREAMS[..] } else { &[] };
    let known = [&Format::media_types()[..], streams].concat().join(", ");
    let message = format!("406: Not Acceptable\n\nAvailable representations: {known}");
    let mut status = Status::failure(406, Reason::NotAcceptable, message);
    status.details = Some(Details::default());
    Err(status)
}

fn not_acceptable() -> Status {
    only_these(&Format::media_types())
}

/// 406 for a watch in a format that has no end of a document.
pub(super) fn not_acceptable_for_watch() -> Status {
    only_these(&STREAMS)
}

fn only_these(media_types: &[&str]) -> Status {
    let message = format!("only the following media types are accepted: {}", media_types.join(", "));
    Status::failure(406, Reason::NotAcceptable, message)
}

/// The ranges of a header, the best first.
fn best_first(header: &str) -> Vec<Clause<'_>> {
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(read_clause).collect();
    // Stable: among equals the first that the client names wins.
    clauses.sort_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal));
    clauses
}

/// What is better comes first: a higher quality, then what is more particular.
fn rank(clause: &Clause<'_>) -> (f64, bool, bool) {
    (-clause.quality, clause.kind == "*", clause.subtype == "*")
}

fn read_clause(text: &str) -> Option<Clause<'_>> {
    let mut parts = text.split(';').map(str::trim);
    let (kind, subtype) = match parts.next()? {
        "*" => ("*", "*"),
        range => range.split_once('/')?,
    };
    let mut clause =
        Clause { kind: kind.trim(), subtype: subtype.trim(), parameters: Vec::new(), quality: 1.0 };
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        let (name, value) = (name.trim(), value.trim().trim_matches('"'));
        if name == "q" {
            clause.quality = value.parse().ok().filter(|quality: &f64| quality.is_finite()).unwrap_or(1.0);
        } else {
            clause.parameters.push((name, value));
        }
    }
    Some(clause)
}

/// The formats that a range covers.
fn formats_of(clause: &Clause<'_>) -> impl Iterator<Item = Format> {
    let range = (clause.kind, clause.subtype);
    FORMATS.into_iter().filter(move |format| match range {
        ("*", "*") | ("application", "*") => true,
        (kind, subtype) => format.media_type().split_once('/') == Some((kind, subtype)),
    })
}

/// The kind, group and version that the answer is to be turned into.
fn requested_kind<'a>(clause: &Clause<'a>) -> (Option<&'a str>, Option<&'a str>, Option<&'a str>) {
    (clause.parameter("as"), clause.parameter("g"), clause.parameter("v"))
}

/// What the parameters ask for; `None` if it cannot be had in this format.
fn wanted_output(clause: &Clause<'_>, format: Format) -> Option<Output> {
    match clause.parameter("stream") {
        None | Some("") => {}
        Some("watch") if format != Format::Yaml => {}
        Some(_) => return None,
    }
    match requested_kind(clause) {
        (None, None, None) => Some(Output::Object),
        // There is no message for a table.
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) if format != Format::Protobuf => {
            Some(Output::Table(Include::Metadata))
        }
        (Some("PartialObjectMetadata" | "PartialObjectMetadataList"), Some("meta.k8s.io"), Some("v1")) => {
            Some(Output::PartialMetadata)
        }
        _ => None,
    }
}

fn table_include(query: &Query) -> Result<Include, Status> {
    match query.text("includeObject") {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => {
            let path = FieldPath::of("includeObject");
            let error = FieldError::invalid(&path, other, "must be 'Metadata', 'Object', 'None', or empty");
            Err(Status::bad_request(format!("Unable to convert to Table as requested: {error}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(accept: &str, query: &str) -> Result<(Output, Format), u16> {
        negotiate(Some(accept), &Query::parse(query), false).map_err(|status| status.code)
    }

    const KUBECTL: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    const METADATA: &str = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
    const GO: &str = "application/vnd.kubernetes.protobuf,application/json";

    #[test]
    fn clients_get_what_they_ask_for() {
        let table = Output::Table(Include::Metadata);
        for (accept, expected) in [
            ("", Ok((Output::Object, Format::Json))),
            ("*/*", Ok((Output::Object, Format::Json))),
            ("application/*", Ok((Output::Object, Format::Json))),
            ("application/yaml", Ok((Output::Object, Format::Yaml))),
            ("application/json;q=0.5, application/yaml", Ok((Output::Object, Format::Yaml))),
            ("*/*, application/yaml", Ok((Output::Object, Format::Yaml))),
            ("application/vnd.kubernetes.protobuf", Ok((Output::Object, Format::Protobuf))),
            (GO, Ok((Output::Object, Format::Protobuf))),
            ("application/json, application/vnd.kubernetes.protobuf", Ok((Output::Object, Format::Json))),
            ("application/vnd.kubernetes.protobuf;q=0.5, */*", Ok((Output::Object, Format::Json))),
            ("application/json;stream=watch", Ok((Output::Object, Format::Json))),
            ("application/vnd.kubernetes.protobuf;stream=watch", Ok((Output::Object, Format::Protobuf))),
            ("application/yaml;stream=watch", Err(406)),
            ("application/json;stream=other", Err(406)),
            ("application/json;as=Table;v=v2;g=meta.k8s.io", Err(406)),
            ("application/json;as=Pod;v=v1;g=meta.k8s.io", Err(406)),
            ("application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io", Err(406)),
            (
                "application/vnd.kubernetes.protobuf;as=Table;v=v1;g=meta.k8s.io,*/*;as=Table;v=v1;g=meta.k8s.io",
                Ok((table, Format::Json)),
            ),
            ("text/html", Err(406)),
            ("nonsense", Err(406)),
            (KUBECTL, Ok((table, Format::Json))),
            (METADATA, Ok((Output::PartialMetadata, Format::Protobuf))),
        ] {
            assert_eq!(outcome(accept, ""), expected, "{accept}");
        }
        assert_eq!(
            outcome(KUBECTL, "includeObject=Object"),
            Ok((Output::Table(Include::Object), Format::Json))
        );
        assert_eq!(outcome(KUBECTL, "includeObject=All"), Err(400));
        assert_eq!(outcome("application/json", "includeObject=All"), Ok((Output::Object, Format::Json)));
    }

    #[test]
    fn unsupported_media_types_are_refused_first() {
        for (accept, verb, streams) in [
            (
                "text/html",
                Verb::List,
                ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
            ),
            ("text/html, image/*", Verb::Get, ""),
        ] {
            let status = check_known(Some(accept), verb).unwrap_err();
            let known = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
            let expected = format!("406: Not Acceptable\n\nAvailable representations: {known}{streams}");
            assert_eq!((status.code, status.message), (406, expected));
        }
        for accept in
            [None, Some(""), Some("*/*"), Some("text/html, */*;q=0.1"), Some("application/json;as=X")]
        {
            assert!(check_known(accept, Verb::Get).is_ok(), "{accept:?}");
        }
    }

    #[test]
    fn custom_resources_are_no_messages() {
        for (accept, expected) in [
            (GO, Ok((Output::Object, Format::Json))),
            ("application/vnd.kubernetes.protobuf", Err(406)),
            (METADATA, Ok((Output::PartialMetadata, Format::Protobuf))),
        ] {
            let outcome = negotiate(Some(accept), &Query::default(), true).map_err(|status| status.code);
            assert_eq!(outcome, expected, "{accept}");
        }
    }
}
