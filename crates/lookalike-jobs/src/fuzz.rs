//! One entry point per input format: bytes in, nothing out. `fuzz/` calls them with damaged files.
//!
//! Not a stable interface. The entry points call the code below the guards against panics, except
//! where only third-party code can panic.

use lookalike::{
    Width,
    extract::image::{Decoder, Limits, facts},
    model::Model,
    recipe::ImagePreset,
};

use crate::{
    args::Format,
    source::{Fingerprints, RowOptions, Rows, Skipped, Vectors},
};

/// An image of any format: its gray pixels and their fingerprint, its colours, and its metadata.
pub fn image(bytes: &[u8]) {
    gray_image(bytes);
    decoded_for("colour", None, bytes);
}

/// An image decoded without colours.
pub fn gray_image(bytes: &[u8]) {
    decoded_for("pdq", None, bytes);
}

/// A RAW file that only its extension identifies.
pub fn raw_image(bytes: &[u8]) {
    decoded_for("pdq", Some("nef"), bytes);
}

/// The largest image that a slow machine decodes in less than a second; a valid small file can hold
/// many more pixels. [`image`] decodes everything twice.
const LIMITS: Limits = Limits { pixels: 1 << 23, bytes: 512 << 20 };

fn decoded_for(preset: &str, extension: Option<&str>, bytes: &[u8]) {
    let recipe = &ImagePreset::named(preset).expect("the preset exists").recipe;
    let decoder = Decoder { limits: LIMITS, colour: preset == "colour", frames: true };
    if let Ok(image) = decoder.decode_unguarded(bytes, extension) {
        recipe.prints(&image, false);
        facts(bytes, image.format, (image.width, image.height));
    }
}

/// A table of comma-separated values.
pub fn csv(bytes: &[u8]) {
    rows(bytes, Format::Csv, false);
}

/// A table of tab-separated values.
pub fn tsv(bytes: &[u8]) {
    rows(bytes, Format::Tsv, false);
}

/// A JSON object on each line.
pub fn jsonl(bytes: &[u8]) {
    rows(bytes, Format::Jsonl, false);
}

/// A Parquet table. Its third-party decoder may panic; the panic must not escape.
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

/// A NumPy array of fingerprints or of vectors.
pub fn npy(bytes: &[u8]) {
    fingerprints(bytes);
    let options = RowOptions { vectors: Some(Vectors::default()), ..RowOptions::default() };
    let mut skipped = Skipped::unless(false);
    if let Ok(mut rows) = Rows::of_bytes(bytes, Format::Npy, options) {
        let _ = rows.read(&mut skipped, &mut |_| Ok(()));
    }
}

/// A fingerprint on each line.
pub fn hashes(bytes: &[u8]) {
    fingerprints(bytes);
}

/// A corpus model.
pub fn model(bytes: &[u8]) {
    let _ = Model::read(bytes);
}

/// Reads all rows. Rejecting or skipping them is fine.
fn rows(bytes: &[u8], format: Format, html: bool) {
    let options = RowOptions {
        field: Some("text".to_owned()),
        id: Some("id".to_owned()),
        keys: vec!["date".to_owned()],
        html,
        ..RowOptions::default()
    };
    let mut skipped = Skipped::unless(false);
    if let Ok(mut rows) = Rows::of_bytes(bytes, format, options) {
        let _ = rows.read(&mut skipped, &mut |_| Ok(()));
    }
}

/// Reads all fingerprints.
fn fingerprints(bytes: &[u8]) {
    let mut skipped = Skipped::unless(false);
    let Ok(mut prints) = Fingerprints::of_bytes(bytes, &mut skipped) else { return };
    let _ = match prints.width {
        Width::Bits32 | Width::Bits64 => prints.read::<1>(&mut skipped, &mut |_| Ok(())),
        Width::Bits128 => prints.read::<2>(&mut skipped, &mut |_| Ok(())),
        Width::Bits256 => prints.read::<4>(&mut skipped, &mut |_| Ok(())),
    };
}
