//! `lookalike pairs --count`: how many pairs are there at several thresholds, and how many items would be
//! removed? One search at the loosest threshold answers for all.

use anyhow::{Result, ensure};
use lookalike::{
    groups,
    kind::Registration,
    search::{AlikePair, AlikePairs},
    verify::Similarity,
};
use serde_json::json;

use crate::{
    args::VerifyArgs,
    report::{counted, grouped, json_line},
};

/// The thresholds, as far as they are not looser than what was asked for.
const THRESHOLDS: [f32; 7] = [0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.99];

/// What is searched for: everything from the loosest threshold on.
pub fn loosest(verify: VerifyArgs, kind: &Registration) -> Result<VerifyArgs> {
    ensure!(
        kind.options.contains(&"count"),
        "--count does not apply to {}; it counts pairs of vectors",
        kind.items
    );
    let similarity = verify.similarity.or(Similarity::new(THRESHOLDS[0]));
    Ok(VerifyArgs { similarity, level: None, ..verify })
}

/// Pairs and removed items at one threshold.
struct Counted {
    similarity: f32,
    pairs: u64,
    removed: u64,
}

/// The counts at each threshold, as text or JSON lines.
pub fn table(pairs: &AlikePairs, items: u32, loosest: f32, is_json: bool) -> Result<String> {
    let order: Vec<u32> = (0..items).collect();
    let above = THRESHOLDS.into_iter().filter(|&threshold| threshold > loosest);
    let counted: Vec<Counted> = [loosest]
        .into_iter()
        .chain(above)
        .map(|similarity| count(pairs, &order, similarity))
        .collect::<Result<_>>()?;
    let line = |Counted { similarity, pairs, removed }: &Counted| match is_json {
        true => {
            let fields = [
                ("similarity", json!(similarity)),
                ("pairs", json!(pairs)),
                ("removed", json!(removed)),
            ];
            json_line(&fields) + "\n"
        }
        false => format!(
            "{similarity:<11}{:<15}would remove {}\n",
            counted_pairs(*pairs),
            grouped(*removed)
        ),
    };
    Ok(counted.iter().map(line).collect())
}

fn counted_pairs(pairs: u64) -> String {
    counted(pairs, "pair")
}

fn count(pairs: &AlikePairs, order: &[u32], similarity: f32) -> Result<Counted> {
    let is_close = |pair: AlikePair| pair.closeness.similarity >= Some(similarity);
    let close = pairs.wanted(is_close)?;
    let groups = groups::star(order.len(), order, &close)?;
    let removed = groups.iter().map(|group| group.members.len() as u64).sum();
    Ok(Counted { similarity, pairs: close.count()?, removed })
}
