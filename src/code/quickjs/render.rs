//! What a program printed or threw, as text for people and models.

use super::convert::length;
use rquickjs::object::Filter;
use rquickjs::{Atom, Coerced, Ctx, Function, Object, Value as Js};

/// So many levels of a value are shown.
const LEVELS: usize = 8;

/// What a value that throws while it is rendered is called.
const UNRENDERABLE: &str = "program threw an unrenderable value";

/// Renders within a number of bytes. Code of the program that runs meanwhile
/// (getters) is interrupted as all of it is.
pub(super) struct Renderer<'a, 'js> {
    out: String,
    limit: usize,
    ctx: &'a Ctx<'js>,
    well_formed: &'a Function<'js>,
}

impl<'a, 'js> Renderer<'a, 'js> {
    /// A renderer of at most `limit` bytes, and a little more, so that whoever
    /// counts them sees that they are too many.
    pub(super) fn new(ctx: &'a Ctx<'js>, well_formed: &'a Function<'js>, limit: usize) -> Self {
        Self {
            out: String::new(),
            limit: limit.saturating_add(4),
            ctx,
            well_formed,
        }
    }

    /// What was printed, with a space between the values.
    pub(super) fn printed(mut self, values: &[Js<'js>]) -> String {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.push(" ");
            }
            if let Some(text) = self.text(value) {
                self.push(&text);
            } else if self.value(value, 0).is_err() {
                self.ctx.catch();
                self.push("[unrenderable]");
            }
        }
        self.out
    }

    /// What was thrown: a text as it is, an error as its name, its message
    /// and its place.
    pub(super) fn thrown(mut self, value: &Js<'js>, first_line: usize) -> String {
        if let Some(text) = self.text(value) {
            self.push(&text);
            return self.out;
        }
        let done = match value.as_object() {
            Some(object) if object.is_error() => self.error(object, first_line),
            _ => self.value(value, 0),
        };
        if done.is_err() {
            self.ctx.catch();
            return UNRENDERABLE.to_owned();
        }
        self.out
    }

    fn full(&self) -> bool {
        self.out.len() >= self.limit
    }

    fn push(&mut self, text: &str) {
        let left = self.limit.saturating_sub(self.out.len());
        let end = text.floor_char_boundary_at(left);
        self.out.push_str(&text[..end]);
    }

    /// The text of a string, with replacement characters for lone surrogates.
    fn text(&self, value: &Js<'js>) -> Option<String> {
        let text = value.as_string()?;
        if let Ok(text) = text.to_string() {
            return Some(text);
        }
        let mended = self
            .well_formed
            .call::<_, rquickjs::String<'js>>((text.clone(),))
            .and_then(|mended| mended.to_string());
        Some(mended.unwrap_or_else(|_| {
            self.ctx.catch();
            char::REPLACEMENT_CHARACTER.to_string()
        }))
    }

    fn error(&mut self, object: &Object<'js>, first_line: usize) -> rquickjs::Result<()> {
        let [name, message, stack] = ["name", "message", "stack"].map(|key| object.get(key));
        let (name, message, stack): (Js<'js>, Js<'js>, Js<'js>) = (name?, message?, stack?);
        let stack = self.text(&stack).filter(|stack| !stack.is_empty());
        let message = match self.text(&message) {
            Some(message) => message,
            None if message.is_undefined() => String::new(),
            None => return Err(rquickjs::Error::Unknown),
        };
        // An error that lost its trace is told by its message alone.
        let Some(stack) = stack else {
            self.push(&message);
            return Ok(());
        };
        let name = self.text(&name).unwrap_or_else(|| "Error".to_owned());
        self.push(&name);
        if !message.is_empty() {
            self.push(": ");
            self.push(&message);
        }
        if let Some((line, column)) = place(&stack, first_line) {
            self.push(&format!(" (line {line}, column {column})"));
        }
        Ok(())
    }

    /// Recurses no deeper than [`LEVELS`].
    fn value(&mut self, value: &Js<'js>, level: usize) -> rquickjs::Result<()> {
        if self.full() {
            return Ok(());
        }
        if let Some(text) = self.text(value) {
            let quoted = serde_json::to_string(&text).unwrap_or_default();
            self.push(&quoted);
        } else if let Some(number) = value.as_number() {
            // `String(-0)` is "0".
            let sign = if number == 0.0 && number.is_sign_negative() {
                "-"
            } else {
                ""
            };
            let digits = value.get::<Coerced<String>>()?.0;
            self.push(sign);
            self.push(&digits);
        } else if value.is_big_int() {
            let digits = value.get::<Coerced<String>>()?.0;
            self.push(&digits);
            self.push("n");
        } else if let Some(symbol) = value.as_symbol() {
            let description = symbol.description()?;
            let description = self.text(&description).unwrap_or_default();
            self.push(&format!("Symbol({description})"));
        } else if value.is_proxy() {
            self.push("[proxy]");
        } else if value.is_function() {
            self.push("[function]");
        } else if value.is_promise() {
            self.push("[promise]");
        } else if let Some(object) = value.as_object() {
            self.object(object, level)?;
        } else {
            // `undefined`, `null`, `true`, `false`.
            let word = value.get::<Coerced<String>>()?.0;
            self.push(&word);
        }
        Ok(())
    }

    fn object(&mut self, object: &Object<'js>, level: usize) -> rquickjs::Result<()> {
        if object.is_error() {
            let [name, message] = ["name", "message"].map(|key| object.get::<_, Js<'js>>(key));
            let name = self.text(&name?).unwrap_or_else(|| "Error".to_owned());
            let message = self.text(&message?).unwrap_or_default();
            self.push(&format!("{name}: {message}"));
            return Ok(());
        }
        let array = object.as_array();
        let (open, close) = if array.is_some() {
            ("[", "]")
        } else {
            ("{", "}")
        };
        if level >= LEVELS {
            self.push(open);
            self.push("…");
            self.push(close);
            return Ok(());
        }
        self.push(open);
        if let Some(array) = array {
            for index in 0..length(array)? {
                if self.full() {
                    return Ok(());
                }
                if index > 0 {
                    self.push(", ");
                }
                self.value(&array.get(index)?, level + 1)?;
            }
        } else {
            let keys = object.own_keys::<Atom<'js>>(Filter::default());
            for (index, key) in keys.enumerate() {
                if self.full() {
                    return Ok(());
                }
                let key = key?;
                if index > 0 {
                    self.push(", ");
                }
                self.value(&key.to_js_string()?.into_value(), level + 1)?;
                self.push(": ");
                self.value(&object.get(key)?, level + 1)?;
            }
        }
        self.push(close);
        Ok(())
    }
}

/// The innermost place in the program that a trace names. The first line has
/// `first_line` characters before it that the program does not know of.
fn place(stack: &str, first_line: usize) -> Option<(usize, usize)> {
    stack.lines().find_map(|frame| {
        let (_, place) = frame.rsplit_once("program.ts:")?;
        let (line, column) = place.trim_end_matches(')').split_once(':')?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let column = if line == 1 {
            column.saturating_sub(first_line).max(1)
        } else {
            column
        };
        Some((line, column))
    })
}

/// `str::floor_char_boundary`, which the oldest compiler does not have.
trait Boundary {
    fn floor_char_boundary_at(&self, index: usize) -> usize;
}

impl Boundary for str {
    fn floor_char_boundary_at(&self, index: usize) -> usize {
        if index >= self.len() {
            return self.len();
        }
        (0..=index)
            .rev()
            .find(|at| self.is_char_boundary(*at))
            .unwrap_or(0)
    }
}
