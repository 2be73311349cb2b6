//! The terminal itself: raw mode on and off, keys in, bytes out. Whatever happens, it is left as it was.

use std::io::{Stdout, Write, stdout};

use crossterm::event::{self, DisableBracketedPaste, EnableBracketedPaste, Event, KeyEvent, KeyEventKind};
use crossterm::{execute, terminal};
use tokio::sync::mpsc;

use crate::canvas::{Canvas, Colours, Reflow};
use crate::panic::PanicGuard;
use crate::row::Row;
use crate::view::Frame;

/// Keys that wait for the chat; a paste is one of them.
const KEYS: usize = 256;

/// What comes from the keyboard.
pub(crate) enum Key {
    Pressed(KeyEvent),
    Pasted(String),
    Resized,
}

/// What the terminal can do, by its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Lines in, lines out.
    Dumb,
    Screen(Colours),
}

impl Kind {
    /// Of the terminal at hand.
    pub(crate) fn here() -> Self {
        let of = |name: &str| std::env::var(name).ok();
        match of("TERM").as_deref() {
            #[cfg(unix)]
            None | Some("") => Kind::Dumb,
            Some("dumb") => Kind::Dumb,
            // An empty value is none: https://no-color.org
            _ if of("NO_COLOR").is_some_and(|value| !value.is_empty()) => Kind::Screen(Colours::Off),
            _ => Kind::Screen(Colours::On),
        }
    }
}

/// The terminal while it is ours. Dropped, it is as it was.
pub(crate) struct Screen {
    canvas: Canvas,
    out: Stdout,
    panics: PanicGuard,
}

impl Screen {
    pub(crate) fn start(colours: Colours) -> Result<Self, String> {
        let (columns, rows) = size()?;
        let panics = PanicGuard::new(restore);
        terminal::enable_raw_mode().map_err(fail)?;
        let canvas = Canvas::new(columns, rows, colours, reflow());
        let screen = Self { canvas, out: stdout(), panics };
        // A terminal without it pastes letter by letter.
        let _ = execute!(stdout(), EnableBracketedPaste);
        Ok(screen)
    }

    pub(crate) fn columns(&self) -> u16 {
        self.canvas.columns()
    }

    /// Rows that a frame may have.
    pub(crate) fn room(&self) -> usize {
        self.canvas.room()
    }

    pub(crate) fn paint(&mut self, finished: Vec<Row>, frame: &Frame) -> Result<(), String> {
        let bytes = self.canvas.paint(finished, frame);
        self.write(&bytes).map_err(fail)
    }

    /// The screen anew, at the size it has now.
    pub(crate) fn redraw(&mut self) -> Result<(), String> {
        let (columns, rows) = size()?;
        let bytes = self.canvas.resized(columns, rows);
        self.write(&bytes).map_err(fail)
    }

    /// Messages of panics on other threads.
    pub(crate) fn panics(&mut self) -> Vec<String> {
        self.panics.messages()
    }

    fn write(&mut self, bytes: &str) -> std::io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // After a panic the terminal was given back before its message was written.
        if !std::thread::panicking() {
            let bytes = self.canvas.end();
            // A terminal that is gone needs no care.
            let _ = self.write(&bytes);
            restore();
        }
    }
}

/// Columns and rows; a terminal that does not know has the usual ones.
fn size() -> Result<(u16, u16), String> {
    match terminal::size().map_err(fail)? {
        (0, _) | (_, 0) => Ok((80, 24)),
        known => Ok(known),
    }
}

fn restore() {
    // Each of these may fail on a terminal that is gone.
    let _ = execute!(stdout(), DisableBracketedPaste, crossterm::cursor::Show);
    let _ = terminal::disable_raw_mode();
    if std::thread::panicking() {
        let _ = stdout().write_all(b"\r\n");
    }
    let _ = stdout().flush();
}

fn fail(error: std::io::Error) -> String {
    format!("the terminal: {error}")
}

/// Terminals that are known to break lines anew when they get narrower.
fn reflow() -> Reflow {
    const MARKS: &[&str] = &[
        "TMUX",
        "VTE_VERSION",
        "KITTY_WINDOW_ID",
        "WT_SESSION",
        "ALACRITTY_WINDOW_ID",
        "WEZTERM_PANE",
        "GHOSTTY_RESOURCES_DIR",
        "ITERM_SESSION_ID",
        "KONSOLE_VERSION",
    ];
    match MARKS.iter().any(|mark| std::env::var_os(mark).is_some()) {
        true => Reflow::Known,
        false => Reflow::Unknown,
    }
}

/// Keys, read by a thread of their own, since a read of a terminal cannot be called back.
pub(crate) fn keys() -> mpsc::Receiver<Key> {
    let (told, keys) = mpsc::channel(KEYS);
    std::thread::spawn(move || {
        // An error is the end of the terminal.
        while let Ok(event) = event::read() {
            let key = match event {
                Event::Key(key) if key.kind != KeyEventKind::Release => Key::Pressed(key),
                Event::Paste(text) => Key::Pasted(text),
                Event::Resize(..) => Key::Resized,
                Event::Key(_) | Event::Mouse(_) | Event::FocusGained | Event::FocusLost => continue,
            };
            if told.blocking_send(key).is_err() {
                break;
            }
        }
    });
    keys
}
