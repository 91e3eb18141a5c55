//! What is an item called that nobody named? By its content, so that it is known again in any file;
//! where it was read is remembered beside it, as its payload.

use lookalike::{Collection, collection::content_id};
use serde_json::{Value, json};

use crate::{report::json_line, source::Content};

/// An item without a name of its own, as it is stored.
pub struct ByContent {
    pub id: String,
    /// The input and the line or row where it stands, as JSON.
    pub payload: String,
}

impl ByContent {
    pub fn new(id: String, (file, line): (&str, Option<u64>)) -> Self {
        Self { id, payload: json_line(&[("file", json!(file)), ("line", json!(line))]) }
    }

    /// A text, or the features that stand for one.
    pub fn of_row(content: &Content<'_>, place: (&str, Option<u64>)) -> Self {
        let id = match content {
            Content::Text(text) => content_id(text.as_bytes()),
            Content::Features(features) => {
                let mut bytes = Vec::new();
                for (feature, weight) in features {
                    bytes.extend((feature.len() as u64).to_le_bytes());
                    bytes.extend(feature.as_bytes());
                    bytes.extend(weight.to_le_bytes());
                }
                content_id(&bytes)
            }
        };
        Self::new(id, place)
    }
}

/// Where a stored item was read, if it goes by its content: the fields `file` and `line`. A match
/// whose record cannot be read is one without them.
pub fn place_of(collection: &Collection, id: &str) -> Vec<(&'static str, Value)> {
    if !(id.starts_with("b3-") || id.starts_with("0x")) {
        return Vec::new();
    }
    let payload = collection.get(id).ok().flatten().and_then(|item| item.payload);
    let payload: Value = payload.and_then(|it| serde_json::from_str(&it).ok()).unwrap_or_default();
    let field = |name: &'static str| Some((name, payload.get(name)?.clone()));
    ["file", "line"].into_iter().filter_map(field).collect()
}
