//! `lookalike recipes`: which presets are there, and what is each good for?

use std::process::ExitCode;

use anyhow::Result;
use lookalike::Preset;

use crate::report::Output;

pub fn run() -> Result<ExitCode> {
    let mut table =
        row(["NAME", "BITS", "DISTANCE", "FEATURES", "WEIGHTS", "HASH", "WHAT FOR"]
            .map(str::to_owned));
    for Preset { recipe, radius, description, .. } in Preset::ALL {
        table += &row([
            recipe.name.to_string(),
            recipe.width.bits().to_string(),
            radius.to_string(),
            recipe.features.to_string(),
            recipe.weights.to_string(),
            recipe.hash.to_string(),
            (*description).to_owned(),
        ]);
    }
    Output::print(&table)?;
    Ok(ExitCode::SUCCESS)
}

fn row([name, bits, distance, features, weights, hash, description]: [String; 7]) -> String {
    format!(
        "{name:<10} {bits:>4} {distance:>8}  {features:<8} {weights:<7} {hash:<5} {description}\n"
    )
}
