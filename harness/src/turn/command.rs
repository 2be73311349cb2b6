//! The engine's own commands, which every face sends as a prompt: /compact, /undo, /status.

use protocol::{
    Change, Content, Entry, Failure, FailureKind, FilePath, Item, ItemId, ItemKind, Outcome, SlashCommand,
    Stage, TurnId,
};

use dialect::{Harness, Moment};

use super::{Stopped, Turn};
use crate::proposal::Proposal;
use crate::undo;

/// One command of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Command {
    Compact,
    Undo,
    Status,
}

/// Names and words, in the order in which they are offered.
const COMMANDS: &[(&str, Command, &str, Option<&str>)] = &[
    (
        "compact",
        Command::Compact,
        "Go on with a summary of the conversation",
        Some("what to keep in particular"),
    ),
    ("undo", Command::Undo, "Take back the file edits of the last turn", None),
    ("status", Command::Status, "Show model, permissions, sandbox and usage", None),
];

impl Command {
    /// The command that a prompt is, with what follows its name.
    pub(crate) fn parse(content: &[Content]) -> Option<(Self, String)> {
        let [Content::Text(text)] = content else { return None };
        let line = text.trim().strip_prefix('/')?;
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let found = COMMANDS.iter().find(|command| command.0 == name)?;
        Some((found.1, rest.trim().to_string()))
    }

    /// All of them, for the faces.
    pub(crate) fn offered() -> Vec<SlashCommand> {
        COMMANDS
            .iter()
            .map(|(name, _, about, hint)| SlashCommand {
                name: (*name).into(),
                about: (*about).into(),
                hint: hint.map(str::to_string),
            })
            .collect()
    }
}

impl Turn {
    pub(super) async fn carry_out(&mut self, command: Command, rest: &str) -> Result<(), Stopped> {
        match command {
            Command::Compact => self.compact(rest).await,
            Command::Undo => self.undo().await,
            Command::Status => {
                let text = self.status();
                self.answer(text).await
            }
        }
    }

    /// A message of the house, not of the model: it is shown and not part of the conversation.
    async fn answer(&mut self, text: String) -> Result<(), Stopped> {
        let item = self.ids.item();
        let start = Item {
            id: item.clone(),
            turn: self.id.clone(),
            stage: Stage::Running,
            kind: ItemKind::Message(String::new()),
        };
        self.tell.tell(Proposal::Start(Box::new(start.clone()))).await?;
        self.tell.change(&item, Change::Text(text.clone())).await?;
        let done = Item { stage: Stage::Done, kind: ItemKind::Message(text), ..start };
        self.tell.tell(Proposal::Finish(Box::new(done))).await?;
        Ok(())
    }

    async fn compact(&mut self, focus: &str) -> Result<(), Stopped> {
        if self.talk.entries.is_empty() {
            return self.answer("There is nothing to compact yet.".into()).await;
        }
        let harness = self.harness()?;
        let context = self.context();
        let before = size(&self.talk.entries);
        let item = self.ids.item();
        self.start_compaction(&item, before).await?;
        let focus = Some(focus).filter(|focus| !focus.is_empty());
        let summary = match self.shrinking_summary(harness, focus).await {
            Ok(summary) => summary,
            Err(stopped) => {
                self.end_compaction(&item, Stage::Failed, String::new(), before, None).await?;
                return Err(stopped);
            }
        };
        let entries: Vec<Entry> = harness
            .resume(&summary, &context)
            .into_iter()
            .map(|kind| Entry { id: self.ids.entry(), kind })
            .collect();
        let after = size(&entries);
        self.talk.entries.clone_from(&entries);
        self.end_compaction(&item, Stage::Done, summary, before, Some(after)).await?;
        self.tell.tell(Proposal::Compacted { item, entries }).await?;
        Ok(())
    }

    /// Asks for a summary; where even that is too much for the window, of the newer half, and so on.
    async fn shrinking_summary(
        &mut self,
        harness: &dyn Harness,
        focus: Option<&str>,
    ) -> Result<String, Stopped> {
        let context = self.context();
        let mut talk = self.talk.clone();
        loop {
            let mut request = harness.summarise(&talk, focus, &context);
            request.max_tokens = self.live().resolved.max_output;
            match self.summary(&request).await {
                Err(Stopped::Failed(failure))
                    if failure.kind == FailureKind::Overflow && talk.entries.len() > 1 =>
                {
                    talk.entries.drain(..talk.entries.len() / 2);
                }
                done => return done,
            }
        }
    }

    async fn start_compaction(&self, item: &ItemId, before: u64) -> Result<(), Stopped> {
        let kind =
            ItemKind::Compaction { why: "asked for".into(), summary: String::new(), before, after: None };
        let start = Item { id: item.clone(), turn: self.id.clone(), stage: Stage::Running, kind };
        self.tell.tell(Proposal::Start(Box::new(start))).await?;
        Ok(())
    }

    async fn end_compaction(
        &self,
        item: &ItemId,
        stage: Stage,
        summary: String,
        before: u64,
        after: Option<u64>,
    ) -> Result<(), Stopped> {
        let kind = ItemKind::Compaction { why: "asked for".into(), summary, before, after };
        let done = Item { id: item.clone(), turn: self.id.clone(), stage, kind };
        self.tell.tell(Proposal::Finish(Box::new(done))).await?;
        Ok(())
    }

    async fn undo(&mut self) -> Result<(), Stopped> {
        let Some((turn, edits)) = self.edits.pop() else {
            return self.answer("There is no edit of this session left to take back.".into()).await;
        };
        let taken = undo::plan(&self.means.store, &edits).await;
        let mut files: Vec<FilePath> =
            taken.edits.iter().map(|edit| FilePath::from(edit.place.real.as_path())).collect();
        let mut text = String::new();
        if !taken.edits.is_empty() {
            let edits = taken.edits;
            let known = self.means.known.clone();
            let written = tokio::task::spawn_blocking(move || files::commit(&edits)).await;
            if let Ok(Err(outcome)) = written {
                return Err(disk(outcome).into());
            }
            for file in &files {
                known.forget(file);
                text += &format!("Taken back: {file}\n");
            }
        }
        for file in &taken.kept {
            text += &format!("Left as it is, because it changed since: {file}\n");
        }
        self.undone(turn, std::mem::take(&mut files)).await?;
        self.answer(text.trim_end().to_string()).await
    }

    /// The model hears of it with the next request.
    async fn undone(&mut self, turn: TurnId, files: Vec<FilePath>) -> Result<(), Stopped> {
        self.tell.tell(Proposal::Undone(turn)).await?;
        let (harness, context) = (self.harness()?, self.context());
        if !files.is_empty() {
            for note in harness.notes(&Moment::Undone { files }, &context) {
                self.note(note).await?;
            }
        }
        Ok(())
    }

    fn status(&self) -> String {
        let live = self.live();
        let settings = &live.resolved.settings;
        let mut lines = vec![
            format!("session: {}", self.means.session),
            format!("folder: {}", self.means.cwd.display()),
            format!("model: {} at {}", settings.model, settings.provider),
            format!("harness: {}", settings.harness),
            format!("mode: {} (sandbox {}, approval {})", settings.mode, settings.sandbox, settings.approval),
            format!(
                "trusted: {}",
                if live.resolved.trusted { "yes" } else { "no; `interpreter trust` trusts this project" }
            ),
            format!("usage: {}", usage(&self.usage)),
            format!("wall: {}", self.wall.level),
        ];
        if !self.wall.lacks.is_empty() {
            lines.push(format!("the wall lacks: {}", self.wall.lacks.join("; ")));
        }
        if let Some(remedy) = &self.wall.remedy {
            lines.push(format!("remedy: {remedy}"));
        }
        lines.iter().map(|line| format!("- {line}")).collect::<Vec<_>>().join("\n")
    }
}

fn usage(usage: &protocol::Usage) -> String {
    let all = &usage.session;
    let mut text = format!("{} tokens in ({} of them cached), {} out", all.input, all.cached, all.output);
    if let Some((used, size)) = usage.window {
        text += &format!("; {used} of the window's {size} are in use");
    }
    text
}

fn disk(outcome: Outcome) -> Failure {
    Failure {
        kind: FailureKind::Disk,
        text: format!("nothing was taken back: {}", outcome.text()),
        remedy: None,
        status: None,
    }
}

/// Bytes of a conversation.
fn size(entries: &[Entry]) -> u64 {
    serde_json::to_vec(entries).map_or(0, |bytes| bytes.len() as u64)
}
