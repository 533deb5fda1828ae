//! Numbers as Mizar's users write them: `16` or `"16"`.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Defines a number with a range that the API server enforces, for numbers and for strings.
macro_rules! lenient_number {
    ($(#[$documentation:meta])* $name:ident, $minimum:literal ..= $maximum:literal, $pattern:literal) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u32);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_u32(self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(NumberOrText { what: stringify!($name) }).map($name)
            }
        }

        impl JsonSchema for $name {
            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "x-kubernetes-int-or-string": true,
                    "anyOf": [{ "type": "integer" }, { "type": "string" }],
                    "minimum": $minimum,
                    "maximum": $maximum,
                    "pattern": $pattern,
                })
            }
        }
    };
}

lenient_number! {
    /// The length of a network prefix. A network needs at least four addresses: three of them are reserved.
    Prefix, 1..=30, "^([1-9]|[12][0-9]|30)$"
}

lenient_number! {
    /// How many dividers or bouncers there are to be.
    Count, 1..=1000, "^([1-9][0-9]{0,2}|1000)$"
}

lenient_number! {
    /// A virtual network identifier: 24 bits, never 0.
    Vni, 1..=16_777_215, "^[1-9][0-9]{0,7}$"
}

impl Default for Count {
    fn default() -> Self {
        Count(1)
    }
}

/// Reads `16` and `"16"` alike.
struct NumberOrText {
    what: &'static str,
}

impl Visitor<'_> for NumberOrText {
    type Value = u32;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a number, or a string with one ({})", self.what)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
        u32::try_from(number).map_err(|_| E::custom(format!("{number} is too large for a {}", self.what)))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
        u32::try_from(number).map_err(|_| E::custom(format!("{number} is no {}", self.what)))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<u32, E> {
        text.parse().map_err(|_| E::custom(format!("{text:?} is no {}", self.what)))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn reads_numbers_and_strings_alike() {
        let read = |value| serde_json::from_value::<Prefix>(value).map_err(|error| error.to_string());
        assert_eq!(read(json!(16)), Ok(Prefix(16)));
        assert_eq!(read(json!("16")), Ok(Prefix(16)));
        assert!(read(json!("sixteen")).is_err_and(|error| error.contains("\"sixteen\" is no Prefix")));
        assert!(read(json!(-1)).is_err_and(|error| error.contains("-1 is no Prefix")));
    }
}
