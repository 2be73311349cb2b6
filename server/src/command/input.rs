//! The prompt: an argument, standard input, or both; and images.

use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};

use protocol::{Base64, Content};

use super::shared;
use crate::cli::Trouble;
use crate::file;

/// How long a pipe may take to show that it has something, when the prompt is there already.
const GRACE_MS: i32 = 300;
const STDIN_BYTES: u64 = 64 * 1024 * 1024;
const IMAGE_BYTES: u64 = 20 * 1024 * 1024;

/// The whole prompt. An argument never waits for a pipe that says nothing.
pub(super) fn prompt(argument: Option<&str>) -> Result<String, Trouble> {
    match argument {
        None | Some("-") => {
            if argument.is_none() && std::io::stdin().is_terminal() {
                return Err(Trouble::Usage("there is no prompt; give one, or pipe it in".into()));
            }
            let text = read_stdin()?;
            if text.trim().is_empty() {
                Err(Trouble::Failed("the prompt from standard input is empty; pipe one in".into()))
            } else {
                Ok(text)
            }
        }
        Some(argument) if argument.trim().is_empty() => {
            Err(Trouble::Usage("the prompt is empty; give one, or `-` to read it from a pipe".into()))
        }
        Some(argument) => {
            let more = if has_input() { read_stdin()? } else { String::new() };
            if more.trim().is_empty() {
                return Ok(argument.to_string());
            }
            Ok(format!("{argument}\n\n<stdin>\n{}\n</stdin>", more.trim_end_matches('\n')))
        }
    }
}

fn read_stdin() -> Result<String, String> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().take(STDIN_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| format!("standard input: {error}"))?;
    if bytes.len() as u64 > STDIN_BYTES {
        return Err(format!(
            "standard input is larger than {STDIN_BYTES} bytes; put it into a file and name that"
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether standard input is a file, or a pipe that has something or is at its end.
#[cfg(unix)]
#[allow(unsafe_code)]
fn has_input() -> bool {
    use std::os::fd::AsRawFd;
    use std::os::unix::fs::FileTypeExt;
    let stdin = std::io::stdin();
    if stdin.is_terminal() {
        return false;
    }
    match std::fs::metadata("/dev/stdin") {
        Ok(data) if data.is_file() => true,
        // A device such as /dev/null has nothing to say.
        Ok(data) if data.file_type().is_char_device() => false,
        _ => {
            let mut poll = libc::pollfd { fd: stdin.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one descriptor, which is valid for the length of the call.
            unsafe { libc::poll(&raw mut poll, 1, GRACE_MS) > 0 }
        }
    }
}

#[cfg(not(unix))]
fn has_input() -> bool {
    false
}

/// Images as they go to the model.
pub(super) fn images(paths: &[PathBuf], cwd: &Path) -> Result<Vec<Content>, String> {
    paths.iter().map(|path| image(&cwd.join(path))).collect()
}

fn image(path: &Path) -> Result<Content, String> {
    let fail = |why: String| format!("--image {}: {why}", path.display());
    let name = shared::exact("--image", path)?;
    let bytes = file::read(path, IMAGE_BYTES).map_err(|error| fail(error.to_string()))?;
    let mime = match bytes.as_slice() {
        [0x89, b'P', b'N', b'G', ..] => "image/png",
        [0xFF, 0xD8, 0xFF, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => "image/webp",
        _ => return Err(fail("it is no PNG, JPEG, GIF or WebP image".into())),
    };
    use base64::Engine;
    let data = Base64(base64::engine::general_purpose::STANDARD.encode(&bytes));
    Ok(Content::Image { mime: mime.into(), data, uri: Some(format!("file://{name}")) })
}
