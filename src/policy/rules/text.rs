//! Tests on text, which may be spelt in more than one way.

use std::borrow::Cow;

use globset::GlobMatcher;
use regex::{Regex, RegexBuilder};
use unicode_normalization::UnicodeNormalization as _;

use super::glob::{BadGlob, matcher};
use super::holds::Holds;

/// The most that a compiled regular expression may take, in bytes.
const REGEX_SIZE: usize = 1 << 20;

/// A pattern that whole texts match, or do not.
#[derive(Clone, Debug)]
pub(super) struct Pattern {
    kind: Kind,
    reading: Reading,
}

#[derive(Clone, Debug)]
enum Kind {
    /// With whether it has parts that stand for one byte, which is no
    /// character outside of ASCII.
    Glob(GlobMatcher, bool),
    Regex(Regex),
}

/// How a text is read beside the way it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    /// Letters that look like others are told apart where the pattern itself
    /// is written in more than ASCII.
    look_alikes: bool,
    ignore_case: bool,
}

impl Reading {
    /// For a test that was written as `pattern`.
    pub(super) fn new(pattern: &str, ignore_case: bool) -> Self {
        Self {
            look_alikes: pattern.is_ascii(),
            ignore_case,
        }
    }

    /// Whether large and small letters are the same.
    pub(super) const fn ignores_case(self) -> bool {
        self.ignore_case
    }

    /// Asks whether `text` `holds` as it is written and as it may be meant: what
    /// the two do not agree on cannot be told.
    pub(super) fn ask(self, text: &str, holds: impl Fn(&str) -> Holds) -> Holds {
        let cased = |text: &str| {
            if self.ignore_case && !text.is_ascii() {
                holds(&text.to_lowercase())
            } else {
                holds(text)
            }
        };
        let written = cased(text);
        match folded(text, self.look_alikes) {
            Cow::Borrowed(_) => written,
            Cow::Owned(folded) => written.agreed(cased(&folded)),
        }
    }

    /// Whether `text` is `wanted`.
    pub(super) fn is(self, wanted: &str, text: &str) -> Holds {
        self.ask(text, |text| {
            if self.ignore_case {
                (text.to_lowercase() == wanted.to_lowercase()).into()
            } else {
                (text == wanted).into()
            }
        })
    }
}

impl Pattern {
    /// A glob; with `names`, `*` stays within one name of a path.
    pub(super) fn glob(glob: &str, names: bool, ignore_case: bool) -> Result<Self, BadGlob> {
        let reading = Reading::new(glob, ignore_case);
        // The matcher ignores the case of ASCII alone; the rest is lowered here.
        let lowered: String = glob
            .chars()
            .flat_map(|char| {
                let lower = (ignore_case && !char.is_ascii()).then(|| char.to_lowercase());
                let kept = lower.is_none().then_some(char);
                lower.into_iter().flatten().chain(kept)
            })
            .collect();
        let glob = matcher(&lowered, names, ignore_case)?;
        Ok(Self {
            kind: Kind::Glob(glob, lowered.contains(['?', '['])),
            reading,
        })
    }

    /// A regular expression that the whole text must match.
    pub(super) fn regex(regex: &str, ignore_case: bool) -> Result<Self, regex::Error> {
        let build = |regex: &str| {
            RegexBuilder::new(regex)
                .size_limit(REGEX_SIZE)
                .case_insensitive(ignore_case)
                .dot_matches_new_line(true)
                .build()
        };
        // Alone first: `a)|(?:b` must not get around the anchors.
        build(regex)?;
        Ok(Self {
            kind: Kind::Regex(build(&format!(r"\A(?:{regex})\z"))?),
            reading: Reading::new(regex, ignore_case),
        })
    }

    /// How texts are read for it.
    pub(super) fn reading(&self) -> Reading {
        self.reading
    }

    /// Whether `text` matches, in every way in which it may be read.
    pub(super) fn holds(&self, text: &str) -> Holds {
        self.reading.ask(text, |text| self.matches(text))
    }

    /// Whether `text` matches exactly as it is written.
    pub(super) fn matches(&self, text: &str) -> Holds {
        match &self.kind {
            Kind::Glob(_, true) if !text.is_ascii() => Holds::Unknown,
            Kind::Glob(glob, _) => glob.is_match(text).into(),
            Kind::Regex(regex) => regex.is_match(text).into(),
        }
    }
}

/// The text as somebody may read it who normalises it: compatibility forms
/// (NFKC) without what is not seen and, with `look_alikes`, in Latin letters
/// where others look the same. Borrowed if that changes nothing.
pub(super) fn folded(text: &str, look_alikes: bool) -> Cow<'_, str> {
    if text.chars().all(|char| char.is_ascii() && !is_unseen(char)) {
        return Cow::Borrowed(text);
    }
    let folded: String = text
        .chars()
        .filter(|char| !is_unseen(*char))
        .nfkc()
        .filter(|char| !is_unseen(*char))
        .map(|char| if look_alikes { latin(char) } else { char })
        .collect();
    if folded == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(folded)
    }
}

/// Control characters but for tab and line ends, and what Unicode has
/// renderers ignore.
fn is_unseen(char: char) -> bool {
    match char {
        '\t' | '\n' | '\r' => false,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}' => true,
        char => char.is_control(),
    }
}

/// The ASCII character that `char` is mistaken for, or itself. Only what
/// looks the same in most typefaces.
fn latin(char: char) -> char {
    match char {
        'а' | 'ɑ' | 'α' => 'a',
        'ϲ' | 'с' => 'c',
        'ԁ' => 'd',
        'е' | 'ҽ' => 'e',
        'ɡ' => 'g',
        'һ' | 'հ' => 'h',
        'і' | 'ı' | 'ι' | 'ɩ' => 'i',
        'ј' => 'j',
        'κ' => 'k',
        'ӏ' | 'ǀ' => 'l',
        'ո' => 'n',
        'о' | 'ο' | 'օ' => 'o',
        'р' | 'ρ' => 'p',
        'ԛ' | 'զ' => 'q',
        'г' => 'r',
        'ѕ' => 's',
        'υ' | 'ս' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ѡ' => 'w',
        'х' | 'χ' => 'x',
        'у' | 'γ' => 'y',
        'А' | 'Α' => 'A',
        'В' | 'Β' => 'B',
        'С' | 'Ϲ' => 'C',
        'Е' | 'Ε' => 'E',
        'Ԍ' => 'G',
        'Н' | 'Η' => 'H',
        'І' | 'Ι' | 'Ӏ' | 'İ' => 'I',
        'Ј' => 'J',
        'К' | 'Κ' => 'K',
        'М' | 'Μ' => 'M',
        'Ν' => 'N',
        'О' | 'Ο' | 'Օ' => 'O',
        'Р' | 'Ρ' => 'P',
        'Ѕ' => 'S',
        'Т' | 'Τ' => 'T',
        'Ѵ' => 'V',
        'Ԝ' => 'W',
        'Х' | 'Χ' => 'X',
        'Υ' | 'Ү' => 'Y',
        'Ζ' => 'Z',
        '‐' | '‑' | '‒' | '–' | '—' | '―' | '−' | '˗' => '-',
        '⁄' | '∕' | '⧸' => '/',
        '∖' | '⧵' => '\\',
        '∶' | 'ː' | '꞉' => ':',
        '․' | '·' => '.',
        '‘' | '’' | 'ʼ' => '\'',
        '\u{85}' | '\u{2028}' | '\u{2029}' => '\n',
        char => char,
    }
}
