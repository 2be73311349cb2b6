//! The client's methods, one arm each: parsed, handed to the engine, answered when it has answered.

use agent_client_protocol::{Error, Responder, UntypedMessage};
use protocol::{
    CanAsk, Command, Done, FilePath, HostOffer, Keep, Open, Order, Origin, Past, Refusal, SessionId,
    Snapshot, Target, Up, When,
};
use serde_json::{Value, json};

use crate::caps::Caps;
use crate::face::Face;
use crate::{errors, initialize, parse, render};

/// Whom a command's answer is for.
pub(crate) enum Waiting {
    /// new, load and resume; the last are names of MCP servers that are not started.
    Open(Responder, Vec<String>),
    List(Responder),
    Prompt(SessionId, Responder),
    /// Answered with nothing.
    Plain(Responder),
    /// Answered with the whole list of options.
    Options(SessionId, Responder),
    Nothing,
}

impl Face {
    pub(crate) async fn request(&mut self, request: UntypedMessage, responder: Responder) {
        let (method, params) = (request.method.as_str(), &request.params);
        let done = match method {
            "initialize" => {
                self.initialize(params).await;
                let _ = responder.respond(initialize::answer(&self.about));
                return;
            }
            "authenticate" => self.authenticate(params),
            "session/new" => {
                parse::cwd(params).and_then(|cwd| self.open(Origin::New, Past::Nothing, cwd, params))
            }
            "session/load" => self.again(params, Past::All),
            "session/resume" => self.again(params, Past::Nothing),
            "session/list" => self.list(params),
            "session/prompt" => self.prompt(params),
            "session/close" => parse::session(params).map(|session| plain(order(session, Order::Close))),
            "session/delete" => parse::session(params).map(|session| plain(Command::Delete { session })),
            "session/set_mode" => self.set_mode(params),
            "session/set_config_option" => self.set_option(params),
            other => Err(errors::no_method(other)),
        };
        match done {
            Ok(Step::Answer(answer)) => {
                // A connection that is ending hears nothing more.
                let _ = responder.respond(answer);
            }
            Ok(Step::Command(command, waiting)) => {
                let waiting = waiting(responder);
                self.command(command, waiting).await;
            }
            Err(error) => {
                let _ = responder.respond_with_error(error);
            }
        }
    }

    pub(crate) async fn notification(&mut self, notification: UntypedMessage) {
        if notification.method == "session/cancel"
            && let Ok(session) = parse::session(&notification.params)
        {
            self.command(order(session, Order::Cancel(Target::Turn)), Waiting::Nothing).await;
        }
    }

    async fn initialize(&mut self, params: &Value) {
        self.caps = Caps::parse(params.get("clientCapabilities").unwrap_or(&Value::Null));
        let _ = self.client.send(Up::Offer(HostOffer { files: self.caps.files })).await;
    }

    fn authenticate(&self, params: &Value) -> Result<Step, Error> {
        let method = parse::text(params, "methodId")?;
        if !initialize::is_method(method) {
            return Err(errors::bad_params(format!("unknown methodId; there is {:?}", initialize::KEY)));
        }
        (self.about.usable)().map_err(errors::no_login)?;
        Ok(Step::Answer(json!({})))
    }

    fn again(&self, params: &Value, past: Past) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let cwd = match params.get("cwd") {
            None | Some(Value::Null) => FilePath(String::new()),
            Some(_) => parse::cwd(params)?,
        };
        self.open(Origin::Resume(session), past, cwd, params)
    }

    fn open(&self, from: Origin, past: Past, cwd: FilePath, params: &Value) -> Result<Step, Error> {
        let asks = if self.caps.forms { CanAsk::PermissionAndQuestions } else { CanAsk::Permission };
        let open = Open {
            from,
            past,
            cwd,
            roots: parse::roots(params)?,
            options: Vec::new(),
            asks,
            keep: Keep::Journal,
        };
        let servers = parse::servers(params);
        let waiting = move |responder| Waiting::Open(responder, servers);
        Ok(Step::Command(Command::Open(Box::new(open)), Box::new(waiting)))
    }

    fn list(&self, params: &Value) -> Result<Step, Error> {
        let cwd = match params.get("cwd") {
            None | Some(Value::Null) => None,
            Some(_) => Some(parse::cwd(params)?),
        };
        let cursor = params.get("cursor").and_then(Value::as_str).map(str::to_string);
        Ok(Step::Command(Command::List { cwd, cursor }, Box::new(Waiting::List)))
    }

    fn prompt(&self, params: &Value) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let input = parse::prompt(params)?;
        let prompt = Order::Prompt { input, when: When::Queue, schema: None };
        let name = session.clone();
        Ok(Step::Command(order(session, prompt), Box::new(move |responder| Waiting::Prompt(name, responder))))
    }

    fn set_mode(&self, params: &Value) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let value = parse::text(params, "modeId")?.to_string();
        Ok(plain(order(session, Order::Configure { option: "mode".into(), value })))
    }

    fn set_option(&self, params: &Value) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let option = parse::text(params, "configId")?.to_string();
        let value = parse::text(params, "value")?.to_string();
        let name = session.clone();
        let command = order(session, Order::Configure { option, value });
        Ok(Step::Command(command, Box::new(move |responder| Waiting::Options(name, responder))))
    }

    /// The engine has answered.
    pub(crate) fn settle(&mut self, waiting: Waiting, reply: Result<Done, Refusal>) {
        let responder = match (waiting, reply) {
            (Waiting::Nothing, _) => return,
            (Waiting::Open(responder, servers), Ok(Done::Opened(snapshot))) => {
                return self.opened(*snapshot, responder, &servers);
            }
            (Waiting::Prompt(session, responder), Ok(Done::Prompted { turn, .. })) => {
                return self.prompted(session, turn, responder);
            }
            (Waiting::List(responder), Ok(Done::Sessions { page, next })) => {
                let mut answer = json!({ "sessions": render::rows(&page) });
                if let Some(next) = next {
                    crate::face::put(&mut answer, "nextCursor", next.into());
                }
                let _ = responder.respond(answer);
                return;
            }
            (Waiting::Options(session, responder), Ok(_)) => {
                let options = self.board.sessions.get(&session).map(|at| render::options(&at.info.options));
                let _ = responder.respond(json!({ "configOptions": options.unwrap_or_else(|| json!([])) }));
                return;
            }
            (Waiting::Plain(responder), Ok(_)) => {
                let _ = responder.respond(json!({}));
                return;
            }
            (
                Waiting::Open(responder, _)
                | Waiting::List(responder)
                | Waiting::Prompt(_, responder)
                | Waiting::Options(_, responder)
                | Waiting::Plain(responder),
                Err(refusal),
            ) => {
                let _ = responder.respond_with_error(errors::refused(&refusal));
                return;
            }
            (
                Waiting::Open(responder, _) | Waiting::List(responder) | Waiting::Prompt(_, responder),
                Ok(_),
            ) => responder,
        };
        let _ = responder.respond_with_internal_error("the engine gave another answer than was asked for");
    }

    /// The answer first, then what clients drop when it comes before.
    fn opened(&mut self, snapshot: Snapshot, responder: Responder, servers: &[String]) {
        let session = snapshot.info.id.clone();
        let mut answer = json!({
            "sessionId": session.0,
            "configOptions": render::options(&snapshot.info.options),
        });
        if let Some(modes) = render::mode(&snapshot.info.options) {
            crate::face::put(&mut answer, "modes", modes);
        }
        let commands = render::commands(&snapshot.info.commands);
        self.board.sessions.insert(session.clone(), snapshot);
        let _ = responder.respond(answer);
        self.update(&session, commands);
        if !servers.is_empty() {
            let said =
                format!("MCP servers are not started yet, so these are not there: {}\n", servers.join(", "));
            let content = json!({"type": "text", "text": said});
            self.update(&session, json!({"sessionUpdate": "agent_thought_chunk", "content": content}));
        }
    }
}

/// What a request leads to.
enum Step {
    Answer(Value),
    Command(Command, Box<dyn FnOnce(Responder) -> Waiting + Send>),
}

fn plain(command: Command) -> Step {
    Step::Command(command, Box::new(Waiting::Plain))
}

fn order(session: SessionId, order: Order) -> Command {
    Command::Session { session, order }
}
