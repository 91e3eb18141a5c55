//! Which pictures of some files are alike? The part that `dedup` and `pairs` share: reading and
//! searching.

use std::ops::ControlFlow;

use anyhow::Result;
use lookalike::{How, PicturePairs};
use serde_json::{Value, json};

use crate::{
    args::TalkArgs,
    config::{PicturesAlike, Work},
    report::{Figure, Progress, counted, introduce, tell_notes},
    source::{Ids, PictureItem, Pictures, Skipped},
};

/// What was found among pictures, and what is known of them.
pub struct SearchedPictures {
    pub found: PicturePairs,
    pub ids: Ids,
    /// By number; first those of the inputs, then the others.
    pub items: Vec<PictureItem>,
    /// How many of them are of the inputs.
    pub own: usize,
}

/// A search over pictures, and over other pictures if there are any.
pub struct PictureSource<'a> {
    pub pictures: &'a mut Pictures,
    pub others: Option<&'a mut Pictures>,
    pub skipped: &'a mut Skipped,
    pub talk: TalkArgs,
    /// Called now and then, from any thread; may unwind to stop the run.
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl PictureSource<'_> {
    /// Reads everything and finds what is alike.
    pub fn search(mut self, alike: &PicturesAlike, work: &Work) -> Result<SearchedPictures> {
        let others = self.others.as_ref().map(|others| others.what());
        introduce(self.talk, &self.pictures.what(), others);
        let progress = Progress::new(self.talk.quiet);
        let on_progress = |part| {
            (self.on_beat)();
            progress.searched(part);
            ControlFlow::Continue(())
        };
        let search = alike.search(work, &on_progress);
        let mut collector = search.collector();
        let mut items = Vec::new();
        let on_file = || {
            (self.on_beat)();
            progress.read(1);
        };
        let mut read = |pictures: &mut Pictures, skipped: &mut Skipped| {
            pictures.read(&search, skipped, &on_file, &mut |item, digest| {
                items.push(item);
                Ok(collector.push(digest)?)
            })
        };
        let mut ids = read(self.pictures, self.skipped)?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            ids = ids.followed_by(self.skipped.of_others(|skipped| read(others, skipped))?);
        }
        let found = collector.finish()?;
        progress.clear();
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        tell_notes(self.talk, self.pictures.notes().iter().chain(others));
        Ok(SearchedPictures { found, ids, items, own })
    }
}

/// How the pairs were found, in words.
pub fn how_words(found: &PicturePairs) -> String {
    let mut words = match found.how {
        How::Exact => format!("exact, by {}", found.plan),
        How::Recall(recall) => {
            format!("{:.1} % of all, as expected of {}", 100.0 * recall, found.plan)
        }
        How::Unstated => format!("approximate, by {}", found.plan),
    };
    if found.flat > 0 {
        words += &format!(
            "; {} too flat or too small for a fingerprint, compared by exact content",
            counted(found.flat.into(), "picture")
        );
    }
    words
}

/// The share of all pairs that was found, as expected; null if nobody can say.
pub fn recall(how: How) -> Value {
    match how {
        How::Exact => json!(1.0),
        How::Recall(recall) => json!((recall * 1e4).round() / 1e4),
        How::Unstated => Value::Null,
    }
}

/// What programs want to know of a search.
pub fn figures(found: &PicturePairs, alike: &PicturesAlike) -> Vec<Figure> {
    let silent = |name, value| Figure { name, value, words: None };
    vec![
        silent("recipe", json!(alike.recipe.to_string())),
        silent("distance", json!(alike.radius.bits())),
        silent("orientations", json!(alike.pictures.orientations)),
        silent("flat", json!(found.flat)),
        silent("exact", json!(found.how == How::Exact)),
        silent("recall", recall(found.how)),
    ]
}
