//! Reads the written form of label selectors, with the errors that Kubernetes gives.

use std::collections::BTreeSet;

use crate::field::{FieldError, FieldPath};
use crate::selector::label::{Operator, Requirement};
use windlass_cel::formats::names;

const OPERATORS: &str = "in, notin, =, ==, !=, gt, lt";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    End,
    Word(&'a str),
    Symbol(&'a str),
}

impl<'a> Token<'a> {
    fn literal(self) -> &'a str {
        match self {
            Token::End => "",
            Token::Word(text) | Token::Symbol(text) => text,
        }
    }
}

/// The requirements in the order in which they are written.
pub(super) fn requirements(text: &str) -> Result<Vec<Requirement>, String> {
    let mut tokens = Tokens::new(text);
    let mut requirements = Vec::new();
    loop {
        match tokens.peek() {
            Token::End => return Ok(requirements),
            Token::Word(_) | Token::Symbol("!") => {}
            other => {
                return Err(format!(
                    "found '{}', expected: !, identifier, or 'end of string'",
                    other.literal()
                ));
            }
        }
        let requirement =
            requirement(&mut tokens).map_err(|error| format!("unable to parse requirement: {error}"))?;
        requirements.push(requirement);
        match tokens.next() {
            Token::End => return Ok(requirements),
            Token::Symbol(",") => match tokens.peek() {
                Token::Word(_) | Token::Symbol("!") => {}
                other => {
                    return Err(format!("found '{}', expected: identifier after ','", other.literal()));
                }
            },
            other => return Err(format!("found '{}', expected: ',' or 'end of string'", other.literal())),
        }
    }
}

fn requirement(tokens: &mut Tokens<'_>) -> Result<Requirement, String> {
    let mut token = tokens.next();
    let negated = token == Token::Symbol("!");
    if negated {
        token = tokens.next();
    }
    let Token::Word(key) = token else {
        return Err(format!("found '{}', expected: identifier", token.literal()));
    };
    let violations = names::is_qualified_name(key);
    if !violations.is_empty() {
        return Err(FieldError::invalid(&FieldPath::root(), key, violations.join("; ")).to_string());
    }
    if negated {
        return checked(key, Operator::DoesNotExist, Vec::new());
    }
    if matches!(tokens.peek(), Token::End | Token::Symbol(",")) {
        return checked(key, Operator::Exists, Vec::new());
    }
    let operator = operator(tokens.next())?;
    let values = match operator {
        Operator::In | Operator::NotIn => value_set(tokens)?,
        _ => vec![exact_value(tokens)?],
    };
    checked(key, operator, values)
}

fn operator(token: Token<'_>) -> Result<Operator, String> {
    Ok(match token.literal() {
        "in" => Operator::In,
        "notin" => Operator::NotIn,
        "=" => Operator::Equals,
        "==" => Operator::DoubleEquals,
        "!=" => Operator::NotEquals,
        ">" => Operator::GreaterThan,
        "<" => Operator::LessThan,
        other => return Err(format!("found '{other}', expected: {OPERATORS}")),
    })
}

fn exact_value(tokens: &mut Tokens<'_>) -> Result<String, String> {
    match tokens.peek() {
        Token::End | Token::Symbol(",") => Ok(String::new()),
        Token::Word(value) => {
            tokens.next();
            Ok(value.to_owned())
        }
        other => Err(format!("found '{}', expected: identifier", other.literal())),
    }
}

/// `(a,b)`; a missing value between commas or parentheses is the empty one.
fn value_set(tokens: &mut Tokens<'_>) -> Result<Vec<String>, String> {
    let open = tokens.next();
    if open != Token::Symbol("(") {
        return Err(format!("found '{}' expected: '('", open.literal()));
    }
    let mut values = BTreeSet::new();
    match tokens.peek() {
        Token::Symbol(")") => {
            values.insert(String::new());
        }
        Token::Word(_) | Token::Symbol(",") => identifiers(tokens, &mut values)?,
        other => return Err(format!("found '{}', expected: ',', ')' or identifier", other.literal())),
    }
    // The closing parenthesis, which was seen above.
    tokens.next();
    Ok(values.into_iter().collect())
}

fn identifiers(tokens: &mut Tokens<'_>, values: &mut BTreeSet<String>) -> Result<(), String> {
    loop {
        match tokens.next() {
            Token::Word(value) => {
                values.insert(value.to_owned());
                match tokens.peek() {
                    Token::Symbol(",") => {}
                    Token::Symbol(")") => return Ok(()),
                    other => return Err(format!("found '{}', expected: ',' or ')'", other.literal())),
                }
            }
            Token::Symbol(",") => {
                if values.is_empty() || matches!(tokens.peek(), Token::Symbol("," | ")")) {
                    values.insert(String::new());
                }
                if tokens.peek() == Token::Symbol(")") {
                    return Ok(());
                }
            }
            other => return Err(format!("found '{}', expected: ',', or identifier", other.literal())),
        }
    }
}

/// A requirement whose values fit its operator.
pub(super) fn checked(key: &str, operator: Operator, values: Vec<String>) -> Result<Requirement, String> {
    let mut errors = Vec::new();
    let path = FieldPath::of("values");
    if matches!(operator, Operator::GreaterThan | Operator::LessThan) {
        for (index, value) in values.iter().enumerate().filter(|(_, value)| value.parse::<i64>().is_err()) {
            let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
            errors.push(FieldError::invalid(&path.index(index), value.as_str(), detail));
        }
    }
    for (index, value) in values.iter().enumerate() {
        let violations = names::is_valid_label_value(value);
        if !violations.is_empty() {
            let path = path.index(index).key(key);
            errors.push(FieldError::invalid(&path, value.as_str(), violations.join("; ")));
        }
    }
    match errors.as_slice() {
        [] => Ok(Requirement { key: key.to_owned(), operator, values }),
        [only] => Err(only.to_string()),
        many => {
            let shown: Vec<String> = many.iter().map(ToString::to_string).collect();
            Err(format!("[{}]", shown.join(", ")))
        }
    }
}

/// The tokens of a selector, with one token of lookahead.
struct Tokens<'a> {
    rest: &'a str,
    ahead: Token<'a>,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        let mut tokens = Tokens { rest: text, ahead: Token::End };
        tokens.next();
        tokens
    }

    fn peek(&self) -> Token<'a> {
        self.ahead
    }

    fn next(&mut self) -> Token<'a> {
        let next = self.scan();
        std::mem::replace(&mut self.ahead, next)
    }

    fn scan(&mut self) -> Token<'a> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        let Some(first) = self.rest.chars().next() else { return Token::End };
        if first == '\0' {
            // Kubernetes takes a zero byte for the end of the text, unless it ends a token.
            self.rest = "";
            return Token::End;
        }
        if !is_special(first) {
            let end = self.rest.find(|character| is_special(character) || is_gap(character));
            return Token::Word(self.take(end.unwrap_or(self.rest.len())));
        }
        let length = if self.rest.starts_with("==") || self.rest.starts_with("!=") { 2 } else { 1 };
        Token::Symbol(self.take(length))
    }

    fn take(&mut self, length: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest.strip_prefix('\0').unwrap_or(rest);
        taken
    }
}

fn is_special(character: char) -> bool {
    matches!(character, '=' | '!' | '(' | ')' | ',' | '>' | '<')
}

fn is_gap(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\n' | '\0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_with_the_words_of_kubernetes() {
        for (text, error) in [
            ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
            ("=a", "found '=', expected: !, identifier, or 'end of string'"),
            ("a=b,", "found '', expected: identifier after ','"),
            ("a,,b", "found ',', expected: identifier after ','"),
            ("a=b c", "found 'c', expected: ',' or 'end of string'"),
            ("!a=b", "found '=', expected: ',' or 'end of string'"),
            ("!", "unable to parse requirement: found '', expected: identifier"),
            ("!!a", "unable to parse requirement: found '!', expected: identifier"),
            ("a in b", "unable to parse requirement: found 'b' expected: '('"),
            ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
            ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
            ("a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"),
            ("a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"),
            ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
            ("a==(b)", "unable to parse requirement: found '(', expected: identifier"),
            ("a in (b))", "found ')', expected: ',' or 'end of string'"),
            (
                "a>b",
                "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            assert_eq!(requirements(text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn refuses_bad_keys_and_values() {
        let error = requirements("-a=b").unwrap_err();
        let start = "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of";
        assert!(error.starts_with(start), "{error}");
        let error = requirements("a=-b").unwrap_err();
        let start = "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be";
        assert!(error.starts_with(start), "{error}");
        let error = requirements("a>-").unwrap_err();
        assert!(error.starts_with("unable to parse requirement: [values[0]: Invalid value: \"-\": for 'Gt'"));
    }

    #[test]
    fn keywords_can_be_keys_and_values() {
        let parsed = requirements("in in (in, notin), notin = in").unwrap();
        let shown: Vec<String> = parsed.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["in in (in,notin)", "notin=in"]);
        assert_eq!(
            requirements("a\0b").unwrap_err(),
            "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"
        );
        assert_eq!(requirements("a,b \0c").unwrap().len(), 2);
    }
}
