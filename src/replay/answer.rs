//! Recorded answers, and which one a call gets.

use std::collections::HashMap;

use serde_json::Value;

use crate::{BoxError, CodedError};

/// One recorded answer: a value or a failure, and the calls it belongs to.
///
/// Until it names an id or arguments it answers every call.
#[derive(Clone, Debug)]
pub struct Answer {
    id: Option<String>,
    arguments: Option<String>,
    outcome: Outcome,
}

#[derive(Clone, Debug)]
enum Outcome {
    Success(Value),
    Failure {
        message: String,
        info: Option<(String, String)>,
    },
}

impl Answer {
    fn new(outcome: Outcome) -> Self {
        Self {
            id: None,
            arguments: None,
            outcome,
        }
    }

    /// The tool answered `value`.
    pub fn success(value: impl Into<Value>) -> Self {
        Self::new(Outcome::Success(value.into()))
    }

    /// The tool failed with `message`.
    pub fn failure(message: impl Into<String>) -> Self {
        Self::new(Outcome::Failure {
            message: message.into(),
            info: None,
        })
    }

    /// Gives a failure its class and its code. A success is left as it is.
    pub fn with_code(mut self, name: impl Into<String>, code: impl Into<String>) -> Self {
        if let Outcome::Failure { info, .. } = &mut self.outcome {
            *info = Some((name.into(), code.into()));
        }
        self
    }

    /// Answers the call with this id.
    pub fn to_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Answers calls with exactly this text for arguments.
    pub fn to_arguments(mut self, text: impl Into<String>) -> Self {
        self.arguments = Some(text.into());
        self
    }

    /// What the body returns.
    pub(super) fn result(&self) -> Result<Value, BoxError> {
        match &self.outcome {
            Outcome::Success(value) => Ok(value.clone()),
            Outcome::Failure {
                message,
                info: Some((name, code)),
            } => Err(CodedError::new(name.clone(), code.clone(), message.clone()).into()),
            Outcome::Failure { message, .. } => Err(message.clone().into()),
        }
    }
}

type Key = (Option<String>, Option<String>);

/// Answers by what they belong to.
#[derive(Debug)]
pub(super) struct Answers(HashMap<Key, Answer>);

impl Answers {
    pub(super) fn new(answers: Vec<Answer>) -> Self {
        let mut found = HashMap::new();
        for answer in answers {
            let key = (answer.id.clone(), answer.arguments.clone());
            found.entry(key).or_insert(answer);
        }
        Self(found)
    }

    pub(super) fn find(&self, id: &str, arguments: &str) -> Option<&Answer> {
        if self.0.is_empty() {
            return None;
        }
        let id = || Some(id.to_owned());
        let arguments = || Some(arguments.to_owned());
        let keys = [
            (id(), arguments()),
            (id(), None),
            (None, arguments()),
            (None, None),
        ];
        keys.iter().find_map(|key| self.0.get(key))
    }
}
