//! `interpreter exec`.

use std::io::IsTerminal;
use std::path::Path;
use std::process::ExitCode;

use face_exec::{Color, Exec, Format, Seen, Start};
use harness::Setup;
use protocol::{Content, Json, Keep, SessionId};

use super::signals::Signals;
use super::{input, shared};
use crate::cli::{ExecArgs, ExecSub, Trouble};
use crate::config::{Config, Tolerance, is_trusted, project_root};
use crate::file;
use crate::flags::{ColorArg, ExecFlags};
use crate::house;

pub(crate) fn run(mut args: ExecArgs) -> Result<ExitCode, Trouble> {
    let (start, argument) = start(&mut args)?;
    let ExecArgs { shared: flags, run, .. } = args;
    let cwd = shared::folder(&flags)?;
    let schema = run.output_schema.as_deref().map(schema).transpose()?;
    let mut content = input::images(&flags.image, &cwd)?;
    content.push(Content::Text(input::prompt(argument.as_deref())?));
    let roots = shared::roots(&flags, &cwd)?;
    let mut options = shared::options(&flags);
    options.retain(|(id, _)| id != "approval_policy");
    options.push(("approval_policy".into(), "never".into()));
    let runtime = house::runtime()?;
    let code = runtime.block_on(async {
        let mut signals = Signals::all();
        let mut config = shared::config(&flags, Tolerance::None).await?;
        config.given.ignore_user = run.ignore_user_config;
        if run.trust {
            config.trust(&cwd)?;
        }
        check_git(&config, &cwd, &run, flags.yolo)?;
        config.check(&cwd)?;
        shared::forewarn(&config, &cwd, &options);
        let engine = house::start(config)?;
        let exec = Exec {
            start,
            cwd: shared::exact("this folder", &cwd)?,
            roots,
            input: content,
            options,
            keep: if run.ephemeral { Keep::Nothing } else { Keep::Journal },
            format: format(&run),
            seen: if std::io::stdout().is_terminal() { Seen::ByTerminal } else { Seen::Exactly },
            schema,
            last_message: run.output_last_message.clone(),
        };
        let (out, err) = (tokio::io::stdout(), tokio::io::stderr());
        let code = face_exec::run(engine.connect(), exec, out, err, signals.next()).await;
        engine.close().await;
        Ok::<_, String>(code)
    })?;
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}

/// Which session, and which argument is the prompt; flags behind `resume` come to the others.
fn start(args: &mut ExecArgs) -> Result<(Start, Option<String>), Trouble> {
    let prompt = args.prompt.take();
    let Some(ExecSub::Resume { id, prompt: given, last, all, shared, run }) = args.command.take() else {
        return Ok((Start::New, prompt));
    };
    args.shared = shared.over(std::mem::take(&mut args.shared));
    args.run = run.over(std::mem::take(&mut args.run));
    match (id, last) {
        (id, true) => Ok((Start::Last { everywhere: all }, given.or(id).or(prompt))),
        (Some(id), false) => Ok((Start::Resume(SessionId(id)), given.or(prompt))),
        (None, false) => Err(Trouble::Usage("resume: no session is named; give its id, or --last".into())),
    }
}

fn format(run: &ExecFlags) -> Format {
    let colored = match run.color {
        Some(ColorArg::Always) => true,
        Some(ColorArg::Never) => false,
        Some(ColorArg::Auto) | None => {
            std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none()
        }
    };
    match (run.json, colored) {
        (true, _) => Format::Json,
        (false, true) => Format::Text(Color::On),
        (false, false) => Format::Text(Color::Off),
    }
}

fn schema(path: &Path) -> Result<Json, String> {
    let fail = |why: String| format!("--output-schema {}: {why}", path.display());
    let text = file::text(path).map_err(|error| fail(error.to_string()))?;
    let value: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| fail(format!("it is not JSON: {error}")))?;
    if value.is_object() { Ok(Json(text)) } else { Err(fail("it is no JSON object".into())) }
}

/// A mistyped folder should not be worked in unattended.
fn check_git(config: &Config, cwd: &Path, run: &ExecFlags, yolo: bool) -> Result<(), String> {
    let in_git = project_root(cwd).join(".git").exists();
    if in_git || run.skip_git_repo_check || yolo || is_trusted(&config.home, cwd) {
        return Ok(());
    }
    Err(format!(
        "{} is neither in a git repository nor trusted; go to a repository, run `interpreter trust`, or give \
         --skip-git-repo-check",
        cwd.display()
    ))
}
