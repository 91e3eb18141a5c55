//! Protects RAW files, whatever the keep rule: a RAW file is never removed in favour of another
//! format, and a RAW file and the JPEG of the same name are never grouped.

use std::{collections::HashSet, path::Path};

use anyhow::Result;
use lookalike::{
    extract::image::ImageFormat,
    groups::{Group, Groups},
    search::AlikePairs,
};

use super::{AgainstSet, DedupInputs};
use crate::{
    report::{counted, id_text},
    source::Ids,
};

/// Which images are RAW files, and their names.
pub struct RawFiles {
    images: Vec<Image>,
}

struct Image {
    is_raw: bool,
    /// The path without extension, in lower case: a RAW file and its JPEG share it.
    stem: String,
}

/// The number of RAW files left out of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    /// RAW files that match an image of another format that precedes them in keep order.
    pub raw: u64,
    /// RAW files that match an image of the same name in the same folder.
    pub paired: u64,
}

impl RawFiles {
    /// The files that were read, those of the inputs first; none if items are not files. Of images
    /// in a collection, only the names are known.
    pub fn of(inputs: &DedupInputs, ids: &Ids, own: usize) -> Option<Self> {
        let known = inputs.own.file_items().iter();
        let others = match &inputs.others {
            Some(AgainstSet::Inputs(others)) => others.file_items(),
            _ => &[],
        };
        let known = known.chain(others).map(|item| Image::new(item.facts.is_raw(), &item.path));
        let mut images: Vec<_> = known.collect();
        if images.is_empty() {
            return None;
        }
        for item in images.len().max(own)..ids.len_of_all() {
            let name = id_text(ids.at(item as u32)).into_owned();
            let path = Path::new(&name);
            let extension = path.extension().and_then(|extension| extension.to_str());
            let format = extension.and_then(ImageFormat::raw_of_extension);
            images.push(Image::new(format.is_some(), path));
        }
        Some(Self { images })
    }

    /// Whether any of them is a RAW file.
    pub fn have_raw(&self) -> bool {
        self.images.iter().any(|image| image.is_raw)
    }

    /// The pairs that may form groups, if items are kept in this order.
    pub fn groupable(&self, pairs: &AlikePairs, order: &[u32]) -> Result<(AlikePairs, Spared)> {
        let mut rank = vec![u32::MAX; self.images.len()];
        for (now, &item) in (0..).zip(order) {
            rank[item as usize] = now;
        }
        let first = |items: &[u32]| items.iter().map(|&item| rank[item as usize]).min();
        let (mut raw, mut paired) = (HashSet::new(), HashSet::new());
        let groupable = pairs.wanted(|pair| {
            // Equal items share the pairs of the first of them.
            let [ones, others] = [pairs.equals(&pair.a), pairs.equals(&pair.b)];
            let (raws, rendered) = match [pair.a, pair.b].map(|item| self.is_raw(item)) {
                [true, false] => (ones, others),
                [false, true] => (others, ones),
                _ => return true,
            };
            let stem = |item: &u32| &self.images[*item as usize].stem;
            let stems: HashSet<_> = rendered.iter().map(stem).collect();
            let twins = raws.iter().copied().filter(|item| stems.contains(stem(item)));
            let twins: Vec<u32> = twins.collect();
            if !twins.is_empty() {
                paired.extend(twins);
                return false;
            }
            let would_remove = first(rendered) < first(raws);
            if would_remove {
                raw.extend(raws);
            }
            !would_remove
        })?;
        raw.retain(|item| !paired.contains(item));
        Ok((groupable, Spared { raw: raw.len() as u64, paired: paired.len() as u64 }))
    }

    /// Takes RAW files out of groups that chains put them in.
    pub fn spare(&self, groups: &mut Groups) {
        for Group { keep, members } in groups.iter_mut() {
            let keep = *keep;
            members.retain(|member| {
                let is_lost = self.is_raw(member.item) && !self.is_raw(keep);
                !is_lost && !self.are_twins(member.item, keep)
            });
        }
        groups.retain(|group| !group.members.is_empty());
    }

    fn is_raw(&self, item: u32) -> bool {
        self.images[item as usize].is_raw
    }

    /// Whether one is a RAW file and the other is not, with the same name in the same folder.
    fn are_twins(&self, one: u32, other: u32) -> bool {
        let [one, other] = [one, other].map(|item| &self.images[item as usize]);
        one.is_raw != other.is_raw && one.stem == other.stem
    }
}

impl Image {
    fn new(is_raw: bool, path: &Path) -> Self {
        let stem = path.with_extension("");
        Self { is_raw, stem: stem.to_string_lossy().to_lowercase() }
    }
}

impl Spared {
    /// Which RAW files stay, and why; none if none was spared.
    pub fn words(self) -> Option<String> {
        let Self { raw, paired } = self;
        let stay = |files: u64| {
            format!("{} {}", counted(files, "RAW file"), if files == 1 { "stays" } else { "stay" })
        };
        let words: Vec<_> = [
            (paired, format!("{} beside the image of the same name", stay(paired))),
            (raw, format!("{} despite a kept match in another format", stay(raw))),
        ]
        .into_iter()
        .filter_map(|(number, words)| (number > 0).then_some(words))
        .collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}
