//! The stored form of a recipe.
//!
//! It is a JSON document of names and numbers. The corpus model is stored separately: it is large and
//! has its own format.

use std::num::NonZeroU32;
use std::sync::Arc;

use serde_json::{Value, json};

use super::Recipe;
use crate::{Width, model::Model, stop_words::StopWords};

/// All of a recipe except its model.
pub(crate) fn to_json(recipe: &Recipe) -> Value {
    let Recipe { name, features, stop_words, weights, model: _, top, hash, seed, width, version } =
        recipe;
    json!({
        "name": name,
        "features": features.to_string(),
        "stop_words": stop_words.to_json(),
        "weights": weights.to_string(),
        "top": top.map(NonZeroU32::get),
        "hash": hash.to_string(),
        "seed": seed,
        "bits": width.bits(),
        "version": version,
    })
}

/// Reads what [`to_json`] wrote; `None` if it is something else or from a later version.
pub(crate) fn from_json(value: &Value, model: Option<Model>) -> Option<Recipe> {
    let text = |name: &str| value.get(name)?.as_str();
    let number = |name: &str| value.get(name)?.as_u64();
    Some(Recipe {
        name: text("name")?.to_owned().into(),
        features: text("features")?.parse().ok()?,
        stop_words: StopWords::from_json(value.get("stop_words")?)?,
        weights: text("weights")?.parse().ok()?,
        model: model.map(Arc::new),
        top: number("top").and_then(|top| NonZeroU32::new(top.try_into().ok()?)),
        hash: text("hash")?.parse().ok()?,
        seed: number("seed")?,
        width: Width::from_bits(number("bits")?.try_into().ok()?).ok()?,
        version: number("version")?.try_into().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Preset, model::Learner};

    #[test]
    fn every_recipe_is_read_as_it_was_written() {
        let presets = Preset::ALL.iter().map(|preset| preset.recipe.clone());
        let own = Recipe {
            stop_words: StopWords::own("one\ntwo"),
            top: NonZeroU32::new(7),
            seed: u64::MAX,
            ..Preset::named("words").unwrap().recipe.clone()
        };
        for recipe in presets.chain([own]) {
            let text = to_json(&recipe).to_string();
            let read = from_json(&serde_json::from_str(&text).unwrap(), None);
            assert_eq!(read, Some(recipe));
        }
    }

    #[test]
    fn a_model_goes_beside_its_recipe() {
        let mut recipe = Preset::named("words").unwrap().recipe.clone();
        let mut learner = Learner::new(&recipe);
        learner.add("some words of some text");
        let model = learner.finish();
        recipe.model = Some(Arc::new(model.clone()));
        assert_eq!(from_json(&to_json(&recipe), Some(model)), Some(recipe));
    }

    #[test]
    fn an_unknown_document_is_refused() {
        assert_eq!(from_json(&json!({ "name": "words" }), None), None);
    }
}
