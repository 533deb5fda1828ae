//! Builds the tree of an expression; expands macros on the way.

use crate::ast::{Access, Binary, Call, Expr, MapEntry, MessageField, NewMessage, Node, Unary};
use crate::error::Issue;
use crate::lexer::{self, Spanned, Token};
use crate::macros;
use crate::value::Value;

/// How many characters an expression may have, as in Kubernetes.
const MAX_CHARACTERS: usize = 100_000;

/// How deep an expression may nest, as in Kubernetes. It bounds every recursion over the tree.
const MAX_DEPTH: usize = 250;

const RESERVED: &[&str] = &[
    "as",
    "break",
    "const",
    "continue",
    "else",
    "false",
    "for",
    "function",
    "if",
    "import",
    "in",
    "let",
    "loop",
    "package",
    "namespace",
    "null",
    "return",
    "true",
    "var",
    "void",
    "while",
];

const STARTERS: &str = "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

/// Whether a property of this name needs escaping to be selected.
pub fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}

/// Parses a whole expression.
pub(crate) fn parse(source: &str) -> Parsed {
    let characters = source.chars().count();
    if characters > MAX_CHARACTERS {
        let message =
            format!("expression code point size exceeds limit: size: {characters}, limit {MAX_CHARACTERS}");
        return Err(Box::new(Issue { offset: None, message }));
    }
    let mut parser =
        Parser { source, tokens: lexer::tokenize(source).map_err(Box::new)?, position: 0, depth: 0 };
    let expr = parser.expression()?;
    if *parser.peek() != Token::End {
        let problem = if parser.peek_second() == &Token::End { "extraneous" } else { "mismatched" };
        return Err(parser.syntax(format!("{problem} input '{}' expecting <EOF>", parser.text())));
    }
    Ok(expr)
}

struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Spanned>,
    position: usize,
    depth: usize,
}

/// A part of the tree, or why there is none. Small, since the parser recurses with it.
pub(crate) type Parsed<T = Box<Expr>> = Result<T, Box<Issue>>;

impl Parser<'_> {
    fn spanned(&self, ahead: usize) -> &Spanned {
        const END: &Spanned = &Spanned { token: Token::End, start: 0, end: 0 };
        self.tokens.get(self.position + ahead).or(self.tokens.last()).unwrap_or(END)
    }

    fn peek(&self) -> &Token {
        &self.spanned(0).token
    }

    fn peek_second(&self) -> &Token {
        &self.spanned(1).token
    }

    fn offset(&self) -> usize {
        self.spanned(0).start
    }

    /// The next token as it is written.
    fn text(&self) -> &str {
        let spanned = self.spanned(0);
        if spanned.token == Token::End {
            return "<EOF>";
        }
        self.source.get(spanned.start..spanned.end).unwrap_or("")
    }

    fn advance(&mut self) -> Token {
        let token = self.peek().clone();
        self.position += 1;
        token
    }

    fn at(&self, symbol: &str) -> bool {
        matches!(self.peek(), Token::Symbol(found) if *found == symbol)
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let found = self.at(symbol);
        self.position += usize::from(found);
        found
    }

    #[inline(never)]
    fn syntax(&self, message: String) -> Box<Issue> {
        Issue::boxed(self.offset(), format!("Syntax error: {message}"))
    }

    #[inline(never)]
    fn mismatched(&self, expected: &str) -> Box<Issue> {
        self.syntax(format!("mismatched input '{}' expecting {expected}", self.text()))
    }

    #[inline(never)]
    fn too_deep() -> Box<Issue> {
        Box::new(Issue { offset: None, message: format!("expression recursion limit exceeded: {MAX_DEPTH}") })
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Self::too_deep());
        }
        let condition = self.disjunction()?;
        let offset = self.offset();
        let expr = if self.accept("?") {
            let then = self.disjunction()?;
            if !self.accept(":") {
                return Err(self.mismatched("':'"));
            }
            let otherwise = self.expression()?;
            node(offset, Node::Conditional(Box::new([*condition, *then, *otherwise])))?
        } else {
            condition
        };
        self.depth -= 1;
        Ok(expr)
    }

    fn disjunction(&mut self) -> Parsed {
        let mut terms = vec![*self.conjunction()?];
        let offset = self.offset();
        while self.accept("||") {
            terms.push(*self.conjunction()?);
        }
        flat(terms, |terms| node(offset, Node::Or(terms)))
    }

    fn conjunction(&mut self) -> Parsed {
        let mut terms = vec![*self.binary(3)?];
        let offset = self.offset();
        while self.accept("&&") {
            terms.push(*self.binary(3)?);
        }
        flat(terms, |terms| node(offset, Node::And(terms)))
    }

    /// Operators that bind at least as tightly as the given level.
    fn binary(&mut self, level: u8) -> Parsed {
        let mut left = self.unary()?;
        loop {
            let symbol = match self.peek() {
                Token::Symbol(symbol) => symbol,
                Token::Identifier(name) if name == "in" => "in",
                _ => return Ok(left),
            };
            let Some((operator, binding)) = Binary::parse(symbol) else { return Ok(left) };
            if binding < level {
                return Ok(left);
            }
            let offset = self.offset();
            self.advance();
            let right = self.binary(binding + 1)?;
            left = node(offset, Node::Binary(operator, left, right))?;
        }
    }

    /// A run of `!` or of `-`; a pair of them does nothing.
    fn unary(&mut self) -> Parsed {
        let offset = self.offset();
        let (symbol, operator) = match self.peek() {
            Token::Symbol("!") => ("!", Unary::Not),
            Token::Symbol("-") => ("-", Unary::Negate),
            _ => return self.member(),
        };
        let mut count = 0_usize;
        while self.accept(symbol) {
            count += 1;
        }
        if symbol == "-" && matches!(self.peek(), Token::Int(_) | Token::Float(_)) && !count.is_multiple_of(2)
        {
            self.position -= 1;
            count -= 1;
        }
        let operand = self.member()?;
        if count.is_multiple_of(2) {
            return Ok(operand);
        }
        node(offset, Node::Unary(operator, operand))
    }

    fn member(&mut self) -> Parsed {
        let mut expr = self.primary()?;
        loop {
            let offset = self.offset();
            if self.accept(".") {
                expr = self.selection(expr, offset)?;
            } else if self.accept("[") {
                let optional = self.accept("?");
                let index = self.expression()?;
                if !self.accept("]") {
                    return Err(self.mismatched("']'"));
                }
                expr = node(offset, Node::Index { operand: expr, index, optional })?;
            } else {
                return Ok(expr);
            }
        }
    }

    #[inline(never)]
    fn selection(&mut self, operand: Box<Expr>, offset: usize) -> Parsed {
        let optional = self.accept("?");
        let name_offset = self.offset();
        let name = match self.peek() {
            Token::Identifier(name) if name == "in" => None,
            Token::Identifier(name) => Some(name.clone()),
            Token::Quoted => return Err(Issue::boxed(name_offset, "unsupported syntax: '`'")),
            _ => None,
        };
        let Some(name) = name else {
            let shown = if *self.peek() == Token::End { "" } else { self.text() };
            return Err(self.syntax(format!("no viable alternative at input '.{shown}'")));
        };
        self.advance();
        if !optional && self.at("(") {
            let offset = self.offset();
            let arguments = self.arguments()?;
            return macros::method(*operand, &name, arguments, offset);
        }
        let mode = if optional { Access::Optional } else { Access::Plain };
        node(offset, Node::Select { operand, field: name.into(), mode })
    }

    /// `(a, b)`, from the opening bracket on.
    #[inline(never)]
    fn arguments(&mut self) -> Parsed<Vec<Expr>> {
        self.accept("(");
        let mut arguments = Vec::new();
        if self.accept(")") {
            return Ok(arguments);
        }
        if *self.peek() == Token::End {
            return Err(self.mismatched(&STARTERS.replacen("'(', ", "'(', ')', ", 1)));
        }
        loop {
            arguments.push(*self.expression()?);
            if self.accept(")") {
                return Ok(arguments);
            }
            if !self.accept(",") {
                return Err(self.mismatched("{')', ','}"));
            }
        }
    }

    fn primary(&mut self) -> Parsed {
        let offset = self.offset();
        match self.peek().clone() {
            Token::Symbol("(") => {
                self.advance();
                let expr = self.expression()?;
                if !self.accept(")") {
                    return Err(self.syntax(format!("missing ')' at '{}'", self.text())));
                }
                Ok(expr)
            }
            Token::Symbol("[") => self.list(offset),
            Token::Symbol("{") => self.map(offset),
            Token::Symbol(".") if matches!(self.peek_second(), Token::Identifier(_)) => {
                self.advance();
                self.name()
            }
            Token::Identifier(name) if name == "in" => Err(self.unexpected()),
            Token::Identifier(_) => self.name(),
            _ => self.literal(offset),
        }
    }

    #[inline(never)]
    fn unexpected(&self) -> Box<Issue> {
        let starts = match self.peek_second() {
            Token::Symbol(symbol) => ["[", "{", "(", ".", "-", "!"].contains(symbol),
            Token::End | Token::Quoted => false,
            _ => true,
        };
        if starts && *self.peek() != Token::End {
            return self.syntax(format!("extraneous input '{}' expecting {STARTERS}", self.text()));
        }
        self.mismatched(STARTERS)
    }

    #[inline(never)]
    fn literal(&mut self, offset: usize) -> Parsed {
        let negative = self.at("-") && matches!(self.peek_second(), Token::Int(_) | Token::Float(_));
        if negative {
            self.advance();
        }
        let invalid = |kind: &str| Issue::boxed(offset, format!("invalid {kind} literal"));
        let value = match self.peek() {
            Token::Int(text) => Value::Int(signed(text, negative).ok_or_else(|| invalid("int"))?),
            Token::Uint(text) => Value::Uint(unsigned(text).ok_or_else(|| invalid("uint"))?),
            Token::Float(text) => {
                let number: f64 = text.parse().map_err(|_| invalid("double"))?;
                if number.is_infinite() {
                    return Err(invalid("double"));
                }
                Value::Double(if negative { -number } else { number })
            }
            Token::Text(text) => Value::text(text.as_str()),
            Token::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        node(offset, Node::Literal(value))
    }

    /// A variable, a function call, a constant word, or a new message.
    #[inline(never)]
    fn name(&mut self) -> Parsed {
        let offset = self.offset();
        let Token::Identifier(name) = self.advance() else { return Err(self.unexpected()) };
        let literal = match name.as_str() {
            "true" => Some(Value::Bool(true)),
            "false" => Some(Value::Bool(false)),
            "null" => Some(Value::Null),
            _ => None,
        };
        if let Some(value) = literal {
            return node(offset, Node::Literal(value));
        }
        if is_reserved(&name) {
            return Err(Issue::boxed(offset, format!("reserved identifier: {name}")));
        }
        if let Some(brace) = self.message_brace() {
            return self.message(name, brace);
        }
        if !self.at("(") {
            return node(offset, Node::Name(name.into()));
        }
        let offset = self.offset();
        let arguments = self.arguments()?;
        if name == "has" && arguments.len() == 1 {
            return macros::presence(arguments, offset);
        }
        call(&name, false, arguments, offset)
    }

    /// Where the brace of `Name{` or `a.b.Name{` is, looking ahead.
    #[inline(never)]
    fn message_brace(&self) -> Option<usize> {
        let mut ahead = 0;
        loop {
            match (&self.spanned(ahead).token, &self.spanned(ahead + 1).token) {
                (Token::Symbol("{"), _) => return Some(self.spanned(ahead).start),
                (Token::Symbol("."), Token::Identifier(_)) => ahead += 2,
                _ => return None,
            }
        }
    }

    /// A message, from behind the first part of its name on.
    #[inline(never)]
    fn message(&mut self, mut type_name: String, offset: usize) -> Parsed {
        while !self.accept("{") {
            if let Token::Identifier(part) = self.advance() {
                type_name = format!("{type_name}.{part}");
            }
        }
        let mut fields = Vec::new();
        loop {
            if self.accept("}") {
                let message = NewMessage { type_name: type_name.into(), fields };
                return node(offset, Node::Message(Box::new(message)));
            }
            let optional = self.accept("?");
            let Token::Identifier(name) = self.peek().clone() else {
                return Err(self.mismatched("{'}', ',', '?', IDENTIFIER, ESC_IDENTIFIER}"));
            };
            self.advance();
            let offset = self.offset();
            if !self.accept(":") {
                return Err(self.mismatched("':'"));
            }
            let value = *self.expression()?;
            fields.push(MessageField { offset, name: name.into(), value, optional });
            if !self.accept(",") && !self.at("}") {
                return Err(self.mismatched("{'}', ','}"));
            }
        }
    }

    #[inline(never)]
    fn list(&mut self, offset: usize) -> Parsed {
        self.accept("[");
        let mut elements = Vec::new();
        loop {
            if self.accept("]") {
                return node(offset, Node::List(elements));
            }
            let optional = self.accept("?");
            elements.push((*self.expression()?, optional));
            if !self.accept(",") && !self.at("]") {
                return Err(self.mismatched("{']', ','}"));
            }
        }
    }

    #[inline(never)]
    fn map(&mut self, offset: usize) -> Parsed {
        self.accept("{");
        let mut entries = Vec::new();
        loop {
            if self.accept("}") {
                return node(offset, Node::Map(entries));
            }
            let optional = self.accept("?");
            let key = *self.expression()?;
            if !self.accept(":") {
                return Err(self.syntax(format!("missing ':' at '{}'", self.text())));
            }
            entries.push(MapEntry { key, value: *self.expression()?, optional });
            if !self.accept(",") && !self.at("}") {
                return Err(self.mismatched("{'}', ','}"));
            }
        }
    }
}

/// A single term, or all of them in one node.
fn flat(mut terms: Vec<Expr>, wrap: impl FnOnce(Vec<Expr>) -> Parsed) -> Parsed {
    if terms.len() > 1 {
        return wrap(terms);
    }
    terms
        .pop()
        .ok_or_else(|| Box::new(Issue { offset: None, message: "empty expression".to_owned() }))
        .map(Box::new)
}

/// A node with its height; refused if the tree grows too high.
#[inline(never)]
pub(crate) fn node(offset: usize, node: Node) -> Parsed {
    let height = 1 + match &node {
        Node::Literal(_) | Node::Name(_) | Node::Global(_) | Node::Local(_) => 0,
        Node::Select { operand, .. } | Node::Unary(_, operand) => operand.height,
        Node::Index { operand, index, .. } => operand.height.max(index.height),
        Node::Binary(_, left, right) => left.height.max(right.height),
        Node::Call(call) => highest(&call.arguments),
        Node::And(terms) | Node::Or(terms) => highest(terms),
        Node::Conditional(parts) => highest(parts.as_slice()),
        Node::List(elements) => elements.iter().map(|(element, _)| element.height).max().unwrap_or(0),
        Node::Map(entries) => {
            entries.iter().map(|entry| entry.key.height.max(entry.value.height)).max().unwrap_or(0)
        }
        Node::Message(message) => message.fields.iter().map(|field| field.value.height).max().unwrap_or(0),
        Node::Macro(expanded) => {
            let filter = expanded.filter.as_ref().map_or(0, |filter| filter.height);
            expanded.range.height.max(expanded.body.height).max(filter)
        }
    };
    if height > MAX_DEPTH {
        return Err(Parser::too_deep());
    }
    Ok(Box::new(Expr { offset, height, node, constant: None }))
}

fn highest(exprs: &[Expr]) -> usize {
    exprs.iter().map(|expr| expr.height).max().unwrap_or(0)
}

fn signed(text: &str, negative: bool) -> Option<i64> {
    let magnitude = i128::from(unsigned(text)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).ok()
}

fn unsigned(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[inline(never)]
pub(crate) fn call(function: &str, member: bool, arguments: Vec<Expr>, offset: usize) -> Parsed {
    let call = Call { function: function.into(), member, arguments, native: None, regex: None };
    node(offset, Node::Call(Box::new(call)))
}
