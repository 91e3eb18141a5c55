//! Which pictures of a collection show a part of this one?
//!
//! A [`PictureCollection`] is two collections in one folder. The first one holds whole pictures; the
//! payload of each is its digest, all that a [`PictureSearch`] needs to compare parts. The second
//! one, in the folder `parts` inside it, holds the fragments of the same pictures, which name
//! candidates. It is made from the first one, and can be made again.

use std::{
    borrow::Borrow,
    collections::{BTreeMap, BTreeSet},
    ops::ControlFlow,
    path::Path,
    slice,
    sync::{Mutex, MutexGuard, PoisonError},
};

use base64::prelude::*;
use rayon::prelude::*;
use serde_json::{Value, json};

use super::{PictureDigest, PictureParts, PictureSearch};
use crate::{
    About, Added, Collection, CollectionError, Fingerprint, Found, Maker, NewItem, PairsError,
    PictureRecipe, Radius, StoredItem, Width, extract::image::PictureFormat, hash::FeatureHash,
    recipe::PicturePrints,
};

/// A durable set of pictures in which parts of pictures are found: crops, frames, captions.
///
/// It keeps some 14 KB of each picture. Digests must come from a [`PictureSearch`] that looks for
/// [parts](PictureSearch::partial), of the recipe the collection was made for; what a digest lacks is
/// not found. All methods may be called from several threads at once; a search never waits.
///
/// ```
/// use lookalike::{PictureCollection, PicturePreset, PictureSearch};
/// # use lookalike::extract::image::{Picture, Pixels};
/// # // A scene of spots, seen through a window of it.
/// # fn photo(left: usize, top: usize, width: usize, height: usize) -> Picture {
/// #     let spots: Vec<[f32; 4]> = (1..160u64)
/// #         .map(|spot| {
/// #             let bits = spot.wrapping_mul(0x9E37_79B9_7F4A_7C15);
/// #             let bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
/// #             let bits = bits ^ bits >> 27;
/// #             let part = |shift: u32| (bits >> shift & 0xFFFF) as f32 / 65_536.0;
/// #             [part(0) * 320.0, part(16) * 240.0, 3.0 + 25.0 * part(32).powi(2), 200.0 * part(48) - 100.0]
/// #         })
/// #         .collect();
/// #     let bytes = (0..width * height).map(|at| {
/// #         let (x, y) = ((left + at % width) as f32, (top + at / width) as f32);
/// #         let light = |spot: &[f32; 4]| {
/// #             let square = (x - spot[0]).powi(2) + (y - spot[1]).powi(2);
/// #             spot[3] * (-square / (2.0 * spot[2] * spot[2])).exp()
/// #         };
/// #         (128.0 + spots.iter().map(light).sum::<f32>()).clamp(0.0, 255.0) as u8
/// #     });
/// #     Picture::of_pixels(Pixels::gray(width, height, bytes.collect()).unwrap())
/// # }
/// # let (ferry, crop) = (photo(0, 0, 320, 240), photo(70, 20, 230, 180));
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path().join("photos");
/// let preset = PicturePreset::named("pdq")?;
/// let search = PictureSearch::new(&preset.recipe, preset.radius()).partial(true);
///
/// let photos = PictureCollection::create(&folder, &preset.recipe, preset.radius())?;
/// photos.insert_many(&[("ferry", &search.digest_picture(&ferry, b"bytes of its file"))])?;
///
/// let query = search.digest_picture(&crop, b"bytes of another file");
/// let found = photos.search(&search, &query, 10)?;
/// assert_eq!(found[0].id, "ferry");
/// // As a whole, it is another picture.
/// assert!(found[0].distance > preset.radius().bits());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PictureCollection {
    whole: Collection,
    /// The fragments of the same pictures.
    tables: Collection,
    notes: Vec<String>,
    /// Held by who changes both.
    changing: Mutex<()>,
}

/// A picture to be stored: its id, and what is kept of it.
pub type NewPicture<'a> = (&'a str, &'a PictureDigest);

/// The folder of the fragments.
const PARTS: &str = "parts";

/// Pictures whose fragments are stored by one commit: each has some 160.
const COMMIT: usize = 1 << 10;

impl PictureCollection {
    /// A new, empty collection in a folder that is not there, or is empty. Whole pictures can be
    /// searched within `max_radius`, or farther: see [`About::picture_parts`].
    pub fn create(
        folder: impl AsRef<Path>,
        recipe: &PictureRecipe,
        max_radius: Radius,
    ) -> Result<Self, CollectionError> {
        Self::of(Collection::create(folder, About::picture_parts(recipe, max_radius))?)
    }

    /// Opens a collection to search and change it, as [`Collection::open`] does.
    pub fn open(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::of(Collection::open(folder)?)
    }

    /// Opens a collection to search it, as [`Collection::open_read_only`] does.
    pub fn open_read_only(folder: impl AsRef<Path>) -> Result<Self, CollectionError> {
        Self::of(Collection::open_read_only(folder)?)
    }

    /// From a collection that is open. If fragments are missing, because it was changed as a
    /// [`Collection`] or a change was stopped, they are made again; if it was opened for reading
    /// only, it is refused.
    pub fn of(whole: Collection) -> Result<Self, CollectionError> {
        let path = whole.folder().to_path_buf();
        if !whole.about().keeps_parts() {
            return Err(CollectionError::WholeOnly { path });
        }
        let folder = path.join(PARTS);
        let tables = match (Collection::is_at(&folder), whole.is_read_only()) {
            (true, true) => Collection::open_read_only(&folder)?,
            (true, false) => Collection::open(&folder)?,
            (false, true) => return Err(CollectionError::PartsIncomplete { path }),
            (false, false) => Collection::create(&folder, About::fragments())?,
        };
        let notes = [whole.notes(), tables.notes()].concat();
        let pictures = Self { whole, tables, notes, changing: Mutex::default() };
        pictures.set_right()?;
        Ok(pictures)
    }

    /// The whole pictures: to be searched, listed, exported, and told about. What is changed here
    /// is not changed in the tables of parts.
    pub fn whole(&self) -> &Collection {
        &self.whole
    }

    /// What was noticed when it was opened: search tables that had to be made anew, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Stores pictures by their ids. If one of an id is there, that one stays as it was. After a
    /// crash all or none are there. A picture without a fingerprint is refused, and all with it.
    pub fn insert_many(&self, pictures: &[NewPicture<'_>]) -> Result<Vec<Added>, CollectionError> {
        self.store(pictures, |items| self.whole.insert_many(items))
    }

    /// Stores pictures, each in place of the one of its id if there is any.
    pub fn upsert_many(&self, pictures: &[NewPicture<'_>]) -> Result<Vec<Added>, CollectionError> {
        self.store(pictures, |items| {
            self.tables.remove_many(&items.iter().map(|item| item.id).collect::<Vec<_>>())?;
            self.whole.upsert_many(items)
        })
    }

    /// Stores each picture if none is within `radius` of it as a whole; parts are not compared.
    pub fn check_and_insert_many(
        &self,
        pictures: &[NewPicture<'_>],
        radius: Radius,
    ) -> Result<Vec<Added>, CollectionError> {
        self.store(pictures, |items| self.whole.check_and_insert_many(items, radius))
    }

    /// Removes pictures; says of each whether it was there.
    pub fn remove_many(&self, ids: &[&str]) -> Result<Vec<bool>, CollectionError> {
        let _changing = self.start_change()?;
        self.tables.remove_many(ids)?;
        self.whole.remove_many(ids)
    }

    /// All pictures that `search` takes for alike, nearest first, then in order of insertion, at
    /// most `limit` of them. A distance is that of whole pictures, in the orientation in which they
    /// differ least; of parts it may be beyond the radius.
    ///
    /// Works on all threads of the current rayon pool.
    pub fn search(
        &self,
        search: &PictureSearch<'_>,
        query: &PictureDigest,
        limit: usize,
    ) -> Result<Vec<Found>, CollectionError> {
        self.whole.check_maker(&Maker::picture_parts(&search.recipe), search.recipe.width)?;
        let mut candidates = self.sharing_fragments(query)?;
        candidates.extend(self.near_as_a_whole(search, query)?);
        let compare = |id: &String| match self.whole.get(id)? {
            Some(item) => compare(search, item, query),
            None => Ok(None),
        };
        let compared: Result<Vec<_>, _> = candidates.par_iter().map(compare).collect();
        let mut found: Vec<Found> = compared?.into_iter().flatten().collect();
        Found::sort(&mut found);
        found.truncate(limit);
        Ok(found)
    }

    /// Makes searches faster after many changes, and gives free space back to the system:
    /// [`Collection::compact`].
    pub fn compact(&self) -> Result<(), CollectionError> {
        self.whole.compact()?;
        self.tables.compact()
    }

    /// Compares everything with its checksum: [`Collection::verify`].
    pub fn verify(&self) -> Result<(), CollectionError> {
        self.whole.verify()?;
        self.tables.verify().map_err(|error| CollectionError::Parts(Box::new(error)))
    }

    /// Copies the collection to a folder that is not there. Changes wait meanwhile, searches do not.
    pub fn backup(&self, folder: impl AsRef<Path>) -> Result<(), CollectionError> {
        let _changing = self.start_change()?;
        self.whole.backup(&folder)?;
        self.tables.backup(folder.as_ref().join(PARTS))
    }
}

impl PictureCollection {
    fn store(
        &self,
        pictures: &[NewPicture<'_>],
        store: impl FnOnce(&[NewItem<'_>]) -> Result<Vec<Added>, CollectionError>,
    ) -> Result<Vec<Added>, CollectionError> {
        let payloads: Vec<_> = pictures.par_iter().map(|(_, digest)| payload(digest)).collect();
        let new = pictures.iter().zip(&payloads);
        let items: Vec<_> = new.map(|(picture, payload)| new_item(*picture, payload)).collect();
        let _changing = self.start_change()?;
        let added = store(&items).inspect_err(|_| {
            // What was taken out of the tables comes back; if that fails, too, the next change tries.
            let _ = self.set_right();
        })?;
        let stored = pictures.iter().zip(&added).filter(|(_, added)| added.is_stored());
        self.store_fragments(&stored.map(|(&picture, _)| picture).collect::<Vec<_>>())?;
        Ok(added)
    }

    /// Waits for other changes, as two of one picture must come to both collections in the same
    /// order, and sets right what one of them left undone.
    fn start_change(&self) -> Result<MutexGuard<'_, ()>, CollectionError> {
        let changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        self.set_right()?;
        Ok(changing)
    }

    /// Gives fragments to all pictures if some lack them.
    ///
    /// A change takes pictures out of the tables before it takes them out of the collection, or
    /// replaces them there; it puts them into the tables last. So wherever it stops, what is in the
    /// tables is in the collection, and the numbers tell whether a picture is missing.
    fn set_right(&self) -> Result<(), CollectionError> {
        if self.tables.len() == self.whole.len() {
            return Ok(());
        }
        if self.whole.is_read_only() {
            return Err(CollectionError::PartsIncomplete { path: self.whole.folder().into() });
        }
        self.make_again()
    }

    /// What was stored without its fragments gets them; fragments of what is gone go. Reads all of
    /// the collection.
    fn make_again(&self) -> Result<(), CollectionError> {
        let mut gone = Vec::new();
        self.tables.for_each(|item| {
            if !self.whole.contains(&item.id) {
                gone.push(item.id);
            }
            ControlFlow::Continue(())
        })?;
        self.tables.remove_many(&gone.iter().map(String::as_str).collect::<Vec<_>>())?;
        let (mut missing, mut stored) = (Vec::new(), Ok(()));
        self.whole.for_each(|item| {
            if !self.tables.contains(&item.id) {
                let digest = kept(&item);
                missing.push((item.id, digest));
            }
            if missing.len() >= COMMIT {
                stored = self.store_fragments(&missing);
                missing.clear();
            }
            if stored.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        stored?;
        self.store_fragments(&missing)
    }

    fn store_fragments(
        &self,
        pictures: &[(impl AsRef<str>, impl Borrow<PictureDigest>)],
    ) -> Result<(), CollectionError> {
        for pictures in pictures.chunks(COMMIT) {
            let ids = || pictures.iter().map(|(id, _)| id.as_ref());
            let digests = pictures.iter().map(|(_, digest)| digest.borrow());
            let prints: Vec<_> =
                ids().zip(digests).map(|(id, digest)| fragments(id, digest)).collect();
            let items: Vec<_> =
                ids().zip(&prints).map(|(id, prints)| NewItem::new(id, prints)).collect();
            self.tables.upsert_many(&items)?;
        }
        Ok(())
    }

    /// Pictures that have enough fragments like those of the query.
    fn sharing_fragments(
        &self,
        query: &PictureDigest,
    ) -> Result<BTreeSet<String>, CollectionError> {
        let search = PictureParts::SEARCH;
        let most = search.common as usize;
        let prints: Vec<_> = fragments_of(query).collect();
        let found = self.tables.search_many(&prints, search.radius, most + 1)?;
        let mut votes: BTreeMap<String, u32> = BTreeMap::new();
        for found in found.into_iter().filter(|found| found.len() <= most).flatten() {
            *votes.entry(found.id).or_default() += 1;
        }
        let enough = votes.into_iter().filter(|&(_, votes)| votes >= search.votes);
        Ok(enough.map(|(id, _)| id).collect())
    }

    /// Pictures that may be the query as a whole, in any orientation.
    fn near_as_a_whole(
        &self,
        search: &PictureSearch<'_>,
        query: &PictureDigest,
    ) -> Result<Vec<String>, CollectionError> {
        let Some(prints) = &query.prints else { return Ok(Vec::new()) };
        let second = search.second.map_or(search.radius, |second| second.radius);
        let worth_a_look = PictureParts::WORTH_A_LOOK.max(second);
        let widest = worth_a_look.min(self.whole.about().max_radius).max(search.radius);
        let mut found = self.whole.search(&prints.upright, widest, usize::MAX)?;
        if let Some(turned) = &prints.turned {
            found.extend(self.whole.search_many(&turned[1..], search.radius, usize::MAX)?.concat());
        }
        Ok(found.into_iter().map(|found| found.id).collect())
    }
}

impl Maker {
    /// Fingerprints of whole pictures.
    pub fn pictures(recipe: &PictureRecipe) -> Self {
        Self::Named(recipe.to_string().into())
    }

    /// Fingerprints of pictures, kept with their parts.
    pub fn picture_parts(recipe: &PictureRecipe) -> Self {
        Self::Named((recipe.to_string() + &with_parts()).into())
    }
}

fn with_parts() -> String {
    format!(", parts {}", PictureParts::VERSION)
}

impl About {
    /// A collection of whole pictures.
    pub fn pictures(recipe: &PictureRecipe, max_radius: Radius) -> Self {
        Self { maker: Maker::pictures(recipe), width: recipe.width, max_radius }
    }

    /// A [`PictureCollection`]. Its radius is wide enough for a look at whole pictures that may show
    /// the same.
    pub fn picture_parts(recipe: &PictureRecipe, max_radius: Radius) -> Self {
        let widest = PictureParts::WORTH_A_LOOK.min(Radius::new(recipe.width.bits()));
        let max_radius = max_radius.max(widest);
        Self { maker: Maker::picture_parts(recipe), width: recipe.width, max_radius }
    }

    /// Whether it is a [`PictureCollection`].
    pub fn keeps_parts(&self) -> bool {
        self.maker.to_string().ends_with(&with_parts())
    }

    /// The fragments of a collection of pictures.
    fn fragments() -> Self {
        let maker = Maker::Named(format!("fragments {}", PictureParts::VERSION).into());
        Self { maker, width: Width::Bits64, max_radius: PictureParts::SEARCH.radius }
    }
}

fn compare(
    search: &PictureSearch<'_>,
    item: StoredItem,
    query: &PictureDigest,
) -> Result<Option<Found>, CollectionError> {
    let stored = kept(&item);
    let failed = |error: PairsError| CollectionError::Pictures { source: Box::new(error) };
    if !search.are_alike(&stored, query).map_err(failed)? {
        return Ok(None);
    }
    let StoredItem { id, sequence, .. } = item;
    let near = search.compare(&stored, query);
    Ok(near.map(|near| Found { id, sequence, distance: near.distance }))
}

/// As it is stored: a picture is found in any orientation of the query, so its own is enough.
fn new_item<'a>((id, digest): NewPicture<'a>, payload: &'a str) -> NewItem<'a> {
    let upright: &[_] =
        digest.prints.as_ref().map_or(&[], |prints| slice::from_ref(&prints.upright));
    NewItem { payload: Some(payload), ..NewItem::new(id, upright) }
}

/// What is kept of a picture beside its fingerprint.
fn payload(digest: &PictureDigest) -> String {
    json!({ "digest": BASE64_STANDARD.encode(digest.to_bytes()) }).to_string()
}

fn digest(payload: &str) -> Option<PictureDigest> {
    let payload: Value = serde_json::from_str(payload).ok()?;
    let bytes = BASE64_STANDARD.decode(payload.get("digest")?.as_str()?).ok()?;
    PictureDigest::from_bytes(&bytes)
}

/// What is known of a picture. One that was stored without a digest, as an item of a [`Collection`],
/// is its fingerprint alone.
fn kept(item: &StoredItem) -> PictureDigest {
    item.payload.as_deref().and_then(digest).unwrap_or_else(|| PictureDigest {
        width: 0,
        height: 0,
        format: PictureFormat::Raw,
        content: [0, 1].map(|seed| FeatureHash::Xxh3.hash(seed, item.id.as_bytes())),
        prints: item.fingerprints.first().map(|&upright| PicturePrints {
            upright,
            turned: None,
            gradients: None,
        }),
        parts: None,
    })
}

fn fragments_of(digest: &PictureDigest) -> impl Iterator<Item = Fingerprint<4>> {
    let fragments = digest.parts.iter().flat_map(|parts| &parts.fragments);
    fragments.map(|fragment| fragment.print.resize())
}

/// The fragments of a picture. One that has none gets a fingerprint that nothing else has, so that
/// every picture of a collection is in its tables.
fn fragments(id: &str, digest: &PictureDigest) -> Vec<Fingerprint<4>> {
    let prints: Vec<_> = fragments_of(digest).collect();
    if !prints.is_empty() {
        return prints;
    }
    vec![Fingerprint([FeatureHash::Xxh3.hash(0, id.as_bytes())]).resize()]
}

#[cfg(test)]
mod tests {
    use std::{fs, sync::LazyLock};

    use super::*;
    use crate::{
        PicturePreset,
        collection::tests::test_folder,
        extract::image::{Orientation, Picture, Pixels},
        pictures::tests::{blobs, cut, scrambled, waves},
    };

    /// Some pictures that show parts of each other, turned and smaller ones, and strangers.
    static PICTURES: LazyLock<Vec<Pixels>> = LazyLock::new(|| {
        let (one, two) = (blobs(1, 320, 240), blobs(2, 320, 240));
        vec![
            cut(&one, 70, 20, 230, 180),
            cut(&one, 20, 40, 240, 190),
            cut(&two, 0, 0, 250, 200),
            waves(3, 320, 240).turned(Orientation::ALL[1]),
            waves(3, 160, 120),
            waves(3, 320, 240),
            waves(4, 320, 240),
            one,
            two,
        ]
    });

    fn preset() -> &'static PicturePreset {
        PicturePreset::named("pdq").unwrap()
    }

    /// Turned waves as short as these differ in more bits than copies do.
    fn search(radius: u32) -> PictureSearch<'static> {
        PictureSearch::new(&preset().recipe, Radius::new(radius)).orientations(true).partial(true)
    }

    fn digested(search: &PictureSearch<'_>, pixels: &Pixels, content: usize) -> PictureDigest {
        search.digest_picture(&Picture::of_pixels(pixels.clone()), &content.to_le_bytes())
    }

    fn digests() -> Vec<PictureDigest> {
        (0..)
            .zip(&*PICTURES)
            .map(|(number, pixels)| digested(&search(60), pixels, number))
            .collect()
    }

    /// The same pictures, in other files.
    fn queries() -> Vec<PictureDigest> {
        (100..)
            .zip(&*PICTURES)
            .map(|(number, pixels)| digested(&search(60), pixels, number))
            .collect()
    }

    fn create(folder: &Path) -> PictureCollection {
        PictureCollection::create(folder, &preset().recipe, preset().radius()).unwrap()
    }

    fn found(pictures: &PictureCollection, query: &PictureDigest) -> Vec<String> {
        let found = pictures.search(&search(60), query, usize::MAX).unwrap();
        found.into_iter().map(|found| found.id).collect()
    }

    /// The twin: of all pairs of the stored pictures and the query, those of the query, nearest
    /// first.
    fn expected<'a>(
        search: &PictureSearch<'_>,
        stored: impl IntoIterator<Item = (&'a String, &'a PictureDigest)>,
        query: &PictureDigest,
    ) -> Vec<(u32, String)> {
        let stored: Vec<_> = stored.into_iter().collect();
        let mut collector = search.collector();
        stored.iter().for_each(|(_, digest)| collector.push((*digest).clone()).unwrap());
        collector.push(query.clone()).unwrap();
        let pairs = collector.finish().unwrap().pairs.to_vec().unwrap();
        let of_query = pairs.iter().filter(|pair| pair.b as usize == stored.len());
        let mut alike: Vec<_> = of_query
            .map(|pair| {
                let (id, digest) = stored[pair.a as usize];
                (search.compare(digest, query).unwrap().distance, id.clone())
            })
            .collect();
        alike.sort();
        alike
    }

    fn assert_twin(
        pictures: &PictureCollection,
        search: &PictureSearch<'_>,
        twin: &BTreeMap<String, PictureDigest>,
        query: &PictureDigest,
        at: &str,
    ) -> usize {
        let found = pictures.search(search, query, usize::MAX).unwrap();
        assert!(found.is_sorted_by_key(|found| (found.distance, found.sequence)), "{at}");
        let mut found: Vec<_> = found.into_iter().map(|found| (found.distance, found.id)).collect();
        found.sort();
        assert_eq!(found, expected(search, twin, query), "{at}");
        found.len()
    }

    #[test]
    fn finds_what_a_search_of_all_pairs_finds() {
        let folder = test_folder();
        let digests = digests();
        // 120 bits is beyond what is worth a look: strangers are alike, too.
        for radius in [31, 60, 120] {
            let folder = folder.path().join(radius.to_string());
            let search = search(radius);
            let pictures =
                PictureCollection::create(&folder, &preset().recipe, Radius::new(120)).unwrap();
            let twin: BTreeMap<_, _> = (0..)
                .zip(&digests)
                .map(|(number, one)| (format!("{number}"), one.clone()))
                .collect();
            let new: Vec<_> = twin.iter().map(|(id, digest)| (id.as_str(), digest)).collect();
            pictures.insert_many(&new).unwrap();
            let all: usize = queries()
                .iter()
                .map(|query| assert_twin(&pictures, &search, &twin, query, &radius.to_string()))
                .sum();
            // Itself and, by parts, one or two others at least.
            assert!(all > 15, "{radius} bits: {all}");
        }
    }

    #[test]
    fn limits_keep_the_nearest() {
        let folder = test_folder();
        let pictures = create(&folder.path().join("seen"));
        let digests = digests();
        pictures.insert_many(&[("part", &digests[0]), ("whole", &digests[7])]).unwrap();
        let query = &queries()[7];
        assert_eq!(found(&pictures, query), ["whole", "part"]);
        let first = pictures.search(&search(60), query, 1).unwrap();
        assert_eq!((first.len(), first[0].id.as_str()), (1, "whole"));
    }

    #[test]
    fn whatever_is_done_the_tables_stay_in_step() {
        let (digests, queries) = (digests(), queries());
        let search = search(60);
        for history in 1..=4 {
            let folder = test_folder();
            let path = folder.path().join("seen");
            let mut pictures = create(&path);
            let mut twin: BTreeMap<String, PictureDigest> = BTreeMap::new();
            for step in 0..24 {
                let at = format!("history {history}, step {step}");
                let dice = |what: u64, end: usize| {
                    scrambled(history * 10_000 + step * 10 + what) as usize % end
                };
                let id = format!("{}", dice(0, 6));
                let digest = &digests[dice(1, digests.len())];
                match dice(2, 8) {
                    0 | 1 => {
                        let added = pictures.insert_many(&[(&id, digest)]).unwrap();
                        assert_eq!(added[0].is_stored(), !twin.contains_key(&id), "{at}");
                        twin.entry(id).or_insert(digest.clone());
                    }
                    2 | 3 => {
                        pictures.upsert_many(&[(&id, digest)]).unwrap();
                        twin.insert(id, digest.clone());
                    }
                    4 => {
                        let radius = Radius::new(31);
                        let added = pictures.check_and_insert_many(&[(&id, digest)], radius);
                        if added.unwrap()[0].is_stored() {
                            twin.insert(id, digest.clone());
                        }
                    }
                    5 => {
                        let removed = pictures.remove_many(&[&id]).unwrap();
                        assert_eq!(removed, [twin.remove(&id).is_some()], "{at}");
                    }
                    6 => pictures.compact().unwrap(),
                    _ => {
                        drop(pictures);
                        pictures = PictureCollection::open(&path).unwrap();
                    }
                }
                assert_eq!(pictures.tables.len(), twin.len() as u64, "{at}");
                let query = &queries[dice(3, queries.len())];
                assert_twin(&pictures, &search, &twin, query, &at);
            }
            pictures.verify().unwrap();
        }
    }

    #[test]
    fn tables_that_are_missing_are_made_again() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, query) = (digests(), &queries()[0]);
        create(&path).insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        fs::remove_dir_all(path.join(PARTS)).unwrap();
        let refused = PictureCollection::open_read_only(&path).unwrap_err();
        assert!(matches!(refused, CollectionError::PartsIncomplete { .. }), "{refused}");
        assert_eq!(found(&PictureCollection::open(&path).unwrap(), query), ["a"]);
        assert_eq!(found(&PictureCollection::open_read_only(&path).unwrap(), query), ["a"]);
    }

    #[test]
    fn tables_that_are_incomplete_are_made_again() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, queries) = (digests(), queries());
        let pictures = create(&path);
        pictures.insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        // As if changes had been stopped half-way: of one the tables know too little, of one too much.
        pictures.tables.remove_many(&["a"]).unwrap();
        drop(pictures);
        let refused = PictureCollection::open_read_only(&path).unwrap_err();
        assert!(matches!(refused, CollectionError::PartsIncomplete { .. }), "{refused}");
        let pictures = PictureCollection::open(&path).unwrap();
        assert_eq!(found(&pictures, &queries[0]), ["a"]);
        pictures.whole.remove("b").unwrap();
        drop(pictures);
        let pictures = PictureCollection::open(&path).unwrap();
        assert_eq!(pictures.tables.len(), 1);
        assert_eq!(found(&pictures, &queries[2]), [""; 0]);

        // What failed in this process is set right by the next change.
        pictures.tables.remove_many(&["a"]).unwrap();
        pictures.insert_many(&[("c", &digests[8])]).unwrap();
        assert_eq!(
            (found(&pictures, &queries[0]), found(&pictures, &queries[2])),
            (vec!["a".to_owned()], vec!["c".to_owned()])
        );
    }

    #[test]
    fn a_replaced_picture_is_found_by_its_new_parts_only() {
        let folder = test_folder();
        let pictures = create(&folder.path().join("seen"));
        let (digests, queries) = (digests(), queries());
        pictures.insert_many(&[("a", &digests[7])]).unwrap();
        pictures.upsert_many(&[("a", &digests[8])]).unwrap();
        assert_eq!(found(&pictures, &queries[0]), [""; 0]);
        assert_eq!(found(&pictures, &queries[2]), ["a"]);
        pictures.remove_many(&["a", "b"]).unwrap();
        assert_eq!(found(&pictures, &queries[2]), [""; 0]);
        assert_eq!((pictures.whole.len(), pictures.tables.len()), (0, 0));
    }

    #[test]
    fn a_batch_that_is_refused_changes_nothing() {
        let folder = test_folder();
        let pictures = create(&folder.path().join("seen"));
        let (digests, query) = (digests(), &queries()[0]);
        let flat = Pixels::gray(64, 64, vec![200; 64 * 64]).unwrap();
        let flat = digested(&search(60), &flat, 99);
        pictures.insert_many(&[("a", &digests[7])]).unwrap();
        let refused = pictures.upsert_many(&[("a", &digests[8]), ("flat", &flat)]).unwrap_err();
        assert!(matches!(&refused, CollectionError::Item { id, .. } if id == "flat"), "{refused}");
        assert_eq!(found(&pictures, query), ["a"]);
    }

    #[test]
    fn an_item_without_a_digest_is_found_as_a_whole() {
        let folder = test_folder();
        let path = folder.path().join("seen");
        let (digests, queries) = (digests(), queries());
        drop(create(&path));
        let whole = Collection::open(&path).unwrap();
        let upright = digests[5].prints.as_ref().unwrap().upright;
        let payload = Some("{\"digest\":\"of something else\"}");
        whole.insert(NewItem::new("bare", &[upright])).unwrap();
        whole.insert(NewItem { payload, ..NewItem::new("other", &[upright]) }).unwrap();
        let pictures = PictureCollection::of(whole).unwrap();
        assert_eq!(found(&pictures, &queries[4]), ["bare", "other"]);
        assert_eq!(found(&pictures, &queries[3]), ["bare", "other"], "turned");
        assert_eq!(found(&pictures, &queries[0]), [""; 0]);
        drop(pictures);
        PictureCollection::open_read_only(&path).unwrap();
    }

    #[test]
    fn a_copy_finds_what_its_original_finds() {
        let folder = test_folder();
        let [path, copy] = ["seen", "copy"].map(|name| folder.path().join(name));
        let (digests, query) = (digests(), &queries()[0]);
        let pictures = create(&path);
        pictures.insert_many(&[("a", &digests[7]), ("b", &digests[8])]).unwrap();
        pictures.backup(&copy).unwrap();
        let copy = PictureCollection::open_read_only(&copy).unwrap();
        assert_eq!(found(&copy, query), found(&pictures, query));
        assert_eq!(found(&copy, query), ["a"]);
    }

    #[test]
    fn other_collections_and_other_searches_are_refused() {
        let folder = test_folder();
        let recipe = &preset().recipe;
        let whole = folder.path().join("whole");
        drop(Collection::create(&whole, About::pictures(recipe, preset().radius())).unwrap());
        let refused = PictureCollection::open(&whole).unwrap_err();
        assert!(matches!(refused, CollectionError::WholeOnly { .. }), "{refused}");

        let phash = PicturePreset::named("phash").unwrap();
        let search = PictureSearch::new(&phash.recipe, phash.radius()).partial(true);
        let query = digested(&search, &PICTURES[0], 0);
        let refused = create(&folder.path().join("seen")).search(&search, &query, 1).unwrap_err();
        assert!(matches!(refused, CollectionError::Recipe { .. }), "{refused}");
        // Fingerprints of fewer bits than are worth a look are no reason to refuse.
        let path = folder.path().join("phash");
        let pictures = PictureCollection::create(&path, &phash.recipe, phash.radius()).unwrap();
        pictures.insert_many(&[("a", &query)]).unwrap();
        assert_eq!(pictures.search(&search, &query, 1).unwrap()[0].distance, 0);
    }

    #[test]
    fn what_is_kept_is_written_in_the_same_way_for_ever() {
        let written = PictureDigest {
            width: 640,
            height: 480,
            format: PictureFormat::Raw,
            content: [1, 2],
            prints: Some(PicturePrints {
                upright: Fingerprint([3, 4, 5, 6]),
                turned: None,
                gradients: Some(Fingerprint([7, 8, 9, 10])),
            }),
            parts: None,
        };
        let text = concat!(
            r#"{"digest":"/4ACAADgAQAAAQAAAAAAAAACAAAAAAAAAAEAAQADAAAAAAAAAAQAAAAAAAAABQAA"#,
            r#"AAAAAAAGAAAAAAAAAAcAAAAAAAAACAAAAAAAAAAJAAAAAAAAAAoAAAAAAAAA"}"#,
        );
        assert_eq!(payload(&written), text);
        assert_eq!(digest(text), Some(written));
    }
}
