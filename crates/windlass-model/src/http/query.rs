//! Query parameters, read as Kubernetes reads them.

use std::num::IntErrorKind;

use crate::field::quoted;
use crate::http::path::percent_decoded;
use crate::status::Status;

/// The parameters of a request in the order in which they are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Reads what follows the question mark. Pairs that are not well encoded are passed over.
    pub(crate) fn parse(text: &str) -> Self {
        let decode = |part: &str| {
            let bytes = percent_decoded(part, true)?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        let pairs = text
            .split('&')
            .filter(|pair| !pair.is_empty() && !pair.contains(';'))
            .filter_map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                Some((decode(name)?, decode(value)?))
            })
            .collect();
        Query { pairs }
    }

    /// All values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.pairs.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a parameter; the empty text for one that is absent.
    pub(crate) fn text<'a>(&'a self, name: &'a str) -> &'a str {
        self.all(name).next().unwrap_or_default()
    }

    /// The first value of a parameter, if it has one that is not empty.
    pub(super) fn owned(&self, name: &str) -> Option<String> {
        let text = self.text(name);
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// A flag: everything but `0` and `false` is true, even the empty text.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.all(name).next()?;
        Some(value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number. 400 if it is none.
    pub(crate) fn number(&self, name: &str) -> Result<Option<i64>, Status> {
        let Some(value) = self.all(name).next() else { return Ok(None) };
        value.parse().map(Some).map_err(|error: std::num::ParseIntError| {
            let why = match error.kind() {
                IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
                _ => "invalid syntax",
            };
            Status::bad_request(format!("strconv.ParseInt: parsing {}: {why}", quoted(value)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_parameters() {
        let query = Query::parse("a=1&b=x%3Dy+z&a=2&c&&d=%zz&e=1;f=2&g=false&h=0&i=False&j=");
        assert_eq!(query.all("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(query.text("b"), "x=y z");
        assert_eq!((query.text("c"), query.flag("c")), ("", Some(true)));
        assert_eq!((query.flag("d"), query.flag("e"), query.flag("f")), (None, None, None));
        assert_eq!(
            ["g", "h", "i", "j"].map(|name| query.flag(name)),
            [Some(false), Some(false), Some(false), Some(true)]
        );
        assert_eq!((query.owned("j"), query.owned("a").as_deref()), (None, Some("1")));
    }

    #[test]
    fn reads_numbers() {
        for (text, expected) in [
            ("", Ok(None)),
            ("n=5", Ok(Some(5))),
            ("n=-5", Ok(Some(-5))),
            ("n=", Err("strconv.ParseInt: parsing \"\": invalid syntax")),
            ("n=x", Err("strconv.ParseInt: parsing \"x\": invalid syntax")),
            (
                "n=9223372036854775808",
                Err("strconv.ParseInt: parsing \"9223372036854775808\": value out of range"),
            ),
        ] {
            let read = Query::parse(text).number("n").map_err(|status| status.message);
            assert_eq!(read, expected.map_err(str::to_owned), "{text}");
        }
    }
}
