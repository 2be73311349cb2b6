//! The scripted model, in process: it says what the script says, word by word.
//!
//! It looks at no request: turn by turn, whatever is asked. `Model::say` calls it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protocol::model::{ModelEvent, Stop, Thought};
use protocol::{CallId, Failure, FailureKind, Tokens};
use tokio::sync::mpsc;

use crate::failure::Trouble;
use crate::model::Heard;
use crate::script::{Script, ToolMap, Turn};

/// A script and where it stands.
pub(crate) struct Rehearsal {
    script: Arc<Script>,
    provider: String,
    at: AtomicUsize,
}

/// One turn being played.
struct Play<'a> {
    script: &'a Script,
    provider: &'a str,
    at: usize,
    heard: &'a mpsc::Sender<Heard>,
}

impl Rehearsal {
    pub(crate) fn new(script: Arc<Script>, provider: &str) -> Self {
        Self { script, provider: provider.into(), at: AtomicUsize::new(0) }
    }

    /// Plays the next turn.
    pub(crate) async fn say(&self, heard: &mpsc::Sender<Heard>) -> Result<(), Failure> {
        let at = self.at.fetch_add(1, Ordering::Relaxed);
        let Some(turn) = self.script.turn(at) else {
            let have = self.script.turns.len();
            return Err(failure(format!(
                "the script has {have} turns, and request {} is one too many",
                at + 1
            )));
        };
        if turn.is_raw() || turn.status.is_some_and(|status| status != 200) {
            return Err(failure(format!(
                "turn {at} of the script is an HTTP answer, which no rehearsal can play"
            )));
        }
        let play = Play { script: &self.script, provider: &self.provider, at, heard };
        play.turn(turn).await.map_err(|_| Trouble::unheard().failure)
    }
}

type Told = Result<(), mpsc::error::SendError<Heard>>;

impl Play<'_> {
    async fn turn(&self, turn: &Turn) -> Told {
        tokio::time::sleep(Duration::from_millis(turn.delay_ms.unwrap_or(0))).await;
        if let Some(text) = &turn.reasoning {
            self.think(self.placed(text)).await?;
        }
        for word in turn.say.iter().flat_map(|text| words(&self.placed(text))) {
            self.tell(ModelEvent::Text(word)).await?;
            self.pause().await;
        }
        for number in 0..turn.words.unwrap_or(0) {
            self.tell(ModelEvent::Text(format!("word{number} "))).await?;
            self.pause().await;
        }
        self.calls(turn).await?;
        if let Some(usage) = turn.usage {
            let tokens = Tokens { input: usage.input, output: usage.output, ..Tokens::default() };
            self.tell(ModelEvent::Used(tokens)).await?;
        }
        self.tell(ModelEvent::Stopped(stop(turn))).await
    }

    async fn think(&self, text: String) -> Told {
        for word in words(&text) {
            self.tell(ModelEvent::Thought(word)).await?;
            self.pause().await;
        }
        let thought = Thought { provider: self.provider.into(), text, sealed: None };
        self.tell(ModelEvent::Sealed(thought)).await
    }

    async fn calls(&self, turn: &Turn) -> Told {
        let map = ToolMap::native();
        for (slot, call) in (0u32..).zip(&turn.calls) {
            let (name, args) = map.call(call, &self.script.work);
            let id = CallId(call.id.clone().unwrap_or_else(|| format!("call_{}_{slot}", self.at)));
            self.tell(ModelEvent::CallBegun { slot, id, name }).await?;
            for text in words(&args) {
                self.tell(ModelEvent::CallInput { slot, text }).await?;
                self.pause().await;
            }
            self.tell(ModelEvent::CallEnded { slot }).await?;
        }
        Ok(())
    }

    fn placed(&self, text: &str) -> String {
        text.replace("@@WORK@@", &self.script.work)
    }

    async fn tell(&self, event: ModelEvent) -> Told {
        self.heard.send(Heard::Event(event)).await
    }

    async fn pause(&self) {
        if self.script.pace_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.script.pace_ms)).await;
        }
    }
}

/// As the wires read the same finish reasons.
fn stop(turn: &Turn) -> Stop {
    match turn.finish.as_deref() {
        Some("length") => Stop::Length,
        Some("content_filter") => Stop::Filter,
        _ if !turn.calls.is_empty() => Stop::Calls,
        Some("refusal") => Stop::Refusal(turn.say.clone().unwrap_or_default()),
        None | Some("stop" | "tool_calls") => Stop::End,
        Some(other) => Stop::Other(other.into()),
    }
}

/// Words with the space behind them.
fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_string).collect()
}

fn failure(text: String) -> Failure {
    let remedy = Some("correct the script, or begin the rehearsal again".into());
    Failure { kind: FailureKind::Format, text, remedy, status: None }
}
