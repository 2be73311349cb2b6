//! Actions carried out: one file for each kind of effect. They take the turn's means and give an outcome;
//! what the model is told of it is the harness's matter.

pub(crate) mod capture;
pub(crate) mod edit;
pub(crate) mod fetch;
mod guard;
pub(crate) mod look;
pub(crate) mod run;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

use files::{Roots, Watch};
use protocol::{Decliner, Outcome, SessionId, Task};
use sandbox::{Guarded, Wall};
use tokio::sync::mpsc;

use crate::desk::Desk;
use crate::journal::Store;
use crate::known::Known;
use crate::proposal::Proposals;
use crate::setup::Resolved;
use crate::tasks::Tasks;

/// What the tools of one session work with.
pub(crate) struct Means {
    pub(crate) session: SessionId,
    pub(crate) cwd: PathBuf,
    /// The session's folders, cwd first.
    pub(crate) folders: Vec<PathBuf>,
    pub(crate) roots: Roots,
    pub(crate) desk: Desk,
    pub(crate) known: Arc<Known>,
    pub(crate) tasks: Arc<Tasks>,
    /// Where background commands say that they ended.
    pub(crate) ended: mpsc::Sender<Task>,
    /// What commands may not change in the folders, as it was when a command began that goes on.
    pub(crate) guarded: Mutex<Option<Guarded>>,
    /// Whether the person was told that the wall is not whole.
    pub(crate) wall_told: AtomicBool,
    pub(crate) store: Store,
    /// What commands change in the folders.
    pub(crate) watch: Arc<Mutex<Watch>>,
}

impl Means {
    /// Refuses what nobody may look at: keys and credentials.
    pub(crate) fn visible(resolved: &Resolved, path: &Path) -> Result<(), Outcome> {
        match resolved.hidden.iter().find(|hidden| path.starts_with(hidden)) {
            None => Ok(()),
            Some(hidden) => Err(Outcome::Declined {
                by: Decliner::Sandbox,
                why: format!("{} may hold credentials and is not shown to models", hidden.display()),
            }),
        }
    }
}

/// One turn's view of the session: means, settings of this request, the way to the actor, the wall.
pub(crate) struct Bench<'a> {
    pub(crate) means: &'a Arc<Means>,
    pub(crate) resolved: &'a Resolved,
    pub(crate) tell: &'a Proposals,
    pub(crate) wall: &'a Wall,
}
