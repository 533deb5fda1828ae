//! Splits the text of an expression into tokens.

use crate::error::Issue;

/// A piece of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Token {
    Identifier(String),
    /// A name in backquotes, which Kubernetes does not enable.
    Quoted,
    Int(String),
    Uint(String),
    Float(String),
    Text(String),
    Bytes(Vec<u8>),
    /// An operator or bracket.
    Symbol(&'static str),
    End,
}

/// A token and the bytes of the source that it spans.
#[derive(Clone, Debug)]
pub(crate) struct Spanned {
    pub(crate) token: Token,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Longer ones first, so that `<=` is not read as `<`.
const SYMBOLS: &[&str] = &[
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "[", "]", "{", "}", "(", ")", ".", ",", "-", "!", "?", ":",
    "+", "*", "/", "%",
];

/// All tokens of the source, the last one being `End`.
pub(crate) fn tokenize(source: &str) -> Result<Vec<Spanned>, Issue> {
    let mut lexer = Lexer { source, position: 0 };
    let mut tokens = Vec::new();
    loop {
        lexer.skip_blanks();
        let start = lexer.position;
        let token = lexer.next()?;
        let ended = token == Token::End;
        tokens.push(Spanned { token, start, end: lexer.position });
        if ended {
            return Ok(tokens);
        }
    }
}

struct Lexer<'s> {
    source: &'s str,
    position: usize,
}

impl<'s> Lexer<'s> {
    fn rest(&self) -> &'s str {
        self.source.get(self.position..).unwrap_or("")
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.source.as_bytes().get(self.position + ahead).copied().unwrap_or(0)
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = self.rest();
            let blanks = rest.len() - rest.trim_start_matches(['\t', ' ', '\r', '\n', '\u{c}']).len();
            self.position += blanks;
            if !self.rest().starts_with("//") {
                return;
            }
            self.position += self.rest().find('\n').unwrap_or(self.rest().len());
        }
    }

    fn next(&mut self) -> Result<Token, Issue> {
        let rest = self.rest();
        if rest.is_empty() {
            return Ok(Token::End);
        }
        if let Some((prefix, raw, bytes)) = string_prefix(rest) {
            return self.string(prefix, raw, bytes);
        }
        let first = self.peek(0);
        if first.is_ascii_digit() || (first == b'.' && self.peek(1).is_ascii_digit()) {
            return Ok(self.number());
        }
        if first.is_ascii_alphabetic() || first == b'_' {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            self.position += end;
            return Ok(Token::Identifier(rest[..end].to_owned()));
        }
        if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            self.position += symbol.len();
            return Ok(Token::Symbol(symbol));
        }
        if let Some(length) = quoted_name(rest) {
            self.position += length;
            return Ok(Token::Quoted);
        }
        // Half of a doubled operator: the complaint shows what came instead of the other half.
        let length = if matches!(first, b'&' | b'|' | b'=') { 2 } else { 1 };
        let unexpected: String = rest.chars().take(length).collect();
        Err(self.unrecognized(self.position, &unexpected))
    }

    fn unrecognized(&self, start: usize, text: &str) -> Issue {
        Issue::at(start, format!("Syntax error: token recognition error at: '{text}'"))
    }

    fn digits(&mut self, accepts: fn(&u8) -> bool) -> usize {
        let count = self.rest().bytes().take_while(accepts).count();
        self.position += count;
        count
    }

    fn number(&mut self) -> Token {
        let start = self.position;
        if self.rest().starts_with("0x") && self.peek(2).is_ascii_hexdigit() {
            self.position += 2;
            self.digits(u8::is_ascii_hexdigit);
        } else {
            self.digits(u8::is_ascii_digit);
            let fraction = self.peek(0) == b'.' && self.peek(1).is_ascii_digit();
            if fraction {
                self.position += 1;
                self.digits(u8::is_ascii_digit);
            }
            let exponent = self.exponent();
            if fraction || exponent {
                return Token::Float(self.source[start..self.position].to_owned());
            }
        }
        let text = self.source[start..self.position].to_owned();
        if matches!(self.peek(0), b'u' | b'U') {
            self.position += 1;
            return Token::Uint(text);
        }
        Token::Int(text)
    }

    fn exponent(&mut self) -> bool {
        if !matches!(self.peek(0), b'e' | b'E') {
            return false;
        }
        let sign = usize::from(matches!(self.peek(1), b'+' | b'-'));
        if !self.peek(1 + sign).is_ascii_digit() {
            return false;
        }
        self.position += 1 + sign;
        self.digits(u8::is_ascii_digit);
        true
    }

    fn string(&mut self, prefix: usize, raw: bool, bytes: bool) -> Result<Token, Issue> {
        let start = self.position;
        let body = self.rest().get(prefix..).unwrap_or("");
        let quote = if body.starts_with('"') { '"' } else { '\'' };
        let triple: String = std::iter::repeat_n(quote, 3).collect();
        let multiline = body.starts_with(&triple);
        let delimiter = if multiline { triple } else { quote.to_string() };
        let content = body.get(delimiter.len()..).unwrap_or("");
        let Some(length) = content_length(content, &delimiter, raw, multiline) else {
            let line = self.rest().lines().next().unwrap_or("");
            return Err(self.unrecognized(start, line));
        };
        self.position += prefix + delimiter.len() + length + delimiter.len();
        let content = content[..length].replace("\r\n", "\n").replace('\r', "\n");
        let value = if raw { Ok(content.into_bytes()) } else { unescape(&content, bytes) };
        let value = value.map_err(|message| Issue::at(start, message))?;
        if bytes {
            return Ok(Token::Bytes(value));
        }
        String::from_utf8(value).map(Token::Text).map_err(|_| Issue::at(start, "invalid unicode code point"))
    }
}

/// How many characters stand before the quote, and whether they say raw and bytes.
fn string_prefix(text: &str) -> Option<(usize, bool, bool)> {
    let bytes = text.as_bytes();
    let is_bytes = matches!(bytes.first(), Some(b'b' | b'B'));
    let mut length = usize::from(is_bytes);
    let raw = matches!(bytes.get(length), Some(b'r' | b'R'));
    length += usize::from(raw);
    matches!(bytes.get(length), Some(b'"' | b'\'')).then_some((length, raw, is_bytes))
}

/// Where the string ends; `None` if it does not.
fn content_length(content: &str, delimiter: &str, raw: bool, multiline: bool) -> Option<usize> {
    let mut position = 0;
    loop {
        let rest = content.get(position..)?;
        if rest.starts_with(delimiter) {
            return Some(position);
        }
        let next = rest.chars().next()?;
        if !multiline && matches!(next, '\n' | '\r') {
            return None;
        }
        position += next.len_utf8();
        if next == '\\' && !raw {
            let escaped = rest.chars().nth(1)?;
            if !escaped.is_ascii() {
                return None;
            }
            position += escaped.len_utf8();
        }
    }
}

fn quoted_name(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('`')?;
    let length = inner.find('`')?;
    let valid = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | ' ');
    (length > 0 && inner[..length].chars().all(valid)).then_some(length + 2)
}

/// Escapes resolved. In bytes, `\xff` and `\377` are bytes; in text they are code points.
fn unescape(content: &str, bytes: bool) -> Result<Vec<u8>, &'static str> {
    const INVALID_ESCAPE: &str = "unable to unescape string";
    let mut out = Vec::with_capacity(content.len());
    let mut chars = content.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            continue;
        }
        let escape = chars.next().ok_or(INVALID_ESCAPE)?;
        let (radix, length) = match escape {
            'x' | 'X' => (16, 2),
            'u' if !bytes => (16, 4),
            'U' if !bytes => (16, 8),
            '0'..='3' => (8, 2),
            _ => {
                out.push(simple_escape(escape).ok_or(INVALID_ESCAPE)?);
                continue;
            }
        };
        let mut code = if radix == 8 { escape.to_digit(8).ok_or(INVALID_ESCAPE)? } else { 0 };
        for _ in 0..length {
            let digit = chars.next().and_then(|c| c.to_digit(radix)).ok_or(INVALID_ESCAPE)?;
            code = code.wrapping_mul(radix).wrapping_add(digit);
        }
        if bytes {
            out.push(code as u8);
        } else {
            let c = char::from_u32(code).ok_or("invalid unicode code point")?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    Ok(out)
}

fn simple_escape(escape: char) -> Option<u8> {
    Some(match escape {
        'a' => 7,
        'b' => 8,
        'f' => 12,
        'n' => b'\n',
        'r' => b'\r',
        't' => b'\t',
        'v' => 11,
        '\\' | '\'' | '"' | '`' | '?' => escape as u8,
        _ => return None,
    })
}
