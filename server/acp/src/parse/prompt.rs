//! The blocks of a prompt.

use agent_client_protocol::Error;
use protocol::{Base64, Content};
use serde_json::Value;

use crate::errors::bad_params;

/// What the person said. A kind we do not know becomes a text that says so.
pub(crate) fn prompt(params: &Value) -> Result<Vec<Content>, Error> {
    let Some(blocks) = params.get("prompt").and_then(Value::as_array) else {
        return Err(bad_params("prompt is missing; give a list of content blocks"));
    };
    let content: Result<Vec<Content>, Error> = blocks.iter().map(block).collect();
    let content = content?;
    let says = content.iter().any(|part| !matches!(part, Content::Text(text) if text.trim().is_empty()));
    if says {
        Ok(content)
    } else {
        Err(bad_params("the prompt is empty; give a text, an image or a resource"))
    }
}

fn block(block: &Value) -> Result<Content, Error> {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let owned = |name: &str| field(name).map(str::to_string);
    match field("type").unwrap_or("text") {
        "text" => Ok(Content::Text(owned("text").unwrap_or_default())),
        "image" => match (owned("data"), owned("mimeType")) {
            (Some(data), Some(mime)) if mime.starts_with("image/") => {
                Ok(Content::Image { mime, data: Base64(data), uri: owned("uri") })
            }
            _ => Err(bad_params("an image block needs data and a mimeType that begins with image/")),
        },
        "audio" => Err(bad_params("audio is not taken; promptCapabilities.audio is false")),
        "resource_link" => {
            let uri = decoded(field("uri").unwrap_or_default());
            let name =
                owned("name").unwrap_or_else(|| uri.rsplit('/').next().unwrap_or_default().to_string());
            Ok(Content::Link { uri, name, mime: owned("mimeType"), lines: None })
        }
        "resource" => {
            let inner = block.get("resource").unwrap_or(&Value::Null);
            let field = |name: &str| inner.get(name).and_then(Value::as_str).map(str::to_string);
            Ok(Content::Resource {
                uri: decoded(&field("uri").unwrap_or_default()),
                mime: field("mimeType"),
                text: field("text"),
                data: field("blob").map(Base64),
            })
        }
        other => {
            let shown: String = other.chars().filter(|letter| letter.is_ascii_graphic()).take(40).collect();
            Ok(Content::Text(format!("[a block of the kind {shown}, which is not known here]")))
        }
    }
}

/// A `file://` address with its path decoded, once; others stay as they are.
fn decoded(uri: &str) -> String {
    let Some(path) = uri.strip_prefix("file://") else { return uri.to_string() };
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let hex = tail.get(..2).and_then(|pair| std::str::from_utf8(pair).ok());
        let byte = hex.filter(|_| *first == b'%').and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match byte {
            Some(byte) => {
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    format!("file://{}", String::from_utf8_lossy(&bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_are_decoded_once() {
        for (uri, path) in [
            ("file:///a%20b", "file:///a b"),
            ("file:///a%2520b", "file:///a%20b"),
            ("file:///a b", "file:///a b"),
            ("file:///%E6%BC%A2", "file:///漢"),
            ("file:///100%", "file:///100%"),
            ("https://x/a%20b", "https://x/a%20b"),
        ] {
            assert_eq!(decoded(uri), path);
        }
    }

    #[test]
    fn empty_prompts_are_refused_and_resources_are_not_empty() {
        let resource = json!({"type": "resource", "resource": {"uri": "file:///a", "text": "x"}});
        assert!(prompt(&json!({"prompt": [resource]})).is_ok());
        assert!(prompt(&json!({"prompt": []})).is_err());
        assert!(prompt(&json!({"prompt": [{"type": "text", "text": " "}]})).is_err());
        assert!(prompt(&json!({"prompt": [{"type": "novel"}]})).is_ok());
        assert!(prompt(&json!({"prompt": [{"type": "audio", "data": ""}]})).is_err());
    }
}
