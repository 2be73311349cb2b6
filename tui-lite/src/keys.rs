//! What a key means, by what is on the screen. Pure: a table, no more.

use std::time::Instant;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{AskId, AskWhat};

use crate::answering;
use crate::composer::Edit;
use crate::state::{Leaving, State, Stopping};

/// What the person wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Intent {
    Nothing,
    Edit(Edit),
    Submit,
    /// Hands the input to the running turn.
    Steer,
    Complete,
    /// Stops the running turn.
    Cancel,
    /// Empties the input.
    Clear,
    Choose(AskId, String),
    /// Answers the question with what was typed.
    Reply,
    /// Leaves the questions unanswered.
    Dismiss,
    Pick,
    ClosePicker,
    Step(i32),
    Narrow(char),
    Widen,
    Redraw,
    AskToLeave,
    Leave,
}

pub(crate) fn intent(state: &State, key: KeyEvent, now: Instant) -> Intent {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if control && key.code == KeyCode::Char('l') {
        return Intent::Redraw;
    }
    if state.picker.is_some() {
        return picker(key, control);
    }
    if let Some(intent) = ask(state, key, control, now) {
        return intent;
    }
    match key.code {
        KeyCode::Char('c') if control => interrupt(state),
        KeyCode::Char('d') if control && state.input().is_empty() => Intent::Leave,
        KeyCode::Esc if state.is_busy() => Intent::Cancel,
        KeyCode::Enter if control => Intent::Steer,
        KeyCode::Char('s') if key.modifiers.contains(KeyModifiers::ALT) => Intent::Steer,
        KeyCode::Enter if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            Intent::Edit(Edit::NewLine)
        }
        KeyCode::Enter => Intent::Submit,
        KeyCode::Tab => Intent::Complete,
        code => edit(code, key.modifiers).map_or(Intent::Nothing, Intent::Edit),
    }
}

/// Ctrl-C stops, then empties, then leaves.
fn interrupt(state: &State) -> Intent {
    match (state.leaving, state.stopping) {
        (Leaving::Asked, _) => Intent::Leave,
        (Leaving::No, Stopping::No) if state.is_busy() => Intent::Cancel,
        (Leaving::No, _) if !state.composer.is_empty() => Intent::Clear,
        (Leaving::No, _) => Intent::AskToLeave,
    }
}

fn picker(key: KeyEvent, control: bool) -> Intent {
    match key.code {
        KeyCode::Enter => Intent::Pick,
        KeyCode::Up => Intent::Step(-1),
        KeyCode::Down => Intent::Step(1),
        KeyCode::Char('p') if control => Intent::Step(-1),
        KeyCode::Char('n') if control => Intent::Step(1),
        KeyCode::PageUp => Intent::Step(-8),
        KeyCode::PageDown => Intent::Step(8),
        KeyCode::Esc => Intent::ClosePicker,
        KeyCode::Char('c' | 'd') if control => Intent::ClosePicker,
        KeyCode::Backspace => Intent::Widen,
        KeyCode::Char(letter) if !control => Intent::Narrow(letter),
        _ => Intent::Nothing,
    }
}

/// A question takes keys as long as it is open; an unknown key is no answer.
fn ask(state: &State, key: KeyEvent, control: bool, now: Instant) -> Option<Intent> {
    let ask = state.ask()?;
    match &ask.what {
        AskWhat::Act => {
            let plain = !control && !key.modifiers.contains(KeyModifiers::ALT);
            let KeyCode::Char(letter) = key.code else { return None };
            if !plain || !state.is_armed(now) {
                return None;
            }
            let letter = letter.to_ascii_lowercase();
            let chosen = answering::keys(&ask.choices).into_iter().find(|(key, _)| *key == letter);
            chosen.map(|(_, choice)| Intent::Choose(ask.id.clone(), choice.id.clone()))
        }
        AskWhat::Questions(_) => match key.code {
            KeyCode::Enter if key.modifiers.is_empty() => Some(Intent::Reply),
            KeyCode::Char('d') if control && state.input().is_empty() => Some(Intent::Dismiss),
            KeyCode::Tab => Some(Intent::Nothing),
            _ => None,
        },
    }
}

fn edit(code: KeyCode, modifiers: KeyModifiers) -> Option<Edit> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    let alt = modifiers.contains(KeyModifiers::ALT);
    // AltGr is reported as both on some systems, and its letters are letters.
    let plain = control == alt;
    Some(match code {
        KeyCode::Char(letter) if plain => Edit::Letter(letter),
        KeyCode::Char('j') if control => Edit::NewLine,
        KeyCode::Char('a') if control => Edit::Home,
        KeyCode::Char('e') if control => Edit::End,
        KeyCode::Char('b') if control => Edit::Left,
        KeyCode::Char('f') if control => Edit::Right,
        KeyCode::Char('h') if control => Edit::Back,
        KeyCode::Char('d') if control => Edit::Delete,
        KeyCode::Char('w') if control => Edit::BackWord,
        KeyCode::Char('u') if control => Edit::ClearBefore,
        KeyCode::Char('k') if control => Edit::ClearAfter,
        KeyCode::Char('p') if control => Edit::Up,
        KeyCode::Char('n') if control => Edit::Down,
        KeyCode::Char('b') if alt => Edit::WordLeft,
        KeyCode::Char('f') if alt => Edit::WordRight,
        KeyCode::Char('d') if alt => Edit::DeleteWord,
        KeyCode::Backspace if control || alt => Edit::BackWord,
        KeyCode::Backspace => Edit::Back,
        KeyCode::Delete if control || alt => Edit::DeleteWord,
        KeyCode::Delete => Edit::Delete,
        KeyCode::Left if control || alt => Edit::WordLeft,
        KeyCode::Right if control || alt => Edit::WordRight,
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Home => Edit::Home,
        KeyCode::End => Edit::End,
        KeyCode::Up => Edit::Up,
        KeyCode::Down => Edit::Down,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picker::Picker;
    use crate::testing::{self, hear, started};
    use protocol::EventKind;
    use std::time::Duration;

    /// `C-x`, `A-x`, `S-x` and names as tmux has them.
    fn key(name: &str) -> KeyEvent {
        let (modifiers, name) = match name.split_at_checked(2) {
            Some(("C-", rest)) => (KeyModifiers::CONTROL, rest),
            Some(("A-", rest)) => (KeyModifiers::ALT, rest),
            Some(("S-", rest)) => (KeyModifiers::SHIFT, rest),
            _ => (KeyModifiers::NONE, name),
        };
        let code = match name {
            "Enter" => KeyCode::Enter,
            "Esc" => KeyCode::Esc,
            "Tab" => KeyCode::Tab,
            "Up" => KeyCode::Up,
            "Left" => KeyCode::Left,
            "Bspace" => KeyCode::Backspace,
            letter => KeyCode::Char(letter.chars().next().unwrap()),
        };
        KeyEvent::new(code, modifiers)
    }

    fn table(state: &State, keys: Vec<(&str, Intent)>) {
        for (name, meant) in keys {
            assert_eq!(intent(state, key(name), Instant::now() + Duration::from_secs(1)), meant, "{name}");
        }
    }

    fn letter(letter: char) -> Intent {
        Intent::Edit(Edit::Letter(letter))
    }

    #[test]
    fn an_idle_chat() {
        let mut state = testing::state();
        let keys = vec![
            ("x", letter('x')),
            ("y", letter('y')),
            ("Enter", Intent::Submit),
            ("A-Enter", Intent::Edit(Edit::NewLine)),
            ("S-Enter", Intent::Edit(Edit::NewLine)),
            ("C-j", Intent::Edit(Edit::NewLine)),
            ("A-s", Intent::Steer),
            ("C-Enter", Intent::Steer),
            ("C-w", Intent::Edit(Edit::BackWord)),
            ("C-Left", Intent::Edit(Edit::WordLeft)),
            ("A-Bspace", Intent::Edit(Edit::BackWord)),
            ("Up", Intent::Edit(Edit::Up)),
            ("Tab", Intent::Complete),
            ("Esc", Intent::Nothing),
            ("C-c", Intent::AskToLeave),
            ("C-d", Intent::Leave),
            ("C-l", Intent::Redraw),
            ("A-z", Intent::Nothing),
        ];
        table(&state, keys);
        state.leaving = Leaving::Asked;
        table(&state, vec![("C-c", Intent::Leave)]);
        state.leaving = Leaving::No;
        state.composer.insert("text");
        table(&state, vec![("C-c", Intent::Clear), ("C-d", Intent::Edit(Edit::Delete))]);
    }

    #[test]
    fn a_running_turn() {
        let mut state = testing::state();
        hear(&mut state, vec![started()]);
        state.composer.insert("text");
        let keys = vec![
            ("Esc", Intent::Cancel),
            ("C-c", Intent::Cancel),
            ("Enter", Intent::Submit),
            ("x", letter('x')),
        ];
        table(&state, keys);
        // An engine that does not stop is no prison.
        state.stopping = Stopping::Asked;
        table(&state, vec![("C-c", Intent::Clear)]);
        state.composer.submit();
        table(&state, vec![("C-c", Intent::AskToLeave)]);
    }

    #[test]
    fn a_permission() {
        let mut state = testing::state();
        let ask = testing::ask(AskWhat::Act);
        let id = ask.id.clone();
        hear(&mut state, vec![started(), EventKind::Asked(Box::new(ask))]);
        let choose = |choice: &str| Intent::Choose(id.clone(), choice.into());
        let keys = vec![
            ("y", choose("once")),
            ("Y", choose("once")),
            ("a", choose("always")),
            ("n", choose("reject")),
            // It begins a prompt.
            ("x", letter('x')),
            ("Esc", Intent::Cancel),
            ("C-c", Intent::Cancel),
            ("A-y", Intent::Nothing),
        ];
        table(&state, keys);
        let fronted = state.fronted.unwrap();
        assert_eq!(intent(&state, key("y"), fronted + Duration::from_millis(200)), letter('y'));
    }

    #[test]
    fn letters_of_a_prompt_answer_no_question() {
        let mut state = testing::state();
        hear(&mut state, vec![started(), EventKind::Asked(Box::new(testing::ask(AskWhat::Act)))]);
        let later = Instant::now() + Duration::from_secs(9);
        for (text, wait) in [("w", 1), ("h", 2), ("a", 3)] {
            let now = later + Duration::from_secs(wait);
            let typed = intent(&state, key(text), now);
            assert_eq!(typed, letter(text.chars().next().unwrap()));
            state.step(typed, now);
        }
        state.step(Intent::Clear, later);
        assert!(matches!(intent(&state, key("y"), later + Duration::from_secs(20)), Intent::Choose(..)));
    }

    #[test]
    fn a_draft_from_before_a_question_waits_for_a_pause() {
        let mut state = testing::state();
        let now = Instant::now();
        state.composer.insert("wh");
        state.typed = Some(now);
        hear(&mut state, vec![started(), EventKind::Asked(Box::new(testing::ask(AskWhat::Act)))]);
        assert_eq!(intent(&state, key("y"), now + Duration::from_millis(600)), letter('y'));
        let later = now + Duration::from_secs(1);
        assert!(matches!(intent(&state, key("y"), later), Intent::Choose(..)));
    }

    #[test]
    fn questions_and_pickers() {
        let mut state = testing::state();
        let questions = vec![testing::question("a", false, true)];
        let ask = testing::ask(AskWhat::Questions(questions));
        hear(&mut state, vec![started(), EventKind::Asked(Box::new(ask))]);
        let keys = vec![
            ("y", letter('y')),
            ("Enter", Intent::Reply),
            ("A-Enter", Intent::Edit(Edit::NewLine)),
            ("C-d", Intent::Dismiss),
            ("Esc", Intent::Cancel),
        ];
        table(&state, keys);
        state.picker = Picker::option(&testing::snapshot().info.options[0]);
        let keys = vec![
            ("y", Intent::Narrow('y')),
            ("Bspace", Intent::Widen),
            ("Enter", Intent::Pick),
            ("Up", Intent::Step(-1)),
            ("C-n", Intent::Step(1)),
            ("Esc", Intent::ClosePicker),
            ("C-c", Intent::ClosePicker),
        ];
        table(&state, keys);
    }
}
