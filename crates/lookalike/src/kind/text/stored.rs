//! The stored form of texts of one recipe.

use serde_json::{Value, json};

use super::{super::RecipeText, TextKind};
use crate::{
    Radius,
    model::Model,
    recipe::stored,
    verify::{Measure, Similarity, Verify},
};

impl TextKind {
    pub(super) fn to_stored(&self) -> RecipeText {
        let Self { recipe, verify, radius } = self;
        let compared = verify.map(|verify| {
            json!({ "features": verify.features.to_string(), "measure": verify.measure.name() })
        });
        let similarity = verify.map(|verify| verify.similarity.get());
        let write = |model: &std::sync::Arc<Model>| {
            let mut bytes = Vec::new();
            // Writing to memory cannot fail.
            model.write(&mut bytes).ok().map(|()| bytes)
        };
        RecipeText {
            kind: "text".to_owned(),
            digest: json!({ "recipe": stored::to_json(recipe), "compared": compared }),
            usual: json!({ "similarity": similarity, "distance": radius.bits() }),
            model: recipe.model.as_ref().and_then(write),
        }
    }

    /// Opens the stored form; `None` if it is something else.
    pub(super) fn from_stored(text: &RecipeText) -> Option<Self> {
        let RecipeText { digest, usual, model, .. } = text;
        let model = match model {
            Some(bytes) => Some(Model::read(bytes.as_slice()).ok()?),
            None => None,
        };
        let recipe = stored::from_json(digest.get("recipe")?, model)?;
        let verify = match digest.get("compared")? {
            Value::Null => None,
            compared => Some(Verify {
                features: compared.get("features")?.as_str()?.parse().ok()?,
                measure: compared.get("measure")?.as_str()?.parse::<Measure>().ok()?,
                similarity: Similarity::new(usual.get("similarity")?.as_f64()? as f32)?,
            }),
        };
        let radius = Radius::new(usual.get("distance")?.as_u64()?.try_into().ok()?);
        Self::new(recipe, verify, radius).ok()
    }
}
