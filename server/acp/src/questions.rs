//! The person's answers, as the client gives them. What is no clear yes is no.

use agent_client_protocol::{Client as ClientRole, ConnectionTo};
use protocol::{Answer, Question, QuestionReply, SessionId};
use serde_json::{Map, Value, json};

use crate::asks::{Sent, answered, send};

/// The answer to `session/request_permission`; `known` are the ids that were offered.
pub(crate) async fn permission(sent: Result<Sent, String>, known: Vec<String>) -> Answer {
    match selected(sent).await {
        Some(id) if known.contains(&id) => Answer::Choice { id, note: None },
        Some(_) | None => Answer::Dismissed,
    }
}

/// The option that was selected, of whatever was offered.
async fn selected(sent: Result<Sent, String>) -> Option<String> {
    let result = answered(sent).await.ok()?;
    let outcome = result.get("outcome")?;
    let selected = outcome.get("outcome").and_then(Value::as_str) == Some("selected");
    outcome.get("optionId").and_then(Value::as_str).filter(|_| selected).map(str::to_string)
}

/// Questions as choices, for a client without forms; one that offers no choice cannot be put.
pub(crate) async fn one_by_one(cx: ConnectionTo<ClientRole>, questions: Vec<(Question, Value)>) -> Answer {
    let mut replies = Vec::new();
    for (question, params) in questions {
        if question.options.is_empty() {
            continue;
        }
        let Some(id) = selected(send(&cx, "session/request_permission", params)).await else {
            return Answer::Dismissed;
        };
        let picked =
            id.strip_prefix("option_").and_then(|at| question.options.get(at.parse::<usize>().ok()?));
        if let Some((label, _)) = picked {
            replies.push(QuestionReply { question: question.id, picked: vec![label.clone()], text: None });
        }
    }
    if replies.is_empty() { Answer::Dismissed } else { Answer::Answers(replies) }
}

/// Params of `elicitation/create` with a form.
pub(crate) fn form(session: &SessionId, questions: &[Question]) -> Value {
    let message = questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join("\n");
    let fields: Map<String, Value> =
        questions.iter().map(|question| (question.id.clone(), field(question))).collect();
    json!({
        "sessionId": session.0,
        "mode": "form",
        "message": message,
        "requestedSchema": {"type": "object", "properties": fields},
    })
}

fn field(question: &Question) -> Value {
    let choices: Vec<Value> = question
        .options
        .iter()
        .map(|(label, about)| {
            let title = if about.is_empty() { label.clone() } else { format!("{label}: {about}") };
            json!({"const": label, "title": title})
        })
        .collect();
    let (title, text) = (&question.head, &question.text);
    match (choices.is_empty(), question.many) {
        (true, _) => json!({"type": "string", "title": title, "description": text}),
        (false, false) => json!({"type": "string", "title": title, "description": text, "oneOf": choices}),
        (false, true) => {
            json!({"type": "array", "title": title, "description": text, "items": {"anyOf": choices}})
        }
    }
}

/// The answers of a form that was accepted.
pub(crate) async fn filled(sent: Result<Sent, String>, questions: Vec<Question>) -> Answer {
    let Ok(result) = answered(sent).await else { return Answer::Dismissed };
    if result.get("action").and_then(Value::as_str) != Some("accept") {
        return Answer::Dismissed;
    }
    let content = result.get("content").unwrap_or(&Value::Null);
    Answer::Answers(questions.iter().map(|question| reply(question, content.get(&question.id))).collect())
}

fn reply(question: &Question, value: Option<&Value>) -> QuestionReply {
    let said: Vec<String> = match value {
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Array(items)) => {
            items.iter().filter_map(|item| item.as_str().map(str::to_string)).collect()
        }
        Some(Value::Null) | None => Vec::new(),
        Some(other) => vec![other.to_string()],
    };
    let offered = |text: &String| question.options.iter().any(|(label, _)| label == text);
    let (picked, other): (Vec<String>, Vec<String>) = said.into_iter().partition(offered);
    let text = if other.is_empty() { None } else { Some(other.join(", ")) };
    QuestionReply { question: question.id.clone(), picked, text }
}
