//! Which pictures of a collection show a part of this one?
//!
//! A collection that was made with `--match partial` says so in its header. It keeps of each picture
//! all that a [`PictureSearch`] needs to compare parts, as the payload of its item. In the folder
//! `parts` inside it is a second collection, of the fragments of the same pictures: it names
//! candidates. It is made from the first one, and can be made again.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::Path,
};

use anyhow::{Context, Result, ensure};
use base64::prelude::*;
use lookalike::{
    About, Collection, Fingerprint, Maker, NewItem, PictureDigest, PictureParts, PictureRecipe,
    PictureSearch, Radius, Width,
    collection::{Found, StoredItem},
};
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{open_to_read, prints::Named};

/// Pictures whose fragments are stored by one commit: each has some 160.
const COMMIT: usize = 1 << 10;

/// What the maker of a collection with parts is called.
pub fn maker(recipe: &PictureRecipe) -> String {
    format!("{recipe}, parts {}", PictureParts::VERSION)
}

/// Whether a collection keeps the parts of its pictures.
pub fn are_held(about: &About) -> bool {
    about.maker.to_string().ends_with(&format!(", parts {}", PictureParts::VERSION))
}

/// What is kept of a picture beside its fingerprint.
pub fn payload(digest: &PictureDigest) -> String {
    json!({ "digest": BASE64_STANDARD.encode(digest.to_bytes()) }).to_string()
}

fn digest(item: &StoredItem) -> Option<PictureDigest> {
    let payload: Value = serde_json::from_str(item.payload.as_deref()?).ok()?;
    let bytes = BASE64_STANDARD.decode(payload.get("digest")?.as_str()?).ok()?;
    PictureDigest::from_bytes(&bytes)
}

/// The fragments of the pictures of a collection.
pub struct PartTables(Collection);

impl PartTables {
    /// Those of a collection that is open to be changed, made anew if they are not its own; `None` if
    /// it holds whole pictures only.
    pub fn open(collection: &Collection) -> Result<Option<Self>> {
        if !are_held(collection.about()) {
            return Ok(None);
        }
        let folder = collection.folder().join("parts");
        let tables = if Collection::is_at(&folder) {
            Self(Collection::open(&folder)?)
        } else {
            let maker = Maker::Named(format!("fragments {}", PictureParts::VERSION).into());
            let (width, max_radius) = (Width::Bits64, PictureParts::SEARCH.radius);
            Self(Collection::create(&folder, About { maker, width, max_radius })?)
        };
        if tables.0.len() != collection.len() {
            tables.make_again(collection)?;
        }
        Ok(Some(tables))
    }

    /// Those of a collection that is to be searched.
    pub fn open_to_read(collection: &Collection, quiet: bool) -> Result<Self> {
        let name = collection.folder().display();
        ensure!(
            are_held(collection.about()),
            "{name}: it holds whole pictures only; --match partial must be said when a collection is \
             made, by index create or the first index add"
        );
        let folder = collection.folder().join("parts");
        let again =
            || format!("{name}: its parts are not complete; index compact makes them again");
        ensure!(Collection::is_at(&folder), again());
        let tables = Self(open_to_read(&folder, quiet)?);
        ensure!(tables.0.len() == collection.len(), again());
        Ok(tables)
    }

    /// What was stored without its fragments gets them; fragments of what is gone go. Reads all of
    /// the collection.
    fn make_again(&self, collection: &Collection) -> Result<()> {
        let mut gone = Vec::new();
        self.0.for_each(|item| {
            if !collection.contains(&item.id) {
                gone.push(item.id);
            }
            ControlFlow::Continue(())
        })?;
        self.remove(&gone.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (mut missing, mut stored) = (Vec::new(), Ok(()));
        collection.for_each(|item| {
            if !self.0.contains(&item.id)
                && let Some(digest) = digest(&item)
            {
                missing.push((item.id, digest));
            }
            if missing.len() >= COMMIT {
                stored = self.store(&missing);
                missing.clear();
            }
            if stored.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        stored?;
        self.store(&missing)
    }

    /// Adds the fragments of pictures that were stored. Before one is replaced, it must be removed
    /// here: if a run is stopped between, it is missing, and that is noticed.
    pub fn add(&self, items: Vec<Named>) -> Result<()> {
        let pictures = items.into_iter().filter_map(|item| Some((item.id, *item.picture?)));
        let pictures: Vec<_> = pictures.collect();
        pictures.chunks(COMMIT).try_for_each(|some| self.store(some))
    }

    fn store(&self, pictures: &[(String, PictureDigest)]) -> Result<()> {
        let prints: Vec<_> = pictures.iter().map(|(_, digest)| fragments(digest)).collect();
        let ids = pictures.iter().map(|(id, _)| id);
        let items: Vec<_> = ids.zip(&prints).map(|(id, prints)| NewItem::new(id, prints)).collect();
        self.0.upsert_many(&items)?;
        Ok(())
    }

    pub fn remove(&self, ids: &[&str]) -> Result<()> {
        self.0.remove_many(ids)?;
        Ok(())
    }

    pub fn compact(&self) -> Result<()> {
        Ok(self.0.compact()?)
    }

    pub fn verify(&self) -> Result<()> {
        self.0.verify().context("parts")
    }

    pub fn backup(&self, folder: &Path) -> Result<()> {
        Ok(self.0.backup(folder.join("parts"))?)
    }

    /// All pictures that `search` takes for alike, nearest first.
    pub fn search(
        &self,
        collection: &Collection,
        search: &PictureSearch<'_>,
        radius: Radius,
        query: &PictureDigest,
    ) -> Result<Vec<Found>> {
        let mut candidates = self.sharing_fragments(query)?;
        candidates.extend(near_as_a_whole(collection, radius, query)?);
        let compared: Vec<Option<Found>> = candidates
            .par_iter()
            .map(|id| {
                let Some(item) = collection.get(id)? else { return Ok(None) };
                let Some(stored) = digest(&item) else { return Ok(None) };
                let is_alike = search.are_alike(&stored, query)?;
                let closeness = search.compare(&stored, query).filter(|_| is_alike);
                let StoredItem { id, sequence, .. } = item;
                Ok(closeness.map(|near| Found { id, sequence, distance: near.distance }))
            })
            .collect::<Result<_>>()?;
        let mut found: Vec<Found> = compared.into_iter().flatten().collect();
        Found::sort(&mut found);
        Ok(found)
    }

    /// Pictures that have enough fragments like those of the query.
    fn sharing_fragments(&self, query: &PictureDigest) -> Result<BTreeSet<String>> {
        let search = PictureParts::SEARCH;
        let most = search.common as usize;
        let found = self.0.search_many(&fragments(query), search.radius, most + 1)?;
        let mut votes: BTreeMap<String, u32> = BTreeMap::new();
        for found in found.into_iter().filter(|found| found.len() <= most).flatten() {
            *votes.entry(found.id).or_default() += 1;
        }
        Ok(votes
            .into_iter()
            .filter(|&(_, votes)| votes >= search.votes)
            .map(|(id, _)| id)
            .collect())
    }
}

/// The fragments of a picture. One that has none gets a fingerprint that nothing else has, so that
/// every picture of a collection is in its tables.
fn fragments(digest: &PictureDigest) -> Vec<Fingerprint<4>> {
    let fragments = digest.parts.iter().flat_map(|parts| &parts.fragments);
    let prints: Vec<_> = fragments.map(|fragment| fragment.print.resize()).collect();
    if prints.is_empty() { vec![Fingerprint([digest.content[0]]).resize()] } else { prints }
}

/// Pictures that may be the query as a whole, in any orientation.
fn near_as_a_whole(
    collection: &Collection,
    radius: Radius,
    query: &PictureDigest,
) -> Result<Vec<String>> {
    let Some(prints) = &query.prints else { return Ok(Vec::new()) };
    let widest = PictureParts::WORTH_A_LOOK.min(collection.about().max_radius);
    let mut found = collection.search(&prints.upright, widest, usize::MAX)?;
    if let Some(turned) = &prints.turned {
        found.extend(collection.search_many(&turned[1..], radius, usize::MAX)?.concat());
    }
    Ok(found.into_iter().map(|found| found.id).collect())
}
