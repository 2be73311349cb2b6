//! Content that people and models exchange: text, images, mentions, resources.

use serde::{Deserialize, Serialize};

use crate::*;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Content {
    Text(String),
    Image {
        mime: String,
        data: Base64,
        uri: Option<String>,
    },
    /// A mention; `lines` is a selection in it, 1-based, inclusive.
    Link {
        uri: String,
        name: String,
        mime: Option<String>,
        lines: Option<(u32, u32)>,
    },
    Resource {
        uri: String,
        mime: Option<String>,
        text: Option<String>,
        data: Option<Base64>,
    },
}

impl Content {
    /// Roughly what it costs to keep.
    pub fn bytes(&self) -> usize {
        match self {
            Content::Text(text) => text.len(),
            Content::Image { data, .. } => data.0.len(),
            Content::Link { uri, name, .. } => uri.len() + name.len(),
            Content::Resource { uri, text, data, .. } => {
                uri.len()
                    + text.as_ref().map_or(0, String::len)
                    + data.as_ref().map_or(0, |data| data.0.len())
            }
        }
    }
}
