//! Which pictures of some files are alike? The part that `dedup` and `pairs` share: reading and
//! searching.

use anyhow::Result;
use lookalike::{How, PictureSearch, Pictures, PicturesFound};
use serde_json::{Value, json};

use crate::{
    args::TalkArgs,
    config::PicturesAlike,
    report::{Figure, Progress, counted, introduce, tell_notes},
    source::{self, Ids, PictureItem, Skipped},
};

/// Pictures that were read, and what is known of them.
pub struct ReadPictures {
    pub pictures: Pictures,
    pub ids: Ids,
    /// By number; first those of the inputs, then the others.
    pub items: Vec<PictureItem>,
    /// How many of them are of the inputs.
    pub own: usize,
}

/// Pictures of some files, and others if there are any.
pub struct PictureSource<'a> {
    pub pictures: &'a mut source::Pictures,
    pub others: Option<&'a mut source::Pictures>,
    pub skipped: &'a mut Skipped,
    pub talk: TalkArgs,
    /// Called now and then, from any thread; may unwind to stop the run.
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl PictureSource<'_> {
    /// Reads everything.
    pub fn read(mut self, search: &PictureSearch) -> Result<ReadPictures> {
        let others = self.others.as_ref().map(|others| others.what());
        introduce(self.talk, &self.pictures.what(), others);
        let progress = Progress::new(self.talk.quiet);
        let (mut all, mut items) = (Pictures::new(), Vec::new());
        let on_file = || {
            (self.on_beat)();
            progress.read(1);
        };
        let mut read = |pictures: &mut source::Pictures, skipped: &mut Skipped| {
            pictures.read(search, skipped, &on_file, &mut |item, digest| {
                items.push(item);
                Ok(all.push(digest)?)
            })
        };
        let mut ids = read(self.pictures, self.skipped)?;
        let own = ids.len() as usize;
        if let Some(others) = self.others.as_deref_mut() {
            ids = ids.followed_by(self.skipped.of_others(|skipped| read(others, skipped))?);
        }
        progress.clear();
        let others = self.others.as_ref().map_or(&[][..], |others| others.notes());
        tell_notes(self.talk, self.pictures.notes().iter().chain(others));
        Ok(ReadPictures { pictures: all, ids, items, own })
    }
}

/// How the pairs were found, in words.
pub fn how_words(found: &PicturesFound) -> String {
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
            counted(found.flat.into(), "picture")
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
pub fn figures(found: &PicturesFound, alike: &PicturesAlike) -> Vec<Figure> {
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
