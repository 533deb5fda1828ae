//! Why bytes are not the protobuf of an object.

use std::fmt;

use crate::field::quoted;

/// Why a body was refused. Where Kubernetes has words for it, they are these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DecodeError {
    /// There are no bytes at all.
    Empty,
    /// The first four bytes are not those of Kubernetes' protobuf.
    NoPrefix,
    /// There is nothing behind the first four bytes.
    EmptyBody,
    /// The bytes end within a value.
    Truncated,
    /// A number has more than 64 bits.
    NumberTooLong,
    /// A length is beyond what any machine can hold.
    LengthTooLong,
    /// The number of a field is zero or negative.
    IllegalTag {
        /// The type of the message.
        message: &'static str,
        /// The number.
        number: i32,
    },
    /// There is no such wire type.
    IllegalWireType(u8),
    /// A field is not encoded as its type is.
    WrongWireType {
        /// The name of the field.
        field: &'static str,
        /// The wire type that it has.
        wire_type: u8,
    },
    /// A group ends that never began.
    EndOfGroup {
        /// The type of the message.
        message: &'static str,
    },
    /// The object does not say what it is.
    NoKind,
    /// The object does not say which version it is in.
    NoVersion,
    /// Nothing is known about this kind.
    UnknownKind {
        /// The version that the object names.
        api_version: String,
        /// The kind that it names.
        kind: String,
    },
    /// Values are nested too deep.
    TooDeep {
        /// Maximum number of levels.
        levels: usize,
    },
    /// The object has too many parts.
    TooManyMessages {
        /// Maximum number of messages.
        messages: usize,
    },
    /// The value of a field cannot be what its type says.
    BadValue {
        /// The name of the field.
        field: &'static str,
        /// Why it is invalid.
        why: String,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DecodeError::Empty => f.write_str("empty data"),
            DecodeError::NoPrefix => f.write_str(
                "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]",
            ),
            DecodeError::EmptyBody => f.write_str("empty body"),
            DecodeError::Truncated => f.write_str("unexpected EOF"),
            DecodeError::NumberTooLong => f.write_str("proto: integer overflow"),
            DecodeError::LengthTooLong => f.write_str("proto: negative length found during unmarshaling"),
            DecodeError::IllegalTag { message, number } => {
                write!(f, "proto: {message}: illegal tag {number}")
            }
            DecodeError::IllegalWireType(found) => write!(f, "proto: illegal wireType {found}"),
            DecodeError::WrongWireType { field, wire_type } => {
                write!(f, "proto: wrong wireType = {wire_type} for field {field}")
            }
            DecodeError::EndOfGroup { message } => {
                write!(f, "proto: {message}: wiretype end group for non-group")
            }
            DecodeError::NoKind => f.write_str("Object 'Kind' is missing"),
            DecodeError::NoVersion => f.write_str("Object 'apiVersion' is missing"),
            DecodeError::UnknownKind { api_version, kind } => {
                write!(f, "no kind {} is registered for version {}", quoted(kind), quoted(api_version))
            }
            DecodeError::TooDeep { levels } => {
                write!(f, "the object is nested deeper than {levels} levels")
            }
            DecodeError::TooManyMessages { messages } => {
                write!(f, "the object has more than {messages} parts")
            }
            DecodeError::BadValue { field, why } => write!(f, "{field}: {why}"),
        }
    }
}

impl std::error::Error for DecodeError {}
