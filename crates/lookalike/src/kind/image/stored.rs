//! The stored form of images of one recipe.

use serde_json::json;

use super::{super::RecipeText, ImageKind, PARTS_VERSION};
use crate::{model::Model, recipe::ImagePreset};

impl ImageKind {
    pub(super) fn to_stored(&self) -> RecipeText {
        let Self { recipe, orientations, partial, .. } = self;
        let write = |model: &std::sync::Arc<Model>| {
            let mut bytes = Vec::new();
            // Writing to memory cannot fail.
            model.write(&mut bytes).ok().map(|()| bytes)
        };
        RecipeText {
            kind: "image".to_owned(),
            digest: json!({
                "method": recipe.name(),
                "bits": recipe.width.bits(),
                "version": recipe.version,
                "orientations": orientations,
                "parts": partial.then_some(PARTS_VERSION),
            }),
            usual: json!({}),
            model: recipe.model.as_ref().and_then(write),
        }
    }

    /// Opens the stored form; `None` if it is something else.
    pub(super) fn from_stored(text: &RecipeText) -> Option<Self> {
        let field = |name: &str| text.digest.get(name);
        let preset = ImagePreset::named(field("method")?.as_str()?).ok()?;
        let mut recipe = preset.recipe.clone();
        if let Some(bytes) = &text.model {
            recipe.model = Some(Model::read(bytes.as_slice()).ok()?.into());
        }
        let kind = Self::of(preset)
            .recipe(recipe)
            .orientations(field("orientations")?.as_bool()?)
            .partial(!field("parts")?.is_null())
            .ok()?;
        // Another version of the recipe or of its parts is another kind.
        (kind.to_stored().digest == text.digest).then_some(kind)
    }
}
