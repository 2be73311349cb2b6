//! Newtypes of ids and of strings that are not just text.

use serde::{Deserialize, Serialize};

macro_rules! id {
    ($($(#[$doc:meta])* $name:ident($of:ty);)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub $of);

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.0.fmt(f)
            }
        }
    )*};
}

id! {
    /// UUID v7 minted by the engine.
    SessionId(String);
    /// Counters of one session, never reused, also after resume.
    TurnId(u32);
    /// A thing in the transcript.
    ItemId(u32);
    /// An open question to the person.
    AskId(u32);
    /// A line of the conversation.
    EntryId(u32);
    /// Something that outlives its call: a background command.
    TaskId(u32);
    /// One connection of one face. Handed out by the engine, never journaled.
    ClientId(u32);
    /// The model's own id of a call, verbatim.
    CallId(String);
    /// Absolute path for people and wires: UTF-8, no `\\?\`. Not yet allowed to be touched.
    FilePath(String);
    /// SHA-256 of a file's bytes, in hex.
    Digest(String);
    /// JSON exactly as it came; parsed only by who needs it, replayed byte for byte.
    Json(String);
    /// Bytes in standard base64.
    Base64(String);
}

impl FilePath {
    /// The path as the operating system takes it.
    pub fn as_path(&self) -> &std::path::Path {
        std::path::Path::new(&self.0)
    }

    /// The path as it is; none when its name is no UTF-8, where `From` would name another path.
    pub fn exact(path: &std::path::Path) -> Option<Self> {
        path.to_str().map(|text| Self(text.into()))
    }
}

impl From<&std::path::Path> for FilePath {
    fn from(path: &std::path::Path) -> Self {
        Self(path.to_string_lossy().into_owned())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn a_name_that_is_no_text_is_no_other_name() {
        let path = std::path::Path::new(std::ffi::OsStr::from_bytes(b"/a/\xff"));
        assert_eq!(FilePath::exact(path), None);
        assert_eq!(FilePath::exact("/a/b".as_ref()), Some(FilePath("/a/b".into())));
    }
}
