//! Groups of matching items in a collection.

use super::{Collection, CollectionError, Match, go_on};
use crate::{
    Criteria, Fingerprint, Resources, Search, digest::Digests, pairs::PairsError,
    search::SearchStats,
};

/// Items that match the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundGroup {
    /// The id of the item that was inserted first.
    pub keep: String,
    /// The other items in order of insertion, and how close each is to the first.
    pub members: Vec<Match>,
}

/// The number of fingerprints copied at a time.
const COPIED: usize = 1 << 13;

impl Collection {
    /// Returns the digests of all items in order of insertion, and the id and sequence number of each.
    /// Use them to search among all items, or between these and other items.
    pub fn digests(
        &self,
        resources: &Resources<'_>,
    ) -> Result<(Digests, Vec<(String, u64)>), CollectionError> {
        let mut digests = Digests::new(self.0.layout.shape, resources);
        let items = self.push_digests(&mut digests, resources)?;
        digests.seal().map_err(failed)?;
        Ok((digests, items))
    }

    /// Appends the digests of all items to others of the same kind, in order of insertion. Returns the
    /// id and sequence number of each item.
    pub fn push_digests(
        &self,
        digests: &mut Digests,
        resources: &Resources<'_>,
    ) -> Result<Vec<(String, u64)>, CollectionError> {
        let mut items = Vec::with_capacity(self.len() as usize);
        if self.0.layout.shape.is_bare {
            self.push_bare(digests, &mut items, resources).map_err(failed)?;
        } else {
            let mut pushed = Ok(());
            self.for_each(|item| {
                pushed = digests.push(&item.digest);
                items.push((item.id, item.sequence));
                go_on(pushed.is_ok())
            })?;
            pushed.map_err(failed)?;
        }
        Ok(items)
    }

    /// Bare fingerprints are in the search tables, so no record need be read.
    fn push_bare(
        &self,
        digests: &mut Digests,
        items: &mut Vec<(String, u64)>,
        resources: &Resources<'_>,
    ) -> Result<(), PairsError> {
        let mut prints: Vec<Fingerprint<4>> = Vec::with_capacity(COPIED);
        for live in &self.0.view().runs {
            let (names, tables) = (&live.run.names, &live.run.tables);
            for item in live.live_items() {
                prints.extend(tables.prints[0].of_item(item));
                items.push((names.id(item).to_owned(), names.sequence(item)));
                if prints.len() >= COPIED {
                    digests.push_prints(&prints, resources)?;
                    prints.clear();
                }
            }
        }
        digests.push_prints(&prints, resources)
    }

    /// Groups matching items. Items are taken in order of insertion: an item joins the earliest group
    /// whose first item it matches, or else starts a new group. Also returns how the matches were found.
    pub fn groups(
        &self,
        by: &Criteria,
        resources: &Resources<'_>,
    ) -> Result<(Vec<FoundGroup>, SearchStats), CollectionError> {
        let (digests, items) = self.digests(resources)?;
        let order: Vec<u32> = (0..digests.len()).collect();
        let search = Search::new(self.kind(), by, resources);
        let stars = search.stars(&digests, &order).map_err(failed)?;
        let groups = stars.groups.iter().map(|group| {
            let members = group.members.iter().map(|member| {
                let (id, sequence) = items[member.item as usize].clone();
                Match { id, sequence, closeness: member.closeness }
            });
            FoundGroup { keep: items[group.keep as usize].0.clone(), members: members.collect() }
        });
        Ok((groups.collect(), stars.found))
    }
}

fn failed(source: PairsError) -> CollectionError {
    CollectionError::Groups { source: Box::new(source) }
}
