//! `interpreter sessions`: what is kept of earlier work, looked at without going on with it.

use std::fs::OpenOptions;
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use link::Client;
use protocol::{Command, Done, Down, FilePath, Refusal, SessionId, SessionRow, Up};
use serde_json::json;

use super::export::{Export, Json, Markdown};
use super::shared;
use crate::cli::{ExportFormat, SessionsSub, Trouble};
use crate::config::{Config, Given, Tolerance, home};
use crate::house;

pub(crate) fn run(command: SessionsSub) -> Result<ExitCode, Trouble> {
    let config = Config { home: home()?, given: Given::default(), tolerance: Tolerance::None };
    house::runtime()?.block_on(async {
        let engine = house::start(config)?;
        let link = Link { client: engine.connect(), tag: 0 };
        let done = match command {
            SessionsSub::List { all, json, limit } => list(link, all, json, limit).await,
            SessionsSub::Export { id, format, output } => written(link, &id, format, output).await,
            SessionsSub::Delete { ids } => delete(link, &ids).await,
        };
        engine.close().await;
        done.map(|()| ExitCode::SUCCESS)
    })
}

struct Link {
    client: Client,
    tag: u64,
}

impl Link {
    /// Carries out one command; what comes before its answer is for `each`.
    async fn ask(
        &mut self,
        command: Command,
        mut each: impl FnMut(Down) -> Result<(), String>,
    ) -> Result<Done, String> {
        self.tag += 1;
        let gone = |_| "the engine is gone".to_string();
        self.client.send(Up::Command { tag: self.tag, command }).await.map_err(gone)?;
        loop {
            for down in self.client.take().await.ok_or_else(|| gone(link::Gone))? {
                match down {
                    Down::Reply { tag, reply } if tag == self.tag => {
                        return reply.map_err(|refusal| refused(&refusal));
                    }
                    other => each(other)?,
                }
            }
        }
    }

    /// Sessions, the newest first, as many as wanted.
    async fn rows(&mut self, cwd: Option<FilePath>, limit: usize) -> Result<Vec<SessionRow>, String> {
        let (mut rows, mut cursor) = (Vec::new(), None);
        loop {
            let list = Command::List { cwd: cwd.clone(), cursor };
            let Done::Sessions { page, next } = self.ask(list, |_| Ok(())).await? else {
                return Err("the engine answered something else".into());
            };
            rows.extend(page);
            if rows.len() >= limit || next.is_none() {
                rows.truncate(limit);
                return Ok(rows);
            }
            cursor = next;
        }
    }

    /// The one session that is meant.
    async fn find(&mut self, id: &str) -> Result<SessionId, String> {
        let rows = self.rows(None, usize::MAX).await?;
        let meant: Vec<&SessionRow> = rows.iter().filter(|row| row.id.0.starts_with(id)).collect();
        match meant.as_slice() {
            [row] => Ok(row.id.clone()),
            [] => Err(format!("no session {id}; `interpreter sessions list --all` shows them")),
            several => {
                let ids: Vec<&str> = several.iter().take(5).map(|row| row.id.0.as_str()).collect();
                Err(format!("{id} begins {} sessions; give more of it: {}", several.len(), ids.join(", ")))
            }
        }
    }
}

fn refused(refusal: &Refusal) -> String {
    match refusal {
        Refusal::InUse { session, pid } => {
            format!("session {session} is open in process {pid}; close it there first")
        }
        other => other.to_string(),
    }
}

async fn list(mut link: Link, all: bool, json: bool, limit: usize) -> Result<(), Trouble> {
    let here = std::env::current_dir().map_err(|error| format!("this folder: {error}"))?;
    let cwd = if all { None } else { Some(shared::exact("this folder", &here)?) };
    let rows = link.rows(cwd, limit).await?;
    let text = if json {
        let rows: Vec<_> = rows
            .iter()
            .map(|row| {
                json!({"id": row.id.0, "cwd": row.cwd.0, "title": row.title, "updated_ms": row.updated_ms,
                    "unreadable": row.unreadable})
            })
            .collect();
        format!("{:#}\n", json!(rows))
    } else {
        rows.iter().map(|row| line(row, all)).collect()
    };
    print(&text)
}

fn line(row: &SessionRow, with_folder: bool) -> String {
    let title = match (&row.unreadable, &row.title) {
        (Some(why), _) => format!("cannot be read: {why}"),
        (None, Some(title)) => title.clone(),
        (None, None) => "-".into(),
    };
    let folder = if with_folder { format!("  ({})", row.cwd) } else { String::new() };
    let text = format!("{}  {:>4}  {title}{folder}", row.id, age(row.updated_ms));
    let plain: String = text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    plain + "\n"
}

fn age(updated_ms: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    match now.saturating_sub(updated_ms / 1000) {
        secs @ 0..60 => format!("{secs}s"),
        secs @ 60..3_600 => format!("{}m", secs / 60),
        secs @ 3_600..86_400 => format!("{}h", secs / 3_600),
        secs => format!("{}d", secs / 86_400),
    }
}

async fn written(
    mut link: Link,
    id: &str,
    format: ExportFormat,
    output: Option<PathBuf>,
) -> Result<(), Trouble> {
    let session = link.find(id).await?;
    let Some(file) = output else {
        let seen = format == ExportFormat::Markdown && std::io::stdout().is_terminal();
        return export(link, session, format, seen, &mut std::io::stdout().lock()).await;
    };
    let made = OpenOptions::new().write(true).create_new(true).open(&file);
    let mut made =
        made.map_err(|error| format!("{}: {error}; give a file that is not there yet", file.display()))?;
    export(link, session, format, false, &mut made).await
}

/// `seen`: by a terminal, which would obey what a text of others may hold.
async fn export(
    mut link: Link,
    session: SessionId,
    format: ExportFormat,
    seen: bool,
    out: &mut dyn Write,
) -> Result<(), Trouble> {
    let mut export: Box<dyn Export> = match format {
        ExportFormat::Markdown => Box::new(Markdown),
        ExportFormat::Json => Box::new(Json::default()),
    };
    let mut write = |text: String| {
        let hidden = |letter: char| seen && letter.is_control() && !matches!(letter, '\n' | '\t');
        let text: String = if seen { text.chars().filter(|letter| !hidden(*letter)).collect() } else { text };
        out.write_all(text.as_bytes()).map_err(|error| format!("it was not written as a whole: {error}"))
    };
    write(export.begin())?;
    let read = Command::Read { session };
    let told = link.ask(read, |down| match down {
        Down::Past { items, .. } => items.iter().try_for_each(|item| write(export.item(item))),
        _ => Ok(()),
    });
    told.await?;
    write(export.end())?;
    out.flush().map_err(|error| format!("it was not written as a whole: {error}"))?;
    Ok(())
}

async fn delete(mut link: Link, ids: &[String]) -> Result<(), Trouble> {
    let mut meant = Vec::new();
    for id in ids {
        meant.push(link.find(id).await?);
    }
    for session in meant {
        let id = session.0.clone();
        link.ask(Command::Delete { session }, |_| Ok(())).await?;
        print(&format!("deleted: {id}\n"))?;
    }
    Ok(())
}

fn print(text: &str) -> Result<(), Trouble> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever reads has seen enough.
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("standard output: {error}").into())
        }
        _ => Ok(()),
    }
}
