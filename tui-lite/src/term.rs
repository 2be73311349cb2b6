//! The terminal itself: raw mode on and off, keys in, frames out. Whatever happens, it is left as it was.

use std::io::{Stdout, Write, stdout};
use std::sync::Once;
use std::time::Duration;

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEvent, KeyEventKind};
use crossterm::{execute, terminal};
use ratatui::backend::CrosstermBackend;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::{Paragraph, Widget};
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::sync::mpsc;

use crate::chat::Keys;
use crate::view;

/// Rows at the bottom that are ours.
const ROWS: u16 = 14;

/// How long the keyboard is waited for at a time.
const PATIENCE: Duration = Duration::from_millis(25);

/// What comes from the keyboard.
pub(crate) enum Key {
    Pressed(KeyEvent),
    Pasted(String),
    Resized,
}

pub(crate) struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub(crate) fn start() -> Result<Self, String> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let earlier = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |info| {
                restore();
                earlier(info);
            }));
        });
        terminal::enable_raw_mode().map_err(fail)?;
        // A terminal without it pastes letter by letter.
        let _ = execute!(stdout(), EnableBracketedPaste);
        make().map(|terminal| Self { terminal }).inspect_err(|_| restore())
    }

    /// Lines into the scrollback.
    pub(crate) fn print(&mut self, lines: &[Line<'static>]) -> Result<(), String> {
        let width = self.terminal.size().map_err(fail)?.width;
        for part in view::wrap(lines.to_vec(), width).chunks(200) {
            let height = u16::try_from(part.len()).unwrap_or(u16::MAX);
            let part = part.to_vec();
            self.terminal
                .insert_before(height, |buffer| Paragraph::new(part).render(buffer.area, buffer))
                .map_err(fail)?;
        }
        Ok(())
    }

    /// One frame; `paint` gives where the cursor stands.
    pub(crate) fn draw(&mut self, paint: impl FnOnce(Rect, &mut Buffer) -> (u16, u16)) -> Result<(), String> {
        let drawn = self.terminal.draw(|frame| {
            let area = frame.area();
            let at = paint(area, frame.buffer_mut());
            frame.set_cursor_position(at);
        });
        drawn.map(|_| ()).map_err(fail)
    }

    pub(crate) fn resized(&mut self) -> Result<(), String> {
        self.terminal.autoresize().map_err(fail)
    }

    /// Leaves our rows empty and the cursor below what was printed.
    pub(crate) fn end(mut self) {
        // A terminal that is gone needs no care.
        let _ = self.terminal.clear();
        restore();
    }
}

fn make() -> Result<Terminal<CrosstermBackend<Stdout>>, String> {
    let (_, rows) = terminal::size().map_err(fail)?;
    // Two rows stay above: terminals ignore a scrolling region of one.
    let viewport = Viewport::Inline(ROWS.min(rows.saturating_sub(2)).max(2));
    Terminal::with_options(CrosstermBackend::new(stdout()), TerminalOptions { viewport }).map_err(fail)
}

fn restore() {
    // Each of these may fail on a terminal that is gone.
    let _ = execute!(stdout(), DisableBracketedPaste, crossterm::cursor::Show);
    let _ = terminal::disable_raw_mode();
    let _ = stdout().flush();
}

fn fail(error: std::io::Error) -> String {
    format!("the terminal: {error}")
}

/// Keys, read by a thread of their own, since a read of a terminal cannot be called back.
pub(crate) fn keys() -> Keys {
    let (told, keys) = mpsc::unbounded_channel();
    std::thread::spawn(move || {
        while !told.is_closed() {
            // Short waits, since questions about the cursor share the terminal's input.
            match event::poll(PATIENCE) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => break,
            }
            let Ok(event) = event::read() else { break };
            let key = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => Key::Pressed(key),
                Event::Paste(text) => Key::Pasted(text),
                Event::Resize(..) => Key::Resized,
                _ => continue,
            };
            if told.send(key).is_err() {
                break;
            }
        }
    });
    keys
}

/// Signals that end the program.
#[cfg(unix)]
pub(crate) fn signals() -> Vec<tokio::signal::unix::Signal> {
    use tokio::signal::unix::{SignalKind, signal};
    [SignalKind::terminate(), SignalKind::hangup(), SignalKind::interrupt()]
        .into_iter()
        .flat_map(signal)
        .collect()
}

#[cfg(unix)]
pub(crate) async fn stopped(signals: &mut [tokio::signal::unix::Signal]) {
    std::future::poll_fn(|cx| {
        for signal in signals.iter_mut() {
            if signal.poll_recv(cx).is_ready() {
                return std::task::Poll::Ready(());
            }
        }
        std::task::Poll::Pending
    })
    .await;
}

#[cfg(not(unix))]
pub(crate) fn signals() {}

#[cfg(not(unix))]
pub(crate) async fn stopped(_: &mut ()) {
    std::future::pending().await
}
