//! The list of sessions, from the beginning and the end of each file.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use protocol::{FilePath, SessionId, SessionRow};

use super::line::{self, Found};
use super::record::Record;
use super::store::StoreError;

const PAGE: usize = 50;
/// What is read of a file at its end, and at its beginning if there is no title at the end. A turn's end
/// has the title near, see `book`.
const PEEK_BYTES: u64 = 256 * 1024;
/// The head is the first line, and a short one.
const HEAD_BYTES: u64 = 64 * 1024;

/// When a session was last written, and its file's name: newest first, and no two alike.
type Place = (u64, String);

/// A page of sessions, and the cursor of the next where there is one.
pub(super) type Page = (Vec<SessionRow>, Option<String>);

/// A page of these files, the newest first; `cursor` goes on where a page ended, whatever changed since.
///
/// Errors: the cursor is none of ours.
pub(super) fn page(
    files: Vec<PathBuf>,
    cwd: Option<&Path>,
    cursor: Option<&str>,
) -> Result<Page, StoreError> {
    let mut files: Vec<(Place, PathBuf)> =
        files.into_iter().map(|path| ((changed_ms(&path), stem(&path)), path)).collect();
    if let Some(cursor) = cursor {
        let from = parse(cursor).ok_or_else(|| StoreError::Cursor(cursor.into()))?;
        files.retain(|(place, _)| *place < from);
    }
    files.sort_by(|a, b| b.cmp(a));
    let (mut rows, mut last) = (Vec::new(), None);
    for (place, path) in files {
        let Some(row) = row(&path, place.0, cwd) else { continue };
        if rows.len() == PAGE {
            return Ok((rows, last));
        }
        rows.push(row);
        last = Some(format!("{}-{}", place.0, place.1));
    }
    Ok((rows, None))
}

fn parse(cursor: &str) -> Option<Place> {
    let (ms, stem) = cursor.split_once('-')?;
    Some((ms.parse().ok()?, stem.to_string()))
}

fn stem(path: &Path) -> String {
    path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default()
}

fn changed_ms(path: &Path) -> u64 {
    let changed = fs::metadata(path).and_then(|data| data.modified()).ok();
    let since = changed.and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// The row of a file; none if the session belongs to another folder. A file that cannot be read is a row
/// that says so, in the list of all folders.
fn row(path: &Path, updated_ms: u64, cwd: Option<&Path>) -> Option<SessionRow> {
    let (name, nowhere) = (stem(path), FilePath(String::new()));
    let id = name.split_once('-').map_or(name.as_str(), |(_, id)| id);
    let mut row =
        SessionRow { id: SessionId(id.into()), cwd: nowhere, title: None, updated_ms, unreadable: None };
    match head(path) {
        Ok((session, folder)) => (row.id, row.cwd) = (session, folder),
        Err(error) => row.unreadable = Some(error.to_string()),
    }
    if cwd.is_some_and(|cwd| row.cwd.as_path() != cwd) {
        return None;
    }
    if row.unreadable.is_none() {
        match title(path) {
            Ok(title) => row.title = title,
            Err(error) => row.unreadable = Some(error.to_string()),
        }
    }
    Some(row)
}

fn head(path: &Path) -> io::Result<(SessionId, FilePath)> {
    let mut line = Vec::new();
    BufReader::new(File::open(path)?).take(HEAD_BYTES).read_until(b'\n', &mut line)?;
    match line::read(&line, |kind| kind == "head").1 {
        Found::Record(record) => match *record {
            Record::Head { session, cwd, .. } => Ok((session, cwd)),
            _ => Err(io::Error::other("its first line is not its head")),
        },
        Found::Sealed(why) => Err(io::Error::other(format!("it was written by a later version ({why})"))),
        Found::Bad | Found::Unknown | Found::Passed => Err(io::Error::other("its first line cannot be read")),
    }
}

fn title(path: &Path) -> io::Result<Option<String>> {
    let mut file = File::open(path)?;
    let tail = file.metadata()?.len().saturating_sub(PEEK_BYTES);
    file.seek(SeekFrom::Start(tail))?;
    if let Some(title) = last_title(&mut file)? {
        return Ok(Some(title));
    }
    file.seek(SeekFrom::Start(0))?;
    last_title(&mut file.take(tail))
}

/// The last title in what is read next; cut lines are none.
fn last_title(from: &mut impl Read) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    from.take(PEEK_BYTES).read_to_end(&mut bytes)?;
    let mut titles = bytes.rsplit(|byte| *byte == b'\n').filter_map(|line| {
        let Found::Record(record) = line::read(line, |kind| kind == "title").1 else { return None };
        let Record::Title(title) = *record else { return None };
        Some(title)
    });
    Ok(titles.next())
}
