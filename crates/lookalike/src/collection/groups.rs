//! Which items of a collection go together?

use super::{
    Collection, CollectionError, Found, Stores, store::check_radius, view::View, with_store,
};
use crate::{AlikePair, AlikePairs, AllPairs, PairsError, Radius, groups};

/// Items that are alike the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundGroup {
    /// The one that was inserted first.
    pub keep: String,
    /// The others, in order of insertion; distances are to the one that was first.
    pub members: Vec<Found>,
}

impl Collection {
    /// Groups of items within `radius` of the first of them, in order of insertion. An item that is
    /// near several first ones goes with the nearest.
    pub fn groups(&self, radius: Radius) -> Result<Vec<FoundGroup>, CollectionError> {
        check_radius(self.about(), radius)?;
        with_store!(self, store => {
            let view = store.view();
            let failed = |error: PairsError| CollectionError::Groups { source: Box::new(error) };
            groups_of(&view, radius).map_err(failed)
        })
    }
}

fn groups_of<const WORDS: usize>(
    view: &View<WORDS>,
    radius: Radius,
) -> Result<Vec<FoundGroup>, PairsError> {
    let (mut prints, mut owners, mut items) = (Vec::new(), Vec::new(), Vec::new());
    view.for_each(|sequence, id, own| {
        owners.resize(owners.len() + own.len(), items.len() as u32);
        prints.extend_from_slice(own);
        items.push((id.to_owned(), sequence));
    });
    let pairs = AllPairs::new(radius).run(&prints)?;
    let pairs = if prints.len() == items.len() {
        AlikePairs::from(&pairs)
    } else {
        let mut of_items = Vec::new();
        pairs.for_each(|pair| {
            let (a, b) = (owners[pair.a as usize], owners[pair.b as usize]);
            if a != b {
                let (a, b) = (a.min(b), a.max(b));
                of_items.push(AlikePair { a, b, distance: pair.distance, similarity: None });
            }
        });
        of_items.sort_unstable_by_key(|pair| (pair.a, pair.b, pair.distance));
        of_items.dedup_by_key(|pair| (pair.a, pair.b));
        AlikePairs::from_pairs(of_items)
    };
    let order: Vec<u32> = (0..items.len() as u32).collect();
    let groups = groups::star(items.len(), &order, &pairs)?.into_iter();
    let groups = groups.filter(|group| !group.members.is_empty());
    Ok(groups
        .map(|group| {
            let members = group.members.iter().map(|member| {
                let (id, sequence) = items[member.item as usize].clone();
                Found { id, sequence, distance: member.distance }
            });
            FoundGroup { keep: items[group.keep as usize].0.clone(), members: members.collect() }
        })
        .collect())
}
