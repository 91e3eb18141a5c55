//! Real texts, in a file that `texts.py` wrote.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// All texts of a file.
pub fn read(file: &Path) -> Result<Vec<String>> {
    let all = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(all.split('\0').map(String::from).collect())
}
