//! The status line: what it runs with, what it costs, what it does. What matters less goes first where the
//! screen is narrow.

use std::time::Instant;

use protocol::Snapshot;
use ratatui_core::text::Line;

use crate::row::dim;
use crate::state::{Leaving, State, Stopping};
use crate::text::{cut, one_line, width};

pub(super) fn row(state: &State, columns: u16, now: Instant) -> Line<'static> {
    let Some(at) = state.snapshot() else { return Line::default() };
    let room = usize::from(columns);
    let mut parts = settings(at);
    let doing = doing(state, now);
    parts.extend(doing.clone());
    // In order of what can be missed best: harness, cost, effort and tokens come after model and mode.
    while line(&parts, room).is_none() && parts.len() > doing.iter().count() + 1 {
        let gone = parts.len() - doing.iter().count() - 1;
        parts.remove(gone);
    }
    let text = line(&parts, room).unwrap_or_else(|| {
        let short = doing.unwrap_or_else(|| one_line(&at.info.settings.model));
        cut(&format!("-- {short}"), room)
    });
    Line::styled(text, dim())
}

fn line(parts: &[String], room: usize) -> Option<String> {
    let text = format!("-- {}", parts.join(" | "));
    (width(&text) <= room).then_some(text)
}

fn settings(at: &Snapshot) -> Vec<String> {
    let settings = &at.info.settings;
    let mut model = one_line(&settings.model);
    if let Some(effort) = &settings.effort {
        model = format!("{model} {}", one_line(effort));
    }
    let mut parts = vec![model, one_line(&settings.mode)];
    match at.usage.window {
        Some((used, size)) if size > 0 => parts.push(format!("{}% full", used.saturating_mul(100) / size)),
        _ if at.usage.session.output > 0 => {
            parts.push(format!(
                "{} in, {} out",
                short(at.usage.session.input),
                short(at.usage.session.output)
            ));
        }
        _ => {}
    }
    if !at.tasks.is_empty() {
        parts.push(format!("{} in the background", at.tasks.len()));
    }
    if let Some((cost, unit)) = &at.usage.cost {
        parts.push(format!("{cost:.2} {}", one_line(unit)));
    }
    if settings.harness != "native" {
        parts.push(one_line(&settings.harness));
    }
    parts
}

fn doing(state: &State, now: Instant) -> Option<String> {
    if state.leaving == Leaving::Asked {
        return Some("Ctrl-C again leaves".into());
    }
    if !state.is_busy() {
        return None;
    }
    if state.stopping == Stopping::Asked {
        return Some("stopping".into());
    }
    if state.ask().is_some() {
        return Some("waits for you".into());
    }
    let seconds = state.since.map_or(0, |since| now.saturating_duration_since(since).as_secs());
    let time = match seconds {
        0..60 => format!("{seconds}s"),
        _ => format!("{}m{:02}s", seconds / 60, seconds % 60),
    };
    Some(format!("working {time}; Esc stops"))
}

/// A count in few letters.
fn short(count: u64) -> String {
    match count {
        0..1_000 => count.to_string(),
        1_000..10_000 => format!("{}.{}k", count / 1_000, count % 1_000 / 100),
        10_000..1_000_000 => format!("{}k", count / 1_000),
        _ => format!("{}.{}M", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{self, hear, started};
    use protocol::{EventKind, Tokens, Usage};
    use std::time::Duration;

    fn shown(state: &State, columns: u16, now: Instant) -> String {
        row(state, columns, now).spans.iter().map(|span| span.content.as_ref()).collect()
    }

    #[test]
    fn narrow_screens_keep_what_matters() {
        let mut state = testing::state();
        let tokens = Tokens { input: 12_345, output: 999, ..Tokens::default() };
        let usage = Usage { session: tokens, cost: Some((1.234, "USD".into())), ..Usage::default() };
        hear(&mut state, vec![EventKind::UsageChanged(usage), started()]);
        let now = state.since.unwrap() + Duration::from_secs(75);
        for (columns, line) in [
            (100, "-- large-1 | workspace-write | 12k in, 999 out | 1.23 USD | working 1m15s; Esc stops"),
            (78, "-- large-1 | workspace-write | 12k in, 999 out | working 1m15s; Esc stops"),
            (60, "-- large-1 | workspace-write | working 1m15s; Esc stops"),
            (40, "-- large-1 | working 1m15s; Esc stops"),
            (30, "-- working 1m15s; Esc stops"),
            (10, "-- work..."),
        ] {
            assert_eq!(shown(&state, columns, now), line);
        }
    }

    #[test]
    fn counts_are_short() {
        for (count, text) in [(999, "999"), (1_234, "1.2k"), (45_678, "45k"), (2_340_000, "2.3M")] {
            assert_eq!(short(count), text);
        }
    }
}
