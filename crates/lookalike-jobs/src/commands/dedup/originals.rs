//! Which images must stay, whatever the keep rule says? A RAW file never goes for one that is none,
//! and a RAW file and the JPEG that the camera made beside it have nothing to do with each other.

use std::{collections::HashSet, path::Path};

use anyhow::Result;
use lookalike::{
    extract::image::ImageFormat,
    groups::{Group, Groups},
    search::AlikePairs,
};

use super::{Both, Others};
use crate::{
    report::{counted, id_text},
    source::Ids,
};

/// What is known of each image, by number.
pub struct Originals {
    images: Vec<Image>,
}

struct Image {
    is_raw: bool,
    /// Its path without the extension, in lower case: a RAW file and its JPEG share it.
    stem: String,
}

/// What was left out of groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spared {
    /// RAW files that are alike an image that is none, which comes before them in keep order.
    pub raw: u64,
    /// RAW files with an image of the same name beside them.
    pub beside: u64,
}

impl Originals {
    /// Of files that were read, those of the inputs first; nothing if items are no files. Of those in a
    /// collection, only names are known.
    pub fn of(both: &Both, ids: &Ids, own: usize) -> Option<Self> {
        let known = both.own.file_items().iter();
        let others = match &both.others {
            Some(Others::Inputs(others)) => others.file_items(),
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

    /// The pairs by which images may be grouped, if they are kept in this order.
    pub fn groupable(&self, pairs: &AlikePairs, order: &[u32]) -> Result<(AlikePairs, Spared)> {
        let mut rank = vec![u32::MAX; self.images.len()];
        for (now, &item) in (0..).zip(order) {
            rank[item as usize] = now;
        }
        let first = |items: &[u32]| items.iter().map(|&item| rank[item as usize]).min();
        let (mut raw, mut beside) = (HashSet::new(), HashSet::new());
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
                beside.extend(twins);
                return false;
            }
            let goes = first(rendered) < first(raws);
            if goes {
                raw.extend(raws);
            }
            !goes
        })?;
        raw.retain(|item| !beside.contains(item));
        Ok((groupable, Spared { raw: raw.len() as u64, beside: beside.len() as u64 }))
    }

    /// Takes out of groups what chains brought there.
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
    /// What stays, and why; nothing if nothing was left out.
    pub fn words(self) -> Option<String> {
        let Self { raw, beside } = self;
        let files = |number| counted(number, "RAW file");
        let words: Vec<_> = [
            (beside, format!("{} and the image of the same name beside it", files(beside))),
            (raw, format!("{}, though alike a kept image that is not RAW", files(raw))),
        ]
        .into_iter()
        .filter_map(|(number, words)| (number > 0).then_some(words))
        .collect();
        (!words.is_empty()).then(|| format!("{} stay", words.join("; ")))
    }
}
