//! What is a text made of? One file per answer.

mod bytes;
mod characters;
mod words;

use std::ops::Range;

pub use bytes::bytes;
pub use characters::characters;
pub use words::words;

/// Hands out every run of `size` neighbouring tokens of `text`, or all of it if there are fewer.
fn shingles(text: &str, tokens: &[Range<usize>], size: usize, mut on_feature: impl FnMut(&[u8])) {
    for run in tokens.windows(size.clamp(1, tokens.len().max(1))) {
        let (first, last) = (&run[0], &run[run.len() - 1]);
        on_feature(&text.as_bytes()[first.start..last.end]);
    }
}

#[cfg(test)]
fn collect<'a, T: ?Sized>(
    extract: impl Fn(&'a T, usize, &mut dyn FnMut(&[u8])),
    item: &'a T,
    size: usize,
) -> Vec<String> {
    let mut features = Vec::new();
    extract(item, size, &mut |feature| {
        features.push(String::from_utf8_lossy(feature).into_owned())
    });
    features
}
