//! One turn, in this order: notes, request, stream, next, then for each call: action, approve, begun, act,
//! reply, record. It proposes to its actor and owns nothing that outlives it: dropped at any await, the
//! HTTP stream, the commands and the questions go with it, and the actor settles what stays open.

mod act;
mod command;
mod ear;
mod listen;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dialect::{Context, Frame, Harness, Moment, Next, Tally};
use protocol::model::{ModelCall, ModelRequest, Part, Stop};
use protocol::{
    CanAsk, Content, Entry, EntryKind, Failure, FailureKind, Item, ItemId, ItemKind, Json, Limit, Note,
    Notice, Plan, Said, Stage, TurnEnd, TurnId,
};
use providers::Model;
use sandbox::Wall;
use tokio::sync::watch;

use crate::ids::Ids;
use crate::proposal::{Deaf, Proposal, Proposals};
use crate::setup::{Live, Resolved};
use crate::steering::Steering;
use crate::tools::{Bench, Means};
use crate::undo::UndoStack;

pub(crate) use command::Command;

/// Everything one turn works with. Entries are a copy: what it adds, it also proposes.
pub(crate) struct Turn {
    pub(crate) id: TurnId,
    pub(crate) ids: Arc<Ids>,
    pub(crate) means: Arc<Means>,
    pub(crate) tell: Proposals,
    /// The settings of this moment; a change takes effect with the next request.
    pub(crate) settings: watch::Receiver<Arc<Live>>,
    pub(crate) wall: Wall,
    pub(crate) frame: Frame,
    pub(crate) asks: CanAsk,
    pub(crate) granted: Vec<String>,
    pub(crate) talk: protocol::Conversation,
    pub(crate) plan: Plan,
    /// As it was when the turn began.
    pub(crate) usage: protocol::Usage,
    pub(crate) plan_item: Option<ItemId>,
    pub(crate) steering: Arc<Steering>,
    /// What the model was last told of its permissions.
    pub(crate) told: Option<protocol::Settings>,
    pub(crate) moments: Vec<Moment>,
    pub(crate) schema: Option<Json>,
    pub(crate) edits: UndoStack,
}

/// Why a turn ends before its time.
pub(crate) enum Stopped {
    Deaf,
    Failed(Failure),
}

impl From<Deaf> for Stopped {
    fn from(_: Deaf) -> Self {
        Stopped::Deaf
    }
}

impl From<Failure> for Stopped {
    fn from(failure: Failure) -> Self {
        Stopped::Failed(failure)
    }
}

impl Turn {
    /// Answers the prompt that is already in the conversation.
    pub(crate) async fn prompt(mut self) -> TurnEnd {
        let end = self.rounds().await;
        self.ended(end)
    }

    /// Carries out a command of the engine.
    pub(crate) async fn command(mut self, command: Command, rest: String) -> TurnEnd {
        let end = self.carry_out(command, &rest).await.map(|()| TurnEnd::Done);
        self.ended(end)
    }

    fn ended(&self, end: Result<TurnEnd, Stopped>) -> TurnEnd {
        match end {
            Ok(end) => end,
            Err(Stopped::Deaf) => TurnEnd::Cancelled,
            Err(Stopped::Failed(failure)) => TurnEnd::Failed(failure),
        }
    }

    /// Once a session: a wall that is not whole, and what would make it so.
    async fn tell_wall(&self) -> Result<(), Stopped> {
        let walled = self.live().resolved.settings.sandbox != protocol::Sandbox::FullAccess;
        let told = &self.means.wall_told;
        if !walled || self.wall.level == sandbox::Level::Full || told.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        let title = match self.wall.level {
            sandbox::Level::None => {
                "There is no sandbox on this machine: commands are refused or asked about"
            }
            _ => "The sandbox of this machine is not whole",
        };
        let mut text = format!("level {}: {}", self.wall.level, self.wall.lacks.join("; "));
        if let Some(remedy) = &self.wall.remedy {
            text += &format!(". To mend it: {remedy}");
        }
        let notice = Notice { level: protocol::Level::Warning, title: title.into(), text, retry: None };
        self.tell.tell(Proposal::Notice(notice)).await?;
        Ok(())
    }

    async fn rounds(&mut self) -> Result<TurnEnd, Stopped> {
        self.tell_wall().await?;
        let mut tally = Tally::default();
        loop {
            let harness = self.harness()?;
            if tally.requests >= harness.spec().max_requests {
                return Ok(TurnEnd::Limit(Limit::Requests));
            }
            self.pull_steering().await?;
            self.tell_unasked(harness).await?;
            let request = self.request(harness);
            tally.requests += 1;
            let heard = self.listen(&request).await?;
            if let Stop::Refusal(why) = &heard.said.stop {
                let why = why.clone();
                self.say(heard.said).await?;
                return Ok(TurnEnd::Refused(why));
            }
            count(&mut tally, &heard.said);
            let next = harness.next(&heard.said, &tally);
            let filtered = heard.said.stop == Stop::Filter;
            self.record(heard.said, &next).await?;
            match next {
                Next::Act(calls) => self.act_all(harness, calls, heard.items).await?,
                Next::End if filtered => {
                    return Ok(TurnEnd::Refused("the provider's content filter stopped the answer".into()));
                }
                Next::End if self.steering.close_if_empty() => return Ok(TurnEnd::Done),
                Next::End => {}
                Next::Nudge(note) => {
                    self.settle_unrun(heard.items).await?;
                    self.note(note).await?;
                }
                Next::Fail(text) => {
                    self.settle_unrun(heard.items).await?;
                    return Ok(TurnEnd::Failed(Failure {
                        kind: FailureKind::Format,
                        text,
                        remedy: Some("try again, or another model".into()),
                        status: None,
                    }));
                }
            }
        }
    }

    fn harness(&self) -> Result<&'static dyn Harness, Stopped> {
        let name = self.live().resolved.settings.harness.clone();
        dialect::harness(&name).ok_or_else(|| {
            Stopped::Failed(Failure {
                kind: FailureKind::Internal,
                text: format!("there is no harness {name:?}"),
                remedy: Some("choose another with /harness".into()),
                status: None,
            })
        })
    }

    fn live(&self) -> Arc<Live> {
        Arc::clone(&self.settings.borrow())
    }

    /// What a harness may look at now.
    pub(crate) fn context(&self) -> Context {
        Context {
            frame: self.frame.clone(),
            settings: self.live().resolved.settings.clone(),
            wall_lacks: self.wall.lacks.clone(),
            wall_is_full: self.wall.level == sandbox::Level::Full,
            can_ask: self.asks != CanAsk::Nothing,
            plan: self.plan.clone(),
            tasks: self.means.tasks.list(),
        }
    }

    fn request(&mut self, harness: &dyn Harness) -> ModelRequest {
        let context = self.context();
        self.ids.with_entries(|next| {
            crate::journal::pair_up(
                &mut self.talk.entries,
                |call| interrupted(harness, call, &context),
                next,
            );
        });
        let mut request = harness.request(&self.talk, &context);
        request.max_tokens = request.max_tokens.or(self.live().resolved.max_output);
        request.output_schema = self.schema.clone();
        request.cache_key = Some(self.means.session.0.clone());
        request
    }

    /// What the model is told without having asked: instructions and permissions at the beginning, a change
    /// of them, commands that ended.
    async fn tell_unasked(&mut self, harness: &dyn Harness) -> Result<(), Stopped> {
        let context = self.context();
        let mut moments = std::mem::take(&mut self.moments);
        match &self.told {
            None => moments.insert(0, Moment::Begins),
            Some(told) if differs(told, &context.settings) => moments.push(Moment::ModeChanged),
            Some(_) => {}
        }
        self.told = Some(context.settings.clone());
        let ended = self.means.tasks.untold();
        moments.extend(ended.into_iter().map(|(task, output)| Moment::TaskEnded { task, output }));
        for moment in &moments {
            for note in harness.notes(moment, &context) {
                self.note(note).await?;
            }
        }
        Ok(())
    }

    async fn pull_steering(&mut self) -> Result<(), Stopped> {
        for (item, content) in self.steering.pull() {
            self.tell
                .tell(Proposal::Start(Box::new(Item {
                    id: item.clone(),
                    turn: self.id.clone(),
                    stage: Stage::Done,
                    kind: ItemKind::User { content: content.clone(), by: None },
                })))
                .await?;
            self.tell
                .tell(Proposal::Finish(Box::new(Item {
                    id: item.clone(),
                    turn: self.id.clone(),
                    stage: Stage::Done,
                    kind: ItemKind::User { content: content.clone(), by: None },
                })))
                .await?;
            self.entry(EntryKind::Heard { item, content }).await?;
        }
        Ok(())
    }

    /// Records what the model said; calls that will not run are not part of it.
    async fn record(&mut self, mut said: Said, next: &Next) -> Result<(), Stopped> {
        if !matches!(next, Next::Act(_)) {
            said.parts.retain(|part| !matches!(part, Part::Call(_)));
        }
        let anything = said.parts.iter().any(|part| match part {
            Part::Text(text) => !text.is_empty(),
            Part::Thought(_) => matches!(next, Next::End),
            Part::Call(_) | Part::Image { .. } | Part::Result { .. } => true,
        });
        if anything { self.say(said).await } else { Ok(()) }
    }

    async fn say(&mut self, said: Said) -> Result<(), Stopped> {
        self.entry(EntryKind::Said(said)).await
    }

    async fn note(&mut self, note: Note) -> Result<(), Stopped> {
        self.entry(EntryKind::Note(note)).await
    }

    /// Appends to the conversation, here and at the actor.
    pub(crate) async fn entry(&mut self, kind: EntryKind) -> Result<(), Stopped> {
        let entry = Entry { id: self.ids.entry(), kind };
        self.talk.entries.push(entry.clone());
        self.tell.tell(Proposal::Entry(entry)).await?;
        Ok(())
    }

    async fn act_all(
        &mut self,
        harness: &'static dyn Harness,
        calls: Vec<ModelCall>,
        items: Vec<Item>,
    ) -> Result<(), Stopped> {
        for call in calls {
            let item = items
                .iter()
                .find(|item| matches!(&item.kind, ItemKind::Act(act) if act.call == call.id))
                .map_or_else(|| self.ids.item(), |item| item.id.clone());
            self.act(harness, call, item).await?;
        }
        Ok(())
    }

    /// Calls that were announced and do not run reach their end.
    async fn settle_unrun(&mut self, items: Vec<Item>) -> Result<(), Stopped> {
        for mut item in items {
            item.stage = Stage::Failed;
            if let ItemKind::Act(act) = &mut item.kind {
                act.outcome = Some(protocol::Outcome::Interrupted);
            }
            self.tell.tell(Proposal::Finish(Box::new(item))).await?;
        }
        Ok(())
    }

    fn bench<'a>(&'a self, resolved: &'a Resolved) -> Bench<'a> {
        Bench { means: &self.means, resolved, tell: &self.tell, wall: &self.wall }
    }

    fn model(&self) -> Model {
        self.live().model.clone()
    }
}

/// The result of a call that got none.
pub(crate) fn interrupted(harness: &dyn Harness, call: &ModelCall, context: &Context) -> protocol::Reply {
    let act = protocol::Act {
        call: call.id.clone(),
        tool: call.name.clone(),
        verb: harness.verb(&call.name),
        input: call.input.clone(),
        action: None,
        files: Vec::new(),
        live: String::new(),
        outcome: Some(protocol::Outcome::Interrupted),
    };
    harness.reply(&act, context)
}

fn count(tally: &mut Tally, said: &Said) {
    let empty = !said.parts.iter().any(|part| match part {
        Part::Text(text) => !text.trim().is_empty(),
        Part::Call(_) => true,
        Part::Thought(_) | Part::Image { .. } | Part::Result { .. } => false,
    });
    tally.empty_in_a_row = if empty { tally.empty_in_a_row + 1 } else { 0 };
    tally.cut_in_a_row = if said.stop == Stop::Length { tally.cut_in_a_row + 1 } else { 0 };
}

/// Whether the model has to be told anew what it may do.
fn differs(told: &protocol::Settings, now: &protocol::Settings) -> bool {
    (told.approval, told.sandbox, told.network, told.mode == "plan")
        != (now.approval, now.sandbox, now.network, now.mode == "plan")
}

/// The text of a prompt, for titles and commands.
pub(crate) fn plain(content: &[Content]) -> String {
    let texts = content.iter().filter_map(|content| match content {
        Content::Text(text) => Some(text.as_str()),
        Content::Image { .. } | Content::Link { .. } | Content::Resource { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}
