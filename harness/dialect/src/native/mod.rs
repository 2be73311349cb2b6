//! The house's own harness: plain JSON-Schema functions for models that were trained on no particular one.

mod args;
mod reply;
mod system;
mod talk;
mod tools;

use protocol::model::{ModelCall, ModelRequest, Part, Stop, Thinking, ToolSpec};
use protocol::{Act, Action, Conversation, EntryKind, Note, NoteWhy, Outcome, Reply, Said, Verb};

use crate::{Context, Harness, HarnessSpec, Moment, Next, Tally};

/// Answers without text or call in a row before the turn fails.
const EMPTY_LIMIT: u32 = 2;
/// Answers cut at the output limit in a row before the turn fails.
const CUT_LIMIT: u32 = 3;

/// The native harness.
pub struct Native;

impl Harness for Native {
    fn spec(&self) -> HarnessSpec {
        HarnessSpec { name: "native", about: "Open Interpreter's own tools and prompt", max_requests: 100 }
    }

    fn tools(&self, context: &Context) -> Vec<ToolSpec> {
        tools::offered(context)
    }

    fn verb(&self, tool: &str) -> Verb {
        tools::find(tool).map_or(Verb::Other, |tool| tool.verb)
    }

    fn request(&self, talk: &Conversation, context: &Context) -> ModelRequest {
        ModelRequest {
            model: context.settings.model.clone(),
            system: system::blocks(context),
            messages: talk::messages(talk),
            tools: self.tools(context),
            max_tokens: None,
            thinking: match &context.settings.effort {
                None => Thinking::Default,
                Some(effort) if effort == "none" => Thinking::Off,
                Some(effort) => Thinking::Effort(effort.clone()),
            },
            output_schema: None,
            cache_key: None,
        }
    }

    fn next(&self, said: &Said, tally: &Tally) -> Next {
        let calls: Vec<ModelCall> = said
            .parts
            .iter()
            .filter_map(|part| match part {
                Part::Call(call) => Some(call.clone()),
                Part::Text(_) | Part::Image { .. } | Part::Thought(_) | Part::Result { .. } => None,
            })
            .collect();
        if said.stop == Stop::Length {
            return cut(calls.is_empty(), tally);
        }
        if !calls.is_empty() {
            return Next::Act(calls);
        }
        let spoke = said.parts.iter().any(|part| matches!(part, Part::Text(text) if !text.trim().is_empty()));
        if spoke {
            return Next::End;
        }
        if tally.empty_in_a_row >= EMPTY_LIMIT {
            return Next::Fail("the model returned no answer, several times in a row".into());
        }
        Next::Nudge(nudge("Your last message was empty. Go on with the task, or say that it is done."))
    }

    fn action(&self, call: &ModelCall, context: &Context) -> Result<Action, Outcome> {
        let offered = self.tools(context);
        let near = || offered.iter().map(|tool| tool.name.clone()).collect();
        let Some(tool) = tools::find(&call.name) else { return Err(Outcome::NoSuchTool { near: near() }) };
        if !offered.iter().any(|spec| spec.name == tool.name) {
            return Err(Outcome::NoSuchTool { near: near() });
        }
        let mut args = args::Args::parse(&call.input).map_err(|problem| Outcome::BadInput(vec![problem]))?;
        let action = (tool.action)(&mut args);
        match (action, args.wrongs()) {
            (Some(action), None) => Ok(action),
            (_, wrongs) => Err(wrongs.unwrap_or_else(|| Outcome::BadInput(Vec::new()))),
        }
    }

    fn reply(&self, act: &Act, _context: &Context) -> Reply {
        reply::reply(act)
    }

    fn notes(&self, moment: &Moment, context: &Context) -> Vec<Note> {
        system::notes(moment, context)
    }

    fn summarise(&self, talk: &Conversation, focus: Option<&str>, context: &Context) -> ModelRequest {
        let mut request = self.request(talk, context);
        request.tools = Vec::new();
        request.messages = talk::without_calls(request.messages);
        request.messages.push(talk::user(system::summary_order(focus)));
        request
    }

    fn resume(&self, summary: &str, context: &Context) -> Vec<EntryKind> {
        let note = Note { why: NoteWhy::Summary, parts: vec![Part::Text(system::summary_envelope(summary))] };
        let mut entries = vec![EntryKind::Note(note)];
        entries.extend(self.notes(&Moment::Begins, context).into_iter().map(EntryKind::Note));
        entries
    }
}

fn cut(no_calls: bool, tally: &Tally) -> Next {
    if tally.cut_in_a_row >= CUT_LIMIT {
        return Next::Fail("the model's answer was cut at its output limit, several times in a row".into());
    }
    Next::Nudge(nudge(if no_calls {
        "Your last message was cut at the output limit. Go on from where it ended, in smaller pieces."
    } else {
        "Your last message was cut at the output limit, so its tool calls did not run. Make them again in smaller pieces."
    }))
}

fn nudge(text: &str) -> Note {
    Note { why: NoteWhy::Nudge, parts: vec![Part::Text(text.into())] }
}
