//! What the engine asks of the client: questions to the person, and the client's buffers.
//!
//! A request goes out in order with the updates around it; its answer comes back as a `Late`. Dropping the
//! handle takes the request back.

use agent_client_protocol::{Client as ClientRole, ConnectionTo, SentRequest, UntypedMessage};
use protocol::{Answer, Ask, AskWhat, HostCall, HostReply, SessionId};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::face::{Face, Late};
use crate::{questions, render};

/// A request of ours, on its way.
pub(crate) type Sent = SentRequest<Value>;

impl Face {
    pub(crate) fn asked(&mut self, session: &SessionId, ask: Ask) {
        let Some(at) = self.sessions.get(session) else { return };
        let item = ask.item.as_ref().and_then(|item| self.board.item(session, item));
        let view = self.view(at);
        let (late, id, name) = (self.late.clone(), ask.id.clone(), session.clone());
        let asking = match &ask.what {
            AskWhat::Act => {
                let known = ask.choices.iter().map(|choice| choice.id.clone()).collect();
                let params = with_session(render::permission(&ask, item, view), session);
                let sent = send(&self.cx, "session/request_permission", params);
                spawn(late, name, id, questions::permission(sent, known))
            }
            AskWhat::Questions(list) if self.caps.forms => {
                let sent = send(&self.cx, "elicitation/create", questions::form(session, list));
                spawn(late, name, id, questions::filled(sent, list.clone()))
            }
            AskWhat::Questions(list) => {
                let asked = list.iter().map(|question| {
                    let params = with_session(render::choices(&ask, item, question, view), session);
                    (question.clone(), params)
                });
                spawn(late, name, id, questions::one_by_one(self.cx.clone(), asked.collect()))
            }
        };
        if let Some(at) = self.sessions.get_mut(session) {
            at.asks.insert(ask.id, asking);
        }
    }

    pub(crate) fn host(&mut self, tag: u64, session: &SessionId, call: HostCall) {
        let reads = matches!(call, HostCall::ReadText { .. });
        let sent = match call {
            HostCall::ReadText { path } => {
                send(&self.cx, "fs/read_text_file", json!({"sessionId": session.0, "path": path.0}))
            }
            HostCall::WriteText { path, text } => {
                let params = json!({"sessionId": session.0, "path": path.0, "content": text});
                send(&self.cx, "fs/write_text_file", params)
            }
        };
        let late = self.late.clone();
        let call = tokio::spawn(async move {
            let reply = match answered(sent).await {
                Err(why) => HostReply::Failed(why),
                Ok(_) if !reads => HostReply::Written,
                Ok(result) => match result.get("content").and_then(Value::as_str) {
                    Some(text) => HostReply::Text(text.to_string()),
                    None => HostReply::Failed("the client sent no content".into()),
                },
            };
            // A face that is gone needs no reply.
            let _ = late.send(Late::Host(tag, reply)).await;
        });
        self.hosts.insert(tag, AbortOnDropHandle::new(call));
    }
}

fn spawn(
    late: tokio::sync::mpsc::Sender<Late>,
    session: SessionId,
    ask: protocol::AskId,
    answer: impl Future<Output = Answer> + Send + 'static,
) -> AbortOnDropHandle<()> {
    AbortOnDropHandle::new(tokio::spawn(async move {
        let answer = answer.await;
        // A face that is gone needs no answer.
        let _ = late.send(Late::Answered(session, ask, answer)).await;
    }))
}

fn with_session(mut params: Value, session: &SessionId) -> Value {
    render::put(&mut params, "sessionId", session.0.as_str().into());
    params
}

/// Sends a request by its untyped words.
pub(crate) fn send(cx: &ConnectionTo<ClientRole>, method: &str, params: Value) -> Result<Sent, String> {
    let message = UntypedMessage::new(method, params).map_err(|error| error.message)?;
    Ok(cx.send_request(message))
}

/// The client's answer; its error in words.
pub(crate) async fn answered(sent: Result<Sent, String>) -> Result<Value, String> {
    sent?.block_task().await.map_err(|error| error.message)
}
