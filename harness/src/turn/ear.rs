//! What is heard of one answer: deltas folded into items for the faces and into the message for the model.

use std::collections::BTreeMap;
use std::sync::Arc;

use dialect::Harness;
use protocol::model::{ModelCall, ModelEvent, Part, Spoken, Stop, Thought};
use protocol::{
    Act, CallId, Change, Item, ItemId, ItemKind, Json, Outcome, Said, SaidBy, Stage, Tokens, TurnId,
};

use crate::ids::Ids;
use crate::proposal::Proposal;

/// One attempt at an answer.
pub(crate) struct Ear {
    harness: &'static dyn Harness,
    ids: Arc<Ids>,
    turn: TurnId,
    /// In order of appearance.
    heard: Vec<Heard>,
    slots: BTreeMap<u32, usize>,
    pub(crate) tokens: Option<Tokens>,
    pub(crate) stop: Option<Stop>,
}

enum Heard {
    Text { item: ItemId, text: String },
    Thought { item: ItemId, text: String },
    Sealed(Thought),
    Call { item: ItemId, id: CallId, name: String, input: String },
}

impl Ear {
    pub(crate) fn new(harness: &'static dyn Harness, ids: Arc<Ids>, turn: TurnId) -> Self {
        Self { harness, ids, turn, heard: Vec::new(), slots: BTreeMap::new(), tokens: None, stop: None }
    }

    /// One event of the model, and what it means for the faces.
    pub(crate) fn hear(&mut self, event: ModelEvent) -> Vec<Proposal> {
        match event {
            ModelEvent::Text(more) => self.text(more),
            ModelEvent::Thought(more) => self.thought(more),
            ModelEvent::Sealed(thought) => {
                self.heard.push(Heard::Sealed(thought));
                Vec::new()
            }
            ModelEvent::CallBegun { slot, id, name } => self.call(slot, id, name),
            ModelEvent::CallInput { slot, text } => {
                let at = self.slots.get(&slot).and_then(|at| self.heard.get_mut(*at));
                if let Some(Heard::Call { input, .. }) = at {
                    input.push_str(&text);
                }
                Vec::new()
            }
            ModelEvent::CallEnded { .. } => Vec::new(),
            ModelEvent::Used(tokens) => {
                self.tokens = Some(tokens);
                Vec::new()
            }
            ModelEvent::Stopped(stop) => {
                self.stop = Some(stop);
                Vec::new()
            }
        }
    }

    fn text(&mut self, more: String) -> Vec<Proposal> {
        if let Some(Heard::Text { item, text }) = self.heard.last_mut() {
            text.push_str(&more);
            return vec![Proposal::Change { item: item.clone(), change: Change::Text(more) }];
        }
        let item = self.ids.item();
        self.heard.push(Heard::Text { item: item.clone(), text: more.clone() });
        self.start(item, ItemKind::Message(String::new()), more)
    }

    fn thought(&mut self, more: String) -> Vec<Proposal> {
        if let Some(Heard::Thought { item, text }) = self.heard.last_mut() {
            text.push_str(&more);
            return vec![Proposal::Change { item: item.clone(), change: Change::Text(more) }];
        }
        let item = self.ids.item();
        self.heard.push(Heard::Thought { item: item.clone(), text: more.clone() });
        self.start(item, ItemKind::Thought(String::new()), more)
    }

    fn start(&self, id: ItemId, kind: ItemKind, more: String) -> Vec<Proposal> {
        let item = Item { id: id.clone(), turn: self.turn.clone(), stage: Stage::Running, kind };
        vec![Proposal::Start(Box::new(item)), Proposal::Change { item: id, change: Change::Text(more) }]
    }

    fn call(&mut self, slot: u32, id: CallId, name: String) -> Vec<Proposal> {
        let item = self.ids.item();
        self.slots.insert(slot, self.heard.len());
        let made = self.act(item.clone(), &id, &name, String::new());
        self.heard.push(Heard::Call { item, id, name, input: String::new() });
        vec![Proposal::Start(Box::new(made))]
    }

    fn act(&self, item: ItemId, id: &CallId, name: &str, input: String) -> Item {
        let act = Act {
            call: id.clone(),
            tool: name.to_string(),
            verb: self.harness.verb(name),
            input: Json(input),
            action: None,
            files: Vec::new(),
            live: String::new(),
            outcome: None,
        };
        Item { id: item, turn: self.turn.clone(), stage: Stage::Forming, kind: ItemKind::Act(act) }
    }

    /// The attempt is void: what it showed ends as failed.
    pub(crate) fn forget(self) -> Vec<Proposal> {
        let items = self.heard.iter().filter_map(|heard| match heard {
            Heard::Text { item, text } => Some(self.item(item, ItemKind::Message(text.clone()))),
            Heard::Thought { item, text } => Some(self.item(item, ItemKind::Thought(text.clone()))),
            Heard::Sealed(_) => None,
            Heard::Call { item, id, name, input } => {
                let mut made = self.act(item.clone(), id, name, input.clone());
                if let ItemKind::Act(act) = &mut made.kind {
                    act.outcome = Some(Outcome::Interrupted);
                }
                Some(Item { stage: Stage::Failed, ..made })
            }
        });
        items.map(|item| Proposal::Finish(Box::new(item))).collect()
    }

    fn item(&self, id: &ItemId, kind: ItemKind) -> Item {
        Item { id: id.clone(), turn: self.turn.clone(), stage: Stage::Failed, kind }
    }

    /// The whole message, the items that are final with it, and the calls that wait to run.
    pub(crate) fn message(self, provider: &str, model: &str, stop: Stop) -> Whole {
        let mut message = Parts::default();
        let sealed = self.heard.iter().any(|heard| matches!(heard, Heard::Sealed(_)));
        for heard in &self.heard {
            match heard {
                Heard::Text { item, text } => {
                    message.parts.push(Part::Text(text.clone()));
                    message.done.push(self.done(item, ItemKind::Message(text.clone())));
                }
                Heard::Thought { item, text } => {
                    if !sealed {
                        let thought = Thought { provider: provider.into(), text: text.clone(), sealed: None };
                        message.parts.push(Part::Thought(thought));
                    }
                    message.done.push(self.done(item, ItemKind::Thought(text.clone())));
                }
                Heard::Sealed(thought) => message.parts.push(Part::Thought(thought.clone())),
                Heard::Call { item, id, name, input } => {
                    message.parts.push(Part::Call(ModelCall {
                        id: id.clone(),
                        name: name.clone(),
                        input: Json(input.clone()),
                        spoken: Spoken::Native,
                    }));
                    message.calls.push(self.act(item.clone(), id, name, input.clone()));
                }
            }
        }
        // Thinking comes first, wherever the wire put its seal.
        message.parts.sort_by_key(|part| !matches!(part, Part::Thought(_)));
        let by = SaidBy::Model { provider: provider.into(), model: model.into() };
        Whole { said: Said { by, parts: message.parts, stop }, done: message.done, calls: message.calls }
    }

    fn done(&self, id: &ItemId, kind: ItemKind) -> Item {
        Item { id: id.clone(), turn: self.turn.clone(), stage: Stage::Done, kind }
    }
}

#[derive(Default)]
struct Parts {
    parts: Vec<Part>,
    done: Vec<Item>,
    calls: Vec<Item>,
}

/// The message for the conversation, final items, and items of calls still to run.
pub(crate) struct Whole {
    pub(crate) said: Said,
    pub(crate) done: Vec<Item>,
    pub(crate) calls: Vec<Item>,
}
