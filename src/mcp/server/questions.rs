//! Questions about calls, on their way to the client that made the call.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::{ElicitRequest, ElicitRequestParams, ElicitationSchema};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use toolfall_layers::printable;

use crate::{ApprovalAnswer, ApprovalOutcome, ApprovalRequest, Scope};

/// So much of the arguments is shown, in characters.
const SHOWN: usize = 20_000;
/// So much of everything else.
const NAMES: usize = 500;
/// Questions of one call that wait to be asked.
const WAITING: usize = 8;

/// A question, and where its answer goes.
pub(super) struct Question {
    pub(super) form: ElicitRequest,
    pub(super) reply: oneshot::Sender<Option<ApprovalAnswer>>,
}

/// Where the questions of each call go: by the id of the outermost call, which
/// no client chooses.
#[derive(Default)]
pub(super) struct Desks(Mutex<HashMap<String, Desk>>);

struct Desk {
    scope: Scope,
    questions: Option<mpsc::Sender<Question>>,
    /// Why a question was not asked.
    unasked: Option<&'static str>,
}

/// A call's place among the desks, while it runs.
pub(super) struct Open {
    desks: Arc<Desks>,
    call: String,
}

impl Desks {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Desk>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens a desk for the call `call`; nothing is asked there unless
    /// `asks`.
    pub(super) fn open(
        self: &Arc<Self>,
        call: &str,
        scope: &Scope,
        asks: bool,
    ) -> (Open, mpsc::Receiver<Question>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        let desk = Desk {
            scope: scope.clone(),
            questions: asks.then_some(sender),
            unasked: None,
        };
        self.lock().insert(call.to_owned(), desk);
        let open = Open {
            desks: self.clone(),
            call: call.to_owned(),
        };
        (open, receiver)
    }

    /// Asks the client that made the call, if it can be asked.
    pub(super) async fn ask(&self, request: &ApprovalRequest) -> Option<ApprovalAnswer> {
        let questions = {
            let mut desks = self.lock();
            let desk = desks.get_mut(request.call().root_id().as_str())?;
            // The ids are ours, but the scope is what a question is about.
            let is_theirs = request.scope().is_some_and(|it| it.is_within(&desk.scope));
            if !is_theirs {
                return None;
            }
            if desk.questions.is_none() {
                desk.unasked = Some("its client offers no elicitation");
            }
            desk.questions.clone()?
        };
        let (reply, answer) = oneshot::channel();
        let question = Question {
            form: form(request),
            reply,
        };
        let answer = match questions.send(question).await {
            Ok(()) => answer.await.ok().flatten(),
            Err(_) => None,
        };
        if answer.is_none()
            && let Some(desk) = self.lock().get_mut(request.call().root_id().as_str())
        {
            desk.unasked = Some("its client gave no answer that could be used");
        }
        answer
    }
}

impl Open {
    /// Why the client was not asked what somebody wanted to know.
    pub(super) fn unasked(&self) -> Option<&'static str> {
        self.desks.lock().get(&self.call)?.unasked
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.desks.lock().remove(&self.call);
    }
}

/// What the person at the client is asked: with what the person may see of
/// the arguments, and nothing in it that could pass for a part of the form.
fn form(request: &ApprovalRequest) -> ElicitRequest {
    let tool = printable(request.tool(), NAMES);
    let mut message = format!("May the tool \"{tool}\" run?");
    if let Some(reason) = request.reason() {
        message.push_str("\nReason: ");
        message.push_str(&printable(reason, NAMES));
    }
    message.push_str("\nArguments: ");
    message.push_str(&printable(&request.shown_arguments(), SHOWN));
    let params = ElicitRequestParams::FormElicitationParams {
        meta: None,
        message,
        requested_schema: schema(),
    };
    ElicitRequest::new(params)
}

fn schema() -> ElicitationSchema {
    let schema = json!({
        "type": "object",
        "properties": {
            "decision": {
                "type": "string",
                "title": "Decision",
                "description": "Whether this one call may run",
                "enum": ["approve", "deny"],
            },
            "reason": {
                "type": "string",
                "title": "Reason",
                "description": "What the model is told if the call may not run",
                "maxLength": 2000,
            },
        },
        "required": ["decision"],
    });
    serde_json::from_value(schema).unwrap_or_else(|_| ElicitationSchema::new(BTreeMap::new()))
}

/// Reads what a client answered. Only the very word `approve` in an accepted
/// form lets a call run; what cannot be read is a refusal.
pub(super) fn read(answer: &Value) -> ApprovalAnswer {
    #[derive(Deserialize)]
    struct Answer {
        action: String,
        #[serde(default)]
        content: Option<Value>,
    }
    #[derive(Deserialize)]
    struct Form {
        decision: String,
        #[serde(default)]
        reason: Option<String>,
    }
    let Ok(answer) = Answer::deserialize(answer) else {
        return ApprovalAnswer::rejected("the answer to the question could not be read");
    };
    match answer.action.as_str() {
        "accept" => {}
        "decline" => return ApprovalOutcome::Rejected.into(),
        "cancel" => return ApprovalAnswer::rejected("the question was dismissed"),
        _ => return ApprovalAnswer::rejected("the answer to the question could not be read"),
    }
    let form = answer.content.as_ref().map(Form::deserialize);
    match form {
        Some(Ok(form)) if form.decision == "approve" => ApprovalOutcome::AllowedOnce.into(),
        Some(Ok(form)) if form.decision == "deny" => {
            ApprovalAnswer::rejected(form.reason.unwrap_or_default())
        }
        _ => ApprovalAnswer::rejected("the answer neither approved nor denied the call"),
    }
}
