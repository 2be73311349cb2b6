//! The client's methods, one arm each: parsed, and handed to the engine or answered at once.

use agent_client_protocol::{Error, Responder, UntypedMessage};
use protocol::{
    CanAsk, Command, FilePath, HostOffer, Keep, Open, Order, Origin, Past, SessionId, Target, Up, When,
};
use serde_json::{Value, json};

use crate::caps::Caps;
use crate::face::Face;
use crate::place::Place;
use crate::{errors, initialize, parse, render};

/// Whom a command's answer is for.
pub(crate) enum Waiting {
    New(Responder, Servers),
    /// load and resume.
    Again(SessionId, Responder, Servers),
    List(Responder),
    Prompt(SessionId, Responder),
    /// Answered with nothing.
    Plain(Responder),
    Mode(SessionId, Responder),
    /// Answered with the whole list of options.
    Option(SessionId, Responder),
    /// Answered with the options of a session to be.
    Options(Responder),
    Title(String, Responder),
    Steering(Responder),
    Nothing,
}

/// Names of MCP servers that the client would have us start.
pub(crate) type Servers = Vec<String>;

/// What a request leads to.
enum Step {
    Answer(Value),
    Command(Command, Box<dyn FnOnce(Responder) -> Waiting + Send>),
}

impl Face {
    pub(crate) async fn request(&mut self, request: UntypedMessage, responder: Responder) {
        let (method, params) = (request.method(), request.params());
        let step = match method {
            "initialize" => self.initialize(params).await,
            other if !self.initialized => Err(errors::too_early(other)),
            "authenticate" => self.authenticate(params),
            "session/new" => self.new_session(params),
            "session/load" => self.again(params, Past::All),
            "session/resume" => self.again(params, Past::Nothing),
            "session/list" => list(params),
            "session/prompt" => prompt(params),
            "session/close" => parse::session(params).map(|session| plain(order(session, Order::Close))),
            "session/delete" => parse::session(params).map(|session| plain(Command::Delete { session })),
            "session/set_mode" => self.set_mode(params),
            "session/set_config_option" => self.set_option(params),
            "session/set_title" => set_title(params),
            "session/options" => self.options(params),
            "_session/steering" => steering(params),
            other => Err(errors::no_method(other)),
        };
        match step {
            // A connection that is ending hears nothing more.
            Ok(Step::Answer(answer)) => drop(responder.respond(answer)),
            Ok(Step::Command(command, waiting)) => self.command(command, waiting(responder)).await,
            Err(error) => drop(responder.respond_with_error(error)),
        }
    }

    /// Others than a cancel are for nobody.
    pub(crate) async fn notification(&mut self, notification: &UntypedMessage) {
        if notification.method() == "session/cancel"
            && let Ok(session) = parse::session(notification.params())
        {
            self.order(session, Order::Cancel(Target::Turn)).await;
        }
    }

    async fn initialize(&mut self, params: &Value) -> Result<Step, Error> {
        self.caps = Caps::parse(params.get("clientCapabilities").unwrap_or(&Value::Null));
        self.initialized = true;
        self.up(Up::Offer(HostOffer { files: self.caps.files })).await;
        Ok(Step::Answer(initialize::answer(&self.about)))
    }

    fn authenticate(&self, params: &Value) -> Result<Step, Error> {
        let method = parse::text(params, "methodId")?;
        if !initialize::is_method(method) {
            // Not repeated: people have put the key itself here.
            return Err(errors::bad_params(format!("unknown methodId; there is {:?}", initialize::KEY)));
        }
        (self.about.usable)().map_err(|why| errors::no_login(&why))?;
        Ok(Step::Answer(json!({})))
    }

    fn new_session(&self, params: &Value) -> Result<Step, Error> {
        let open = self.open(Origin::New, Past::Nothing, parse::cwd(params)?, params)?;
        let servers = parse::servers(params);
        Ok(Step::Command(open, Box::new(move |responder| Waiting::New(responder, servers))))
    }

    /// A client that names no folder gets the session's own.
    fn again(&mut self, params: &Value, past: Past) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let cwd = parse::cwd_if_any(params)?.unwrap_or_default();
        let place = Place::new(&cwd, &parse::roots(params)?);
        let open = self.open(Origin::Resume(session.clone()), past, cwd, params)?;
        self.loading.insert(session.clone(), place);
        let servers = parse::servers(params);
        Ok(Step::Command(open, Box::new(move |responder| Waiting::Again(session, responder, servers))))
    }

    fn open(&self, from: Origin, past: Past, cwd: FilePath, params: &Value) -> Result<Command, Error> {
        let roots = parse::roots(params)?;
        let asks = CanAsk::PermissionAndQuestions;
        Ok(Command::Open(Box::new(Open {
            from,
            past,
            cwd,
            roots,
            options: Vec::new(),
            asks,
            keep: Keep::Journal,
            system: parse::system(params)?,
        })))
    }

    fn set_mode(&mut self, params: &Value) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let value = parse::text(params, "modeId")?.to_string();
        let command = order(session.clone(), Order::Configure { option: "mode".into(), value });
        if let Some(at) = self.sessions.get_mut(&session) {
            at.setting.modes += 1;
        }
        Ok(Step::Command(command, Box::new(move |responder| Waiting::Mode(session, responder))))
    }

    fn set_option(&mut self, params: &Value) -> Result<Step, Error> {
        let session = parse::session(params)?;
        let option = parse::text(params, "configId")?.to_string();
        let value = parse::value(params)?;
        let command = order(session.clone(), Order::Configure { option, value });
        if let Some(at) = self.sessions.get_mut(&session) {
            at.setting.options += 1;
        }
        Ok(Step::Command(command, Box::new(move |responder| Waiting::Option(session, responder))))
    }
}

impl Face {
    /// Of an open session its own, else those that a new one in the folder would have.
    fn options(&self, params: &Value) -> Result<Step, Error> {
        let cwd = parse::cwd(params)?;
        let open = match params.get("sessionId") {
            None | Some(Value::Null) => None,
            Some(_) => self.board.sessions.get(&parse::session(params)?),
        };
        Ok(match open {
            Some(at) => Step::Answer(render::pickers(&at.info.options)),
            None => Step::Command(Command::Options { cwd }, Box::new(Waiting::Options)),
        })
    }
}

impl Waiting {
    /// Who waits for it.
    pub(crate) fn into_responder(self) -> Option<Responder> {
        match self {
            Waiting::New(responder, _)
            | Waiting::Again(_, responder, _)
            | Waiting::List(responder)
            | Waiting::Prompt(_, responder)
            | Waiting::Plain(responder)
            | Waiting::Mode(_, responder)
            | Waiting::Option(_, responder)
            | Waiting::Options(responder)
            | Waiting::Title(_, responder)
            | Waiting::Steering(responder) => Some(responder),
            Waiting::Nothing => None,
        }
    }
}

fn list(params: &Value) -> Result<Step, Error> {
    let cwd = parse::cwd_if_any(params)?;
    let cursor = params.get("cursor").and_then(Value::as_str).map(str::to_string);
    Ok(Step::Command(Command::List { cwd, cursor }, Box::new(Waiting::List)))
}

fn prompt(params: &Value) -> Result<Step, Error> {
    let session = parse::session(params)?;
    let prompt = Order::Prompt { input: parse::prompt(params)?, when: When::Queue, schema: None };
    let name = session.clone();
    Ok(Step::Command(order(session, prompt), Box::new(move |responder| Waiting::Prompt(name, responder))))
}

fn set_title(params: &Value) -> Result<Step, Error> {
    let session = parse::session(params)?;
    let title = parse::text(params, "title")?.trim().to_string();
    if title.is_empty() {
        return Err(errors::bad_params("the title is empty; give some words"));
    }
    let rename = order(session, Order::Rename { title: title.clone() });
    Ok(Step::Command(rename, Box::new(move |responder| Waiting::Title(title, responder))))
}

/// A prompt for the turn that runs.
fn steering(params: &Value) -> Result<Step, Error> {
    let session = parse::session(params)?;
    let prompt = Order::Prompt { input: parse::prompt(params)?, when: When::Steer, schema: None };
    Ok(Step::Command(order(session, prompt), Box::new(Waiting::Steering)))
}

fn plain(command: Command) -> Step {
    Step::Command(command, Box::new(Waiting::Plain))
}

fn order(session: SessionId, order: Order) -> Command {
    Command::Session { session, order }
}
