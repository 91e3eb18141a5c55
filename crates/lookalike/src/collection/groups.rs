//! Which items of a collection go together?

use super::{Collection, CollectionError, Match, go_on};
use crate::{
    Criteria, Fingerprint, Resources, Search, digest::Digests, pairs::PairsError,
    search::SearchStats,
};

/// Items that are alike the first of them.
#[derive(Clone, Debug, PartialEq)]
pub struct FoundGroup {
    /// The one that was inserted first.
    pub keep: String,
    /// The others, in order of insertion, and how close each is to the one that was first.
    pub members: Vec<Match>,
}

/// Fingerprints that are copied at a time.
const COPIED: usize = 1 << 13;

impl Collection {
    /// The digests of all items, in order of insertion, and for each its id and its sequence number.
    /// For a search among all of them, or between them and others.
    pub fn digests(
        &self,
        resources: &Resources<'_>,
    ) -> Result<(Digests, Vec<(String, u64)>), CollectionError> {
        let mut digests = Digests::new(self.0.layout.shape, resources);
        let items = self.push_digests(&mut digests, resources)?;
        digests.seal().map_err(failed)?;
        Ok((digests, items))
    }

    /// Adds the digests of all items to others of the same kind, in order of insertion; says of each
    /// its id and its sequence number.
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

    /// Bare fingerprints stand in the tables: no record need be read.
    fn push_bare(
        &self,
        digests: &mut Digests,
        items: &mut Vec<(String, u64)>,
        resources: &Resources<'_>,
    ) -> Result<(), PairsError> {
        let mut prints: Vec<Fingerprint<4>> = Vec::with_capacity(COPIED);
        for live in &self.0.view().runs {
            let (names, tables) = (&live.run.names, &live.run.tables);
            for item in live.living() {
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

    /// Groups of items that are alike the first of them: items are taken in order of insertion; one
    /// that is alike an earlier first one goes with the earliest. And how that was found.
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
