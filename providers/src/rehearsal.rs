//! The scripted model, in process: it says what the script says, and it says so.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use protocol::model::{ModelEvent, Stop};
use protocol::{CallId, Failure, FailureKind, Tokens};
use tokio::sync::mpsc;

use crate::model::Heard;
use crate::script::{Script, ToolMap, Turn};

/// A script and where it stands.
pub(crate) struct Rehearsal {
    script: Arc<Script>,
    at: AtomicUsize,
}

impl Rehearsal {
    pub(crate) fn new(script: Arc<Script>) -> Self {
        Self { script, at: AtomicUsize::new(0) }
    }

    /// Plays the next turn.
    pub(crate) async fn say(&self, heard: &mpsc::Sender<Heard>) -> Result<(), Failure> {
        let at = self.at.fetch_add(1, Ordering::Relaxed);
        let turn = self
            .script
            .turn(at)
            .ok_or_else(|| failure(format!("the script has {at} turns and no further")))?;
        self.play(turn, at, heard).await.map_err(|_| failure("nobody listens any more".into()))
    }

    async fn play(
        &self,
        turn: &Turn,
        at: usize,
        heard: &mpsc::Sender<Heard>,
    ) -> Result<(), mpsc::error::SendError<Heard>> {
        let tell = async |event| heard.send(Heard::Event(event)).await;
        tokio::time::sleep(Duration::from_millis(turn.delay_ms.unwrap_or(0))).await;
        for word in turn.reasoning.iter().flat_map(|text| words(text)) {
            tell(ModelEvent::Thought(word)).await?;
            self.pause().await;
        }
        for word in turn.say.iter().flat_map(|text| words(text)) {
            tell(ModelEvent::Text(word)).await?;
            self.pause().await;
        }
        for (slot, call) in (0u32..).zip(&turn.calls) {
            let (name, args) = ToolMap::native().call(call, &self.script.work);
            let id = CallId(call.id.clone().unwrap_or_else(|| format!("call_{at}_{slot}")));
            tell(ModelEvent::CallBegun { slot, id, name }).await?;
            for word in words(&args) {
                tell(ModelEvent::CallInput { slot, text: word }).await?;
                self.pause().await;
            }
            tell(ModelEvent::CallEnded { slot }).await?;
        }
        if let Some(usage) = turn.usage {
            let tokens = Tokens { input: usage.input, output: usage.output, ..Tokens::default() };
            tell(ModelEvent::Used(tokens)).await?;
        }
        let stop = match turn.finish.as_deref() {
            Some("length") => Stop::Length,
            _ if !turn.calls.is_empty() => Stop::Calls,
            _ => Stop::End,
        };
        tell(ModelEvent::Stopped(stop)).await
    }

    async fn pause(&self) {
        if self.script.pace_ms > 0 {
            tokio::time::sleep(Duration::from_millis(self.script.pace_ms)).await;
        }
    }
}

/// Words with the space behind them.
fn words(text: &str) -> Vec<String> {
    text.split_inclusive(' ').map(str::to_string).collect()
}

fn failure(text: String) -> Failure {
    Failure { kind: FailureKind::Format, text, remedy: None, status: None }
}
