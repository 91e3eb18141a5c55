//! The stored form of the kind.

use serde_json::json;

use super::{super::RecipeText, Method, VectorKind};

/// Incremented whenever the digest of the same numbers changes.
const VERSION: u32 = 1;

impl VectorKind {
    pub(super) fn to_stored(&self) -> RecipeText {
        let Self { method, dimensions } = self;
        RecipeText {
            kind: "vector".to_owned(),
            digest: json!({
                "method": method.name(),
                "version": VERSION,
                "dimensions": dimensions,
            }),
            usual: json!({}),
            model: None,
        }
    }

    /// Opens the stored form; `None` if it is something else.
    pub(super) fn from_stored(text: &RecipeText) -> Option<Self> {
        let name = text.digest.get("method")?.as_str()?;
        let method = Method::ALL.into_iter().find(|method| method.name() == name)?;
        let dimensions = match text.digest.get("dimensions")? {
            value if value.is_null() => None,
            value => Some(value.as_u64()?.try_into().ok()?),
        };
        let kind = Self { method, dimensions };
        // Another version is another kind.
        (kind.to_stored().digest == text.digest).then_some(kind)
    }
}
