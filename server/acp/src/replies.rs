//! The engine's answers to commands, as answers to the client's requests.

use agent_client_protocol::Responder;
use protocol::{Done, ItemId, Level, Notice, Refusal, SessionId, Snapshot, TurnId};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use crate::face::{Face, Late};
use crate::place::Place;
use crate::requests::{Servers, Waiting};
use crate::session::{Prompt, Session};
use crate::{errors, render};

impl Face {
    /// The engine has answered: so has the face, but for a prompt, which waits for the end of its turn.
    pub(crate) fn settle(&mut self, waiting: Waiting, reply: Result<Done, Refusal>) {
        self.note(&waiting);
        match (waiting, reply) {
            (Waiting::Nothing, _) => {}
            (Waiting::Steering(responder), Err(Refusal::Idle)) => {
                // The client sends it as a prompt then.
                let none = json!({"outcome": "promptRequired", "reason": "noRunningTurn"});
                let _ = responder.respond(none);
            }
            (waiting, Err(refusal)) => {
                if let Some(responder) = waiting.into_responder() {
                    // A connection that is ending hears nothing more.
                    let _ = responder.respond_with_error(errors::refused(&refusal));
                }
            }
            (Waiting::New(responder, servers), Ok(Done::Opened(snapshot))) => {
                let answer = json!({ "sessionId": snapshot.info.id.0 });
                self.opened(*snapshot, answer, responder, &servers);
            }
            (Waiting::Again(_, responder, servers), Ok(Done::Opened(snapshot))) => {
                self.opened(*snapshot, json!({}), responder, &servers);
            }
            (Waiting::Prompt(session, responder), Ok(Done::Prompted { turn, item, steered: _ })) => {
                self.prompted(session, turn, item, responder);
            }
            (Waiting::List(responder), Ok(Done::Sessions { page, next })) => {
                let mut answer = json!({ "sessions": render::rows(&page) });
                if let Some(next) = next {
                    render::put(&mut answer, "nextCursor", next.into());
                }
                let _ = responder.respond(answer);
            }
            (Waiting::Plain(responder) | Waiting::Mode(_, responder), Ok(Done::Ok)) => {
                let _ = responder.respond(json!({}));
            }
            (Waiting::Option(session, responder), Ok(Done::Ok)) => {
                let options = self.board.sessions.get(&session).map(|at| render::options(&at.info.options));
                let _ = responder.respond(json!({ "configOptions": options.unwrap_or_else(|| json!([])) }));
            }
            (Waiting::Options(responder), Ok(Done::Options(options))) => {
                let _ = responder.respond(render::pickers(&options));
            }
            (Waiting::Title(title, responder), Ok(Done::Ok)) => {
                let _ = responder.respond(json!({ "title": title }));
            }
            (Waiting::Steering(responder), Ok(Done::Prompted { .. })) => {
                let _ = responder.respond(json!({"outcome": "injected"}));
            }
            (waiting, Ok(_)) => {
                if let Some(responder) = waiting.into_responder() {
                    let _ =
                        responder.respond_with_error(errors::internal("the engine answered something else"));
                }
            }
        }
    }

    /// What a command under way was noted for is over.
    fn note(&mut self, waiting: &Waiting) {
        match waiting {
            Waiting::Again(session, ..) => drop(self.loading.remove(session)),
            Waiting::Mode(session, _) => {
                if let Some(at) = self.sessions.get_mut(session) {
                    at.setting.modes = at.setting.modes.saturating_sub(1);
                }
            }
            Waiting::Option(session, _) => {
                if let Some(at) = self.sessions.get_mut(session) {
                    at.setting.options = at.setting.options.saturating_sub(1);
                }
            }
            Waiting::New(..)
            | Waiting::List(_)
            | Waiting::Prompt(..)
            | Waiting::Plain(_)
            | Waiting::Options(_)
            | Waiting::Title(..)
            | Waiting::Steering(_)
            | Waiting::Nothing => {}
        }
    }

    /// The answer first, then what clients drop when it comes before.
    fn opened(&mut self, snapshot: Snapshot, mut answer: Value, responder: Responder, servers: &Servers) {
        let session = snapshot.info.id.clone();
        if let Value::Object(pickers) = render::pickers(&snapshot.info.options) {
            pickers.into_iter().for_each(|(name, value)| render::put(&mut answer, &name, value));
        }
        let commands = render::commands(&snapshot.info.commands);
        let usage = snapshot.usage.clone();
        self.sessions.insert(session.clone(), Session::new(Place::of(&snapshot.info)));
        self.board.sessions.insert(session.clone(), snapshot);
        let _ = responder.respond(answer);
        self.update(&session, commands);
        self.usage_changed(&session, &usage);
        if !servers.is_empty() {
            let notice = Notice {
                level: Level::Warning,
                title: "MCP servers are not started".into(),
                text: format!(
                    "this agent has no MCP client yet, so their tools are missing: {}",
                    servers.join(", ")
                ),
                retry: None,
            };
            self.noticed(&session, &notice);
        }
    }

    /// A prompt has its turn, and waits for the end of it.
    fn prompted(&mut self, session: SessionId, turn: TurnId, item: ItemId, responder: Responder) {
        let Some(at) = self.sessions.get_mut(&session) else {
            let gone = errors::refused(&Refusal::NoSession(session));
            let _ = responder.respond_with_error(gone);
            return;
        };
        let (cancelled, late) = (responder.cancellation(), self.late.clone());
        let recalled = Late::Recalled(session, turn.clone());
        let watch = AbortOnDropHandle::new(tokio::spawn(async move {
            cancelled.cancelled().await;
            // A face that is gone has ended every turn.
            let _ = late.send(recalled).await;
        }));
        at.own.insert(item);
        at.prompts.insert(turn, Prompt { responder, watch, recalled: false });
    }
}
