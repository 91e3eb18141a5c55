//! The figures of a search in the closing summary.

use lookalike::{Criteria, Radius, search::SearchStats, verify::Similarity};
use serde_json::{Value, json};

use crate::{
    kinds::SelectedKind,
    report::{Figure, bytes, counted, share_value},
};

/// The figures of a search that only the JSON summary has.
pub fn search_figures(
    selected: &SelectedKind,
    by: &Criteria,
    stats: &SearchStats,
    seconds: f64,
) -> Vec<Figure> {
    vec![
        hidden("recipe", json!(selected.kind.recipe())),
        hidden("alike", json!(selected.kind.words(by))),
        hidden("bits", json!(selected.kind.shape().width.bits())),
        hidden("distance", json!(by.distance.map(Radius::bits))),
        hidden("similarity", share_value(by.similarity.map(Similarity::get))),
        hidden("short", json!(stats.short)),
        hidden("empty", json!(stats.empty)),
        hidden("recall", json!((stats.recall.share() * 1e4).round() / 1e4)),
        hidden("found", json!(stats.plan)),
        hidden("verified", json!(stats.judged)),
        hidden("spilled_bytes", json!(stats.spilled)),
        hidden("search_seconds", json!((seconds * 1e3).round() / 1e3)),
    ]
}

/// A figure of the JSON summary only.
pub fn hidden(name: &'static str, value: Value) -> Figure {
    Figure { name, value, words: None }
}

/// A figure with its text.
pub fn figure(name: &'static str, value: Value, words: String) -> Figure {
    Figure { name, value, words: Some(words) }
}

/// How complete the answer is, and which items were not compared by content.
pub fn completeness(selected: &SelectedKind, stats: &SearchStats) -> String {
    let mut words = stats.how();
    let item = |count: u32| counted(count.into(), selected.kind.name());
    if stats.short > 0 {
        words +=
            &format!("; {} with too little to compare, compared by content", item(stats.short));
    }
    if stats.empty > 0 {
        words += &format!("; {} empty, never matched", item(stats.empty));
    }
    if stats.spilled > 0 {
        words += &format!("; {} in temporary files", bytes(stats.spilled));
    }
    words
}
