//! What commands leave behind that can run commands later: looked for around each one that may write, put aside
//! where a repository would use it, and told to the person.

use std::path::PathBuf;
use std::sync::PoisonError;

use protocol::{Level, Notice, Sandbox};
use sandbox::{Added, Guarded};

use super::{Bench, Means};
use crate::approve::Walled;
use crate::proposal::Proposal;

/// What the wall must hold inside of the folders, as they are now.
pub(crate) async fn before(bench: &Bench<'_>, walled: Walled) -> Vec<PathBuf> {
    if walled == Walled::Outside || bench.resolved.settings.sandbox != Sandbox::WorkspaceWrite {
        return Vec::new();
    }
    tell(bench, bench.means.left_behind().await).await;
    let mut roots = bench.means.folders.clone();
    roots.extend(bench.resolved.writable_roots.iter().cloned());
    let Ok(now) = tokio::task::spawn_blocking(move || Guarded::look(&roots)).await else { return Vec::new() };
    let paths = now.paths.clone();
    *bench.means.guarded.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
    paths
}

/// After a command that has ended.
pub(crate) async fn after(bench: &Bench<'_>) {
    tell(bench, bench.means.left_behind().await).await;
}

async fn tell(bench: &Bench<'_>, notice: Option<Notice>) {
    if let Some(notice) = notice {
        // A session that is gone needs no notice.
        let _ = bench.tell.tell(Proposal::Notice(notice)).await;
    }
}

impl Means {
    /// What was added since the last look, put aside where it must be. What comes when no command runs is the
    /// person's own and is not looked for.
    pub(crate) async fn left_behind(&self) -> Option<Notice> {
        let last = self.guarded.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let (now, added) = tokio::task::spawn_blocking(move || last.again()).await.ok()?;
        if self.tasks.is_any_running() {
            *self.guarded.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        }
        (!added.is_empty()).then(|| notice(&added))
    }
}

fn notice(added: &[Added]) -> Notice {
    let line = |added: &Added| match &added.aside {
        Some(aside) => format!("{} (put aside as {})", added.path.display(), aside.display()),
        None => added.path.display().to_string(),
    };
    let lines: Vec<String> = added.iter().map(line).collect();
    Notice {
        level: Level::Warning,
        title: "A command left something that can run commands".into(),
        text: format!(
            "Look at it before you use git or open the project with another tool: {}",
            lines.join(", ")
        ),
        retry: None,
    }
}
