//! The blocks of a prompt.

use agent_client_protocol::Error;
use protocol::{Base64, Content};
use serde_json::Value;

use super::uri::{decoded, mention};
use crate::errors::{bad_params, name};

/// What the person said. A kind we do not know becomes a text that says so.
pub(crate) fn prompt(params: &Value) -> Result<Vec<Content>, Error> {
    let Some(blocks) = params.get("prompt").and_then(Value::as_array) else {
        return Err(bad_params("prompt is missing; give a list of content blocks"));
    };
    let content = blocks.iter().map(block).collect::<Result<Vec<_>, _>>()?;
    let says = |part: &Content| !matches!(part, Content::Text(text) if text.trim().is_empty());
    if !content.iter().any(says) {
        return Err(bad_params("the prompt is empty; give a text, an image or a resource"));
    }
    Ok(content)
}

fn block(block: &Value) -> Result<Content, Error> {
    match block.get("type").and_then(Value::as_str).unwrap_or("text") {
        "text" => Ok(Content::Text(owned(block, "text").unwrap_or_default())),
        "image" => image(block),
        "audio" => Err(bad_params("audio is not taken, promptCapabilities says so; send text")),
        "resource_link" => link(block),
        "resource" => resource(block.get("resource").unwrap_or(&Value::Null)),
        other => {
            Ok(Content::Text(format!("[a content block of type {:?}, which is not known here]", name(other))))
        }
    }
}

fn image(block: &Value) -> Result<Content, Error> {
    match (owned(block, "data"), owned(block, "mimeType")) {
        (Some(data), Some(mime)) if mime.starts_with("image/") && !data.is_empty() => {
            Ok(Content::Image { mime, data: Base64(data), uri: owned(block, "uri") })
        }
        _ => Err(bad_params("an image block needs data in base64 and a mimeType that begins with image/")),
    }
}

fn link(block: &Value) -> Result<Content, Error> {
    let Some(uri) = owned(block, "uri").filter(|uri| !uri.is_empty()) else {
        return Err(bad_params("a resource_link block needs a uri"));
    };
    let (uri, lines) = mention(&uri);
    let last = uri.rsplit('/').next().unwrap_or_default().to_string();
    Ok(Content::Link {
        uri,
        name: owned(block, "name").unwrap_or(last),
        mime: owned(block, "mimeType"),
        lines,
    })
}

fn resource(inner: &Value) -> Result<Content, Error> {
    let (text, data) = (owned(inner, "text"), owned(inner, "blob").map(Base64));
    if text.is_none() && data.is_none() {
        return Err(bad_params("a resource block needs a text or a blob"));
    }
    let uri = decoded(&owned(inner, "uri").unwrap_or_default());
    Ok(Content::Resource { uri, mime: owned(inner, "mimeType"), text, data })
}

fn owned(block: &Value, field: &str) -> Option<String> {
    block.get(field).and_then(Value::as_str).map(str::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_prompts_are_refused_and_resources_are_not_empty() {
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "x"}});
        let blank = json!({"type": "text", "text": " "});
        assert!(prompt(&json!({"prompt": [resource]})).is_ok());
        assert!(prompt(&json!({"prompt": [blank, resource]})).is_ok());
        assert!(prompt(&json!({"prompt": [{"type": "novel"}]})).is_ok());
        let refused = [
            json!([]),
            json!([blank]),
            json!("text"),
            json!([{"type": "audio", "data": "", "mimeType": "audio/wav"}]),
            json!([{"type": "image", "data": "x", "mimeType": "text/plain"}]),
            json!([{"type": "resource_link", "name": "x"}]),
            json!([{"type": "resource", "resource": {"uri": "file:///a"}}]),
        ];
        for blocks in refused {
            assert!(prompt(&json!({"prompt": blocks})).is_err(), "{blocks}");
        }
    }

    #[test]
    fn a_mention_has_its_path_and_its_lines() {
        let link = json!({"type": "resource_link", "uri": "file:///my%20dir/a.rs#L2:4", "name": "a.rs"});
        let content = prompt(&json!({"prompt": [link]})).unwrap();
        let expected = Content::Link {
            uri: "file:///my dir/a.rs".into(),
            name: "a.rs".into(),
            mime: None,
            lines: Some((2, 4)),
        };
        assert_eq!(content, [expected]);
    }
}
