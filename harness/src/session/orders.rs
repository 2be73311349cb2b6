//! What a session can be told, each answered once.

use std::sync::Arc;

use protocol::{
    Answer, AskId, ClientId, Content, Done, EventKind, Failure, FailureKind, Item, Order, Refusal,
    SessionChange, Stage, Target, When,
};
use tokio::time::Instant;

use super::actor::{Actor, Queued};
use super::{Answerer, ToActor};
use crate::journal::Record;
use crate::limits;
use crate::setup::Live;
use crate::steering::NotTaken;
use crate::turn::Command;

impl Actor {
    pub(super) async fn obey(&mut self, client: ClientId, answer: Answerer, order: Order) {
        match order {
            Order::Prompt { input, when: When::Queue, schema } => {
                let command = Command::parse(&input);
                let reply = self.prompt(client, input, command, schema).await;
                answer.answer(reply);
                self.start_if_idle().await;
            }
            Order::Prompt { input, when: When::Steer, schema: _ } => answer.answer(self.steer(input)),
            Order::Compact { focus } => {
                let rest = focus.unwrap_or_default();
                let text = format!("/compact {rest}");
                let command = Some((Command::Compact, rest));
                let reply = self.prompt(client, vec![Content::Text(text.trim().into())], command, None).await;
                answer.answer(reply);
                self.start_if_idle().await;
            }
            Order::Answer { ask, answer: given } => answer.answer(self.take_answer(client, &ask, given)),
            Order::Cancel(Target::Turn) => {
                self.cancel();
                answer.answer(Ok(Done::Ok));
            }
            Order::Cancel(Target::Task(task)) => {
                let means = Arc::clone(&self.means);
                tokio::spawn(async move {
                    let stopped = means.tasks.stop(&task).await;
                    answer.answer(match stopped {
                        Some(_) => Ok(Done::Ok),
                        None => Err(Refusal::Unknown {
                            what: "background command".into(),
                            name: task.to_string(),
                            known: means.tasks.list().iter().map(|task| task.id.to_string()).collect(),
                        }),
                    });
                });
            }
            Order::Configure { option, value } => {
                let reply = self.configure(option, value).await;
                answer.answer(reply);
            }
            Order::Rename { title } => {
                self.rename(title).await;
                answer.answer(Ok(Done::Ok));
            }
            Order::Close => self.close(Some(answer)),
        }
    }

    /// Puts a prompt behind the others; it is answered at once with the turn that will take it.
    async fn prompt(
        &mut self,
        by: ClientId,
        content: Vec<Content>,
        command: Option<(Command, String)>,
        schema: Option<protocol::Json>,
    ) -> Result<Done, Refusal> {
        if content.iter().all(|part| matches!(part, Content::Text(text) if text.trim().is_empty())) {
            return Err(Refusal::Invalid {
                what: "prompt".into(),
                why: "it is empty".into(),
                remedy: "send a text, an image or a resource".into(),
            });
        }
        if self.queue.len() >= limits::QUEUED_PROMPTS {
            return Err(Refusal::Overloaded);
        }
        if let Some(why) = self.still_unwritten().await {
            return Err(Refusal::Failed(Failure {
                kind: FailureKind::Disk,
                text: format!("the session cannot be written: {why}"),
                remedy: Some("make room there and send the prompt again".into()),
                status: None,
            }));
        }
        let (turn, item) = (self.ids.turn(), self.ids.item());
        self.queue.push_back(Queued { turn: turn.clone(), item: item.clone(), by, content, command, schema });
        Ok(Done::Prompted { turn, item, steered: false })
    }

    async fn start_if_idle(&mut self) {
        if self.turn.is_none()
            && self.closing.is_none()
            && let Some(next) = self.queue.pop_front()
        {
            self.start(next).await;
        }
    }

    fn steer(&mut self, content: Vec<Content>) -> Result<Done, Refusal> {
        let Some(turn) = &self.turn else { return Err(Refusal::Idle) };
        let item = self.ids.item();
        match turn.steering.put(item.clone(), content) {
            Ok(()) => Ok(Done::Prompted { turn: turn.id.clone(), item, steered: true }),
            Err(NotTaken::Closed) => Err(Refusal::Idle),
            Err(NotTaken::Full) => Err(Refusal::Busy(turn.id.clone())),
        }
    }

    fn take_answer(&mut self, client: ClientId, ask: &AskId, answer: Answer) -> Result<Done, Refusal> {
        let Some(waiting) = self.open_asks.remove(ask) else { return Err(Refusal::TooLate(answer)) };
        self.emit(EventKind::AskClosed { ask: ask.clone(), answer: answer.clone(), by: Some(client) });
        // The turn may be ending at this moment; then nothing runs.
        let _ = waiting.send(answer);
        Ok(Done::Ok)
    }

    /// Stops the running turn; nothing when there is none.
    pub(super) fn cancel(&mut self) {
        if let Some(turn) = &mut self.turn {
            turn.token.cancel();
            turn.deadline.get_or_insert(Instant::now() + limits::CANCEL);
        }
    }

    async fn configure(&mut self, option: String, value: String) -> Result<Done, Refusal> {
        let mut chosen = self.chosen.clone();
        chosen.retain(|(id, _)| *id != option);
        chosen.push((option, value));
        self.resolve(chosen).await?;
        Ok(Done::Ok)
    }

    /// Settings anew from these choices; they hold from the next request on.
    pub(super) async fn resolve(&mut self, chosen: Vec<(String, String)>) -> Result<(), Refusal> {
        let resolved = self.shared.resolve(&self.means.cwd, &chosen).await?;
        self.chosen = chosen;
        let (settings, options) = (resolved.settings.clone(), resolved.options.clone());
        self.granted.extend(resolved.allowed.iter().cloned());
        self.live.send_replace(Arc::new(Live::new(resolved)));
        self.write(Record::Settings(settings.clone())).await;
        self.emit(EventKind::SessionChanged(SessionChange::Settings { settings, options }));
        Ok(())
    }

    pub(super) async fn rename(&mut self, title: String) {
        self.write(Record::Title(title.clone())).await;
        self.emit(EventKind::SessionChanged(SessionChange::Title(title)));
    }

    pub(super) async fn task_ended(&mut self, task: protocol::Task) {
        self.write(Record::Task(task.clone())).await;
        self.emit(EventKind::TaskChanged(task));
        if let Some(notice) = self.means.left_behind().await {
            self.emit(EventKind::Noticed(notice));
        }
    }

    /// A thing that is final the moment it is there.
    pub(super) async fn announce(&mut self, item: Item) {
        debug_assert!(item.stage == Stage::Done);
        self.emit(EventKind::ItemStarted(Box::new(item.clone())));
        self.finish_item(item).await;
    }
}

impl ToActor {
    /// An order that nobody will carry out is refused.
    pub(crate) fn refuse(self, refusal: Refusal) {
        match self {
            ToActor::Order { answer, .. } => answer.answer(Err(refusal)),
            ToActor::ClientGone(_) | ToActor::Close => {}
        }
    }
}
