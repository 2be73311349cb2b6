//! Questions to the person, as the client can put them.

use agent_client_protocol::{Client as ClientRole, ConnectionTo};
use protocol::{Answer, Question, QuestionReply, SessionId};
use serde_json::{Map, Value, json};

use crate::face::ask;

/// `session/request_permission`. What is no clear yes is no.
pub(crate) async fn permission(cx: &ConnectionTo<ClientRole>, params: Value) -> Answer {
    let Ok(result) = ask(cx, "session/request_permission", params).await else { return Answer::Dismissed };
    let outcome = result.get("outcome").unwrap_or(&Value::Null);
    match outcome.get("outcome").and_then(Value::as_str) {
        Some("selected") => match outcome.get("optionId").and_then(Value::as_str) {
            Some(id) => Answer::Choice { id: id.to_string(), note: None },
            None => Answer::Dismissed,
        },
        _ => Answer::Dismissed,
    }
}

/// `elicitation/create` with a form.
pub(crate) async fn form(
    cx: &ConnectionTo<ClientRole>,
    session: &SessionId,
    questions: &[Question],
) -> Answer {
    let message = questions.iter().map(|question| question.text.as_str()).collect::<Vec<_>>().join("\n");
    let params = json!({
        "sessionId": session.0,
        "mode": "form",
        "message": message,
        "requestedSchema": schema(questions),
    });
    let Ok(result) = ask(cx, "elicitation/create", params).await else { return Answer::Dismissed };
    if result.get("action").and_then(Value::as_str) != Some("accept") {
        return Answer::Dismissed;
    }
    let content = result.get("content").unwrap_or(&Value::Null);
    Answer::Answers(questions.iter().map(|question| reply(question, content.get(&question.id))).collect())
}

fn schema(questions: &[Question]) -> Value {
    let fields: Map<String, Value> =
        questions.iter().map(|question| (question.id.clone(), field(question))).collect();
    json!({"type": "object", "properties": fields})
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
    let base = json!({"title": question.head, "description": question.text});
    let kind = match (choices.is_empty(), question.many) {
        (true, _) => json!({"type": "string"}),
        (false, false) => json!({"type": "string", "oneOf": choices}),
        (false, true) => json!({"type": "array", "items": {"anyOf": choices}}),
    };
    let mut field = base;
    if let (Some(fields), Value::Object(kind)) = (field.as_object_mut(), kind) {
        fields.extend(kind);
    }
    field
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
    let (picked, other): (Vec<String>, Vec<String>) =
        said.into_iter().partition(|text| question.options.iter().any(|(label, _)| label == text));
    let text = if other.is_empty() { None } else { Some(other.join(", ")) };
    QuestionReply { question: question.text.clone(), picked, text }
}
