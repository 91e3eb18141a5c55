//! One entry for each format that is read: bytes in, nothing out. `fuzz/` feeds them damaged files.
//!
//! Nothing here is promised to anyone else. Code may move behind these functions; what they reach
//! must stay: the code below every guard against panics, unless only foreign code can panic there.

use std::{
    fs::File,
    io::{Seek, SeekFrom, Write},
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use anyhow::Result;
use lookalike::{
    Model, PicturePreset, Width,
    extract::image::{Decoder, facts},
};
use tempfile::NamedTempFile;

use crate::{
    args::{Format, Kind},
    source::{Fingerprints, PrintOptions, RowOptions, Rows, Skipped},
};

/// An image of any format: its gray pixels and a fingerprint of them, its colours, and its metadata.
pub fn image(bytes: &[u8]) {
    for preset in ["pdq", "colour"] {
        let recipe = &PicturePreset::named(preset).expect("the preset exists").recipe;
        let decoder = Decoder { colour: preset == "colour", ..Decoder::default() };
        // As a file whose content leaves open what it is, and as one whose extension tells.
        for extension in [None, Some("nef")] {
            if let Ok(picture) = decoder.decode_unguarded(bytes, extension) {
                recipe.prints(&picture, false);
                facts(bytes, picture.format, (picture.width, picture.height));
            }
        }
    }
}

/// A table whose columns are separated by commas.
pub fn csv(bytes: &[u8]) {
    rows(bytes, Format::Csv, false);
}

/// A table whose columns are separated by tabs.
pub fn tsv(bytes: &[u8]) {
    rows(bytes, Format::Tsv, false);
}

/// A JSON object on each line.
pub fn jsonl(bytes: &[u8]) {
    rows(bytes, Format::Jsonl, false);
}

/// A Parquet table. The code that decodes it is not ours and may panic; no panic may leave it.
pub fn parquet(bytes: &[u8]) {
    rows(bytes, Format::Parquet, false);
}

/// A web archive, and the main text of its pages.
pub fn warc(bytes: &[u8]) {
    rows(bytes, Format::Warc, true);
}

/// A text on each line, in any encoding or compression.
pub fn lines(bytes: &[u8]) {
    rows(bytes, Format::Lines, false);
}

/// A web page.
pub fn html(bytes: &[u8]) {
    rows(bytes, Format::Text, true);
}

/// An array of fingerprints as NumPy saves it.
pub fn npy(bytes: &[u8]) {
    fingerprints(bytes);
}

/// A fingerprint on each line.
pub fn hashes(bytes: &[u8]) {
    fingerprints(bytes);
}

/// A corpus model.
pub fn model(bytes: &[u8]) {
    let _ = Model::read(bytes);
}

/// Reads rows to their end. What is refused or skipped is fine.
fn rows(bytes: &[u8], format: Format, html: bool) {
    with_file(bytes, |path| {
        let options = RowOptions {
            format: Some(format),
            field: Some("text".to_owned()),
            id: Some("id".to_owned()),
            keys: vec!["date".to_owned()],
            html,
            ..RowOptions::default()
        };
        let mut skipped = Skipped::new(true);
        Rows::open(&[path], options, &mut skipped)?.read(&mut skipped, &mut |_| Ok(()))?;
        Ok(())
    });
}

/// Reads fingerprints to their end.
fn fingerprints(bytes: &[u8]) {
    with_file(bytes, |path| {
        let mut skipped = Skipped::new(true);
        let options = PrintOptions { kind: Some(Kind::Hash), ..PrintOptions::default() };
        let mut prints = Fingerprints::open(&[path], &options, &mut skipped)?;
        match prints.width {
            Width::Bits32 | Width::Bits64 => prints.read::<1>(&mut skipped, &mut |_| Ok(()))?,
            Width::Bits128 => prints.read::<2>(&mut skipped, &mut |_| Ok(()))?,
            Width::Bits256 => prints.read::<4>(&mut skipped, &mut |_| Ok(()))?,
        };
        Ok(())
    });
}

/// The file that inputs are read from: one for all, because a run is shorter than making a file.
static INPUT: Mutex<Option<NamedTempFile>> = Mutex::new(None);

/// Inputs come from files, so bytes become one. An error is an answer; what is wanted is no panic.
fn with_file(bytes: &[u8], read: impl FnOnce(PathBuf) -> Result<()>) {
    let mut input = INPUT.lock().unwrap_or_else(PoisonError::into_inner);
    let path = written(&mut input, bytes).expect("the temporary folder can be written to");
    let _ = read(path);
}

fn written(input: &mut Option<NamedTempFile>, bytes: &[u8]) -> std::io::Result<PathBuf> {
    if input.is_none() {
        *input = Some(NamedTempFile::new()?);
    }
    let Some(input) = input else { unreachable!("it was just made") };
    let file: &mut File = input.as_file_mut();
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    Ok(input.path().to_owned())
}
