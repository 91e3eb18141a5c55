//! Real texts in a file, a zero byte between two; `texts.py` writes such files, too.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// All texts of a file.
pub fn read(file: &Path) -> Result<Vec<String>> {
    let all = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(all.split('\0').map(String::from).collect())
}

/// Writes texts as [`read`] wants them.
pub fn write(file: &Path, texts: &[String]) -> Result<()> {
    fs::write(file, texts.join("\0")).with_context(|| format!("writing {}", file.display()))
}
