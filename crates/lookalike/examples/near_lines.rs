//! Which lines of a text are nearly the same?
//!
//! ```text
//! cargo run --release -p lookalike --example near_lines < examples/texts.txt
//! ```
#![expect(clippy::print_stdout, reason = "a program that answers on standard output")]

use std::{error::Error, io};

use lookalike::{Preset, pairs::all_pairs};

fn main() -> Result<(), Box<dyn Error>> {
    let Preset { recipe, radius, .. } = Preset::named("bare")?;
    let lines = io::stdin().lines().collect::<Result<Vec<String>, _>>()?;
    // Lines without words have no fingerprint; keep those that have one beside it.
    let (lines, prints): (Vec<&str>, Vec<_>) =
        lines.iter().filter_map(|line| Some((line.as_str(), recipe.fingerprint(line)?))).unzip();
    all_pairs(&prints, *radius, |pair| {
        println!("{} bits apart:", pair.distance);
        println!("  {}\n  {}", lines[pair.a as usize], lines[pair.b as usize]);
    })?;
    Ok(())
}
