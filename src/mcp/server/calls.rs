//! Answering one call.

use std::sync::Arc;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, InputRequest, InputRequiredResult,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use serde_json::Value;
use tokio::time::{Duration, Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::answer;
use super::handler::too_many;
use super::parked::{self, Same};
use super::questions::{self, Question};
use super::running::{self, Asked, Running};
use super::shared::Shared;
use super::state::State;
use crate::mcp::lines::RawArguments;
use crate::{Progress, Scope, ToolResult};

/// The name of a question among those that a client is to answer.
const APPROVAL: &str = "approval";

/// How long a cancelled call may take to end once its session ends.
const UNHEEDED: Duration = Duration::from_millis(500);

/// On whose behalf a call is made.
pub(super) struct Caller<'a> {
    pub(super) shared: &'a Arc<Shared>,
    pub(super) state: &'a State,
    /// Whether the state is that of a session, not of a single request.
    pub(super) is_session: bool,
    pub(super) scope: Scope,
}

/// How a client hears of questions.
#[derive(Clone, Copy, PartialEq)]
enum Asks {
    /// Not at all.
    Never,
    /// By a request of the server's.
    Directly,
    /// By an answer that wants the call again, with theirs.
    ByReturn,
}

enum Told {
    Result(Option<ToolResult>),
    /// The session ended, the call did not.
    Nothing,
    Question(Question),
}

impl Caller<'_> {
    pub(super) async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asks = asks(&context);
        let arguments = arguments(&request, &context);
        let same = self.same(&request.name, &arguments, &context);
        let mut running = match &request.request_state {
            Some(word) => self.resume(word, &same, request.input_responses.as_ref())?,
            None => self.start(&request.name, arguments, asks)?,
        };
        let token = context.meta.get_progress_token();
        let told = self.drive(&mut running, &context, token, asks).await;
        match told {
            Told::Result(Some(result)) => {
                let mut answer = answer::of(&result, self.shared.structured);
                if let Some(why) = running.desk.unasked() {
                    answer::explain(&mut answer, &result, why);
                }
                Ok(answer.into())
            }
            Told::Result(None) => Ok(answer::broken().into()),
            Told::Nothing => Ok(answer::left().into()),
            Told::Question(question) => self.ask_by_return(running, question, same),
        }
    }

    fn start(&self, name: &str, arguments: Arc<str>, asks: Asks) -> Result<Running, ErrorData> {
        let permit = if self.is_session {
            self.state.permit()
        } else {
            self.shared.single.clone().try_acquire_owned().ok()
        };
        let asked = Asked {
            id: self.state.next_call(),
            name: name.to_owned(),
            arguments,
            scope: self.scope.clone(),
            asks: asks != Asks::Never,
            within: self.state.token_for_calls(self.is_session),
            permit: permit.ok_or_else(too_many)?,
        };
        Ok(running::start(self.shared, asked))
    }

    /// What a client must repeat to get back to its call.
    fn same(&self, name: &str, arguments: &Arc<str>, context: &RequestContext<RoleServer>) -> Same {
        let parts = context.extensions.get::<http::request::Parts>();
        let caller = parts.and_then(|parts| parts.headers.get(http::header::AUTHORIZATION));
        Same {
            name: name.to_owned(),
            arguments: arguments.clone(),
            caller: caller.map(|caller| caller.as_bytes().to_vec()),
            session: self.is_session.then(|| self.state.number()),
        }
    }

    /// Takes up a call that was asked about, with the client's answer.
    fn resume(
        &self,
        word: &str,
        same: &Same,
        responses: Option<&std::collections::BTreeMap<String, Value>>,
    ) -> Result<Running, ErrorData> {
        let waiting = self.shared.parked.take(word, same).ok_or_else(|| {
            let message = "expected the requestState of a call that waits, with the same name \
                           and arguments; found another one, or one that was used before";
            ErrorData::invalid_params(message, None)
        })?;
        let answer = responses.and_then(|responses| responses.get(APPROVAL));
        // No answer is none that lets the call run.
        let _ = waiting.reply.send(answer.map(questions::read));
        Ok(waiting.running)
    }

    fn ask_by_return(
        &self,
        running: Running,
        question: Question,
        same: Same,
    ) -> Result<CallToolResponse, ErrorData> {
        let word = parked::keep(
            self.shared,
            running,
            question.reply,
            same,
            self.state.stop_for_calls(self.is_session),
        )
        .ok_or_else(too_many)?;
        let asked = InputRequest::Elicitation(question.form);
        let requests = std::iter::once((APPROVAL.to_owned(), asked)).collect();
        Ok(InputRequiredResult::new(Some(requests), Some(word)).into())
    }

    /// Goes along with a call until it is over, or has a question that the
    /// client must come back for.
    async fn drive(
        &self,
        running: &mut Running,
        context: &RequestContext<RoleServer>,
        token: Option<ProgressToken>,
        asks: Asks,
    ) -> Told {
        let mut steps = Steps {
            peer: &context.peer,
            token,
            last: f64::NEG_INFINITY,
        };
        let mut asking = FuturesUnordered::new();
        let grace = self.shared.limits.grace;
        let stopped = async {
            self.state.stop.cancelled().await;
            sleep(grace).await;
        };
        tokio::pin!(stopped);
        // A body that heeds no cancellation keeps its call open.
        let given_up = sleep(UNHEEDED);
        tokio::pin!(given_up);
        let (mut is_cancelled, mut is_ending) = (false, false);
        let result = loop {
            tokio::select! {
                biased;
                Some(step) = running.progress.recv() => steps.tell(step).await,
                Some(question) = running.questions.recv() => {
                    if asks == Asks::ByReturn {
                        return Told::Question(question);
                    }
                    // Sent by this very task: so it goes where the call came from.
                    asking.push(elicit(&context.peer, question));
                }
                Some(()) = asking.next() => {}
                result = &mut running.result => break result.ok().flatten(),
                () = context.ct.cancelled(), if !is_cancelled => {
                    is_cancelled = true;
                    running.token.cancel();
                }
                () = ended(&mut stopped, &self.state.token), if !is_ending => {
                    is_ending = true;
                    running.token.cancel();
                    given_up.as_mut().reset(Instant::now() + UNHEEDED);
                }
                () = &mut given_up, if is_ending => return Told::Nothing,
            }
        };
        while let Ok(step) = running.progress.try_recv() {
            steps.tell(step).await;
        }
        // Their questions are over: the clients are told so.
        let withdrawn = async { while asking.next().await.is_some() {} };
        let _ = tokio::time::timeout(Duration::from_secs(1), withdrawn).await;
        Told::Result(result)
    }
}

/// Waits until the session is over, or its grace is.
async fn ended(stopped: impl Future<Output = ()>, token: &CancellationToken) {
    tokio::select! {
        () = stopped => {}
        () = token.cancelled() => {}
    }
}

/// Passes a call's progress on, as far as the client asked for it.
struct Steps<'a> {
    peer: &'a Peer<RoleServer>,
    token: Option<ProgressToken>,
    last: f64,
}

impl Steps<'_> {
    /// The protocol wants it to grow.
    async fn tell(&mut self, step: Progress) {
        let Some(token) = &self.token else {
            return;
        };
        if !step.done.is_finite() || step.done <= self.last {
            return;
        }
        self.last = step.done;
        let mut param = ProgressNotificationParam::new(token.clone(), step.done);
        param.total = step.total.filter(|total| total.is_finite());
        param.message = step.message;
        if let Err(error) = self.peer.notify_progress(param).await {
            tracing::debug!("progress could not be told: {error}");
        }
    }
}

/// Asks the client, and withdraws the question when nobody waits for its
/// answer any more.
async fn elicit(peer: &Peer<RoleServer>, question: Question) {
    let Question { form, mut reply } = question;
    let request = ServerRequest::ElicitRequest(form);
    let options = PeerRequestOptions::no_options();
    let mut handle = match peer.send_cancellable_request(request, options).await {
        Ok(handle) => handle,
        Err(error) => {
            tracing::warn!("an MCP client could not be asked: {error}");
            let _ = reply.send(None);
            return;
        }
    };
    let answer = tokio::select! {
        biased;
        () = reply.closed() => None,
        answer = &mut handle.rx => Some(answer),
    };
    let Some(answer) = answer else {
        let reason = "the question is settled or withdrawn".to_owned();
        let _ = handle.cancel(Some(reason)).await;
        return;
    };
    let read = match answer {
        Ok(Ok(result)) => serde_json::to_value(&result)
            .ok()
            .as_ref()
            .map(questions::read),
        Ok(Err(error)) => {
            tracing::warn!("an MCP client did not answer a question: {error}");
            None
        }
        Err(_) => None,
    };
    let _ = reply.send(read);
}

fn asks(context: &RequestContext<RoleServer>) -> Asks {
    let elicitation = context.client_capabilities().and_then(|it| it.elicitation);
    let Some(elicitation) = elicitation else {
        return Asks::Never;
    };
    // One that says nothing offers forms.
    if elicitation.form.is_none() && elicitation.url.is_some() {
        return Asks::Never;
    }
    let version = context.protocol_version();
    if version.is_some_and(|version| version >= ProtocolVersion::V_2026_07_28) {
        Asks::ByReturn
    } else {
        Asks::Directly
    }
}

/// The text of the arguments, as the client wrote it.
fn arguments(request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Arc<str> {
    let extensions = &context.extensions;
    let parts = extensions.get::<http::request::Parts>();
    let raw = extensions
        .get::<RawArguments>()
        .or_else(|| parts?.extensions.get::<RawArguments>());
    if let Some(raw) = raw {
        return raw.0.clone();
    }
    let typed = request.arguments.as_ref();
    let text = typed.and_then(|typed| serde_json::to_string(typed).ok());
    Arc::from(text.unwrap_or_else(|| "{}".to_owned()))
}
