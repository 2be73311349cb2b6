//! What of a record is kept: outputs cut to what people look at again, and nothing of one connection.
//!
//! The conversation has its own copy of what the model saw; that one is never cut here.

use protocol::{Captured, Item, ItemKind, Outcome, ReadBody};

use super::record::Record;

/// Of one output inside of an item.
const OUTPUT_BYTES: usize = 32 * 1024;

impl Record {
    /// As it goes into the file.
    pub(super) fn kept(mut self) -> Self {
        if let Record::Item(Item { kind, .. }) = &mut self {
            match kind {
                // A client is a connection of this process; the next one has others under the same numbers.
                ItemKind::User { by, .. } => *by = None,
                ItemKind::Act(act) => {
                    if let Some(outcome) = &mut act.outcome {
                        cut(outcome);
                    }
                }
                ItemKind::Message(_)
                | ItemKind::Thought(_)
                | ItemKind::Plan(_)
                | ItemKind::Compaction { .. } => {}
            }
        }
        self
    }
}

/// Searches and lists are bounded by their actions, images are shown whole or not at all.
fn cut(outcome: &mut Outcome) {
    match outcome {
        Outcome::Ran { output, .. } => head_and_tail(output),
        Outcome::Read { body: ReadBody::Lines { text, count, more, .. }, .. }
            if text.len() > OUTPUT_BYTES =>
        {
            text.truncate(text.floor_char_boundary(OUTPUT_BYTES));
            *count = text.lines().count() as u64;
            *more = true;
        }
        Outcome::Fetched { text, more, .. } if text.len() > OUTPUT_BYTES => {
            text.truncate(text.floor_char_boundary(OUTPUT_BYTES));
            *more = true;
        }
        Outcome::Read { .. }
        | Outcome::Fetched { .. }
        | Outcome::Tasks(_)
        | Outcome::Listed { .. }
        | Outcome::Found { .. }
        | Outcome::Edited { .. }
        | Outcome::EditFailed { .. }
        | Outcome::Plan(_)
        | Outcome::Answered(_)
        | Outcome::NoSuchTool { .. }
        | Outcome::BadInput(_)
        | Outcome::Declined { .. }
        | Outcome::Interrupted
        | Outcome::Failed { .. } => {}
    }
}

fn head_and_tail(output: &mut Captured) {
    let half = OUTPUT_BYTES / 2;
    let whole = output.head.len() + output.tail.len();
    if whole <= OUTPUT_BYTES {
        return;
    }
    if output.omitted == 0 {
        // Nothing is missing between them: it is one text.
        let tail = std::mem::take(&mut output.tail);
        output.head.push_str(&tail);
        output.tail = output.head.split_off(output.head.floor_char_boundary(half));
    }
    output.head.truncate(output.head.floor_char_boundary(half));
    let from = output.tail.ceil_char_boundary(output.tail.len().saturating_sub(half));
    output.tail.drain(..from);
    let left = output.head.len() + output.tail.len();
    output.omitted += (whole - left) as u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn head_and_tail_say_what_is_missing() {
        let long = |letter: &str| letter.repeat(OUTPUT_BYTES / letter.len());
        let cases = [
            ("short", "", 0),
            (&*long("a"), "", 0),
            (&*format!("{}é", long("é")), "", 0),
            (&*long("a"), &*long("b"), 0),
            (&*long("a"), &*long("é"), 77),
            ("", &*format!("x{}", long("é")), 5),
        ];
        for (head, tail, omitted) in cases {
            let bytes = (head.len() + tail.len()) as u64 + omitted;
            let mut output = Captured { head: head.into(), tail: tail.into(), bytes, omitted, spill: None };
            head_and_tail(&mut output);
            let left = (output.head.len() + output.tail.len()) as u64;
            assert!(left <= OUTPUT_BYTES as u64);
            assert_eq!(left + output.omitted, bytes);
            let whole = format!("{head}{tail}");
            assert!(whole.starts_with(&output.head) && whole.ends_with(&output.tail));
        }
    }
}
