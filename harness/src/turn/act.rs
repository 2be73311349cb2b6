//! One call of the model, from its arguments to its result: action, approve, begun, act, reply, record.

use std::path::{Path, PathBuf};
use std::time::Duration;

use dialect::Harness;
use protocol::model::ModelCall;
use protocol::{
    Act, Action, Answer, Ask, AskWhat, CanAsk, Change, Choice, Decliner, EntryKind, FileDiff, Grant, IoWhy,
    Item, ItemId, ItemKind, Outcome, Plan, RunEnd, Stage,
};
use tokio::sync::oneshot;

use super::{Stopped, Turn};
use crate::approve::{Case, Verdict, Walled, approve};
use crate::proposal::{Begun, Proposal};
use crate::setup::Live;
use crate::tools::edit::Draft;
use crate::tools::{edit, fetch, look, run};
use crate::undo;

/// Links followed, so that one folder has one name.
fn real(folder: &Path) -> PathBuf {
    folder.canonicalize().unwrap_or_else(|_| folder.to_path_buf())
}

/// What has been decided about a call.
enum Leave {
    Granted(Walled),
    Refused(Outcome),
}

impl Turn {
    pub(crate) async fn act(
        &mut self,
        harness: &'static dyn Harness,
        call: ModelCall,
        item: ItemId,
    ) -> Result<(), Stopped> {
        let mut act = Act {
            call: call.id.clone(),
            verb: harness.verb(&call.name),
            tool: call.name.clone(),
            input: call.input.clone(),
            action: None,
            files: Vec::new(),
            live: String::new(),
            outcome: None,
        };
        match harness.action(&call, &self.context()) {
            Err(outcome) => self.finish(harness, item, act, outcome).await,
            Ok(action) => {
                act.action = Some(action.clone());
                let formed = Change::Formed { input: call.input, action: Box::new(action.clone()) };
                self.tell.change(&item, formed).await?;
                self.carry(harness, item, act, action).await
            }
        }
    }

    /// Carries out an action that is understood.
    async fn carry(
        &mut self,
        harness: &'static dyn Harness,
        item: ItemId,
        mut act: Act,
        action: Action,
    ) -> Result<(), Stopped> {
        let live = self.live();
        let draft = match action {
            Action::Write { .. } | Action::Edit { .. } | Action::Patch { .. } => {
                match edit::draft(&self.bench(&live.resolved), &action).await {
                    Err(outcome) => return self.finish(harness, item, act, outcome).await,
                    Ok(draft) => Some(draft),
                }
            }
            _ => None,
        };
        if let Some(draft) = &draft {
            act.files = diffs(draft);
            self.tell.change(&item, Change::Files(act.files.clone())).await?;
        }
        let folder = match &action {
            Action::Run { cwd, .. } => match run::folder(&self.bench(&live.resolved), cwd.as_ref()) {
                Err(outcome) => return self.finish(harness, item, act, outcome).await,
                Ok(folder) => folder,
            },
            _ => self.means.cwd.clone(),
        };
        let walled = match self.leave(&live, &item, &action, draft.as_ref(), &folder).await? {
            Leave::Granted(walled) => walled,
            Leave::Refused(outcome) => return self.finish(harness, item, act, outcome).await,
        };
        self.tell.change(&item, Change::Stage(Stage::Running)).await?;
        match (&action, draft) {
            (_, Some(draft)) => self.change_files(harness, item, act, draft).await,
            (Action::Plan(plan), None) => {
                self.upsert_plan(plan.clone()).await?;
                self.finish(harness, item, act, Outcome::Plan(plan.clone())).await
            }
            (Action::Run { .. }, None) => {
                if let Err(outcome) = self.begin(&item, &act, &action, Vec::new()).await? {
                    return self.finish(harness, item, act, outcome).await;
                }
                let task = self.ids.task();
                let ran = run::run(&self.bench(&live.resolved), &item, &action, &folder, walled, task).await;
                act.files = ran.changed.iter().map(|edit| edit.diff.clone()).collect();
                if !act.files.is_empty() {
                    self.tell.change(&item, Change::Files(act.files.clone())).await?;
                }
                self.finish(harness, item, act, ran.outcome).await
            }
            (action, None) => {
                let outcome = self.look_or_ask(&live, &item, action).await?;
                self.finish(harness, item, act, outcome).await
            }
        }
    }

    /// Actions that change nothing in the project.
    async fn look_or_ask(&mut self, live: &Live, item: &ItemId, action: &Action) -> Result<Outcome, Stopped> {
        let bench = self.bench(&live.resolved);
        Ok(match action {
            Action::Read { path, span, cap } => look::read(&bench, path, span, *cap).await,
            Action::Search(_) | Action::Find { .. } | Action::List { .. } => look::walk(&bench, action).await,
            Action::Fetch { url, cap, limit_ms } => fetch::fetch(url, *cap, *limit_ms).await,
            Action::Poll { task: None, .. } => Outcome::Tasks(self.means.tasks.list()),
            Action::Poll { task: Some(task), wait_ms } => {
                let polled = self.means.tasks.poll(task, Duration::from_millis(*wait_ms)).await;
                self.polled(task, polled)
            }
            Action::Stop { task } => {
                let stopped = self.means.tasks.stop(task).await;
                self.polled(task, stopped)
            }
            Action::Question(questions) => self.question(item, questions.clone()).await?,
            Action::Run { .. }
            | Action::Write { .. }
            | Action::Edit { .. }
            | Action::Patch { .. }
            | Action::Plan(_) => Outcome::Interrupted,
        })
    }

    fn polled(&self, task: &protocol::TaskId, polled: Option<(RunEnd, protocol::Captured)>) -> Outcome {
        match polled {
            Some((end, output)) => {
                Outcome::Ran { end, output, wall_ms: 0, cwd: self.means.cwd.as_path().into() }
            }
            None => Outcome::Failed {
                why: IoWhy::NoTask,
                path: None,
                text: format!("there is no background command {task}; list them without a task_id"),
            },
        }
    }

    /// Allowed, asked and allowed, or refused with the outcome that says so.
    async fn leave(
        &mut self,
        live: &Live,
        item: &ItemId,
        action: &Action,
        draft: Option<&Draft>,
        folder: &Path,
    ) -> Result<Leave, Stopped> {
        let verdict = approve(&Case {
            action,
            edits: draft.map_or(&[], |draft| draft.planned.edits.as_slice()),
            folder: &real(folder),
            cwd: &real(&self.means.cwd),
            project: &live.resolved.project,
            settings: &live.resolved.settings,
            trusted: live.resolved.trusted,
            can_ask: self.asks != CanAsk::Nothing,
            wall: self.wall_holds(live),
            granted: &self.granted,
        });
        let (why, choices, walled) = match verdict {
            Verdict::Allow { walled } => return Ok(Leave::Granted(walled)),
            Verdict::Deny { by, why } => return Ok(Leave::Refused(Outcome::Declined { by, why })),
            Verdict::Ask { why, choices, walled } => (why, choices, walled),
        };
        self.tell.change(item, Change::Stage(Stage::Waiting)).await?;
        let answer = self.ask(item, AskWhat::Act, why, choices.clone()).await?;
        let chosen = match &answer {
            Answer::Choice { id, .. } => choices.iter().find(|choice| choice.id == *id),
            Answer::Answers(_) | Answer::Dismissed | Answer::Cancelled => None,
        };
        let note = match answer {
            Answer::Choice { note, .. } => note.unwrap_or_default(),
            Answer::Answers(_) | Answer::Dismissed | Answer::Cancelled => String::new(),
        };
        Ok(match chosen.map(|choice| &choice.grant) {
            Some(Grant::Once) => Leave::Granted(walled),
            Some(Grant::Session { scope } | Grant::Always { scope }) => {
                self.granted.push(scope.clone());
                self.tell.tell(Proposal::Granted { scope: scope.clone() }).await?;
                Leave::Granted(walled)
            }
            Some(Grant::Reject | Grant::RejectAlways { .. }) | None => {
                Leave::Refused(Outcome::Declined { by: Decliner::Person, why: note })
            }
        })
    }

    fn wall_holds(&self, live: &Live) -> Result<(), String> {
        let wanted = live.resolved.min_level.max(sandbox::Level::Landlock);
        if self.wall.level >= wanted {
            return Ok(());
        }
        let remedy = self.wall.remedy.clone().unwrap_or_default();
        Err(format!("the sandbox is at level {} and {wanted} is required; {remedy}", self.wall.level))
    }

    async fn ask(
        &mut self,
        item: &ItemId,
        what: AskWhat,
        why: String,
        choices: Vec<Choice>,
    ) -> Result<Answer, Stopped> {
        let ask = Ask {
            id: self.ids.ask(),
            turn: Some(self.id.clone()),
            item: Some(item.clone()),
            what,
            why,
            choices,
        };
        let (sender, receiver) = oneshot::channel();
        self.tell.tell(Proposal::Ask(Box::new(ask), sender)).await?;
        receiver.await.map_err(|_| Stopped::Deaf)
    }

    async fn question(
        &mut self,
        item: &ItemId,
        questions: Vec<protocol::Question>,
    ) -> Result<Outcome, Stopped> {
        if self.asks != CanAsk::PermissionAndQuestions {
            return Ok(Outcome::Failed {
                why: IoWhy::NobodyToAsk,
                path: None,
                text: "nobody can answer questions here; decide yourself and say what you decided".into(),
            });
        }
        self.tell.change(item, Change::Stage(Stage::Waiting)).await?;
        let answer = self.ask(item, AskWhat::Questions(questions), String::new(), Vec::new()).await?;
        Ok(match answer {
            Answer::Answers(replies) => Outcome::Answered(replies),
            Answer::Choice { .. } | Answer::Dismissed | Answer::Cancelled => {
                Outcome::Declined { by: Decliner::Person, why: "The questions were not answered.".into() }
            }
        })
    }

    /// Says what is about to happen and waits until that is on disk.
    async fn begin(
        &mut self,
        item: &ItemId,
        act: &Act,
        action: &Action,
        before: Vec<(protocol::FilePath, Option<protocol::Digest>)>,
    ) -> Result<Result<(), Outcome>, Stopped> {
        let begun = Begun { call: act.call.clone(), item: item.clone(), action: action.clone(), before };
        let (sender, receiver) = oneshot::channel();
        self.tell.tell(Proposal::Begun(begun, sender)).await?;
        Ok(receiver.await.map_err(|_| Stopped::Deaf)?.map_err(|text| Outcome::Failed {
            why: IoWhy::Internal,
            path: None,
            text,
        }))
    }

    async fn change_files(
        &mut self,
        harness: &'static dyn Harness,
        item: ItemId,
        act: Act,
        draft: Draft,
    ) -> Result<(), Stopped> {
        let kept = match undo::keep(&self.means.store, &draft.planned.edits).await {
            Ok(kept) => kept,
            Err(text) => {
                let text = format!("the old text could not be kept, so nothing was changed: {text}");
                let outcome = Outcome::Failed { why: IoWhy::Internal, path: None, text };
                return self.finish(harness, item, act, outcome).await;
            }
        };
        let before = kept.iter().map(|edit| (edit.path.clone(), edit.before.clone())).collect();
        let action = act.action.clone().unwrap_or(Action::Plan(Plan::default()));
        if let Err(outcome) = self.begin(&item, &act, &action, before).await? {
            return self.finish(harness, item, act, outcome).await;
        }
        // From here the turn may be dropped: the write goes on by itself and says how it ended.
        let ending = Ending { harness, turn: self.id.clone(), item, act, context: self.context() };
        let (means, tell, ids) = (self.means.clone(), self.tell.clone(), self.ids.clone());
        let written = tokio::spawn(async move {
            let outcome = draft.commit(&means).await;
            let edited = matches!(outcome, Outcome::Edited { .. });
            let (item, kind) = ending.end(outcome);
            let entry = protocol::Entry { id: ids.entry(), kind };
            if edited {
                tell.tell(Proposal::Edited(kept)).await?;
            }
            tell.tell(Proposal::Finish(Box::new(item))).await?;
            tell.tell(Proposal::Entry(entry.clone())).await?;
            Ok::<_, Stopped>(entry)
        });
        match written.await {
            Ok(entry) => {
                self.talk.entries.push(entry?);
                Ok(())
            }
            Err(_) => Err(Stopped::Deaf),
        }
    }

    /// The plan is one item of the turn.
    async fn upsert_plan(&mut self, plan: Plan) -> Result<(), Stopped> {
        self.plan = plan.clone();
        match &self.plan_item {
            Some(item) => self.tell.change(item, Change::Plan(plan)).await?,
            None => {
                let id = self.ids.item();
                self.plan_item = Some(id.clone());
                let item =
                    Item { id, turn: self.id.clone(), stage: Stage::Running, kind: ItemKind::Plan(plan) };
                self.tell.tell(Proposal::Start(Box::new(item))).await?;
            }
        }
        Ok(())
    }

    /// The call's last word, to the faces and to the model.
    async fn finish(
        &mut self,
        harness: &'static dyn Harness,
        item: ItemId,
        act: Act,
        outcome: Outcome,
    ) -> Result<(), Stopped> {
        let ending = Ending { harness, turn: self.id.clone(), item, act, context: self.context() };
        let (item, kind) = ending.end(outcome);
        self.tell.tell(Proposal::Finish(Box::new(item))).await?;
        self.entry(kind).await
    }
}

/// What is needed to end a call.
struct Ending {
    harness: &'static dyn Harness,
    turn: protocol::TurnId,
    item: ItemId,
    act: Act,
    context: dialect::Context,
}

impl Ending {
    fn end(self, outcome: Outcome) -> (Item, EntryKind) {
        let mut act = self.act;
        let stage = stage(&outcome);
        if !matches!(outcome, Outcome::Edited { .. } | Outcome::Ran { .. }) {
            // What was proposed did not happen.
            if stage != Stage::Declined {
                act.files.clear();
            }
        }
        act.outcome = Some(outcome);
        let reply = self.harness.reply(&act, &self.context);
        let entry = EntryKind::Result { call: act.call.clone(), reply };
        (Item { id: self.item, turn: self.turn, stage, kind: ItemKind::Act(act) }, entry)
    }
}

/// Done or failed, by what came of it.
pub(crate) fn stage(outcome: &Outcome) -> Stage {
    match outcome {
        Outcome::Ran { end: RunEnd::Exited(0) | RunEnd::StillRunning(_) | RunEnd::Stopped, .. } => {
            Stage::Done
        }
        Outcome::Ran { .. } => Stage::Failed,
        Outcome::Tasks(_)
        | Outcome::Read { .. }
        | Outcome::Listed { .. }
        | Outcome::Found { .. }
        | Outcome::Edited { .. }
        | Outcome::Plan(_)
        | Outcome::Answered(_)
        | Outcome::Fetched { .. } => Stage::Done,
        Outcome::Declined { .. } => Stage::Declined,
        Outcome::Interrupted => Stage::Cancelled,
        Outcome::EditFailed { .. }
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Failed { .. } => Stage::Failed,
    }
}

fn diffs(draft: &Draft) -> Vec<FileDiff> {
    draft.planned.edits.iter().map(|edit| edit.diff.clone()).collect()
}
