//! One session's file under way: whole lines only, kept in memory while the disk takes none.
//!
//! It belongs to the writing thread.

use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;

use protocol::Settings;

use super::load::Loaded;
use super::record::Record;
use super::{disk, line};
use crate::clock::now_ms;

/// Lines in memory while the disk takes none.
const HELD_BYTES: usize = 16 * 1024 * 1024;
/// A list looks for the title at the end of a file; it is said again when it is further away than this.
const TITLE_REACH: u64 = 64 * 1024;

/// The journal takes nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Full(pub String);

/// A session's file, or what will be one.
pub(super) struct Book {
    path: PathBuf,
    /// None as long as nothing worth keeping was said.
    file: Option<File>,
    /// Whether all lines so far are a preface, and wait for the first that is not.
    prefaced: bool,
    /// Lines that wait: a preface, or what the disk did not take.
    held: Vec<u8>,
    /// Where the next line begins.
    end: u64,
    /// The next line's number.
    n: u64,
    /// Whether lines are in the file and maybe not on the disk itself.
    dirty: bool,
    /// Folders that are maybe not on the disk itself.
    folders: Vec<PathBuf>,
    settings: Option<Settings>,
    title: Option<Said>,
}

/// The title, and where it was said last.
struct Said {
    title: String,
    at: u64,
}

impl Book {
    /// Of a session that nobody used yet; touches nothing.
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            file: None,
            prefaced: true,
            held: Vec::new(),
            end: 0,
            n: 0,
            dirty: false,
            folders: Vec::new(),
            settings: None,
            title: None,
        }
    }

    /// Goes on behind what was read of a held file.
    pub(super) fn again(path: PathBuf, file: File, loaded: &Loaded) -> Self {
        Self {
            file: Some(file),
            prefaced: false,
            end: loaded.end,
            n: loaded.lines,
            dirty: true,
            settings: loaded.settings.clone(),
            title: loaded.title.clone().map(|title| Said { title, at: 0 }),
            ..Self::new(path)
        }
    }

    /// Writes a line behind all that wait. A line that the disk does not take waits, as long as there is
    /// room.
    pub(super) fn append(&mut self, record: &Record) -> Result<(), Full> {
        if self.says_nothing(record) {
            return Ok(());
        }
        let waited = self.held.len();
        self.hold(record)?;
        self.say_title_again(record)?;
        self.prefaced &= record.is_preface();
        self.flush().inspect_err(|_| {
            if self.held.len() > HELD_BYTES {
                self.held.truncate(waited);
            }
        })
    }

    /// Settings as they are already: opening a session is no change of it.
    fn says_nothing(&mut self, record: &Record) -> bool {
        let Record::Settings(settings) = record else { return false };
        let same = self.settings.as_ref() == Some(settings);
        self.settings = Some(settings.clone());
        same
    }

    fn hold(&mut self, record: &Record) -> Result<(), Full> {
        let line = line::write(self.n, now_ms(), record).map_err(|error| Full(error.to_string()))?;
        if let Record::Title(title) = record {
            let at = self.end + self.held.len() as u64;
            self.title = Some(Said { title: title.clone(), at });
        }
        // The number of a line that gets lost is not used again.
        self.n += 1;
        self.held.extend_from_slice(&line);
        Ok(())
    }

    fn say_title_again(&mut self, record: &Record) -> Result<(), Full> {
        let here = self.end + self.held.len() as u64;
        let ended = matches!(record, Record::TurnEnded { .. });
        match &self.title {
            Some(said) if ended && here - said.at > TITLE_REACH => {
                self.hold(&Record::Title(said.title.clone()))
            }
            Some(_) | None => Ok(()),
        }
    }

    /// All that waits goes into the file; a part of a line does not stay there.
    fn flush(&mut self) -> Result<(), Full> {
        if self.held.is_empty() || self.prefaced {
            return Ok(());
        }
        self.write().map_err(|error| self.full(&error))
    }

    fn write(&mut self) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => {
                let (file, folders) = disk::create(&self.path)?;
                self.folders = folders;
                none.insert(file)
            }
        };
        let written = file.seek(SeekFrom::Start(self.end)).and_then(|_| file.write_all(&self.held));
        if written.is_err() {
            // Whoever reads the file now would see half a line; the next write goes over it anyway.
            let _ = file.set_len(self.end);
            return written;
        }
        self.end += self.held.len() as u64;
        self.held = Vec::new();
        self.dirty = true;
        Ok(())
    }

    /// Puts all lines on the disk itself.
    pub(super) fn sync(&mut self) -> Result<(), Full> {
        self.flush()?;
        self.sync_file().map_err(|error| self.full(&error))
    }

    fn sync_file(&mut self) -> io::Result<()> {
        let Some(file) = self.file.as_ref().filter(|_| self.dirty) else { return Ok(()) };
        file.sync_data()?;
        for folder in &self.folders {
            disk::sync_folder(folder)?;
        }
        self.folders.clear();
        self.dirty = false;
        Ok(())
    }

    /// Writes what it can and gives the file free for others.
    pub(super) fn close(mut self) {
        // A session that cannot be written has said so.
        let _ = self.sync();
        if self.file.is_some() {
            disk::disclaim(&self.path);
        }
    }

    fn full(&self, error: &io::Error) -> Full {
        Full(format!("{}: {error}", self.path.display()))
    }
}
