//! An ask in front of the person: which key means which choice, and questions answered one by one.

use protocol::{Ask, AskId, Choice, Grant, Question, QuestionReply};

use crate::composer::Composer;

/// The keys of an ask's choices: the usual letters, then numbers.
pub(crate) fn keys(choices: &[Choice]) -> Vec<(char, &Choice)> {
    let mut taken = Vec::new();
    let keyed = choices.iter().enumerate().map(|(index, choice)| {
        let letters: &[char] = match choice.grant {
            Grant::Once => &['y'],
            Grant::Always { .. } => &['a'],
            Grant::Session { .. } => &['a', 's'],
            Grant::Reject => &['n'],
            Grant::RejectAlways { .. } => &['r'],
        };
        let number = char::from_digit(index as u32 + 1, 10).unwrap_or('0');
        let key = letters.iter().copied().find(|key| !taken.contains(key)).unwrap_or(number);
        taken.push(key);
        (key, choice)
    });
    keyed.collect()
}

/// Questions of one ask, as far as they are answered.
pub(crate) struct Answering {
    pub(crate) ask: AskId,
    questions: Vec<Question>,
    replies: Vec<QuestionReply>,
    pub(crate) composer: Composer,
    /// What was wrong with the last answer.
    pub(crate) wrong: Option<String>,
}

impl Answering {
    pub(crate) fn new(ask: &Ask, questions: &[Question]) -> Self {
        Self {
            ask: ask.id.clone(),
            questions: questions.to_vec(),
            replies: Vec::new(),
            composer: Composer::default(),
            wrong: None,
        }
    }

    /// The question that waits, its number, and how many there are.
    pub(crate) fn question(&self) -> Option<(&Question, usize, usize)> {
        let at = self.replies.len();
        self.questions.get(at).map(|question| (question, at + 1, self.questions.len()))
    }

    /// Takes what was typed; gives all answers with the last one.
    pub(crate) fn take(&mut self) -> Option<Vec<QuestionReply>> {
        let said = self.composer.text().trim().to_string();
        if let Some((question, ..)) = self.question() {
            match reply(question, &said) {
                Ok(reply) => self.replies.push(reply),
                Err(wrong) => {
                    self.wrong = Some(wrong);
                    return None;
                }
            }
        }
        self.composer.submit();
        self.wrong = None;
        (self.replies.len() >= self.questions.len()).then(|| std::mem::take(&mut self.replies))
    }
}

/// Numbers pick options; anything else is the person's own words, where those are welcome.
fn reply(question: &Question, said: &str) -> Result<QuestionReply, String> {
    let count = question.options.len();
    let reply = |picked, text| Ok(QuestionReply { question: question.text.clone(), picked, text });
    let range = if count == 1 { "1".to_string() } else { format!("1 to {count}") };
    if said.is_empty() {
        return Err("nothing is typed; Ctrl-D leaves it unanswered".into());
    }
    let numbers: Option<Vec<usize>> =
        said.split([',', ' ']).filter(|part| !part.is_empty()).map(|part| part.parse().ok()).collect();
    let free = question.free || count == 0;
    match numbers.filter(|_| count > 0) {
        None => {
            let named = question.options.iter().find(|(label, _)| label.eq_ignore_ascii_case(said));
            match named {
                Some((label, _)) => reply(vec![label.clone()], None),
                None if free => reply(Vec::new(), Some(said.to_string())),
                None => Err(format!("{said:?} is not among the options; type {range}")),
            }
        }
        Some(numbers) if numbers.len() > 1 && !question.many => Err(format!("one option only; type {range}")),
        Some(numbers) => {
            let picked: Option<Vec<String>> = numbers
                .iter()
                .map(|number| question.options.get(number.checked_sub(1)?).map(|(label, _)| label.clone()))
                .collect();
            match picked {
                Some(picked) => reply(picked, None),
                None if free => reply(Vec::new(), Some(said.to_string())),
                None => Err(format!("there is no option {said}; type {range}")),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn each_choice_has_a_key_of_its_own() {
        let choice = |grant| Choice { id: String::new(), name: String::new(), grant };
        let scope = String::new;
        let choices = vec![
            choice(Grant::Once),
            choice(Grant::Session { scope: scope() }),
            choice(Grant::Always { scope: scope() }),
            choice(Grant::Always { scope: scope() }),
            choice(Grant::Reject),
            choice(Grant::RejectAlways { scope: scope() }),
        ];
        let found: String = keys(&choices).iter().map(|(key, _)| key).collect();
        assert_eq!(found, "ya34nr");
    }

    #[test]
    fn numbers_pick_and_words_are_said_where_they_may() {
        let (one, many, free) = (
            testing::question("q", false, false),
            testing::question("q", true, false),
            testing::question("q", false, true),
        );
        for (question, said, picked, text) in [
            (&one, "2", vec!["blue"], None),
            (&one, "RED", vec!["red"], None),
            (&many, "1, 2", vec!["red", "blue"], None),
            (&free, "green", vec![], Some("green")),
            (&free, "7", vec![], Some("7")),
        ] {
            let reply = reply(question, said).unwrap();
            assert_eq!(reply.picked, picked, "{said}");
            assert_eq!(reply.text.as_deref(), text, "{said}");
        }
        for (question, said) in [(&one, ""), (&one, "3"), (&one, "0"), (&one, "1 2"), (&one, "green")] {
            assert!(reply(question, said).is_err(), "{said:?}");
        }
    }

    #[test]
    fn questions_come_one_by_one() {
        let questions = vec![testing::question("a", false, true), testing::question("b", true, false)];
        let ask = testing::ask(protocol::AskWhat::Questions(questions.clone()));
        let mut answering = Answering::new(&ask, &questions);
        answering.composer.insert("words");
        assert_eq!(answering.take(), None);
        answering.composer.insert("9");
        assert_eq!(answering.take(), None);
        assert!(answering.wrong.is_some());
        answering.composer.replace("1 2");
        let replies = answering.take().unwrap();
        assert_eq!(replies[0].text.as_deref(), Some("words"));
        assert_eq!(replies[1].picked, ["red", "blue"]);
    }
}
