//! A reader of JSON that is slow and plain: what it says the library must say.

use toolfall_layers::{ArgumentsErrorKind, MAX_DEPTH};

use super::decimal::Decimal;

/// A value, its numbers as they are written.
#[derive(Debug)]
pub enum Node {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Node>),
    Object(Vec<(String, Node)>),
}

/// What cannot be kept, and where.
#[derive(Debug)]
pub struct Loss {
    pub kind: ArgumentsErrorKind,
    pub offset: usize,
    pub pointer: String,
}

/// What a text is.
#[derive(Debug)]
pub struct Read {
    /// `None` if it is no JSON, or too deep.
    pub node: Option<Node>,
    pub too_deep: bool,
    pub losses: Vec<Loss>,
    /// The pointers of all values that were met.
    pub places: Vec<String>,
}

pub fn read(text: &str) -> Read {
    let mut reader = Reader {
        text,
        at: 0,
        path: String::new(),
        read: Read {
            node: None,
            too_deep: false,
            losses: Vec::new(),
            places: vec![String::new()],
        },
    };
    reader.white();
    let node = reader.value(0);
    reader.white();
    reader.read.node = node.filter(|_| reader.at == text.len());
    reader.read
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: String,
    read: Read,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn white(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r']).len();
    }

    /// Takes `token` if it is next.
    fn take(&mut self, token: &str) -> Option<()> {
        self.rest()
            .starts_with(token)
            .then(|| self.at += token.len())
    }

    fn lose(&mut self, kind: ArgumentsErrorKind, offset: usize) {
        let pointer = self.path.clone();
        self.read.losses.push(Loss {
            kind,
            offset,
            pointer,
        });
    }

    /// Reads what stands one step further in.
    fn inside<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push('/');
        self.path
            .push_str(&step.replace('~', "~0").replace('/', "~1"));
        self.read.places.push(self.path.clone());
        let got = read(self);
        self.path.truncate(length);
        got
    }

    fn value(&mut self, open: usize) -> Option<Node> {
        let first = self.rest().chars().next()?;
        if matches!(first, '[' | '{') && open > MAX_DEPTH {
            self.read.too_deep = true;
            self.lose(ArgumentsErrorKind::TooDeep, self.at);
            return None;
        }
        match first {
            '"' => self.string().map(Node::Text),
            '[' => self.list(open + 1),
            '{' => self.object(open + 1),
            't' => self.take("true").map(|()| Node::Bool(true)),
            'f' => self.take("false").map(|()| Node::Bool(false)),
            'n' => self.take("null").map(|()| Node::Null),
            _ => self.number(),
        }
    }

    fn list(&mut self, open: usize) -> Option<Node> {
        self.take("[")?;
        self.white();
        let mut items = Vec::new();
        if self.take("]").is_some() {
            return Some(Node::List(items));
        }
        loop {
            self.white();
            let step = items.len().to_string();
            items.push(self.inside(&step, |reader| reader.value(open))?);
            self.white();
            if self.take(",").is_none() {
                self.take("]")?;
                return Some(Node::List(items));
            }
        }
    }

    fn object(&mut self, open: usize) -> Option<Node> {
        self.take("{")?;
        self.white();
        let mut members: Vec<(String, Node)> = Vec::new();
        if self.take("}").is_some() {
            return Some(Node::Object(members));
        }
        loop {
            self.white();
            let offset = self.at;
            let name = self.string()?;
            let repeated = members.iter().any(|(known, _)| *known == name);
            let node = self.inside(&name, |reader| {
                if repeated {
                    reader.lose(ArgumentsErrorKind::DuplicateName, offset);
                }
                if name.starts_with("$serde_json::private::") {
                    reader.lose(ArgumentsErrorKind::PrivateKey, offset);
                }
                reader.white();
                reader.take(":")?;
                reader.white();
                reader.value(open)
            })?;
            members.push((name, node));
            self.white();
            if self.take(",").is_none() {
                self.take("}")?;
                return Some(Node::Object(members));
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take("\"")?;
        let mut units: Vec<u16> = Vec::new();
        loop {
            let char = self.rest().chars().next()?;
            self.at += char.len_utf8();
            match char {
                '"' => return String::from_utf16(&units).ok(),
                '\\' => units.push(self.escape()?),
                '\0'..='\u{1f}' => return None,
                char => units.extend_from_slice(char.encode_utf16(&mut [0; 2])),
            }
        }
    }

    fn escape(&mut self) -> Option<u16> {
        let char = self.rest().chars().next()?;
        self.at += char.len_utf8();
        Some(match char {
            '"' | '\\' | '/' => char as u16,
            'b' => 8,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'u' => {
                let digits = self.rest().get(..4)?;
                if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return None;
                }
                let unit = u16::from_str_radix(digits, 16).ok()?;
                self.at += 4;
                unit
            }
            _ => return None,
        })
    }

    fn digits(&mut self) -> Option<usize> {
        let rest = self.rest();
        let count = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        self.at += count;
        (count > 0).then_some(count)
    }

    fn number(&mut self) -> Option<Node> {
        let start = self.at;
        let _ = self.take("-");
        let zero = self.rest().starts_with('0');
        if self.digits()? > 1 && zero {
            return None;
        }
        let mut whole = true;
        if self.take(".").is_some() {
            whole = false;
            self.digits()?;
        }
        if self.take("e").or_else(|| self.take("E")).is_some() {
            whole = false;
            let _ = self.take("+").or_else(|| self.take("-"));
            self.digits()?;
        }
        let token = self.text[start..self.at].to_owned();
        let kept = if whole {
            token.parse::<u64>().is_ok() || token.parse::<i64>().is_ok()
        } else {
            is_kept(&token)
        };
        if !kept {
            self.lose(ArgumentsErrorKind::NumberRange, start);
        }
        Some(Node::Number(token))
    }
}

/// Whether the float that is read from `token` prints as the same decimal, or
/// as another of as many digits that is as near.
fn is_kept(token: &str) -> bool {
    let float: f64 = token.parse().unwrap_or(f64::INFINITY);
    let (written, printed) = (Decimal::of(token), Decimal::of(&format!("{float:e}")));
    if !float.is_finite() {
        return false;
    }
    written == printed
        || (written.digits.len() == printed.digits.len()
            && !written.digits.is_empty()
            && is_between(float, &written.digits))
}

/// Whether the float is in the very middle between a decimal of these digits
/// and its neighbour.
fn is_between(float: f64, digits: &str) -> bool {
    let exact = Decimal::of(&format!("{float:.800e}")).digits;
    let Some((head, tail)) = exact.split_at_checked(digits.len()) else {
        return false;
    };
    let (Ok(head), Ok(written)) = (head.parse::<u128>(), digits.parse::<u128>()) else {
        return false;
    };
    tail == "5" && (written == head || written == head + 1)
}
