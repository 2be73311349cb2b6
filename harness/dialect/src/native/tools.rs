//! The table of native tools: name, verb, words, schema, and how arguments become an action.

use protocol::model::ToolSpec;
use protocol::{
    Action, Approval, AtLimit, Cap, EditRule, FilePath, Hits, Json, MatchBy, Network, Outcome, Plan, Problem,
    Question, Rank, RunTime, Search, Span, Step, StepState, Swap, TaskId, Verb, Want,
};
use serde_json::{Value, json};

use super::args::Args;
use crate::Context;

/// A command's time limit when the model gives none.
const RUN_MS: u64 = 120_000;
/// The longest a command may run in the foreground.
const RUN_MAX_MS: u64 = 600_000;
/// The longest one look at a background command waits.
const POLL_MAX_MS: u64 = 60_000;
const FETCH_MS: u64 = 30_000;
/// What one result may show.
const READ_CAP: Cap = Cap { lines: Some(2_000), bytes: Some(48 * 1024) };
const FIND_CAP: Cap = Cap { lines: Some(200), bytes: Some(24 * 1024) };
const SEARCH_LINES: u64 = 100;
const FETCH_CAP: Cap = Cap { lines: None, bytes: Some(48 * 1024) };
const QUESTIONS: usize = 4;

/// One tool.
pub(super) struct Tool {
    pub(super) name: &'static str,
    pub(super) verb: Verb,
    about: &'static str,
    schema: fn() -> Value,
    pub(super) action: fn(&mut Args) -> Option<Action>,
    offered: fn(&Context) -> bool,
}

/// The tool of that name; a difference in case alone is forgiven.
pub(super) fn find(name: &str) -> Option<&'static Tool> {
    TOOLS
        .iter()
        .find(|tool| tool.name == name)
        .or_else(|| TOOLS.iter().find(|tool| tool.name.eq_ignore_ascii_case(name)))
}

/// What the model of this session may call.
pub(super) fn offered(context: &Context) -> Vec<ToolSpec> {
    TOOLS
        .iter()
        .filter(|tool| (tool.offered)(context))
        .map(|tool| ToolSpec {
            name: tool.name.into(),
            about: tool.about.into(),
            schema: Json((tool.schema)().to_string()),
        })
        .collect()
}

fn always(_: &Context) -> bool {
    true
}

fn can_ask(context: &Context) -> bool {
    context.can_ask
}

/// With the network off a fetch is possible only where somebody can allow it.
fn can_fetch(context: &Context) -> bool {
    match (context.settings.network, context.settings.approval) {
        (Network::On, _) => true,
        (Network::Off, Approval::OnRequest | Approval::Untrusted) => context.can_ask,
        (Network::Off, Approval::Never) => false,
    }
}

fn object(properties: Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

const TOOLS: &[Tool] = &[
    Tool {
        name: "bash",
        verb: Verb::Run,
        about: "Run a shell command (bash) in the project folder and get its output and exit code. Each call is a new \
                shell: folder and variables do not carry over. There is no terminal and no standard input. Use it for \
                builds, tests, git and the like; use the file tools to read, search and change files.",
        schema: || {
            object(
                json!({
                    "command": {"type": "string", "description": "The command line."},
                    "cwd": {"type": "string", "description": "Folder to run in; the project folder if left out."},
                    "timeout_ms": {"type": "integer", "minimum": 1, "maximum": RUN_MAX_MS,
                        "description": "Milliseconds after which the command is ended. Default 120000."},
                    "background": {"type": "boolean",
                        "description": "Start it and go on, for servers and watchers; look at it later with bash_output."},
                    "unsandboxed_reason": {"type": "string",
                        "description": "Only when the sandbox stands in the way of what the user wants: why the command must run outside of it. The user is asked."}
                }),
                &["command"],
            )
        },
        action: run,
        offered: always,
    },
    Tool {
        name: "bash_output",
        verb: Verb::Run,
        about: "Get the new output of a background command, or list the background commands.",
        schema: || {
            object(
                json!({
                    "task_id": {"type": "integer", "description": "Which one; lists all if left out."},
                    "wait_ms": {"type": "integer", "minimum": 0, "maximum": POLL_MAX_MS,
                        "description": "How long to wait for it to end. Default 0."}
                }),
                &[],
            )
        },
        action: |args| {
            let task = args.count(&["task_id", "id"]).and_then(|id| u32::try_from(id).ok()).map(TaskId);
            let wait_ms = args.count(&["wait_ms", "timeout_ms"]).unwrap_or(0).min(POLL_MAX_MS);
            Some(Action::Poll { task, wait_ms })
        },
        offered: always,
    },
    Tool {
        name: "bash_stop",
        verb: Verb::Run,
        about: "Stop a background command and everything it started.",
        schema: || object(json!({"task_id": {"type": "integer"}}), &["task_id"]),
        action: |args| {
            let Some(id) = args.count(&["task_id", "id"]) else {
                args.problem(Problem::Missing("task_id".into()));
                return None;
            };
            Some(Action::Stop { task: TaskId(u32::try_from(id).unwrap_or(u32::MAX)) })
        },
        offered: always,
    },
    Tool {
        name: "read_file",
        verb: Verb::Read,
        about: "Read a text file or an image. Lines come with their numbers, which are not part of the file. At most \
                2000 lines or 48 KiB at a time; go on with offset.",
        schema: || {
            object(
                json!({
                    "path": {"type": "string", "description": "Absolute, or relative to the project folder."},
                    "offset": {"type": "integer", "description": "First line, counted from 1; negative counts from the end."},
                    "limit": {"type": "integer", "minimum": 1, "description": "How many lines."}
                }),
                &["path"],
            )
        },
        action: |args| {
            let path = args.must_text(&["path", "file_path", "filename", "file"]).map(FilePath)?;
            let from = args.number(&["offset", "start_line"]);
            let count =
                args.count(&["limit", "num_lines"]).map(|count| u32::try_from(count).unwrap_or(u32::MAX));
            let span = match (from, count) {
                (None, None) => Span::Whole,
                (from, count) => Span::Lines { from: from.unwrap_or(1), count },
            };
            Some(Action::Read { path, span, cap: READ_CAP })
        },
        offered: always,
    },
    Tool {
        name: "write_file",
        verb: Verb::Edit,
        about: "Write a whole file: a new one, or in place of an existing one that you have read. Parent folders are made. \
                To change a part of a file use edit_file or apply_patch.",
        schema: || {
            object(
                json!({
                    "path": {"type": "string"},
                    "content": {"type": "string", "description": "The whole new text."}
                }),
                &["path", "content"],
            )
        },
        action: |args| {
            let path = args.must_text(&["path", "file_path", "filename", "file"]).map(FilePath);
            let text = args.must_text(&["content", "text", "contents"]);
            Some(Action::Write { path: path?, text: text?, rule: RULE })
        },
        offered: always,
    },
    Tool {
        name: "edit_file",
        verb: Verb::Edit,
        about: "Replace a piece of a file. old_text must stand in the file exactly once, white space included, so give \
                enough lines around the change; or set replace_all to change every place.",
        schema: || {
            object(
                json!({
                    "path": {"type": "string"},
                    "old_text": {"type": "string", "description": "What stands there now, without line numbers."},
                    "new_text": {"type": "string", "description": "What shall stand there."},
                    "replace_all": {"type": "boolean"}
                }),
                &["path", "old_text", "new_text"],
            )
        },
        action: edit,
        offered: always,
    },
    Tool {
        name: "apply_patch",
        verb: Verb::Edit,
        about: "Change several places or files at once; either all of it is applied or nothing. Form of the patch:\n\
                *** Begin Patch\n*** Update File: src/a.txt\n@@ a line above the change, such as a function's head\n unchanged line\n\
                -line to remove\n+line to add\n unchanged line\n*** Add File: src/b.txt\n+each line of the new file\n\
                *** Delete File: src/c.txt\n*** End Patch\n\
                An update may be followed by a line '*** Move to: new/path'. Give three unchanged lines around each change.",
        schema: || {
            object(json!({"patch": {"type": "string", "description": "The whole patch text."}}), &["patch"])
        },
        action: |args| {
            let text = args.must_text(&["patch", "input", "patch_text", "diff"])?;
            match files::patch::parse(&text) {
                Ok(files) => Some(Action::Patch { files, rule: RULE }),
                Err(why) => args.fail(Outcome::EditFailed { path: FilePath("patch".into()), why }),
            }
        },
        offered: always,
    },
    Tool {
        name: "grep",
        verb: Verb::Search,
        about: "Search the contents of files with a regular expression (Rust syntax). Files that git ignores are left out.",
        schema: || {
            object(
                json!({
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "File or folder to search; the project folder if left out."},
                    "glob": {"type": "string", "description": "Only files that match, such as *.rs or src/**/*.ts."},
                    "output": {"type": "string", "enum": ["content", "files", "count"], "description": "Lines (default), file names, or counts."},
                    "ignore_case": {"type": "boolean"},
                    "literal": {"type": "boolean", "description": "The pattern is plain text."},
                    "multiline": {"type": "boolean", "description": "The pattern may match over line ends."},
                    "context": {"type": "integer", "minimum": 0, "description": "Lines to show around each match."},
                    "include_ignored": {"type": "boolean", "description": "Search files that git ignores, too."},
                    "limit": {"type": "integer", "minimum": 1, "description": "Lines or files at most. Default 100."}
                }),
                &["pattern"],
            )
        },
        action: grep,
        offered: always,
    },
    Tool {
        name: "glob",
        verb: Verb::Search,
        about: "Find files by a pattern such as **/*.rs, the newest first. Files that git ignores are left out.",
        schema: || {
            object(
                json!({
                    "pattern": {"type": "string"},
                    "path": {"type": "string", "description": "Folder to look in; the project folder if left out."},
                    "include_ignored": {"type": "boolean"}
                }),
                &["pattern"],
            )
        },
        action: |args| {
            let glob = args.must_text(&["pattern", "glob"]);
            let root = args.text(&["path", "dir", "directory"]).map(FilePath);
            let ignored = args.flag(&["include_ignored"]);
            Some(Action::Find { glob: glob?, root, ignored, cap: FIND_CAP })
        },
        offered: always,
    },
    Tool {
        name: "list_dir",
        verb: Verb::Read,
        about: "List a folder. Entries that git ignores are left out.",
        schema: || {
            object(
                json!({
                    "path": {"type": "string", "description": "The project folder if left out."},
                    "depth": {"type": "integer", "minimum": 1, "maximum": 5, "description": "Levels to show. Default 1."},
                    "include_ignored": {"type": "boolean"}
                }),
                &[],
            )
        },
        action: |args| {
            let path = FilePath(args.text(&["path", "dir", "directory"]).unwrap_or_else(|| ".".into()));
            let depth = args.count(&["depth"]).unwrap_or(1).clamp(1, 5) as u32;
            let ignored = args.flag(&["include_ignored"]);
            Some(Action::List { path, depth, ignored, cap: FIND_CAP })
        },
        offered: always,
    },
    Tool {
        name: "update_plan",
        verb: Verb::Plan,
        about: "Keep a short plan for work of several steps; the user sees it. Send the whole plan each time, with one \
                step in progress. Not needed for simple tasks.",
        schema: || {
            object(
                json!({
                    "steps": {"type": "array", "items": {
                        "type": "object",
                        "properties": {
                            "step": {"type": "string"},
                            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                            "priority": {"type": "string", "enum": ["high", "medium", "low"]}
                        },
                        "required": ["step", "status"],
                        "additionalProperties": false
                    }},
                    "explanation": {"type": "string", "description": "Why the plan changed."}
                }),
                &["steps"],
            )
        },
        action: plan,
        offered: always,
    },
    Tool {
        name: "ask_user",
        verb: Verb::Ask,
        about: "Ask the user up to four questions and wait for the answers. Only for decisions that are theirs and that \
                the project does not answer.",
        schema: || {
            object(
                json!({
                    "questions": {"type": "array", "minItems": 1, "maxItems": QUESTIONS, "items": {
                        "type": "object",
                        "properties": {
                            "header": {"type": "string", "description": "One or two words."},
                            "question": {"type": "string"},
                            "options": {"type": "array", "items": {
                                "type": "object",
                                "properties": {"label": {"type": "string"}, "description": {"type": "string"}},
                                "required": ["label"],
                                "additionalProperties": false
                            }},
                            "multiple": {"type": "boolean", "description": "Several options may be picked."}
                        },
                        "required": ["question"],
                        "additionalProperties": false
                    }}
                }),
                &["questions"],
            )
        },
        action: ask,
        offered: can_ask,
    },
    Tool {
        name: "fetch_url",
        verb: Verb::Fetch,
        about: "Get a page or file over http or https as text.",
        schema: || object(json!({"url": {"type": "string"}}), &["url"]),
        action: |args| {
            let url = args.must_text(&["url", "uri"])?;
            Some(Action::Fetch { url, cap: FETCH_CAP, limit_ms: FETCH_MS })
        },
        offered: can_fetch,
    },
];

const RULE: EditRule = EditRule { must_be_read: true, match_by: MatchBy::Fuzzy };

fn run(args: &mut Args) -> Option<Action> {
    let command = args.must_text(&["command", "cmd", "script"]);
    let cwd = args.text(&["cwd", "workdir", "directory"]).map(FilePath);
    let limit_ms = args.count(&["timeout_ms", "timeout"]).unwrap_or(RUN_MS).clamp(1, RUN_MAX_MS);
    let background = args.flag(&["background", "run_in_background"]);
    let unsandboxed = args.text(&["unsandboxed_reason"]).filter(|reason| !reason.trim().is_empty());
    let why = args.text(&["description", "why"]);
    let at_limit = if background { AtLimit::Now } else { AtLimit::Kill };
    Some(Action::Run { command: command?, cwd, time: RunTime { limit_ms, at_limit }, why, unsandboxed })
}

fn edit(args: &mut Args) -> Option<Action> {
    let path = args.must_text(&["path", "file_path", "filename", "file"]).map(FilePath);
    let old = args.must_text(&["old_text", "old_string", "old_str"]);
    let new = args.must_text(&["new_text", "new_string", "new_str"]);
    let hits = if args.flag(&["replace_all"]) { Hits::All } else { Hits::One };
    // What is replaced is quoted, so a file that the model never read may be edited.
    let rule = EditRule { must_be_read: false, match_by: MatchBy::Fuzzy };
    Some(Action::Edit { path: path?, swaps: vec![Swap { old: old?, new: new?, hits }], rule })
}

fn grep(args: &mut Args) -> Option<Action> {
    let pattern = args.must_text(&["pattern", "query", "regex"]);
    let root = args.text(&["path", "dir", "directory"]).map(FilePath);
    let include = args.texts(&["glob", "include"]);
    let want = match args
        .choice(&["output", "output_mode"], &["content", "files", "count", "files_with_matches"])?
    {
        "content" => Want::Lines,
        "count" => Want::Counts,
        _ => Want::Files,
    };
    let context = args.count(&["context"]).unwrap_or(0).min(50) as u32;
    let lines = args.count(&["limit", "head_limit"]).unwrap_or(SEARCH_LINES).clamp(1, 2_000) as u32;
    let literal = args.flag(&["literal"]);
    let ignore_case = args.flag(&["ignore_case", "case_insensitive"]);
    let multiline = args.flag(&["multiline"]);
    let ignored = args.flag(&["include_ignored"]);
    Some(Action::Search(Box::new(Search {
        pattern: pattern?,
        literal,
        root,
        include,
        ignore_case,
        multiline,
        ignored,
        around: (context, context),
        want,
        cap: Cap { lines: Some(lines), bytes: FIND_CAP.bytes },
    })))
}

fn plan(args: &mut Args) -> Option<Action> {
    let items = args.list(&["steps", "plan", "todos"])?;
    let note = args.text(&["explanation", "note"]);
    let mut steps = Vec::new();
    for item in &items {
        let field = |names: &[&str]| names.iter().find_map(|name| item.get(name)).and_then(Value::as_str);
        let state = match field(&["status", "state"]) {
            Some("completed" | "done") => StepState::Done,
            Some("in_progress" | "active") => StepState::Active,
            _ => StepState::Pending,
        };
        let rank = match field(&["priority"]) {
            Some("high") => Rank::High,
            Some("low") => Rank::Low,
            _ => Rank::Medium,
        };
        match field(&["step", "content", "text", "title"]) {
            Some(text) => steps.push(Step { text: text.into(), state, rank }),
            None => args.problem(Problem::Missing("steps[].step".into())),
        }
    }
    Some(Action::Plan(Plan { steps, note }))
}

fn ask(args: &mut Args) -> Option<Action> {
    let items = args.list(&["questions"])?;
    let mut questions = Vec::new();
    for (index, item) in items.iter().enumerate().take(QUESTIONS) {
        let Some(text) = item.get("question").and_then(Value::as_str) else {
            args.problem(Problem::Missing("questions[].question".into()));
            continue;
        };
        let options: Vec<(String, String)> = item
            .get("options")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|option| {
                let label = option.get("label").or(Some(option))?.as_str()?;
                let about = option.get("description").and_then(Value::as_str).unwrap_or_default();
                Some((label.to_string(), about.to_string()))
            })
            .collect();
        questions.push(Question {
            id: format!("q{}", index + 1),
            head: item.get("header").and_then(Value::as_str).unwrap_or("Question").to_string(),
            text: text.to_string(),
            free: true,
            many: item.get("multiple").and_then(Value::as_bool).unwrap_or(false),
            options,
        });
    }
    if items.len() > QUESTIONS {
        let got = format!("{} questions", items.len());
        args.problem(Problem::Wrong { name: "questions".into(), want: format!("at most {QUESTIONS}"), got });
    }
    Some(Action::Question(questions))
}
