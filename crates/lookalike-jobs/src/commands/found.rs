//! What is to be said of a search, whatever the items are.

use lookalike::{Criteria, Radius, search::SearchStats, verify::Similarity};
use serde_json::{Value, json};

use crate::{
    kinds::Chosen,
    report::{Figure, bytes, counted},
};

/// What programs want to know of a search.
pub fn search_figures(
    chosen: &Chosen,
    by: &Criteria,
    found: &SearchStats,
    seconds: f64,
) -> Vec<Figure> {
    vec![
        silent("recipe", json!(chosen.kind.recipe())),
        silent("alike", json!(chosen.kind.words(by))),
        silent("bits", json!(chosen.kind.shape().width.bits())),
        silent("distance", json!(by.distance.map(Radius::bits))),
        silent("similarity", json!(by.similarity.map(Similarity::get))),
        silent("short", json!(found.short)),
        silent("empty", json!(found.empty)),
        silent("recall", json!((found.recall.share() * 1e4).round() / 1e4)),
        silent("found", json!(found.plan)),
        silent("verified", json!(found.judged)),
        silent("spilled_bytes", json!(found.spilled)),
        silent("search_seconds", json!((seconds * 1e3).round() / 1e3)),
    ]
}

/// A figure that people are not shown.
pub fn silent(name: &'static str, value: Value) -> Figure {
    Figure { name, value, words: None }
}

/// A figure and how people read it.
pub fn figure(name: &'static str, value: Value, words: String) -> Figure {
    Figure { name, value, words: Some(words) }
}

/// Whether anything may be missing, and what was not compared, in words.
pub fn how_words(chosen: &Chosen, found: &SearchStats) -> String {
    let mut words = found.how();
    let item = |count: u32| counted(count.into(), chosen.kind.name());
    if found.short > 0 {
        words +=
            &format!("; {} with too little to compare, compared by content", item(found.short));
    }
    if found.empty > 0 {
        words += &format!("; {} empty, never matched", item(found.empty));
    }
    if found.spilled > 0 {
        words += &format!("; {} in temporary files", bytes(found.spilled));
    }
    words
}
