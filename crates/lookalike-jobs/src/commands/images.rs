//! Which images of some files are alike? The part that `dedup` and `pairs` share: reading and
//! searching.

use anyhow::Result;
use lookalike::{How, ImageSearch, Images, ImagesFound};
use serde_json::{Value, json};

use crate::{
    args::TalkArgs,
    config::ImagesAlike,
    report::{Figure, Progress, counted, introduce, tell_notes},
    source::{self, Ids, ImageItem, Skipped},
};

/// Images that were read, and what is known of them.
pub struct ReadImages {
    pub images: Images,
    pub ids: Ids,
    /// By number; first those of the inputs, then the others.
    pub items: Vec<ImageItem>,
    /// How many of them are of the inputs.
    pub own: usize,
}

/// Images of some files, and others if there are any.
pub struct ImageSource<'a> {
    pub images: &'a mut source::Images,
    pub others: Option<&'a mut source::Images>,
    pub skipped: &'a mut Skipped,
    pub talk: TalkArgs,
    /// Called now and then, from any thread; may unwind to stop the run.
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl ImageSource<'_> {
    /// Reads everything.
    pub fn read(mut self, search: &ImageSearch) -> Result<ReadImages> {
        let others = self.others.as_ref().map(|others| others.what());
        introduce(self.talk, &self.images.what(), others);
        let progress = Progress::new(self.talk.quiet);
        let (mut all, mut items) = (Images::new(), Vec::new());
        let on_file = || {
            (self.on_beat)();
            progress.read(1);
        };
        let mut read = |images: &mut source::Images, skipped: &mut Skipped| {
            images.read(search, skipped, &on_file, &mut |item, digest| {
                items.push(item);
                Ok(all.push(digest)?)
            })
        };
        let mut ids = read(self.images, self.skipped)?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            ids = ids.followed_by(self.skipped.of_others(|skipped| read(others, skipped))?);
        }
        progress.clear();
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        tell_notes(self.talk, self.images.notes().iter().chain(others));
        Ok(ReadImages { images: all, ids, items, own })
    }
}

/// How the pairs were found, in words.
pub fn how_words(found: &ImagesFound) -> String {
    let mut words = match found.how {
        How::Exact => format!("exact, by {}", found.plan),
        How::Recall(recall) => {
            let percent = (1e4 * recall).round() / 100.0;
            format!("estimated recall {percent} % of what votes on parts accept, by {}", found.plan)
        }
    };
    if found.flat > 0 {
        words += &format!(
            "; {} too flat or too small for a fingerprint, compared by exact content",
            counted(found.flat.into(), "image")
        );
    }
    words
}

/// The share of all pairs that was found, as expected.
pub fn recall(how: How) -> Value {
    match how {
        How::Exact => json!(1.0),
        How::Recall(recall) => json!((recall * 1e4).round() / 1e4),
    }
}

/// What programs want to know of a search.
pub fn figures(found: &ImagesFound, alike: &ImagesAlike) -> Vec<Figure> {
    let silent = |name, value| Figure { name, value, words: None };
    vec![
        silent("recipe", json!(alike.recipe.to_string())),
        silent("distance", json!(alike.radius.bits())),
        silent("orientations", json!(alike.images.orientations)),
        silent("flat", json!(found.flat)),
        silent("exact", json!(found.how == How::Exact)),
        silent("recall", recall(found.how)),
    ]
}
