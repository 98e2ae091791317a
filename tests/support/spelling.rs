//! Other spellings of a call: what a model, or whoever speaks to it, may try
//! so that a rule does not see what the tool would do.
#![allow(dead_code, unreachable_pub, reason = "each test uses its part")]

use serde_json::{Value, json};

/// Other spellings of one text.
pub fn texts(text: &str) -> Vec<String> {
    let middle = text.char_indices().nth(text.chars().count() / 2);
    let middle = middle.map_or(0, |(at, _)| at);
    let insert = |what: &str| format!("{}{what}{}", &text[..middle], &text[middle..]);
    let swap = |pairs: &[(char, char)]| -> String {
        let other = |char| pairs.iter().find(|(from, _)| *from == char);
        text.chars()
            .map(|char| other(char).map_or(char, |(_, to)| *to))
            .collect()
    };
    let wide = |char: char| match char {
        '!'..='~' => char::from_u32(u32::from(char) + 0xfee0).unwrap_or(char),
        char => char,
    };
    let mut spelt = vec![
        text.to_uppercase(),
        text.to_lowercase(),
        text.chars().map(wide).collect(),
        swap(&[('a', 'а'), ('e', 'е'), ('o', 'о'), ('c', 'с'), ('p', 'р')]),
        swap(&[('-', '‐'), ('/', '∕'), ('.', '․'), ('@', '＠')]),
        swap(&[('0', '０'), ('1', '１'), ('4', '４'), ('6', '６')]),
        format!("./{text}"),
        format!("x/../{text}"),
        format!("/{text}"),
        format!("//{text}"),
        format!("{text}/"),
        format!("{text}/."),
        format!(" {text}"),
        format!("{text} "),
        format!("{text}\n"),
        text.replace('/', "//"),
        text.replace('/', "/./"),
        text.replace('/', "\\"),
        text.chars().rev().collect(),
    ];
    let unseen = ["\u{200b}", "\u{200d}", "\u{feff}", "\u{ad}", "\u{202e}"];
    spelt.extend(unseen.map(insert));
    spelt.extend(["\0", "\u{7f}", "\u{301}"].map(insert));
    spelt.retain(|other| other != text);
    spelt
}

/// Other spellings of the value of a JSON text, of which each differs from it
/// at one place.
pub fn values(value: &Value) -> Vec<Value> {
    match value {
        Value::String(text) => {
            let mut spelt: Vec<Value> = texts(text).into_iter().map(Value::from).collect();
            spelt.push(json!([text]));
            spelt
        }
        Value::Number(number) => vec![
            json!(number.as_f64()),
            json!(number.to_string()),
            json!(format!("{number}.0")),
            json!(format!("{number}e0")),
            json!([number]),
        ],
        Value::Array(elements) => {
            let mut spelt: Vec<Value> = elements.first().cloned().into_iter().collect();
            spelt.push(json!([elements]));
            for (index, element) in elements.iter().enumerate() {
                spelt.extend(values(element).into_iter().map(|other| {
                    let mut elements = elements.clone();
                    elements[index] = other;
                    Value::Array(elements)
                }));
            }
            spelt
        }
        Value::Object(members) => {
            let mut spelt = vec![];
            for (name, member) in members {
                spelt.extend(values(member).into_iter().map(|other| {
                    let mut members = members.clone();
                    members.insert(name.clone(), other);
                    Value::Object(members)
                }));
                // Others are other names, which no tool takes for this one.
                let mut names = texts(name);
                names
                    .retain(|other| !other.contains(['/', '\u{301}']) && !is_reversed(other, name));
                spelt.extend(names.into_iter().map(|other| {
                    let mut members = members.clone();
                    let member = members.remove(name).unwrap_or_default();
                    members.insert(other, member);
                    Value::Object(members)
                }));
            }
            spelt
        }
        _ => vec![],
    }
}

fn is_reversed(text: &str, other: &str) -> bool {
    text.chars().rev().eq(other.chars())
}

/// The same value in other JSON texts: every character of its strings
/// escaped, in either case, spaced, and its numbers in other formats.
pub fn json_texts(value: &Value) -> Vec<String> {
    let mut texts = vec![
        serde_json::to_string_pretty(value).unwrap_or_default(),
        written(value, &|text| escaped(text, false), &|number| {
            number.to_owned()
        }),
        written(value, &|text| escaped(text, true), &|number| {
            number.to_owned()
        }),
    ];
    for format in [|n: &str| format!("{n}e0"), |n: &str| format!("{n}E+00")] {
        texts.push(written(value, &|text| escaped(text, false), &format));
    }
    let zeros = |number: &str| {
        if number.contains('.') {
            format!("{number}00")
        } else {
            format!("{number}.0")
        }
    };
    texts.push(written(value, &|text| escaped(text, false), &zeros));
    texts
}

fn escaped(text: &str, upper: bool) -> String {
    text.encode_utf16()
        .map(|unit| {
            if upper {
                format!("\\u{unit:04X}")
            } else {
                format!("\\u{unit:04x}")
            }
        })
        .collect()
}

fn written(
    value: &Value,
    string: &impl Fn(&str) -> String,
    number: &impl Fn(&str) -> String,
) -> String {
    let all = |values: Vec<String>| values.join(" , ");
    match value {
        Value::String(text) => format!("\"{}\"", string(text)),
        Value::Number(it) => number(&it.to_string()),
        Value::Array(elements) => {
            let elements = elements.iter().map(|it| written(it, string, number));
            format!("[{}]", all(elements.collect()))
        }
        Value::Object(members) => {
            let members = members.iter().map(|(name, it)| {
                format!("\"{}\" : {}", string(name), written(it, string, number))
            });
            format!("{{{}}}", all(members.collect()))
        }
        other => other.to_string(),
    }
}
