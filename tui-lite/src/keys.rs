//! What a key means, by what is on the screen.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use protocol::{Answer, AskId, AskWhat, Grant, QuestionReply};

use crate::composer::Edit;
use crate::state::State;

/// What the person wants.
#[derive(Debug, PartialEq)]
pub(crate) enum Intent {
    Nothing,
    Edit(Edit),
    Submit,
    /// Stops the running turn.
    Cancel,
    Answer(AskId, Answer),
    Pick,
    ClosePicker,
    Move(i32),
    AskToLeave,
    Leave,
}

pub(crate) fn intent(state: &State, key: KeyEvent) -> Intent {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    if state.picker.is_some() {
        return match key.code {
            KeyCode::Enter => Intent::Pick,
            KeyCode::Up => Intent::Move(-1),
            KeyCode::Down => Intent::Move(1),
            KeyCode::Esc => Intent::ClosePicker,
            KeyCode::Char('c') if control => Intent::ClosePicker,
            _ => Intent::Nothing,
        };
    }
    if let Some(intent) = ask(state, key, control) {
        return intent;
    }
    match key.code {
        KeyCode::Char('c') if control && state.is_running() => Intent::Cancel,
        KeyCode::Char('c') if control && state.leaving => Intent::Leave,
        KeyCode::Char('c') if control => Intent::AskToLeave,
        KeyCode::Char('d') if control && state.composer.is_empty() => Intent::Leave,
        KeyCode::Esc if state.is_running() => Intent::Cancel,
        KeyCode::Enter if key.modifiers.intersects(KeyModifiers::ALT | KeyModifiers::SHIFT) => {
            Intent::Edit(Edit::NewLine)
        }
        KeyCode::Enter => Intent::Submit,
        code => edit(code, key.modifiers).map_or(Intent::Nothing, Intent::Edit),
    }
}

/// A question takes keys as long as it is open; an unknown key is no answer.
fn ask(state: &State, key: KeyEvent, control: bool) -> Option<Intent> {
    let ask = state.ask()?;
    if key.code == KeyCode::Esc || (control && key.code == KeyCode::Char('c')) {
        return Some(Intent::Cancel);
    }
    match &ask.what {
        AskWhat::Act => {
            let wanted: fn(&Grant) -> bool = match key.code {
                KeyCode::Char('y') => |grant| matches!(grant, Grant::Once),
                KeyCode::Char('a') => |grant| matches!(grant, Grant::Always { .. } | Grant::Session { .. }),
                KeyCode::Char('n') => |grant| matches!(grant, Grant::Reject),
                _ => return Some(Intent::Nothing),
            };
            let choice = ask.choices.iter().find(|choice| wanted(&choice.grant));
            Some(choice.map_or(Intent::Nothing, |choice| {
                Intent::Answer(ask.id.clone(), Answer::Choice { id: choice.id.clone(), note: None })
            }))
        }
        AskWhat::Questions(questions) => match key.code {
            KeyCode::Enter => {
                let said = state.composer.text().trim();
                let replies = questions.iter().zip(said.split('\n').chain(std::iter::repeat(said)));
                let replies = replies.map(|(question, said)| reply(question, said.trim()));
                Some(Intent::Answer(ask.id.clone(), Answer::Answers(replies.collect())))
            }
            _ => None,
        },
    }
}

/// Numbers pick options; anything else is the person's own words.
fn reply(question: &protocol::Question, said: &str) -> QuestionReply {
    let numbers: Option<Vec<usize>> =
        said.split([',', ' ']).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
    let picked: Vec<String> = numbers
        .into_iter()
        .flatten()
        .filter_map(|number| question.options.get(number.checked_sub(1)?))
        .map(|(label, _)| label.clone())
        .collect();
    let text = (picked.is_empty() && !said.is_empty()).then(|| said.to_string());
    QuestionReply { question: question.text.clone(), picked, text }
}

fn edit(code: KeyCode, modifiers: KeyModifiers) -> Option<Edit> {
    let control = modifiers.contains(KeyModifiers::CONTROL);
    let alt = modifiers.contains(KeyModifiers::ALT);
    Some(match code {
        KeyCode::Char('j') if control => Edit::NewLine,
        KeyCode::Char('a') if control => Edit::Home,
        KeyCode::Char('e') if control => Edit::End,
        KeyCode::Char('w') if control => Edit::BackWord,
        KeyCode::Char('u') if control => Edit::ClearBefore,
        KeyCode::Char('b') if alt => Edit::WordLeft,
        KeyCode::Char('f') if alt => Edit::WordRight,
        KeyCode::Char(letter) if !control && !alt => Edit::Letter(letter),
        KeyCode::Tab => Edit::Letter('\t'),
        KeyCode::Backspace if control || alt => Edit::BackWord,
        KeyCode::Backspace => Edit::Back,
        KeyCode::Delete => Edit::Delete,
        KeyCode::Left if control || alt => Edit::WordLeft,
        KeyCode::Right if control || alt => Edit::WordRight,
        KeyCode::Left => Edit::Left,
        KeyCode::Right => Edit::Right,
        KeyCode::Home => Edit::Home,
        KeyCode::End => Edit::End,
        KeyCode::Up => Edit::Earlier,
        KeyCode::Down => Edit::Later,
        _ => return None,
    })
}
