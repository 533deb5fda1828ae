//! The form in which a client wants its answer.

use crate::field::{FieldError, FieldPath};
use crate::http::query::Query;
use crate::status::{Reason, Status};

/// What the answer shows of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The objects themselves.
    Object,
    /// A table of the printer columns, each row with so much of its object.
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
}

/// One range of an `Accept` header.
struct Clause<'a> {
    kind: &'a str,
    subtype: &'a str,
    parameters: Vec<(&'a str, &'a str)>,
    quality: f64,
}

/// Reads an `Accept` header; none means JSON. 406 if nothing in it can be served.
pub(super) fn negotiate(accept: Option<&str>, query: &Query) -> Result<(Output, Format), Status> {
    let header = accept.unwrap_or_default();
    if header.is_empty() {
        return Ok((Output::Object, Format::Json));
    }
    let mut clauses: Vec<Clause<'_>> = header.split(',').filter_map(read_clause).collect();
    // Stable: among equals the first that the client names wins.
    clauses.sort_by(|one, other| rank(one).partial_cmp(&rank(other)).unwrap_or(std::cmp::Ordering::Equal));
    for clause in &clauses {
        let Some(format) = format_of(clause) else { continue };
        match wanted_output(clause) {
            None => {}
            Some(Output::Table(_)) => return Ok((Output::Table(table_include(query)?), format)),
            Some(output) => return Ok((output, format)),
        }
    }
    let message = "only the following media types are accepted: application/json, application/yaml";
    Err(Status::failure(406, Reason::NotAcceptable, message))
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

fn format_of(clause: &Clause<'_>) -> Option<Format> {
    match (clause.kind, clause.subtype) {
        ("application", "json" | "*") | ("*", "*") => Some(Format::Json),
        ("application", "yaml") => Some(Format::Yaml),
        _ => None,
    }
}

/// What the parameters ask for; `None` if it cannot be had.
fn wanted_output(clause: &Clause<'_>) -> Option<Output> {
    let parameter = |wanted: &str| {
        clause.parameters.iter().rev().find(|(name, _)| *name == wanted).map(|(_, value)| *value)
    };
    if !matches!(parameter("stream"), None | Some("" | "watch")) {
        return None;
    }
    match (parameter("as"), parameter("g"), parameter("v")) {
        (None, None, None) => Some(Output::Object),
        (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Some(Output::Table(Include::Metadata)),
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
        negotiate(Some(accept), &Query::parse(query)).map_err(|status| status.code)
    }

    #[test]
    fn clients_get_what_they_ask_for() {
        let table = Output::Table(Include::Metadata);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
        let metadata = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
        for (accept, expected) in [
            ("", Ok((Output::Object, Format::Json))),
            ("*/*", Ok((Output::Object, Format::Json))),
            ("application/*", Ok((Output::Object, Format::Json))),
            ("application/yaml", Ok((Output::Object, Format::Yaml))),
            ("application/json;q=0.5, application/yaml", Ok((Output::Object, Format::Yaml))),
            ("*/*, application/yaml", Ok((Output::Object, Format::Yaml))),
            ("application/vnd.kubernetes.protobuf, application/json", Ok((Output::Object, Format::Json))),
            ("application/json;stream=watch", Ok((Output::Object, Format::Json))),
            ("application/json;stream=other", Err(406)),
            ("application/json;as=Table;v=v2;g=meta.k8s.io", Err(406)),
            ("application/json;as=Pod;v=v1;g=meta.k8s.io", Err(406)),
            ("text/html", Err(406)),
            ("nonsense", Err(406)),
            (kubectl, Ok((table, Format::Json))),
            (metadata, Ok((Output::PartialMetadata, Format::Json))),
        ] {
            assert_eq!(outcome(accept, ""), expected, "{accept}");
        }
        assert_eq!(
            outcome(kubectl, "includeObject=Object"),
            Ok((Output::Table(Include::Object), Format::Json))
        );
        assert_eq!(outcome(kubectl, "includeObject=All"), Err(400));
        assert_eq!(outcome("application/json", "includeObject=All"), Ok((Output::Object, Format::Json)));
    }
}
