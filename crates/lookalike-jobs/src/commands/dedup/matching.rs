//! Which items go, and which stay though they are alike? Asks items that were read, first at the level
//! at which items are removed, then at that at which pairs are listed.

use anyhow::Result;
use lookalike::{
    AlikePairs, ImageGroups, ImagePairs, ImageSearch, Images, ImagesFound, LostWords, PairsError,
    Resources, Similarity, TextFound, TextGroups, TextPairs, Texts, groups::Groups,
};

use super::{
    super::{FindPairs, search},
    Preference,
    decide::group_pairs,
    originals::{Originals, Spared},
};
use crate::{
    args::{DedupArgs, Grouping},
    config::{Alike, Work},
};

/// Items of one kind that were read. They are asked at the level at which items are removed.
pub trait Alikes: Send + Sync + Sized + 'static {
    /// How something was found.
    type Found: Send;

    /// Whether pairs are listed that are less alike than items that are removed.
    fn looks_further(&self) -> bool;

    /// From now on, asks for all that is listed.
    fn look(&mut self);

    fn pairs(&self, with: &Resources<'_>) -> Result<(AlikePairs, Self::Found), PairsError>;

    /// Groups around keepers, which are taken in `order`.
    fn stars(
        &self,
        order: &[u32],
        with: &Resources<'_>,
    ) -> Result<(Groups, Self::Found), PairsError>;

    /// Groups of the first `own` items around the others.
    fn against(
        &self,
        own: usize,
        with: &Resources<'_>,
    ) -> Result<(Groups, Self::Found), PairsError>;

    /// How many words are lost, where words are compared.
    fn lost_words(
        &self,
        _is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        Ok(None)
    }
}

/// Texts that were read.
pub struct TextAlikes {
    texts: Texts,
    /// A similarity that pairs are listed at, but no text is removed at.
    looking: Option<Similarity>,
}

impl TextAlikes {
    /// `texts` were collected for the likeness at which they are removed.
    pub fn new(texts: Texts, acting: &Alike, looking: &Alike) -> Self {
        let [acting, looking] =
            [acting, looking].map(|alike| alike.likeness.verify.map(|verify| verify.similarity));
        Self { texts, looking: looking.filter(|looking| Some(*looking) < acting) }
    }
}

impl Alikes for TextAlikes {
    type Found = TextFound;

    fn looks_further(&self) -> bool {
        self.looking.is_some()
    }

    fn look(&mut self) {
        let texts = &mut self.texts;
        self.looking.take().into_iter().for_each(|looking| texts.set_similarity(looking));
    }

    fn pairs(&self, with: &Resources<'_>) -> Result<(AlikePairs, TextFound), PairsError> {
        let TextPairs { pairs, found, .. } = self.texts.pairs(with)?;
        Ok((pairs, found))
    }

    fn stars(
        &self,
        order: &[u32],
        with: &Resources<'_>,
    ) -> Result<(Groups, TextFound), PairsError> {
        let TextGroups { groups, found, .. } = self.texts.stars(order, with)?;
        Ok((groups, found))
    }

    fn against(&self, own: usize, with: &Resources<'_>) -> Result<(Groups, TextFound), PairsError> {
        let TextGroups { groups, found, .. } = self.texts.against(own, with)?;
        Ok((groups, found))
    }

    fn lost_words(
        &self,
        is_removed: &(dyn Fn(u32) -> bool + Sync),
    ) -> Result<Option<LostWords>, PairsError> {
        self.texts.lost_words(is_removed)
    }
}

/// Images that were read.
pub struct ImageAlikes {
    images: Images,
    asked: ImageSearch,
    /// What pairs are listed by, if more of them are listed than images are removed.
    looking: Option<ImageSearch>,
}

impl ImageAlikes {
    pub fn new(images: Images, acting: ImageSearch, looking: Option<ImageSearch>) -> Self {
        Self { images, asked: acting, looking }
    }
}

impl Alikes for ImageAlikes {
    type Found = ImagesFound;

    fn looks_further(&self) -> bool {
        self.looking.is_some()
    }

    fn look(&mut self) {
        if let Some(looking) = self.looking.take() {
            self.asked = looking;
        }
    }

    fn pairs(&self, with: &Resources<'_>) -> Result<(AlikePairs, ImagesFound), PairsError> {
        let ImagePairs { pairs, found, .. } = self.images.pairs(&self.asked, with)?;
        Ok((pairs, found))
    }

    fn stars(
        &self,
        order: &[u32],
        with: &Resources<'_>,
    ) -> Result<(Groups, ImagesFound), PairsError> {
        let ImageGroups { groups, found, .. } = self.images.stars(&self.asked, order, with)?;
        Ok((groups, found))
    }

    fn against(
        &self,
        own: usize,
        with: &Resources<'_>,
    ) -> Result<(Groups, ImagesFound), PairsError> {
        let ImageGroups { groups, found, .. } = self.images.against(&self.asked, own, with)?;
        Ok((groups, found))
    }
}

/// Groups at the level at which items are removed, and what else is known.
pub struct Grouped {
    pub groups: Groups,
    /// What was left out of them.
    pub spared: Spared,
    /// Items that stay, around a kept one that they are less alike; if that was asked for.
    pub looser: Option<Groups>,
    /// How many words are lost, where words are compared.
    pub lost: Option<LostWords>,
    /// All pairs, with `--against` those that cross over; or how to find them.
    pub pairs: Result<AlikePairs, FindPairs>,
}

impl Grouped {
    /// Groups alone.
    pub fn new(groups: Groups, find: FindPairs) -> Self {
        Self { groups, spared: Spared::default(), looser: None, lost: None, pairs: Err(find) }
    }
}

/// What was decided, and how.
struct Decided<F> {
    /// All pairs that count, if they were listed.
    pairs: Option<AlikePairs>,
    groups: Groups,
    spared: Spared,
    found: F,
    seconds: f64,
}

/// What is asked of items.
pub struct Matching<'a> {
    /// How many items can go; the others follow.
    pub own: usize,
    pub items: usize,
    pub preference: &'a Preference,
    /// Which images must stay.
    pub originals: Option<&'a Originals>,
    pub args: &'a DedupArgs,
    pub work: &'a Work,
    pub on_beat: &'a (dyn Fn() + Sync),
}

impl Matching<'_> {
    /// Decides, then looks further if that was asked for. Also returns how the groups were found, and
    /// the seconds it all took.
    pub fn run<A: Alikes>(&self, mut alikes: A) -> Result<(Grouped, A::Found, f64)> {
        let Decided { mut pairs, groups, spared, mut found, mut seconds } = self.decide(&alikes)?;
        let is_removed = flags(self.items, &groups);
        let lost = alikes.lost_words(&|item| is_removed[item as usize])?;
        let mut looser = None;
        if alikes.looks_further() {
            pairs = None;
            alikes.look();
            if self.is_looked_at() {
                let (groups, more) = self.look(&alikes, &is_removed)?;
                (looser, seconds) = (Some(groups), seconds + more);
            }
        }
        if self.args.pairs.is_some() && pairs.is_none() {
            let ((all, how), more) = self.search(|with| alikes.pairs(with))?;
            // What is said of the run holds for the loosest list of it.
            (pairs, found, seconds) = (Some(self.that_count(all)?), how, seconds + more);
        }
        let pairs = pairs.ok_or_else(|| find_pairs(alikes));
        Ok((Grouped { groups, spared, looser, lost, pairs }, found, seconds))
    }

    fn is_looked_at(&self) -> bool {
        self.args.pairs.is_some() || self.args.report.is_some()
    }

    /// With `--against`, the pairs that cross over.
    fn that_count(&self, pairs: AlikePairs) -> Result<AlikePairs> {
        Ok(if self.args.against.is_some() { pairs.crossing(self.own)? } else { pairs })
    }

    /// Who goes, and for whom; with the pairs, if they decide: chains of them, or those of RAW files.
    fn decide<A: Alikes>(&self, alikes: &A) -> Result<Decided<A::Found>> {
        let is_against = self.args.against.is_some();
        let order: Vec<u32> = match is_against {
            true => (self.own as u32..self.items as u32).chain(0..self.own as u32).collect(),
            false => self.preference.order()?,
        };
        let by_pairs = self.args.group == Grouping::Connected
            || self.originals.is_some_and(Originals::have_raw);
        if by_pairs {
            let ((pairs, found), seconds) = self.search(|with| alikes.pairs(with))?;
            let pairs = self.that_count(pairs)?;
            let (groups, spared) = group_pairs(&order, &pairs, self.args.group, self.originals)?;
            return Ok(Decided { pairs: Some(pairs), groups, spared, found, seconds });
        }
        let ((groups, found), seconds) = self.search(|with| match is_against {
            true => alikes.against(self.own, with),
            false => alikes.stars(&order, with),
        })?;
        Ok(Decided { pairs: None, groups, spared: Spared::default(), found, seconds })
    }

    /// What stays beside a keeper that it is less alike.
    fn look<A: Alikes>(&self, alikes: &A, is_removed: &[bool]) -> Result<(Groups, f64)> {
        let stays = |item: &u32| !is_removed[*item as usize];
        let ((mut groups, _), seconds) = if self.args.against.is_some() {
            self.search(|with| alikes.against(self.own, with))?
        } else {
            let order: Vec<u32> = self.preference.order()?.into_iter().filter(stays).collect();
            self.search(|with| alikes.stars(&order, with))?
        };
        groups.iter_mut().for_each(|group| group.members.retain(|member| stays(&member.item)));
        groups.retain(|group| !group.members.is_empty());
        self.originals.iter().for_each(|originals| originals.spare(&mut groups));
        Ok((groups, seconds))
    }

    fn search<T>(
        &self,
        run: impl FnOnce(&Resources<'_>) -> Result<T, PairsError>,
    ) -> Result<(T, f64)> {
        search(self.work, self.args.talk, self.on_beat, run)
    }
}

fn find_pairs<A: Alikes>(alikes: A) -> FindPairs {
    Box::new(move |with| Ok(alikes.pairs(with)?.0))
}

/// Which items go.
fn flags(items: usize, groups: &Groups) -> Vec<bool> {
    let mut flags = vec![false; items];
    let members = groups.iter().flat_map(|group| &group.members);
    members.for_each(|member| flags[member.item as usize] = true);
    flags
}
