//! What real servers refuse. Some of it always, some by the rules a script names.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::{Thought, Wire};

/// A request to be judged.
pub(super) struct Asked<'a> {
    pub(super) wire: Wire,
    pub(super) body: &'a Value,
    pub(super) bytes: usize,
    pub(super) issued: &'a BTreeMap<String, Thought>,
}

/// Why a request is refused, and the answer that says so.
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) why: String,
    pub(super) body: Value,
}

impl Refusal {
    pub(super) fn new(why: String) -> Self {
        let body = json!({"error": {"message": why, "type": "invalid_request_error", "code": null}});
        Self { status: 400, why, body }
    }
}

/// A check that only some servers make.
#[derive(Debug)]
pub(super) enum Rule {
    ReasoningReplay,
    ToolNames { letters: usize },
    SchemaRefsResolve,
    SchemaNoRefs,
    SchemaNoTopCombinators,
    SchemaNoTypeArrays,
    ContentEmptyRejected,
    ContentStringRequired,
    IdsVerbatim,
    NoImages,
    MaxImageB64 { letters: usize },
    NoReasoningContentItems,
    MaxBody { bytes: usize },
    MaxChars { chars: usize, style: String },
}

impl Rule {
    /// A rule as scripts write it; none for those that hold always.
    pub(super) fn parse(value: &Value) -> Option<Self> {
        let (name, arg) = match value {
            Value::String(name) => (name.as_str(), &Value::Null),
            Value::Object(map) if map.len() == 1 => {
                map.iter().next().map(|(name, arg)| (name.as_str(), arg)).expect("one entry")
            }
            _ => panic!("not a rule: {value}"),
        };
        let number = || {
            let number = arg.as_u64().unwrap_or_else(|| panic!("the rule {name} needs a number"));
            usize::try_from(number).expect("a size")
        };
        Some(match name {
            "pairing" | "no_empty_assistant" | "args_are_object_strings" => return None,
            "reasoning_replay" => Self::ReasoningReplay,
            "tool_names" => Self::ToolNames { letters: if arg.is_null() { 64 } else { number() } },
            "schema_refs_resolve" => Self::SchemaRefsResolve,
            "schema_no_refs" => Self::SchemaNoRefs,
            "schema_no_top_combinators" => Self::SchemaNoTopCombinators,
            "schema_no_type_arrays" => Self::SchemaNoTypeArrays,
            "content_empty_rejected" => Self::ContentEmptyRejected,
            "content_string_required" => Self::ContentStringRequired,
            "ids_verbatim" => Self::IdsVerbatim,
            "no_images" => Self::NoImages,
            "max_image_b64" => Self::MaxImageB64 { letters: number() },
            "no_reasoning_content_items" => Self::NoReasoningContentItems,
            "max_body" => Self::MaxBody { bytes: number() },
            "max_chars" => Self::MaxChars {
                chars: usize::try_from(arg["chars"].as_u64().expect("chars")).expect("a size"),
                style: arg["style"].as_str().unwrap_or("overflow_openai").to_string(),
            },
            _ => panic!("no such rule: {name}"),
        })
    }

    fn check(&self, asked: &Asked) -> Result<(), Refusal> {
        let why = match self {
            Self::MaxBody { bytes } if asked.bytes > *bytes => {
                let refusal = Refusal::new(format!("the body has {} bytes", asked.bytes));
                return Err(Refusal { status: 413, ..refusal });
            }
            Self::MaxChars { chars, style } if asked.bytes > *chars => return Err(overflow(style)),
            Self::MaxBody { .. } | Self::MaxChars { .. } => None,
            Self::ReasoningReplay => reasoning_replay(asked),
            Self::ToolNames { letters } => tool_names(asked, *letters),
            Self::SchemaRefsResolve => schemas(asked, |schema, at| {
                let path = at["$ref"].as_str()?;
                schema
                    .pointer(path.strip_prefix('#').unwrap_or("?"))
                    .is_none()
                    .then(|| format!("{path} does not resolve"))
            }),
            Self::SchemaNoRefs => schemas(asked, |_, at| {
                (at.get("$ref").is_some() || at.get("$defs").is_some())
                    .then(|| "references are not supported".into())
            }),
            Self::SchemaNoTypeArrays => {
                schemas(asked, |_, at| at["type"].is_array().then(|| "type must be one string".into()))
            }
            Self::SchemaNoTopCombinators => tools(asked).find_map(|(name, schema)| {
                let found = ["anyOf", "oneOf", "allOf"].into_iter().find(|key| schema.get(*key).is_some())?;
                Some(format!("{name}: {found} at the top"))
            }),
            Self::ContentEmptyRejected => assistants(asked)
                .find(|message| message["content"] == "")
                .map(|_| "the content is an empty string".into()),
            Self::ContentStringRequired => assistants(asked)
                .find(|message| !message["content"].is_string() && !message["content"].is_array())
                .map(|_| "the content must be text".into()),
            Self::IdsVerbatim => ids(asked)
                .find(|id| !asked.issued.contains_key(*id))
                .map(|id| format!("the call id {id:?} was never issued")),
            Self::NoImages => parts(asked)
                .find(|part| matches!(part["type"].as_str(), Some("image" | "image_url" | "input_image")))
                .map(|_| "this model takes no images".into()),
            Self::MaxImageB64 { letters } => parts(asked)
                .filter_map(Value::as_str)
                .find(|text| {
                    text.len() > *letters
                        && ["data:image/", "iVBOR", "/9j/"].iter().any(|head| text.starts_with(head))
                })
                .map(|text| format!("an image has {} letters", text.len())),
            Self::NoReasoningContentItems => asked.body["input"]
                .as_array()
                .into_iter()
                .flatten()
                .find(|item| {
                    item["type"] == "reasoning"
                        && item["content"].as_array().is_some_and(|list| !list.is_empty())
                })
                .map(|_| "reasoning.content: too long".into()),
        };
        why.map_or(Ok(()), |why| Err(Refusal::new(why)))
    }
}

/// The first thing that is wrong with a request.
pub(super) fn check(rules: &[Rule], asked: &Asked) -> Result<(), Refusal> {
    if asked.body["model"].as_str().is_none_or(str::is_empty) {
        return Err(Refusal::new("model is missing".into()));
    }
    if let Some((name, _)) = tools(asked).find(|(name, schema)| name.is_empty() || schema["type"] != "object")
    {
        return Err(Refusal::new(format!("tools: {name:?} is no function with an object schema")));
    }
    let why = match asked.wire {
        Wire::Chat => chat(asked.body),
        Wire::Responses => responses(asked.body),
    };
    if let Some(why) = why {
        return Err(Refusal::new(why));
    }
    rules.iter().try_for_each(|rule| rule.check(asked))
}

fn overflow(style: &str) -> Refusal {
    let body = match style {
        "overflow_openai" => json!({"error": {"message": "Your input exceeds the context window",
            "type": "invalid_request_error", "code": "context_length_exceeded"}}),
        "overflow_llamacpp" => {
            json!({"error": {"code": 400, "type": "exceed_context_size_error", "n_ctx": 1000,
            "message": "the request exceeds the available context size", "n_prompt_tokens": 99_999}})
        }
        "overflow_detail" => {
            json!({"detail": "Prompt too long: 99999 tokens exceeds max context window of 1000 tokens"})
        }
        _ => panic!("no such style of overflow: {style}"),
    };
    Refusal { status: 400, why: "overflow".into(), body }
}

fn tools<'a>(asked: &'a Asked) -> impl Iterator<Item = (&'a str, &'a Value)> {
    asked.body["tools"].as_array().into_iter().flatten().map(|tool| {
        let function = if asked.wire == Wire::Chat { &tool["function"] } else { tool };
        (function["name"].as_str().unwrap_or_default(), &function["parameters"])
    })
}

fn assistants<'a>(asked: &'a Asked) -> impl Iterator<Item = &'a Value> {
    let messages = asked.body["messages"].as_array().into_iter().flatten();
    messages.filter(|message| message["role"] == "assistant")
}

/// The ids of calls that are told back.
fn ids<'a>(asked: &'a Asked) -> impl Iterator<Item = &'a str> {
    let chat = assistants(asked)
        .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten())
        .filter_map(|call| call["id"].as_str());
    let items = asked.body["input"].as_array().into_iter().flatten();
    chat.chain(
        items.filter(|item| item["type"] == "function_call").filter_map(|item| item["call_id"].as_str()),
    )
}

/// Every value inside of what was said.
fn parts<'a>(asked: &'a Asked) -> impl Iterator<Item = &'a Value> {
    [&asked.body["messages"], &asked.body["input"]].into_iter().flat_map(walk)
}

fn walk(value: &Value) -> Vec<&Value> {
    let inner: Vec<&Value> = match value {
        Value::Array(items) => items.iter().flat_map(walk).collect(),
        Value::Object(map) => map.values().flat_map(walk).collect(),
        _ => Vec::new(),
    };
    std::iter::once(value).chain(inner).collect()
}

fn schemas(asked: &Asked, wrong: impl Fn(&Value, &Value) -> Option<String>) -> Option<String> {
    tools(asked).find_map(|(name, schema)| {
        walk(schema).into_iter().find_map(|at| wrong(schema, at)).map(|why| format!("{name}: {why}"))
    })
}

fn tool_names(asked: &Asked, letters: usize) -> Option<String> {
    let mut seen = BTreeSet::new();
    tools(asked).find_map(|(name, _)| {
        let plain = name.chars().all(|letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        match () {
            () if !plain || name.len() > letters => Some(format!("the tool name {name:?} is not allowed")),
            () if !seen.insert(name) => Some(format!("the tool name {name:?} is there twice")),
            () => None,
        }
    })
}

fn reasoning_replay(asked: &Asked) -> Option<String> {
    match asked.wire {
        Wire::Chat => assistants(asked).find_map(|message| {
            let calls = message["tool_calls"].as_array()?;
            let thought =
                calls.iter().find_map(|call| asked.issued.get(call["id"].as_str()?)?.words.as_deref())?;
            (message["reasoning_content"] != thought)
                .then(|| "reasoning_content of a message with calls must be sent back".into())
        }),
        Wire::Responses => {
            let items: Vec<&Value> = asked.body["input"].as_array()?.iter().collect();
            ids(asked).find_map(|id| {
                let sealed = asked.issued.get(id)?.sealed.as_deref()?;
                let kept = items
                    .iter()
                    .any(|item| item["type"] == "reasoning" && item["encrypted_content"] == sealed);
                (!kept).then(|| format!("the reasoning item before {id} is missing"))
            })
        }
    }
}

fn is_object_text(arguments: &Value) -> bool {
    let parsed = arguments.as_str().map(serde_json::from_str::<Value>);
    matches!(parsed, Some(Ok(Value::Object(_))))
}

fn chat(body: &Value) -> Option<String> {
    let Some(messages) = body["messages"].as_array() else { return Some("messages is missing".into()) };
    let mut awaited: Vec<&str> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(found) = awaited.iter().position(|other| *other == id) else {
                return Some(format!("messages[{at}]: the result {id:?} has no call"));
            };
            awaited.remove(found);
            if !message["content"].is_string() {
                return Some(format!("messages[{at}]: the content of a tool message must be a string"));
            }
            continue;
        }
        if !awaited.is_empty() {
            return Some(format!("messages[{at}]: the calls {awaited:?} have no results"));
        }
        if message["role"] != "assistant" {
            continue;
        }
        let calls = message["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
        let content = &message["content"];
        let says = content.as_str().is_some_and(|text| !text.is_empty())
            || content.as_array().is_some_and(|parts| !parts.is_empty());
        if calls.is_empty() && !says {
            return Some(format!("messages[{at}]: an assistant message must say something"));
        }
        for call in calls {
            if !is_object_text(&call["function"]["arguments"]) {
                return Some(format!("messages[{at}]: arguments must be the text of an object"));
            }
            awaited.push(call["id"].as_str().unwrap_or_default());
        }
    }
    (!awaited.is_empty()).then(|| format!("the calls {awaited:?} have no results"))
}

fn responses(body: &Value) -> Option<String> {
    let Some(input) = body["input"].as_array() else { return Some("input is missing".into()) };
    let mut awaited: BTreeSet<&str> = BTreeSet::new();
    for (at, item) in input.iter().enumerate() {
        let id = item["call_id"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap_or("message") {
            "function_call" => {
                if !is_object_text(&item["arguments"]) {
                    return Some(format!("input[{at}]: arguments must be the text of an object"));
                }
                awaited.insert(id);
            }
            "custom_tool_call" => drop(awaited.insert(id)),
            "function_call_output" | "custom_tool_call_output" if !awaited.remove(id) => {
                return Some(format!("input[{at}]: no tool call found for the output {id:?}"));
            }
            "message" if !awaited.is_empty() => {
                return Some(format!("input[{at}]: no tool output found for {awaited:?}"));
            }
            _ => {}
        }
    }
    (!awaited.is_empty()).then(|| format!("no tool output found for {awaited:?}"))
}
