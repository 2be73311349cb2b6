//! The chat where the terminal can do nothing but print: lines in, lines out.

use std::io::{BufRead, Write};

use protocol::{Answer, Order, When};
use ratatui::text::Line;
use tokio::sync::mpsc;

use crate::chat::Talk;
use crate::commands::{self, Local};
use crate::state::State;

pub(crate) async fn run(talk: &mut Talk, state: &mut State, prompt: Option<String>) -> Result<(), String> {
    let mut typed = lines();
    if let Some(prompt) = prompt {
        send(talk, state, prompt).await?;
    }
    print(&["Lines are prompts; /help shows the commands, /quit leaves.".into()]);
    loop {
        tokio::select! {
            line = typed.recv() => {
                let Some(line) = line else { return Ok(()) };
                if let Some(ask) = state.ask().cloned() {
                    let picked = ask.choices.iter().find(|choice| choice.id == line.trim());
                    let answer = match picked {
                        Some(choice) => Answer::Choice { id: choice.id.clone(), note: None },
                        None => Answer::Dismissed,
                    };
                    talk.order(&state.session.clone(), Order::Answer { ask: ask.id, answer }).await?;
                    continue;
                }
                match commands::local(&line) {
                    Some(Local::Quit) => return Ok(()),
                    Some(Local::Diff) => state.show_diffs(),
                    Some(Local::Help) => state.say(&commands::help(&state.commands())),
                    Some(_) => state.note("this needs a terminal that can move its cursor; set TERM"),
                    None if line.trim().is_empty() => {}
                    None => send(talk, state, line).await?,
                }
            }
            downs = talk.take() => {
                let before = state.ask().map(|ask| ask.id.clone());
                for down in downs.ok_or("the engine is gone")? {
                    state.hear(down);
                }
                if let Some(ask) = state.ask().filter(|ask| Some(&ask.id) != before.as_ref()).cloned() {
                    let ids: Vec<&str> = ask.choices.iter().map(|choice| choice.id.as_str()).collect();
                    state.say(&format!("May it? {} Answer with one of: {}", ask.why, ids.join(", ")));
                }
            }
        }
        let lines: Vec<String> = state.take_lines().iter().map(text).collect();
        print(&lines);
    }
}

async fn send(talk: &mut Talk, state: &State, text: String) -> Result<(), String> {
    let input = vec![protocol::Content::Text(text)];
    let order = Order::Prompt { input, when: When::Queue, schema: None };
    talk.order(&state.session.clone(), order).await
}

fn text(line: &Line) -> String {
    line.spans.iter().map(|span| span.content.as_ref()).collect()
}

fn print(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        // A terminal that is gone ends the program by its own signal.
        let _ = writeln!(out, "{line}");
    }
    let _ = out.flush();
}

fn lines() -> mpsc::UnboundedReceiver<String> {
    let (told, lines) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if told.send(line).is_err() {
                break;
            }
        }
    });
    lines
}
