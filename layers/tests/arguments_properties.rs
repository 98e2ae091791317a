//! Properties of the scanner and the decoder over generated texts.

use proptest::{collection, prelude::*, sample};
use serde_json::{Map, Number, Value};
use toolfall_layers::{
    Arguments, ArgumentsErrorKind, CheckError, check_json, check_value, to_value,
};

fn number() -> impl Strategy<Value = Number> {
    prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        any::<f64>().prop_filter_map("finite", Number::from_f64),
        (-1_000_i32..1_000, 0_i32..4).prop_filter_map("finite", |(digits, scale)| {
            Number::from_f64(f64::from(digits) / 10_f64.powi(scale))
        }),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number().prop_map(Value::Number),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 80, 24, |inner| {
        prop_oneof![
            collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            collection::btree_map(any::<String>(), inner, 0..24)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Texts made of JSON's own pieces: often wrong, sometimes right.
fn almost_json() -> impl Strategy<Value = String> {
    let piece = sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "\"a\"",
        "\"a\":",
        "\"\\u0061\":",
        "\\",
        "\\u",
        "d83d",
        "\\ude00",
        "\"\\ud83d\\ude00\"",
        "1",
        "-",
        "0",
        "00",
        ".5",
        "e5",
        "E-400",
        "1e400",
        "-0",
        "12345678901234567890123",
        "0.1",
        "true",
        "false",
        "null",
        "nul",
        " ",
        "\n",
        "\t",
        "\u{b}",
        "\u{feff}",
        "é",
        "{}",
        "[]",
        "[1,2]",
        "{\"b\":1}",
        "\u{1}",
    ]);
    collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// Whether `serde_json` reads `text`, and the scanner's verdict fits that.
fn agree(text: &str) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_str::<Value>(text);
    match check_json(text) {
        Ok(()) => {
            let theirs = theirs.map_err(|error| TestCaseError::fail(error.to_string()))?;
            let arguments = Arguments::from_text(text).unwrap();
            prop_assert_eq!(
                &arguments.decode::<Value>().unwrap_or_default(),
                arguments.value()
            );
            if arguments.json() == text {
                prop_assert_eq!(arguments.value(), &theirs);
            }
        }
        Err(CheckError::Malformed(malformed)) => {
            prop_assert!(theirs.is_err(), "serde_json takes what is {}", malformed);
            prop_assert!(malformed.offset() <= text.len());
        }
        Err(CheckError::Lossy(error)) => {
            prop_assert!(
                theirs.is_ok() || error.kind() == ArgumentsErrorKind::NumberRange,
                "{} where serde_json says no JSON",
                error
            );
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn a_value_survives_the_way_through_text(value in value(), pretty: bool) {
        let text = if pretty {
            serde_json::to_string_pretty(&value).unwrap()
        } else {
            value.to_string()
        };
        let arguments = Arguments::from_text(text.clone()).unwrap();
        prop_assert!(arguments.malformed().is_none());
        prop_assert_eq!(arguments.text(), text);
        if !value.is_null() {
            prop_assert_eq!(arguments.value(), &value);
        }
        prop_assert_eq!(&to_value(&value).unwrap(), &value);
        prop_assert!(check_value(&value).is_ok());
    }

    #[test]
    fn a_changed_byte_never_panics_and_serde_json_agrees(
        value in value(),
        changes in collection::vec((any::<sample::Index>(), any::<u8>()), 1..4),
    ) {
        let mut bytes = value.to_string().into_bytes();
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        if let Ok(text) = std::str::from_utf8(&bytes) {
            agree(text)?;
        }
        if let Ok(arguments) = Arguments::from_bytes(bytes) {
            let _ = (arguments.echo(), arguments.value().is_null());
        }
    }

    #[test]
    fn a_cut_text_is_no_object(value in value(), cut: sample::Index) {
        let text = Value::Array(vec![value]).to_string();
        let cut = cut.index(text.len());
        if cut > 0 && text.is_char_boundary(cut) {
            let cut = Arguments::from_text(&text[..cut]).unwrap();
            prop_assert!(cut.malformed().is_some());
        }
    }

    #[test]
    fn almost_json_gets_one_verdict(text in almost_json()) {
        agree(&text)?;
        agree(&format!("[{text}]"))?;
        agree(&format!("{{{text}}}"))?;
    }

    #[test]
    fn number_tokens_are_kept_exactly_or_refused(
        token in "-?(0|[1-9][0-9]{0,21})(\\.[0-9]{1,20})?([eE][-+]?[0-9]{1,3})?",
    ) {
        agree(&token)?;
        if check_json(&token).is_ok() {
            let arguments = Arguments::from_text(token.clone()).unwrap();
            let read = arguments.value().to_string();
            prop_assert_eq!(plain(&token), plain(&read));
        }
    }
}

/// The digits without zeros at the ends, and where the point is.
fn plain(token: &str) -> (bool, String, i64) {
    let negative = token.starts_with('-');
    let token = token.trim_start_matches('-').to_lowercase();
    let (mantissa, exponent) = token.split_once('e').unwrap_or((&token, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - kept.len()).unwrap();
    let exponent: i64 = exponent.parse().unwrap();
    let exponent = exponent - i64::try_from(fraction.len()).unwrap() + dropped;
    let kept = kept.trim_start_matches('0').to_owned();
    let exponent = if kept.is_empty() { 0 } else { exponent };
    (negative, kept, exponent)
}
