//! Asking the model and hearing it out, attempts and all.

use protocol::model::ModelRequest;
use protocol::{Failure, FailureKind, Item, Level, Notice, Said};
use providers::Heard;
use tokio::sync::mpsc;

use super::ear::Ear;
use super::{Stopped, Turn};
use crate::proposal::{Deaf, Proposal};

/// Events of the model that may wait for the turn.
const EVENTS: usize = 256;

/// One whole answer.
pub(crate) struct Answer {
    pub(crate) said: Said,
    /// Items of its calls, still forming.
    pub(crate) items: Vec<Item>,
}

impl Turn {
    /// One request and its whole answer; told to the faces as it comes.
    pub(crate) async fn listen(&mut self, request: &ModelRequest) -> Result<Answer, Stopped> {
        let harness = self.harness()?;
        let model = self.model();
        let (sender, mut receiver) = mpsc::channel(EVENTS);
        let mut ear = Some(Ear::new(harness, self.ids.clone(), self.id.clone()));
        let hear = async {
            while let Some(heard) = receiver.recv().await {
                match heard {
                    Heard::Event(event) => {
                        let Some(ear) = ear.as_mut() else { continue };
                        for proposal in ear.hear(event) {
                            self.tell.tell(proposal).await?;
                        }
                    }
                    Heard::Again { retry, why } => {
                        let next = Ear::new(harness, self.ids.clone(), self.id.clone());
                        for proposal in ear.replace(next).map(Ear::forget).unwrap_or_default() {
                            self.tell.tell(proposal).await?;
                        }
                        let notice = Notice {
                            level: Level::Warning,
                            title: trying_again(&retry),
                            text: why.to_string(),
                            retry: Some(retry),
                        };
                        self.tell.tell(Proposal::Notice(notice)).await?;
                    }
                }
            }
            Ok::<(), Deaf>(())
        };
        let (said, heard) = tokio::join!(model.say(request, sender), hear);
        heard?;
        let Some(mut ear) = ear else { return Err(silent().into()) };
        if let Err(failure) = said {
            for proposal in ear.forget() {
                self.tell.tell(proposal).await?;
            }
            return Err(explain(failure).into());
        }
        let Some(stop) = ear.stop.take() else {
            for proposal in ear.forget() {
                self.tell.tell(proposal).await?;
            }
            return Err(silent().into());
        };
        if let Some(tokens) = ear.tokens {
            self.tell.tell(Proposal::Used(tokens)).await?;
        }
        let whole = ear.message(&model.provider().id, &request.model, stop);
        for item in whole.done {
            self.tell.tell(Proposal::Finish(Box::new(item))).await?;
        }
        Ok(Answer { said: whole.said, items: whole.calls })
    }
}

fn silent() -> Failure {
    Failure {
        kind: FailureKind::Provider,
        text: "the model's stream ended without its end mark".into(),
        remedy: Some("try again".into()),
        status: None,
    }
}

/// A full window has a remedy of our own.
fn explain(failure: Failure) -> Failure {
    match failure.kind {
        FailureKind::Overflow => Failure {
            text: format!("the conversation is larger than the model's window: {}", failure.text),
            remedy: Some("send /compact to go on with a summary, or start a new session".into()),
            ..failure
        },
        FailureKind::Auth
        | FailureKind::Quota
        | FailureKind::BadRequest
        | FailureKind::Network
        | FailureKind::Provider
        | FailureKind::Format
        | FailureKind::Hook
        | FailureKind::Disk
        | FailureKind::Internal => failure,
    }
}

impl Turn {
    /// The text of an answer that no face is shown as a message.
    pub(super) async fn summary(&mut self, request: &ModelRequest) -> Result<String, Stopped> {
        use protocol::model::{ModelEvent, Stop};
        let model = self.model();
        let (sender, mut receiver) = mpsc::channel(EVENTS);
        let hear = async {
            let (mut text, mut tokens, mut stop) = (String::new(), None, None);
            while let Some(heard) = receiver.recv().await {
                match heard {
                    Heard::Again { .. } => text.clear(),
                    Heard::Event(ModelEvent::Text(more)) => text.push_str(&more),
                    Heard::Event(ModelEvent::Used(used)) => tokens = Some(used),
                    Heard::Event(ModelEvent::Stopped(how)) => stop = Some(how),
                    Heard::Event(
                        ModelEvent::Thought(_)
                        | ModelEvent::Sealed(_)
                        | ModelEvent::CallBegun { .. }
                        | ModelEvent::CallInput { .. }
                        | ModelEvent::CallEnded { .. },
                    ) => {}
                }
            }
            (text, tokens, stop)
        };
        let (said, (text, tokens, stop)) = tokio::join!(model.say(request, sender), hear);
        said.map_err(explain)?;
        if let Some(tokens) = tokens {
            self.tell.tell(Proposal::Used(tokens)).await?;
        }
        if text.trim().is_empty() || stop != Some(Stop::End) {
            return Err(Failure {
                kind: FailureKind::Format,
                text: "the model gave no whole summary; the conversation is as it was".into(),
                remedy: Some("try /compact again, or start a new session".into()),
                status: None,
            }
            .into());
        }
        Ok(text)
    }
}

/// A wait is named where it is long enough to be noticed.
fn trying_again(retry: &protocol::Retry) -> String {
    let place = format!("({} of {})", retry.attempt, retry.of);
    match retry.wait_ms / 1000 {
        0 => format!("Trying again {place}"),
        secs => format!("Trying again in {secs} s {place}"),
    }
}
