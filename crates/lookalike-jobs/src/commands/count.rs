//! `lookalike pairs --count`: the number of pairs at several thresholds, and of items that would be
//! removed. One search at the loosest threshold answers for all.

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
    report::{counted, grouped, json_line, share_value},
};

/// The thresholds; those looser than the requested one are left out.
const THRESHOLDS: [f32; 7] = [0.8, 0.85, 0.9, 0.92, 0.95, 0.97, 0.99];

/// The options of the search, at the loosest threshold.
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
    let counts: Vec<Counted> = [loosest]
        .into_iter()
        .chain(above)
        .map(|similarity| count(pairs, &order, similarity))
        .collect::<Result<_>>()?;
    let line = |Counted { similarity, pairs, removed }: &Counted| match is_json {
        true => {
            let fields = [
                ("similarity", share_value(Some(*similarity))),
                ("pairs", json!(pairs)),
                ("removed", json!(removed)),
            ];
            json_line(&fields) + "\n"
        }
        false => format!(
            "{similarity:<11}{:<15}would remove {}\n",
            counted(*pairs, "pair"),
            grouped(*removed)
        ),
    };
    Ok(counts.iter().map(line).collect())
}

fn count(pairs: &AlikePairs, order: &[u32], similarity: f32) -> Result<Counted> {
    let is_close = |pair: AlikePair| pair.closeness.similarity >= Some(similarity);
    let close = pairs.wanted(is_close)?;
    let groups = groups::star(order.len(), order, &close)?;
    let removed = groups.iter().map(|group| group.members.len() as u64).sum();
    Ok(Counted { similarity, pairs: close.count()?, removed })
}
