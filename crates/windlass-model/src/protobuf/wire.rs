//! Bytes as protobuf's tags, numbers and lengths, and the reverse.

use super::error::DecodeError;

pub(super) const VARINT: u8 = 0;
pub(super) const FIXED64: u8 = 1;
pub(super) const BYTES: u8 = 2;
const START_GROUP: u8 = 3;
const END_GROUP: u8 = 4;
const FIXED32: u8 = 5;

/// What is left of a message to read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
}

/// What stands before each value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) number: u32,
    pub(super) wire_type: u8,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The tag of the next field, if there is one.
    pub(super) fn tag(&mut self, message: &'static str) -> Result<Option<Tag>, DecodeError> {
        if self.is_empty() {
            return Ok(None);
        }
        let (number, wire_type) = split_tag(self.varint()?);
        if wire_type == END_GROUP {
            return Err(DecodeError::EndOfGroup { message });
        }
        // Go keeps the lower 32 bits.
        match u32::try_from(number as i32) {
            Ok(number) if number > 0 => Ok(Some(Tag { number, wire_type })),
            _ => Err(DecodeError::IllegalTag { message, number: number as i32 }),
        }
    }

    /// A number in groups of seven bits. Bits beyond the 64th are lost, as in Go.
    pub(super) fn varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(DecodeError::Truncated)?;
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                return Ok(value);
            }
        }
        Err(DecodeError::NumberTooLong)
    }

    pub(super) fn fixed64(&mut self) -> Result<u64, DecodeError> {
        let (value, rest) = self.rest.split_first_chunk::<8>().ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(u64::from_le_bytes(*value))
    }

    /// As many bytes as the number before them says.
    pub(super) fn bytes(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.varint()?;
        if length > i64::MAX as u64 {
            return Err(DecodeError::LengthTooLong);
        }
        self.take(usize::try_from(length).map_err(|_| DecodeError::LengthTooLong)?)
    }

    /// Skips the value of an unknown field.
    pub(super) fn skip(&mut self, tag: Tag) -> Result<(), DecodeError> {
        let mut open_groups: usize = 0;
        let mut wire_type = tag.wire_type;
        loop {
            match wire_type {
                VARINT => drop(self.varint()?),
                FIXED64 => drop(self.take(8)?),
                BYTES => drop(self.bytes()?),
                START_GROUP => open_groups += 1,
                END_GROUP => open_groups = open_groups.saturating_sub(1),
                FIXED32 => drop(self.take(4)?),
                other => return Err(DecodeError::IllegalWireType(other)),
            }
            if open_groups == 0 {
                return Ok(());
            }
            wire_type = split_tag(self.varint()?).1;
        }
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (taken, rest) = self.rest.split_at_checked(length).ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }
}

/// A message that is being written.
#[derive(Clone, Debug, Default)]
pub(super) struct Writer {
    written: Vec<u8>,
}

impl Writer {
    /// What has been written, behind a prefix.
    pub(super) fn after(prefix: &[u8]) -> Self {
        Writer { written: prefix.to_vec() }
    }

    pub(super) fn finish(self) -> Vec<u8> {
        self.written
    }

    pub(super) fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.written.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.written.push(value as u8);
    }

    /// A field that is a number. Negative ones are sent as 64 bits.
    pub(super) fn number(&mut self, field: u32, value: i64) {
        self.tag(field, VARINT);
        self.varint(value as u64);
    }

    pub(super) fn fixed64(&mut self, field: u32, bits: u64) {
        self.tag(field, FIXED64);
        self.written.extend(bits.to_le_bytes());
    }

    /// A field that is a string or bytes.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.tag(field, BYTES);
        self.varint(bytes.len() as u64);
        self.written.extend_from_slice(bytes);
    }

    /// A field that is a message, which the function writes.
    pub(super) fn message(&mut self, field: u32, write: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        self.tag(field, BYTES);
        let start = self.written.len();
        write(self)?;
        let mut length = Writer::default();
        length.varint((self.written.len() - start) as u64);
        // Most messages are short; the others move a little.
        self.written.splice(start..start, length.written);
        Some(())
    }

    fn tag(&mut self, field: u32, wire_type: u8) {
        self.varint(u64::from(field << 3) | u64::from(wire_type));
    }
}

fn split_tag(tag: u64) -> (u64, u8) {
    (tag >> 3, (tag & 7) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_to_their_end() {
        for (bytes, expected) in [
            (&[0x00][..], Ok(0)),
            (&[0x96, 0x01], Ok(150)),
            (&[0x80, 0x00], Ok(0)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01], Ok(u64::MAX)),
            (&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f], Ok(u64::MAX)),
            (&[0x80; 10], Err(DecodeError::NumberTooLong)),
            (&[0x80, 0x80], Err(DecodeError::Truncated)),
            (&[], Err(DecodeError::Truncated)),
        ] {
            assert_eq!(Reader::new(bytes).varint(), expected, "{bytes:?}");
        }
    }

    #[test]
    fn lengths_do_not_reach_beyond_the_end() {
        assert_eq!(Reader::new(&[2, 7, 8, 9]).bytes(), Ok(&[7, 8][..]));
        assert_eq!(Reader::new(&[4, 7, 8, 9]).bytes(), Err(DecodeError::Truncated));
        let huge = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(Reader::new(&huge).bytes(), Err(DecodeError::LengthTooLong));
    }

    #[test]
    fn tags_are_positive() {
        let tag = |bytes| Reader::new(bytes).tag("v1.Pod");
        assert_eq!(tag(&[]), Ok(None));
        assert_eq!(tag(&[0x0a]), Ok(Some(Tag { number: 1, wire_type: BYTES })));
        assert_eq!(tag(&[0x02]), Err(DecodeError::IllegalTag { message: "v1.Pod", number: 0 }));
        assert_eq!(tag(&[0x0c]), Err(DecodeError::EndOfGroup { message: "v1.Pod" }));
    }

    #[test]
    fn unknown_values_are_passed_over() {
        let tag = |wire_type| Tag { number: 99, wire_type };
        for (wire_type, bytes, expected) in [
            (VARINT, &[0x80, 0x01, 42][..], Ok(())),
            (FIXED64, &[0, 0, 0, 0, 0, 0, 0, 0, 42], Ok(())),
            (BYTES, &[2, 0, 0, 42], Ok(())),
            (FIXED32, &[0, 0, 0, 0, 42], Ok(())),
            // A group in a group.
            (START_GROUP, &[0x08, 0x01, 0x13, 0x08, 0x01, 0x14, 0x0c, 42], Ok(())),
            (START_GROUP, &[0x13, 0x14], Err(DecodeError::Truncated)),
            (FIXED64, &[0], Err(DecodeError::Truncated)),
            (6, &[0], Err(DecodeError::IllegalWireType(6))),
        ] {
            let mut reader = Reader::new(bytes);
            assert_eq!(reader.skip(tag(wire_type)), expected, "{bytes:?}");
            assert!(expected.is_err() || reader.rest == [42], "{bytes:?}");
        }
    }
}
