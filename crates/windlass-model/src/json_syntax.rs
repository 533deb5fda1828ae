//! What Go's JSON scanner says about text that is no JSON.

/// Go reads ten times as deep, but needs no stack for it.
const DEPTH_MAX: usize = 1_000;

/// The first fault of a text; `None` if it is JSON.
pub(crate) fn fault(text: &[u8]) -> Option<String> {
    let mut scanner = Scanner { text, offset: 0 };
    let outcome = scanner.value(0).and_then(|()| {
        scanner.skip_space();
        scanner.next().map_or(Ok(()), |byte| Err(unexpected(byte, "after top-level value")))
    });
    outcome.err()
}

type Outcome = Result<(), String>;

struct Scanner<'a> {
    text: &'a [u8],
    offset: usize,
}

impl Scanner<'_> {
    fn next(&mut self) -> Option<u8> {
        let byte = self.text.get(self.offset).copied();
        self.offset += usize::from(byte.is_some());
        byte
    }

    fn skip_space(&mut self) {
        while matches!(self.text.get(self.offset), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.offset += 1;
        }
    }

    /// The next byte that is no space.
    fn token(&mut self) -> Result<u8, String> {
        self.skip_space();
        self.next().ok_or_else(end)
    }

    fn value(&mut self, depth: usize) -> Outcome {
        if depth > DEPTH_MAX {
            return Err("exceeded max depth".to_owned());
        }
        match self.token()? {
            b'{' => self.object(depth),
            b'[' => self.array(depth),
            b'"' => self.string(),
            b'-' => self.negative(),
            byte @ b'0'..=b'9' => self.number(byte),
            b't' => self.literal("true"),
            b'f' => self.literal("false"),
            b'n' => self.literal("null"),
            byte => Err(unexpected(byte, "looking for beginning of value")),
        }
    }

    fn object(&mut self, depth: usize) -> Outcome {
        let mut first = true;
        loop {
            match self.token()? {
                b'}' if first => return Ok(()),
                b'"' => self.string()?,
                byte => return Err(unexpected(byte, "looking for beginning of object key string")),
            }
            first = false;
            match self.token()? {
                b':' => self.value(depth + 1)?,
                byte => return Err(unexpected(byte, "after object key")),
            }
            match self.token()? {
                b',' => {}
                b'}' => return Ok(()),
                byte => return Err(unexpected(byte, "after object key:value pair")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Outcome {
        self.skip_space();
        if self.text.get(self.offset) == Some(&b']') {
            self.offset += 1;
            return Ok(());
        }
        loop {
            self.value(depth + 1)?;
            match self.token()? {
                b',' => {}
                b']' => return Ok(()),
                byte => return Err(unexpected(byte, "after array element")),
            }
        }
    }

    fn string(&mut self) -> Outcome {
        loop {
            match self.next().ok_or_else(end)? {
                b'"' => return Ok(()),
                b'\\' => self.escape()?,
                byte if byte < 0x20 => return Err(unexpected(byte, "in string literal")),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Outcome {
        match self.next().ok_or_else(end)? {
            b'b' | b'f' | b'n' | b'r' | b't' | b'\\' | b'/' | b'"' => Ok(()),
            b'u' => {
                for _ in 0..4 {
                    let byte = self.next().ok_or_else(end)?;
                    if !byte.is_ascii_hexdigit() {
                        return Err(unexpected(byte, "in \\u hexadecimal character escape"));
                    }
                }
                Ok(())
            }
            byte => Err(unexpected(byte, "in string escape code")),
        }
    }

    fn negative(&mut self) -> Outcome {
        match self.next().ok_or_else(end)? {
            byte @ b'0'..=b'9' => self.number(byte),
            byte => Err(unexpected(byte, "in numeric literal")),
        }
    }

    /// What follows the first digit.
    fn number(&mut self, first: u8) -> Outcome {
        if first != b'0' {
            self.digits();
        }
        if self.text.get(self.offset) == Some(&b'.') {
            self.offset += 1;
            self.some_digits("after decimal point in numeric literal")?;
        }
        if matches!(self.text.get(self.offset), Some(b'e' | b'E')) {
            self.offset += 1;
            self.offset += usize::from(matches!(self.text.get(self.offset), Some(b'+' | b'-')));
            self.some_digits("in exponent of numeric literal")?;
        }
        Ok(())
    }

    fn some_digits(&mut self, context: &str) -> Outcome {
        match self.next().ok_or_else(end)? {
            b'0'..=b'9' => {
                self.digits();
                Ok(())
            }
            byte => Err(unexpected(byte, context)),
        }
    }

    fn digits(&mut self) {
        while self.text.get(self.offset).is_some_and(u8::is_ascii_digit) {
            self.offset += 1;
        }
    }

    /// What follows the first letter.
    fn literal(&mut self, word: &str) -> Outcome {
        for wanted in word.bytes().skip(1) {
            let byte = self.next().ok_or_else(end)?;
            if byte != wanted {
                let context = format!("in literal {word} (expecting {})", shown(wanted));
                return Err(unexpected(byte, &context));
            }
        }
        Ok(())
    }
}

fn end() -> String {
    "unexpected end of JSON input".to_owned()
}

fn unexpected(byte: u8, context: &str) -> String {
    format!("invalid character {} {context}", shown(byte))
}

/// A byte between single quotes, as Go shows it.
fn shown(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => "'\"'".to_owned(),
        b'\n' => r"'\n'".to_owned(),
        b'\r' => r"'\r'".to_owned(),
        b'\t' => r"'\t'".to_owned(),
        b'\\' => r"'\\'".to_owned(),
        0x07 => r"'\a'".to_owned(),
        0x08 => r"'\b'".to_owned(),
        0x0b => r"'\v'".to_owned(),
        0x0c => r"'\f'".to_owned(),
        0x00..=0x1f | 0x7f => format!("'\\x{byte:02x}'"),
        // A byte beyond ASCII is taken for the character of this number.
        _ => format!("'{}'", char::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn faults_are_named_as_in_go() {
        for (text, expected) in [
            ("", "unexpected end of JSON input"),
            ("  ", "unexpected end of JSON input"),
            ("{", "unexpected end of JSON input"),
            ("{\"kind\"", "unexpected end of JSON input"),
            ("x", "invalid character 'x' looking for beginning of value"),
            ("{a", "invalid character 'a' looking for beginning of object key string"),
            ("{\"a\":1,}", "invalid character '}' looking for beginning of object key string"),
            ("{\"a\" 1}", "invalid character '1' after object key"),
            ("{\"a\":1 2}", "invalid character '2' after object key:value pair"),
            ("[1 2]", "invalid character '2' after array element"),
            ("[1,]", "invalid character ']' looking for beginning of value"),
            ("1 2", "invalid character '2' after top-level value"),
            ("01", "invalid character '1' after top-level value"),
            ("-x", "invalid character 'x' in numeric literal"),
            ("1.x", "invalid character 'x' after decimal point in numeric literal"),
            ("1ex", "invalid character 'x' in exponent of numeric literal"),
            ("trux", "invalid character 'x' in literal true (expecting 'e')"),
            ("\"\\x\"", "invalid character 'x' in string escape code"),
            ("\"\\u00g0\"", "invalid character 'g' in \\u hexadecimal character escape"),
            ("\"a\nb\"", "invalid character '\\n' in string literal"),
            ("'a'", "invalid character '\\'' looking for beginning of value"),
        ] {
            assert_eq!(fault(text.as_bytes()).as_deref(), Some(expected), "{text}");
        }
        for text in ["{}", " [] ", "[1, -2.5e+3, \"a\\u00e9\", true, null, {\"a\": {}}]"] {
            assert_eq!(fault(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn agrees_with_serde(text in "[\\[\\]{}\",:a0-9.e\\-+ \\\\u]{0,24}") {
            let theirs: Result<Value, _> = serde_json::from_str(&text);
            let hidden = theirs.as_ref().err().map(ToString::to_string).unwrap_or_default();
            // Lone surrogates and numbers out of range are faults of serde alone.
            prop_assume!(!hidden.contains("surrogate") && !hidden.contains("hex escape") && !hidden.contains("out of range"));
            prop_assert_eq!(fault(text.as_bytes()).is_none(), theirs.is_ok());
        }
    }
}
