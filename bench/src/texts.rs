//! Real texts in a file, separated by zero bytes; `texts.py` also writes such files.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// All texts of a file.
pub fn read(file: &Path) -> Result<Vec<String>> {
    let all = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    Ok(all.split('\0').map(String::from).collect())
}

/// Writes texts in the format of [`read`].
pub fn write(file: &Path, texts: &[String]) -> Result<()> {
    fs::write(file, texts.join("\0")).with_context(|| format!("writing {}", file.display()))
}
