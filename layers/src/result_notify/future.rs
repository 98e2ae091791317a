use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;
use tower_service::Service;

use super::ending::{EndingGuard, Final};
use super::{Ending, Host, Recorded};
use crate::arguments::ArgumentsError;
use crate::body::{Settled, unrecorded};
use crate::call::{CallRequest, CallState, CallView, ToolCall};
use crate::error::{BoxError, pipeline_failure};
use crate::outcome::{ErrorInfo, FailureKind, ToolOutcome, ToolResult, codes};
use crate::panic::{PanicError, catch};
use crate::ready::ReadyCall;
use crate::redaction::HideAll;
use crate::span::{self, StageSpan};

pin_project! {
    /// The future of [`ResultNotify`](super::ResultNotify).
    ///
    /// # Cancel safety
    ///
    /// Dropping it ends the call: its result is recorded and observers are
    /// notified, at once if no body runs, else when the last body, cancelled
    /// and driven elsewhere, has come to its end.
    pub struct ResponseFuture<S>
    where
        S: Service<ToolCall>,
    {
        #[pin]
        state: State<S>,
        // After the inner future, so that bodies are let go of first.
        ending: EndingGuard,
    }

    impl<S> PinnedDrop for ResponseFuture<S>
    where
        S: Service<ToolCall>,
    {
        // What is inside is user code: its panic must neither reach whoever
        // drops a call nor keep the call from its ending.
        fn drop(this: Pin<&mut Self>) {
            let _ = catch(|| this.project().state.set(State::Done));
        }
    }
}

type Recording = Pin<Box<dyn Future<Output = Result<(), BoxError>> + Send>>;

pin_project! {
    #[project = StateProj]
    enum State<S>
    where
        S: Service<ToolCall>,
    {
        Intake { service: Option<Result<S, PanicError>> },
        Recording { recording: Recording, service: Option<Result<S, PanicError>> },
        Calling { #[pin] calling: ReadyCall<S, ToolCall> },
        // From here on the inner future is gone.
        Committing,
        Settling { settled: Settled },
        Done,
    }
}

impl<S: Service<ToolCall>> ResponseFuture<S> {
    pub(super) fn new(
        service: Result<S, PanicError>,
        host: Arc<Host>,
        request: CallRequest,
    ) -> Self {
        let view = CallView(Arc::new(CallState::new(request, host)));
        // Most calls have neither a span nor a finalizer, and so no need to
        // look the tool up before their body is reached.
        let watched = span::is_watched();
        let tool = catch(|| {
            let catalog = view.state().host.catalog.as_ref()?;
            (watched || catalog.has_finalizers() || catalog.has_redactions())
                .then(|| view.look_up())?
        });
        let tool = tool.ok().flatten();
        // Kept with the call: the registration may go before its result comes.
        match tool.as_ref().map(|tool| catch(|| tool.redaction())) {
            None | Some(Ok(None)) => {}
            Some(Ok(Some(redaction))) => view.redact(redaction),
            Some(Err(_)) => view.redact(Arc::new(HideAll)),
        }
        for redaction in &view.state().host.redactions {
            view.redact(redaction.clone());
        }
        let span = if watched {
            span::call_span(&view, tool.is_some())
        } else {
            StageSpan::none()
        };
        let finalizer = tool.filter(|tool| catch(|| tool.has_finalizer()).unwrap_or(true));
        Self {
            state: State::Intake {
                service: Some(service),
            },
            ending: EndingGuard(Some(Ending {
                view,
                finalizer,
                outcome: None,
                span,
            })),
        }
    }
}

impl<S> Future for ResponseFuture<S>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
{
    type Output = Result<ToolResult, Infallible>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        let _in_span = this
            .ending
            .0
            .as_ref()
            .expect("polled after completion")
            .span
            .entered();
        loop {
            let ending = this.ending.0.as_mut().expect("polled after completion");
            // What is `Some` here is the end of the way in or of the inner
            // stack; a panic anywhere inside is one, too.
            let step = catch(|| this.state.as_mut().step(ending, cx));
            let outcome = match step {
                Ok(Step::Pending) => return Poll::Pending,
                Ok(Step::Next) => continue,
                Ok(Step::Ended(outcome)) => outcome,
                Ok(Step::Published) => {
                    let ending = this.ending.0.take().expect("taken once");
                    return Poll::Ready(Ok(ending.publish()));
                }
                Err(panic) => pipeline_failure(&panic),
            };
            ending.outcome = Some(outcome);
            // Dropping the inner future is user code as well.
            let _ = catch(|| this.state.as_mut().set(State::Committing));
        }
    }
}

enum Step {
    Pending,
    Next,
    Ended(ToolOutcome),
    Published,
}

impl<S> State<S>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Error: Into<BoxError>,
{
    fn step(mut self: Pin<&mut Self>, ending: &mut Ending, cx: &mut Context<'_>) -> Step {
        match self.as_mut().project() {
            StateProj::Intake { service } => {
                let recorded = match &ending.view.state().host.recorder {
                    Some(recorder) => {
                        ending.view.state().mark_recorded();
                        catch(|| recorder.call(&ending.view))
                            .unwrap_or_else(|panic| Recorded::Now(Err(panic.into())))
                    }
                    None => Recorded::Now(Ok(())),
                };
                match recorded {
                    Recorded::Now(Ok(())) => {
                        let service = service.take();
                        self.begin(ending, service)
                    }
                    Recorded::Now(Err(error)) => Step::Ended(unrecorded(error)),
                    Recorded::Later(recording) => {
                        let service = service.take();
                        self.set(Self::Recording { recording, service });
                        Step::Next
                    }
                }
            }
            StateProj::Recording { recording, service } => {
                match catch(|| recording.as_mut().poll(cx))
                    .unwrap_or_else(|panic| Poll::Ready(Err(panic.into())))
                {
                    Poll::Pending => Step::Pending,
                    Poll::Ready(Err(error)) => Step::Ended(unrecorded(error)),
                    Poll::Ready(Ok(())) => {
                        let service = service.take();
                        self.begin(ending, service)
                    }
                }
            }
            StateProj::Calling { calling } => match calling.poll(cx) {
                Poll::Pending => Step::Pending,
                Poll::Ready(Ok(outcome)) => Step::Ended(rendered(&ending.view, outcome)),
                Poll::Ready(Err(error)) => Step::Ended(failure(error.into())),
            },
            StateProj::Committing => {
                if let Some(turn) = &ending.view.state().turn {
                    // A body that was let go of on the way here, by a panic
                    // for instance, still holds its place in the batch.
                    let settled = Settled::wait(&ending.view);
                    if settled
                        .is_some_and(|mut settled| Pin::new(&mut settled).poll(cx).is_pending())
                    {
                        return Step::Pending;
                    }
                    turn.settle();
                    if turn.poll_commit(cx).is_pending() {
                        return Step::Pending;
                    }
                }
                // Only now may no further body begin: one that does is waited
                // for below, one that comes later is refused.
                if ending.view.state().gate.close() {
                    self.set(Self::Done);
                    return Step::Published;
                }
                match Settled::wait(&ending.view) {
                    Some(settled) => self.set(Self::Settling { settled }),
                    None => return Step::Published,
                }
                Step::Next
            }
            StateProj::Settling { settled } => match Pin::new(settled).poll(cx) {
                Poll::Pending => Step::Pending,
                Poll::Ready(()) => Step::Published,
            },
            StateProj::Done => Step::Published,
        }
    }

    /// Refuses what can never run, and starts what can.
    fn begin(
        mut self: Pin<&mut Self>,
        ending: &mut Ending,
        service: Option<Result<S, PanicError>>,
    ) -> Step {
        let view = &ending.view;
        if let Err(refused) = &view.state().arguments {
            return Step::Ended(unkept(&refused.error));
        }
        if view.cancellation().is_cancelled() {
            return Step::Ended(ToolOutcome::aborted(false));
        }
        if let Some(catalog) = &view.state().host.catalog
            && let Some(refusal) = catalog.refuse(view)
        {
            // A call that could never run has no tool to finalize it.
            ending.finalizer = None;
            return Step::Ended(refusal);
        }
        let call = ToolCall::mint(view.state().clone());
        let service = match service.expect("the way in is taken once") {
            Ok(service) => service,
            Err(panic) => return Step::Ended(pipeline_failure(&panic)),
        };
        self.set(Self::Calling {
            calling: ReadyCall::new(service, call),
        });
        Step::Next
    }
}

/// A success that was made outside the guard stage has not been judged yet.
fn rendered(view: &CallView, outcome: ToolOutcome) -> ToolOutcome {
    if !outcome.is_success() || outcome.is_rendered_for(view) {
        return outcome;
    }
    crate::guard::authored(view, &outcome).unwrap_or_else(failure)
}

fn failure(error: BoxError) -> ToolOutcome {
    match error.downcast::<Final>() {
        Ok(last) => last.0,
        Err(error) => pipeline_failure(&*error),
    }
}

/// The failure for arguments that cannot be kept exactly.
fn unkept(error: &ArgumentsError) -> ToolOutcome {
    ToolOutcome::failure(format!(
        "tool execution arguments must be losslessly JSON-serializable: {error}"
    ))
    .with_info(ErrorInfo::new("ToolArgsError", codes::INVALID_ARGS))
    .of_kind(FailureKind::InvalidArguments)
}
